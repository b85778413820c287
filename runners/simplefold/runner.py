"""The runner of SimpleFold: the package's own functions, with the models kept loaded between jobs.

It does what the command `simplefold` does on PyTorch, less what that fetches: ESM-2 comes from a file of the weights' folder by
the package fair-esm, where the command would load code and weights through torch.hub.
"""

import pickle
import random
import sys
from copy import deepcopy
from dataclasses import asdict
from importlib import resources
from importlib.metadata import version
from pathlib import Path

import esm
import foldrun
import hydra
import numpy as np
import omegaconf
import simplefold
import torch
from foldrun import Failure, Watch
from sequence import Refused, fasta

# The package's modules import each other by names that begin in its folder: model, utils, processor, boltz_data_pipeline.
sys.path.append(str(Path(simplefold.__file__).parent))

from boltz_data_pipeline.feature.featurizer import BoltzFeaturizer  # noqa: E402
from boltz_data_pipeline.tokenize.boltz_protein import BoltzTokenizer  # noqa: E402
from boltz_data_pipeline.types import Input, Record  # noqa: E402
from model.flow import LinearPath  # noqa: E402
from model.torch.sampler import EMSampler  # noqa: E402
from processor.protein_processor import ProteinDataProcessor  # noqa: E402
from utils.boltz_utils import process_structure, save_structure  # noqa: E402
from utils.datamodule_utils import collate, extract_sequence_from_tokens  # noqa: E402
from utils.esm_utils import _af2_to_esm  # noqa: E402
from utils.fasta_utils import parse_fasta  # noqa: E402

# In the weights' folder.
LANGUAGE, DICTIONARY = "esm2_t36_3B_UR50D.pt", "ccd.pkl"
# The confidence module reads the latents of the model of 1.6 B, whichever folded.
CONFIDENCE, LATENT = "plddt_module_1.6B.ckpt", "simplefold_1.6B"
# A folder of random weights has this file, so that no result of it passes for a prediction.
RANDOM = "RANDOM_WEIGHTS"
# Of the package's README for the command line: how much noise a step adds.
TAU = 0.01
NAME = "job"
STEPS = 500


