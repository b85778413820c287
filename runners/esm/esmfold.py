"""ESMFold as implemented in the transformers package: one protein chain, without an alignment."""

import time
from importlib.metadata import version
from typing import Any

import torch
from transformers import EsmForProteinFolding
from transformers.models.esm.openfold_utils import residue_constants as constants
from transformers.models.esm.openfold_utils.feats import atom14_to_atom37
from transformers.utils import logging

import foldrun
from document import the_chain
from foldrun import Failure, Job, cif, pytorch, weights

# The order in which the model numbers amino acids; the package's tokenizer would add start and end tokens.
LETTERS = "ARNDCQEGHILKMFPSTWYV"
# Above this many residues attention is computed in slices. Without slices a chain of 1,058 residues gave a wrong
# structure of high confidence (esm issue 641).
LONG_CHAIN, SLICE = 700, 64
WEIGHTS = ("model.safetensors", "pytorch_model.bin")


class ESMFold:
    """ESMFold, loaded. It folds single protein chains without an alignment."""

    def __init__(self, request: foldrun.Load) -> None:
        logging.disable_progress_bar()
        pytorch.prepare(request.threads)
        folder = weights.require(request.model, request.weights_dir, ["config.json"])
        files = [folder / f for f in WEIGHTS if (folder / f).is_file()]
        if not files:
            raise Failure(
                "weights_missing", f"the weights of {request.model} are not complete: {' or '.join(WEIGHTS)} is missing"
            )
        self.device = torch.device(request.device)
        self.random = weights.are_random(folder)
        digest = foldrun.Digest(files[:1])
        self.model: Any = EsmForProteinFolding.from_pretrained(folder, local_files_only=True).eval()
        if self.device.type == "cpu":
            self.model = self.model.float()  # only a GPU computes the language model's half precision
        self.model.to(self.device)
        for block in [*self.model.esm.encoder.layer, *self.model.trunk.blocks]:
            block.register_forward_pre_hook(lambda *_: self.check())
        self.model.trunk.structure_module.register_forward_pre_hook(lambda *_: self.count())
        self.job: Job | None = None
        self.passes = self.recycles = 0
        self.ready = foldrun.Ready(
            engine_version="transformers " + version("transformers"),
            weights_sha256=digest.hex(),
            device=pytorch.device_name(self.device),
            detail={"torch": torch.__version__, "random_weights": self.random},
        )

    def check(self) -> None:
        """Raises Cancelled if the running job was cancelled. A hook calls it before each block."""
        if self.job is not None:
            self.job.check()

    def count(self) -> None:
        """Reports one more pass through the trunk. The structure module calls it at the end of each."""
        if self.job is not None:
            self.passes += 1
            self.job.progress("trunk", self.passes, self.recycles + 1)

    def predict(self, job: Job) -> foldrun.Result:
        sequence, chain = the_chain(job.input["sequences"])
        torch.manual_seed(job.seed)
        self.recycles, self.passes = job.integer("recyclingSteps", 3), 0
        self.model.trunk.set_chunk_size(SLICE if len(sequence) > LONG_CHAIN else None)
        began = time.monotonic()
        job.progress("trunk", 0, self.recycles + 1)
        self.job = job
        try:
            index = torch.tensor([[LETTERS.index(c) for c in sequence]], device=self.device)
            out = self.model(
                input_ids=index,
                attention_mask=torch.ones_like(index),
                position_ids=torch.arange(len(sequence), device=self.device)[None],
                num_recycles=self.recycles,
            )
        finally:
            self.job = None
        inferred = time.monotonic()
        job.progress("write", 0, 1)
        result = self.result(job, sequence, chain, out)
        result.timings = {"trunk": inferred - began, "write": time.monotonic() - inferred}
        if self.random:
            result.notes.append(weights.RANDOM_NOTE)
        return result

    def result(self, job: Job, sequence: str, chain: str, out: Any) -> foldrun.Result:
        """Writes the atoms that each residue has, with a confidence from 0 to 100, and builds the result."""
        coordinates = atom14_to_atom37(out["positions"][-1], out)[0].float().cpu()
        exists = out["atom37_atom_exists"][0].bool().cpu()
        if not torch.isfinite(coordinates[exists]).all():
            raise Failure("output_invalid", "the model gave coordinates that are not numbers")
        per_atom = out["plddt"][0].float().cpu() * 100
        names = [constants.restype_1to3[c] for c in sequence]
        atoms = (
            cif.Atom(i, atom, coordinates[i, k].tolist(), per_atom[i, k].item())
            for i in range(len(names))
            for k, atom in enumerate(constants.atom_types)
            if exists[i, k]
        )
        path = job.path("model.cif")
        path.write_text(cif.write([cif.Chain(chain, names, atoms)]))
        job.file("structure", path)
        job.array("plddt", (per_atom * exists).sum(1) / exists.sum(1))
        job.array("pae", out["predicted_aligned_error"][0].float())
        pae_max = out["max_predicted_aligned_error"].item()
        return foldrun.Result(scores={"ptm": out["ptm"].item(), "pae_max": pae_max})
