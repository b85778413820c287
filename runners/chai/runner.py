"""The runner of Chai-1. The package keeps its modules between jobs, on the CPU, and moves each to the device while it works.

It needs an NVIDIA GPU. CHAI_DOWNLOADS_DIR, which the manifest sets, is the folder of its weights.
"""

import time
from importlib.metadata import version

import foldrun
from document import Refused, fasta, letters, restraints
from foldrun import Failure

# Below the weights' folder. The package would fetch what is missing.
FILES = [
    "conformers_v1.apkl",
    "esm/traced_sdpa_esm2_t36_3B_UR50D_fp16.pt",
    *(f"models_v2/{m}.pt" for m in ("feature_embedding", "bond_loss_input_proj", "token_embedder", "trunk", "diffusion_module", "confidence_head")),
]
# The model states errors in 64 bins up to 32 Å and gives their mean.
PAE_MAX = 31.75


class Chai(foldrun.Runner):
    engine = "chai"

    def load(self, request):
        missing = [f for f in FILES if not (request.weights_dir and (request.weights_dir / f).is_file())]
        if missing:
            raise Failure("weights_missing", f"the weights of {request.model} are not complete: {', '.join(missing)} is missing")
        import torch
        from chai_lab import chai1

        if not torch.cuda.is_available():
            raise Failure("load_failed", "Chai-1 needs an NVIDIA GPU")
        self.package, self.torch, self.device = chai1, torch, request.device
        return foldrun.Ready(version("chai_lab"), device=torch.cuda.get_device_name(0), detail={"torch": torch.__version__})

    def predict(self, job):
        began = time.monotonic()
        job.progress("prepare")
        try:
            text = fasta(job.input["sequences"])
            table = restraints(job.input["sequences"], job.input.get("constraints") or {})
        except Refused as e:
            raise Failure(e.code, e.message) from None
        source, pairs = job.path("chai/job.fasta"), None
        source.write_text(text)
        if table:
            pairs = job.path("chai/job.restraints")
            pairs.write_text(table)
        candidates = self.infer(job, source, pairs)
        result = self.hand_in(job, candidates)
        result.timings = {"predict": time.monotonic() - began}
        return result

    def infer(self, job, source, pairs):
        p, package = job.params, self.package
        number = {name: int(p.get(name) or default) for name, default in (
            ("numTrunkRecycles", 3), ("numDiffnTimesteps", 200), ("numDiffnSamples", 5), ("numTrunkSamples", 1))}
        original, package.tqdm = package.tqdm, followed(job)
        try:
            return package.run_inference(
                source, output_dir=job.workdir / "chai" / "out", constraint_path=pairs,
                num_trunk_recycles=number["numTrunkRecycles"], num_diffn_timesteps=number["numDiffnTimesteps"],
                num_diffn_samples=number["numDiffnSamples"], num_trunk_samples=number["numTrunkSamples"], seed=job.seed, device=self.device,
            ).sorted()
        except package.UnsupportedInputError as e:
            raise Failure("too_large" if "too many tokens" in str(e).lower() else "unsupported", str(e)) from None
        except (ValueError, AssertionError) as e:
            raise Failure("invalid_input", f"Chai-1 cannot take this job: {e}") from e
        finally:
            package.tqdm = original

    def hand_in(self, job, candidates) -> foldrun.Result:
        """Candidates come sorted, the best first."""
        for rank, path in enumerate(candidates.cif_paths):
            if not self.torch.isfinite(candidates.plddt[rank]).all():
                raise Failure("output_invalid", "the model gave a confidence that is no number")
            job.file("structure", path, rank=rank)
            job.array("plddt", candidates.plddt[rank] * 100, rank=rank)
            job.array("pae", candidates.pae[rank], rank=rank)
        best, chains = candidates.ranking_data[0], [c for s in job.input["sequences"] for c in s["chains"]]
        scores = {"ptm": best.ptm_scores.complex_ptm.item(), "pae_max": PAE_MAX}
        if len(chains) > 1:
            table = best.ptm_scores.per_chain_pair_iptm.reshape(len(chains), len(chains))
            scores["iptm"] = best.ptm_scores.interface_ptm.item()
            names = list(letters(job.input["sequences"]).values())
            scores["pairs"] = [{"chain_a": a, "chain_b": b, "iptm": max(table[i, j].item(), table[j, i].item())}
                               for i, a in enumerate(names) for j, b in enumerate(names) if i < j]
        ranked = [{"aggregate_score": r.aggregate_score.item(), "ptm": r.ptm_scores.complex_ptm.item()} for r in candidates.ranking_data]
        names = {v: k for k, v in letters(job.input["sequences"]).items() if v != k}
        note = "Chai-1 folded without alignments, from single sequences and their language-model embeddings."
        return foldrun.Result(scores=scores, chain_map=names, metrics={"samples": ranked}, notes=[note])


def followed(job):
    """In the place of the package's progress bar: says how far a loop is, and hears a cancel in it."""
    stages = {"Trunk recycles": "trunk", "Diffusion steps": "diffusion"}

    def loop(items, desc="", **_):
        items = list(items)
        for i, item in enumerate(items):
            job.progress(stages.get(desc, "trunk"), i, len(items))
            yield item

    return loop


if __name__ == "__main__":
    foldrun.serve(Chai())