class SimpleFold(foldrun.Runner):
    engine = "simplefold"

    def __init__(self):
        self.folder, self.device, self.shared = None, None, False

    def load(self, request):
        torch.set_grad_enabled(False)
        if request.threads:
            torch.set_num_threads(request.threads)
        folder, device = request.weights_dir, torch.device(request.device)
        files = list(dict.fromkeys([f"{request.model}.ckpt", f"{LATENT}.ckpt", CONFIDENCE, LANGUAGE, DICTIONARY]))
        missing = [f for f in files if not (folder and (folder / f).is_file())]
        if missing:
            raise Failure("weights_missing", f"the weights of {request.model} are not complete: {', '.join(missing)} is missing")
        digest = foldrun.Digest([folder / f for f in files if f != DICTIONARY])
        if (self.folder, self.device) != (folder, device):
            self.shared = False
        self.folder, self.device, self.model = folder, device, None
        if not self.shared:
            self.load_shared()
        self.model = self.latent if request.model == LATENT else self.network(request.model)
        self.random = (folder / RANDOM).exists()
        self.watch = Watch(torch.cuda.synchronize if device.type == "cuda" else lambda: None)
        self.watch.attach(self.model, diffusion=self.model)
        name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
        detail = {"torch": torch.__version__, "fair-esm": version("fair-esm"), "random_weights": self.random}
        return foldrun.Ready(version("simplefold"), digest.hex(), name, detail=detail)

    def load_shared(self):
        """What every size of the model needs, loaded once for all of them."""
        self.dictionary = pickle.loads((self.folder / DICTIONARY).read_bytes())  # the operator's own file
        data = torch.load(self.folder / LANGUAGE, map_location="cpu", weights_only=False)  # with the options of its training
        self.esm, self.alphabet = esm.pretrained.load_model_and_alphabet_core(Path(LANGUAGE).stem, data)
        self.esm.eval().to(self.device)
        self.letters = _af2_to_esm(self.alphabet).to(self.device)
        for layer in self.esm.layers:
            layer.register_forward_pre_hook(lambda *_: self.watch.check())
        self.latent, self.judge = self.network(LATENT), self.instance("plddt_module", CONFIDENCE)
        self.shared = True

    def network(self, model: str):
        return self.instance("foldingdit_" + model.removeprefix("simplefold_"), f"{model}.ckpt")

    def instance(self, config: str, weights: str):
        """A network of the package. A configuration of that name beside the weights goes before the package's: theirs may be of
        another size."""
        own = self.folder / f"{config}.yaml"
        if not own.is_file():
            own = resources.files("simplefold.configs") / "model" / "architecture" / f"{config}.yaml"
        net = hydra.utils.instantiate(omegaconf.OmegaConf.load(own))
        net.load_state_dict(torch.load(self.folder / weights, map_location="cpu", weights_only=False), strict=True)  # as the package does
        return net.eval().to(self.device)

    def predict(self, job):
        with self.watch.follow(job) as watch:
            try:
                return self.fold(job, watch)
            except Refused as e:
                raise Failure(e.code, e.message) from None

    def fold(self, job, watch) -> foldrun.Result:
        watch.say("prepare")
        text, chain = fasta(job.kind, job.input["sequences"])
        random.seed(job.seed)
        np.random.seed(job.seed)
        torch.manual_seed(job.seed)
        steps, samples = int(job.params.get("samplingSteps") or STEPS), int(job.params.get("diffusionSample") or 1)
        source = job.path(f"simplefold/{NAME}.fasta")
        source.write_text(text)
        target = parse_fasta(source, self.dictionary)
        batch, structure = self.features(target)
        watch.totals = {"diffusion": steps * samples}
        candidates = [self.sample(batch, steps, watch) for _ in range(samples)]
        candidates.sort(key=lambda c: -c[1].mean().item())
        watch.say("write", 0, samples)
        for rank, (coordinates, plddt) in enumerate(candidates):
            self.write(job, target, structure, batch, coordinates, plddt, rank)
            watch.say("write", rank + 1, samples)
        watch.enter("")
        return self.result(chain, watch, candidates)

    def features(self, target):
        """The model's input on the device, with what the language model makes of the sequence."""
        tokens = BoltzTokenizer().tokenize(Input(target.structure, {}))
        features = BoltzFeaturizer().process(tokens)
        count = torch.tensor(len(tokens.tokens), dtype=torch.long)
        features |= {"aa_seq": extract_sequence_from_tokens(tokens), "record": target.record, "num_repeats": torch.tensor(1),
                     "max_num_tokens": count, "cropped_num_tokens": count}
        self.processor = ProteinDataProcessor(device=self.device, scale=16.0, ref_scale=5.0, multiplicity=1, inference_multiplicity=1)
        batch = self.processor.preprocess_inference(collate([features]), esm_model=self.esm, esm_dict=self.alphabet, af2_to_esm=self.letters)
        return batch, target.structure

    def sample(self, batch, steps: int, watch):
        """One structure: its coordinates in Å, and its pLDDT from 0 to 100."""
        sampler = EMSampler(num_timesteps=steps, t_start=1e-4, tau=TAU, log_timesteps=True, w_cutoff=0.99)
        drawn = sampler.sample(self.model, LinearPath(), torch.randn_like(batch["coords"]), batch)
        watch.all_is = "confidence"  # the model that folds may be the one that judges
        watch.say("confidence")
        # It reads the coordinates as they were drawn, before they are scaled to Å.
        latent = self.latent(drawn["denoised_coords"], torch.ones(1, device=self.device), batch)["latent"]
        plddt = self.judge(latent, batch)["plddt"][0].float().cpu() * 100
        watch.all_is = ""
        return self.processor.postprocess(drawn, batch)["denoised_coords"][0].float().cpu(), plddt

    def write(self, job, target, structure, batch, coordinates, plddt, rank: int):
        if not torch.isfinite(coordinates).all() or not torch.isfinite(plddt).all():
            raise Failure("output_invalid", "the model gave coordinates or confidences that are not numbers")
        filled = process_structure(deepcopy(structure), coordinates, batch["atom_pad_mask"][0].cpu(), Record(**asdict(target.record)))
        path = job.path(f"simplefold/{NAME}-{rank}.cif")
        save_structure(filled, path.parent, path.stem, output_format="mmcif", plddts=plddt)
        job.file("structure", path, rank=rank)
        job.array("plddt", plddt, rank=rank)

    def result(self, chain: str, watch, candidates: list) -> foldrun.Result:
        # The package names every chain A.
        out = foldrun.Result(chain_map={"A": chain} if chain != "A" else {}, timings={k: round(v, 4) for k, v in watch.seconds.items()})
        if self.random:
            out.notes.append("The weights of this model are random: the structure and every score are meaningless, and show only that the service works.")
        out.metrics = {"samples": [{"mean_plddt": plddt.mean().item()} for _, plddt in candidates]}
        return out


if __name__ == "__main__":
    foldrun.serve(SimpleFold())
