"""ESMFold2 as implemented in the transformers package: proteins and their complexes, with or without alignments."""

from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor
from transformers import EsmFold2Model
from transformers.models.esmfold2 import protein_utils as package
from transformers.utils import logging

import foldrun
from document import check
from features import Chain, build
from foldrun import Failure, Job, Watch, cif, pytorch, weights
from foldrun.document import aligned_rows

# Its files, below the weights of the engine; the other model's are in the folder itself.
FOLDER = "esmfold2"
# Samples at once where the service sets no limit: the confidence of each needs memory for every pair of residues.
PARALLEL = 5
PAE_LIMIT = 32.0  # Å; the bins of the confidence head go up to here
NO_ALIGNMENTS_NOTE = "These weights were trained without alignments: those of the job were not used."


class ESMFold2:
    """ESMFold2, loaded."""

    def __init__(self, request: foldrun.Load) -> None:
        logging.disable_progress_bar()
        pytorch.prepare(request.threads)
        root = weights.require(request.model, request.weights_dir, [f"{FOLDER}/config.json"])
        folder = root / FOLDER
        files = sorted(folder.glob("*.safetensors"))
        if not files:
            raise Failure(
                "weights_missing",
                f"the weights of {request.model} are not complete: the .safetensors files of {FOLDER} are missing",
            )
        self.device = torch.device(request.device)
        self.random = weights.are_random(folder)
        digest = foldrun.Digest(files)
        # The package recommends half precision; a CPU computes it slowly.
        kind = torch.bfloat16 if self.device.type == "cuda" else torch.float32
        model, found = EsmFold2Model.from_pretrained(
            folder, dtype=kind, local_files_only=True, output_loading_info=True
        )
        missing = sorted(found["missing_keys"]) or sorted(str(k) for k in found["mismatched_keys"])
        if missing:  # the package would go on with random numbers in their place
            raise Failure(
                "load_failed",
                f"the weights of {request.model} do not fit the package: {missing[0]} is missing or has another shape; "
                "they must be those for transformers (biohub/ESMFold2-hf)",
            )
        self.model: Any = model.eval().to(self.device)
        self.watch = pytorch.watch(self.device)
        self.watch.attach(
            self.model,
            trunk=self.model.folding_trunk,
            diffusion=self.model.structure_head,
            confidence=self.model.confidence_head,
        )
        self.ready = foldrun.Ready(
            engine_version="transformers " + version("transformers"),
            weights_sha256=digest.hex(),
            device=pytorch.device_name(self.device),
            detail={"torch": torch.__version__, "random_weights": self.random},
        )

    def predict(self, job: Job) -> foldrun.Result:
        with self.watch.follow(job) as watch:
            return Prediction(self, job, watch).run()


