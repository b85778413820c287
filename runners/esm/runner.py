"""The runner of ESMFold, as the transformers package has it: one protein chain, without an alignment."""

import time
from importlib.metadata import version

import cif
import foldrun
import torch
from foldrun import Failure
from transformers import EsmForProteinFolding
from transformers.models.esm.openfold_utils import residue_constants as constants
from transformers.models.esm.openfold_utils.feats import atom14_to_atom37
from transformers.utils import logging

# The order in which the model counts amino acids; the tokeniser of the package would add marks of begin and end.
LETTERS = "ARNDCQEGHILKMFPSTWYV"
# Residues from which attention is computed in slices. Without them a chain of 1,058 gave garbage of high confidence (esm issue 641).
LONG, SLICE = 700, 64
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
# A folder of random weights has this file, so that no result of it passes for a prediction.
RANDOM = "RANDOM_WEIGHTS"


class ESMFold(foldrun.Runner):
    engine = "esm"

    def __init__(self):
        self.model, self.job, self.passes = None, None, 0

    def load(self, request):
        logging.disable_progress_bar()
        torch.set_grad_enabled(False)
        if request.threads:
            torch.set_num_threads(request.threads)
        folder, self.device = request.weights_dir, torch.device(request.device)
        found = [folder / f for f in WEIGHTS if folder and (folder / f).is_file()]
        if not found or not (folder / "config.json").is_file():
            raise Failure("weights_missing", f"the weights of {request.model} are not complete: config.json and {' or '.join(WEIGHTS)} are needed")
        self.random, digest = (folder / RANDOM).exists(), foldrun.Digest([found[0]])
        self.model = EsmForProteinFolding.from_pretrained(folder, local_files_only=True).eval()
        if self.device.type == "cpu":
            self.model = self.model.float()  # the language model's half precision is a GPU's
        self.model.to(self.device)
        for block in [*self.model.esm.encoder.layer, *self.model.trunk.blocks]:
            block.register_forward_pre_hook(lambda *_: self.job and self.job.check())
        self.model.trunk.structure_module.register_forward_pre_hook(lambda *_: self.count())
        name = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "cpu"
        detail = {"torch": torch.__version__, "random_weights": self.random}
        return foldrun.Ready("transformers " + version("transformers"), digest.hex(), name, detail=detail)

    def count(self):
        """One more pass through the trunk has ended in the structure module."""
        if self.job:
            self.passes += 1
            self.job.progress("trunk", self.passes, self.recycles + 1)

    def predict(self, job):
        sequence, chain = self.accept(job)
        torch.manual_seed(job.seed)
        self.recycles, self.passes = int(job.params.get("recyclingSteps") or 3), 0
        self.model.trunk.set_chunk_size(SLICE if len(sequence) > LONG else None)
        began = time.monotonic()
        job.progress("trunk", 0, self.recycles + 1)
        self.job = job
        try:
            index = torch.tensor([[LETTERS.index(c) for c in sequence]], device=self.device)
            positions = torch.arange(len(sequence), device=self.device)[None]
            out = self.model(input_ids=index, attention_mask=torch.ones_like(index), position_ids=positions, num_recycles=self.recycles)
        finally:
            self.job = None
        inferred = time.monotonic()
        job.progress("write", 0, 1)
        result = self.hand_in(job, sequence, chain, out)
        result.timings = {"trunk": inferred - began, "write": time.monotonic() - inferred}
        if self.random:
            result.notes.append("The weights of this model are random: the structure and every score are meaningless, and show only that the service works.")
        return result

    def accept(self, job):
        """The sequence and its chain; the service sends one chain at a time."""
        sequences = job.input["sequences"]
        if job.kind != "fold" or len(sequences) != 1 or len(sequences[0]["chains"]) != 1 or sequences[0]["kind"] != "protein":
            raise Failure("unsupported", "ESMFold folds one protein chain at a time")
        text = sequences[0]["sequence"]
        for i, c in enumerate(text):
            if c not in LETTERS:
                raise Failure("invalid_input", f"residue {i + 1} is {c!r}; ESMFold takes the twenty amino acids {LETTERS}")
        return text, sequences[0]["chains"][0]

    def hand_in(self, job, sequence, chain, out):
        """The files of a result: atoms that each residue has, confidence from 0 to 100."""
        coordinates = atom14_to_atom37(out["positions"][-1], out)[0].float().cpu()
        exists = out["atom37_atom_exists"][0].bool().cpu()
        if not torch.isfinite(coordinates[exists]).all():
            raise Failure("output_invalid", "the model gave coordinates that are not numbers")
        per_atom = out["plddt"][0].float().cpu() * 100
        names = [constants.restype_1to3[c] for c in sequence]
        path = job.path("model.cif")
        path.write_text(cif.write(chain, names, constants.atom_types, coordinates.tolist(), exists.tolist(), per_atom.tolist()))
        job.file("structure", path)
        job.array("plddt", (per_atom * exists).sum(1) / exists.sum(1))
        job.array("pae", out["predicted_aligned_error"][0].float())
        return foldrun.Result(scores={"ptm": out["ptm"].item(), "pae_max": out["max_predicted_aligned_error"].item()})


if __name__ == "__main__":
    foldrun.serve(ESMFold())
