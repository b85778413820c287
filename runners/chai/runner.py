"""The runner of Chai-1. The package keeps its modules on the CPU between jobs, and moves each to the device while it
works.

It needs an NVIDIA GPU. CHAI_DOWNLOADS_DIR, which the manifest sets, names the folder of its weights.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import foldrun
from document import fasta, letters, restraints
from foldrun import Failure, Job, too_large, unsupported, weights
from foldrun.document import chain_map

MODULES = (
    "feature_embedding",
    "bond_loss_input_proj",
    "token_embedder",
    "trunk",
    "diffusion_module",
    "confidence_head",
)
# In the folder of weights. The package would download what is missing.
FILES = [
    "conformers_v1.apkl",
    "esm/traced_sdpa_esm2_t36_3B_UR50D_fp16.pt",
    *(f"models_v2/{m}.pt" for m in MODULES),
]
# The model gives the mean of 64 bins up to 32 Å; the middle of the last bin is the highest value.
PAE_MAX = 31.75


class Chai(foldrun.Runner):
    """Chai-1, as its package runs it."""

    engine = "chai"

    def __init__(self) -> None:
        self.package: Any = None
        self.torch: Any = None
        self.device = ""

    def load(self, request: foldrun.Load) -> foldrun.Ready:
        weights.require(request.model, request.weights_dir, FILES)
        import torch
        from chai_lab import chai1

        if not torch.cuda.is_available():
            raise Failure("load_failed", "Chai-1 needs an NVIDIA GPU")
        self.package, self.torch, self.device = chai1, torch, request.device
        return foldrun.Ready(
            engine_version=version("chai_lab"),
            device=torch.cuda.get_device_name(0),
            detail={"torch": torch.__version__},
        )

    def predict(self, job: Job) -> foldrun.Result:
        began = time.monotonic()
        job.progress("prepare")
        text = fasta(job.input["sequences"])
        table = restraints(job.input["sequences"], job.input.get("constraints") or {})
        source, pairs = job.path("chai/job.fasta"), None
        source.write_text(text)
        if table:
            pairs = job.path("chai/job.restraints")
            pairs.write_text(table)
        candidates = self.infer(job, source, pairs)
        result = self.result(job, candidates)
        result.timings = {"predict": time.monotonic() - began}
        return result

    def infer(self, job: Job, source: Path, pairs: Path | None) -> Any:
        """Runs the package on a FASTA file and an optional table of restraints, and returns its candidates."""
        package = self.package
        original, package.tqdm = package.tqdm, progress_bar(job)
        try:
            return package.run_inference(
                source,
                output_dir=job.workdir / "chai" / "out",
                constraint_path=pairs,
                num_trunk_recycles=job.integer("numTrunkRecycles", 3),
                num_diffn_timesteps=job.integer("numDiffnTimesteps", 200),
                num_diffn_samples=job.integer("numDiffnSamples", 5),
                num_trunk_samples=job.integer("numTrunkSamples", 1),
                seed=job.seed,
                device=self.device,
            ).sorted()
        except package.UnsupportedInputError as e:
            refusal = too_large if "too many tokens" in str(e).lower() else unsupported
            raise refusal(str(e)) from None
        except (ValueError, AssertionError) as e:
            raise Failure("invalid_input", f"Chai-1 cannot take this job: {e}") from e
        finally:
            package.tqdm = original

    def result(self, job: Job, candidates: Any) -> foldrun.Result:
        """Checks and writes the candidates, which are sorted with the best first."""
        for rank, path in enumerate(candidates.cif_paths):
            if not self.torch.isfinite(candidates.plddt[rank]).all():
                raise Failure("output_invalid", "the model gave a confidence that is no number")
            job.file("structure", path, rank=rank)
            job.array("plddt", candidates.plddt[rank] * 100, rank=rank)
            job.array("pae", candidates.pae[rank], rank=rank)
        best = candidates.ranking_data[0]
        letter_of = letters(job.input["sequences"])
        names = list(letter_of.values())
        scores: dict[str, Any] = {"ptm": best.ptm_scores.complex_ptm.item(), "pae_max": PAE_MAX}
        if len(names) > 1:
            table = best.ptm_scores.per_chain_pair_iptm.reshape(len(names), len(names))
            scores["iptm"] = best.ptm_scores.interface_ptm.item()
            scores["pairs"] = [
                {"chain_a": a, "chain_b": b, "iptm": max(table[i, j].item(), table[j, i].item())}
                for i, a in enumerate(names)
                for j, b in enumerate(names)
                if i < j
            ]
        samples = [
            {"aggregate_score": r.aggregate_score.item(), "ptm": r.ptm_scores.complex_ptm.item()}
            for r in candidates.ranking_data
        ]
        note = "Chai-1 folded without alignments, from single sequences and their language-model embeddings."
        return foldrun.Result(scores, chain_map(letter_of), metrics={"samples": samples}, notes=[note])


def progress_bar(job: Job) -> Callable[..., Iterator[Any]]:
    """A replacement of the package's progress bar that reports to the job. It raises Cancelled after a cancel."""
    stages = {"Trunk recycles": "trunk", "Diffusion steps": "diffusion"}

    def loop(items: Iterable[Any], desc: str = "", **_: Any) -> Iterator[Any]:
        items = list(items)
        for i, item in enumerate(items):
            job.progress(stages.get(desc, "trunk"), i, len(items))
            yield item

    return loop


if __name__ == "__main__":
    foldrun.serve(Chai())