class Prediction:
    """One job, from the request to its files."""

    def __init__(self, loaded: ESMFold2, job: Job, watch: Watch) -> None:
        self.loaded, self.job, self.watch = loaded, job, watch
        config = loaded.model.config
        self.loops = job.integer("recyclingSteps", config.num_loops)
        self.steps = job.integer("samplingSteps", config.structure_head.inference_num_steps)
        self.samples = job.integer("diffusionSample", 1)
        self.names: list[str] = []  # of the chains, in the order of the job
        self.chains: list[Chain] = []
        self.notes: list[str] = []

    def run(self) -> foldrun.Result:
        """Runs the steps of the job and returns its result."""
        self.watch.say("prepare")
        self.read()
        pytorch.seed(self.job.seed)
        candidates = self.fold()
        self.watch.say("write", 0, self.samples)
        result = self.result(candidates)
        result.timings = self.watch.timings()
        return result

    def read(self) -> None:
        """Reads the chains and their alignments, and refuses what the model does not know."""
        without = self.loaded.model.msa_encoder is None
        dropped = False
        check(self.job.input["sequences"])
        for i, s in enumerate(self.job.input["sequences"]):
            rows = aligned_rows(self.job, i)
            if rows and without:
                rows, dropped = None, True
            unpaired, paired = rows or ([], [])
            for name in s["chains"]:
                self.names.append(name)
                self.chains.append(Chain(s["sequence"], unpaired, paired))
        self.notes += [weights.RANDOM_NOTE] if self.loaded.random else []
        self.notes += [NO_ALIGNMENTS_NOTE] if dropped else []

    def fold(self) -> list[dict[str, Tensor]]:
        """The candidates, the best first. The package ranks by pTM."""
        model = self.loaded.model
        features = {name: values.to(self.loaded.device) for name, values in build(self.chains).items()}
        most = max(1, self.job.parallel or PARALLEL)
        parts = [min(most, self.samples - i) for i in range(0, self.samples, most)]
        self.watch.totals = {
            "trunk": (self.loops + 1) * len(parts),
            "diffusion": self.calls() * len(parts),
            "confidence": len(parts),
        }
        self.watch.say("trunk", 0, self.watch.totals["trunk"])
        out = []
        for n in parts:
            found = model.fold(**features, num_loops=self.loops, num_sampling_steps=self.steps, num_diffusion_samples=n)
            out += [{name: found[name][k].float().cpu() for name in KEPT} for k in range(n)]
            del found
        return sorted(out, key=lambda c: -c["ptm"].item())

    def calls(self) -> int:
        """How often the sampler calls its network: the package cuts the schedule off above its highest noise."""
        highest = self.loaded.model.config.structure_head.inference_sigma_cap
        if highest is None:
            return self.steps
        return int((self.loaded.model.inference_noise_schedule(self.steps) <= highest).sum())

    def result(self, candidates: list[dict[str, Tensor]]) -> foldrun.Result:
        """Checks and writes the candidates, and builds the result."""
        for rank, c in enumerate(candidates):
            self.write(c, rank)
            self.watch.say("write", rank + 1, self.samples)
        best = candidates[0]
        bins = self.loaded.model.config.confidence_head.num_pae_bins
        result = foldrun.Result(notes=self.notes)
        result.scores = {"ptm": best["ptm"].item(), "pae_max": PAE_LIMIT * (1 - 0.5 / bins)}
        if len(self.chains) > 1:
            pairs = best["pair_chains_iptm"]
            result.scores["iptm"] = best["iptm"].item()
            result.scores["pairs"] = [  # the better of the two directions
                {"chain_a": a, "chain_b": b, "iptm": max(pairs[i, j].item(), pairs[j, i].item())}
                for i, a in enumerate(self.names)
                for j, b in enumerate(self.names)
                if i < j
            ]
        result.metrics = {
            "tokens": sum(len(c.sequence) for c in self.chains),
            "samples": [{"ptm": c["ptm"].item(), "complex_plddt": c["complex_plddt"].item()} for c in candidates],
        }
        return result

    def write(self, candidate: dict[str, Tensor], rank: int) -> None:
        """Writes one candidate as an mmCIF file and as arrays: pLDDT per residue from 0 to 100, PAE in Å."""
        coordinates, plddt, pae = (candidate[name] for name in ("sample_atom_coords", "plddt", "pae"))
        if not all(torch.isfinite(x).all() for x in (coordinates, plddt, pae)):
            raise Failure("output_invalid", "the model gave coordinates or confidences that are not numbers")
        positions, confidence = coordinates.tolist(), (candidate["plddt_per_atom"] * 100).tolist()
        chains, start = [], 0
        for name, chain in zip(self.names, self.chains):
            residues = [package.PROTEIN_1TO3[c] for c in chain.sequence]
            atoms = [(i, atom) for i, residue in enumerate(residues) for atom in package.PROTEIN_HEAVY_ATOMS[residue]]
            end = start + len(atoms)
            own = zip(atoms, positions[start:end], confidence[start:end])
            chains.append(cif.Chain(name, residues, [cif.Atom(i, atom, p, b) for (i, atom), p, b in own]))
            start = end
        path = self.job.path(f"model-{rank}.cif")
        path.write_text(cif.write(chains))
        self.job.file("structure", path, rank=rank)
        self.job.array("plddt", plddt * 100, rank=rank)
        self.job.array("pae", pae, rank=rank)


# The kept part of each sample.
KEPT = (
    "sample_atom_coords",
    "plddt",
    "plddt_per_atom",
    "complex_plddt",
    "pae",
    "ptm",
    "iptm",
    "pair_chains_iptm",
)
