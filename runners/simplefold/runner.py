"""The runner of SimpleFold. It calls the package's own functions and keeps the models loaded between jobs.

It does what the command `simplefold` does on PyTorch, without its downloads: the package fair-esm reads ESM-2 from a
file in the folder of weights, where the command would load code and weights through torch.hub.
"""

import pickle
import sys
from copy import deepcopy
from dataclasses import asdict
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

import hydra
import omegaconf
import torch
from esm.pretrained import load_model_and_alphabet_core

import foldrun
import simplefold
from foldrun import Failure, Job, Watch, pytorch, weights
from sequence import fasta

# The package's modules import each other from its folder: model, utils, processor, boltz_data_pipeline.
sys.path.append(str(Path(str(simplefold.__file__)).parent))

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

# In the folder of weights.
LANGUAGE, DICTIONARY = "esm2_t36_3B_UR50D.pt", "ccd.pkl"
# The confidence module reads the latents of the 1.6 B model, whichever model folded.
CONFIDENCE, LATENT = "plddt_module_1.6B.ckpt", "simplefold_1.6B"
# How much noise a step adds: the value of the package's README.
TAU = 0.01
NAME = "job"
STEPS = 500


class SimpleFold(foldrun.Runner):
    """SimpleFold in its sizes, from 100M to 3B parameters. It folds single protein chains without an alignment."""

    engine = "simplefold"

    def __init__(self) -> None:
        self.folder = Path()
        self.device = torch.device("cpu")
        self.random = False
        self.shared = False  # the models of load_shared are loaded
        self.model: Any = None
        self.watch = Watch()
        # Set by load_shared.
        self.dictionary: dict[str, Any] = {}
        self.esm: Any = None
        self.alphabet: Any = None
        self.letters: Any = None
        self.latent: Any = None
        self.confidence: Any = None

    def load(self, request: foldrun.Load) -> foldrun.Ready:
        pytorch.prepare(request.threads)
        device = torch.device(request.device)
        files = list(dict.fromkeys([f"{request.model}.ckpt", f"{LATENT}.ckpt", CONFIDENCE, LANGUAGE, DICTIONARY]))
        folder = weights.require(request.model, request.weights_dir, files)
        digest = foldrun.Digest([folder / f for f in files if f != DICTIONARY])
        if (self.folder, self.device) != (folder, device):
            self.shared = False
        self.folder, self.device, self.model = folder, device, None
        if not self.shared:
            self.load_shared()
        self.model = self.latent if request.model == LATENT else self.network(request.model)
        self.random = weights.are_random(folder)
        self.watch = pytorch.watch(device)
        self.watch.attach(self.model, diffusion=self.model)
        return foldrun.Ready(
            engine_version=version("simplefold"),
            weights_sha256=digest.hex(),
            device=pytorch.device_name(device),
            detail={"torch": torch.__version__, "fair-esm": version("fair-esm"), "random_weights": self.random},
        )

    def load_shared(self) -> None:
        """Loads what every size of the model needs, once for all of them."""
        self.dictionary = pickle.loads((self.folder / DICTIONARY).read_bytes())  # the operator's own file
        # The file holds the options of the training too, which weights_only refuses.
        data = torch.load(self.folder / LANGUAGE, map_location="cpu", weights_only=False)
        self.esm, self.alphabet = load_model_and_alphabet_core(Path(LANGUAGE).stem, data)
        self.esm.eval().to(self.device)
        self.letters = _af2_to_esm(self.alphabet).to(self.device)
        for layer in self.esm.layers:
            layer.register_forward_pre_hook(lambda *_: self.watch.check())
        self.latent = self.network(LATENT)
        self.confidence = self.instance("plddt_module", CONFIDENCE)
        self.shared = True

    def network(self, model: str) -> Any:
        """The network of a model, with its weights."""
        return self.instance("foldingdit_" + model.removeprefix("simplefold_"), f"{model}.ckpt")

    def instance(self, config: str, checkpoint: str) -> Any:
        """A network of the package. A configuration of that name in the folder of weights replaces the package's: the
        weights may have another size."""
        source: Any = self.folder / f"{config}.yaml"
        if not source.is_file():
            source = resources.files("simplefold.configs") / "model" / "architecture" / f"{config}.yaml"
        net = hydra.utils.instantiate(omegaconf.OmegaConf.load(source))
        state = torch.load(self.folder / checkpoint, map_location="cpu", weights_only=False)  # as the package does
        net.load_state_dict(state, strict=True)
        return net.eval().to(self.device)

    def predict(self, job: Job) -> foldrun.Result:
        with self.watch.follow(job) as watch:
            return self.fold(job, watch)

    def fold(self, job: Job, watch: Watch) -> foldrun.Result:
        """Draws the samples of a job, ranks them by mean pLDDT and returns the result."""
        watch.say("prepare")
        text, chain = fasta(job.input["sequences"])
        pytorch.seed(job.seed)
        steps, samples = job.integer("samplingSteps", STEPS), job.integer("diffusionSample", 1)
        source = job.path(f"simplefold/{NAME}.fasta")
        source.write_text(text)
        target = parse_fasta(source, self.dictionary)
        batch, processor = self.features(target)
        watch.totals = {"diffusion": steps * samples}
        candidates = [self.sample(batch, processor, steps, watch) for _ in range(samples)]
        candidates.sort(key=lambda c: -c[1].mean().item())
        watch.say("write", 0, samples)
        for rank, (coordinates, plddt) in enumerate(candidates):
            self.write(job, target, batch, coordinates, plddt, rank)
            watch.say("write", rank + 1, samples)
        return self.result(chain, watch, candidates)

    def features(self, target: Any) -> tuple[dict[str, Any], Any]:
        """The model's input on the device with the language model's embedding, and the processor that made it."""
        tokens = BoltzTokenizer().tokenize(Input(target.structure, {}))
        features = BoltzFeaturizer().process(tokens)
        count = torch.tensor(len(tokens.tokens), dtype=torch.long)
        features |= {
            "aa_seq": extract_sequence_from_tokens(tokens),
            "record": target.record,
            "num_repeats": torch.tensor(1),
            "max_num_tokens": count,
            "cropped_num_tokens": count,
        }
        processor = ProteinDataProcessor(
            device=self.device, scale=16.0, ref_scale=5.0, multiplicity=1, inference_multiplicity=1
        )
        batch = processor.preprocess_inference(
            collate([features]), esm_model=self.esm, esm_dict=self.alphabet, af2_to_esm=self.letters
        )
        return batch, processor

    def sample(
        self, batch: dict[str, Any], processor: Any, steps: int, watch: Watch
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """One structure: its coordinates in Å, and its pLDDT from 0 to 100."""
        sampler = EMSampler(num_timesteps=steps, t_start=1e-4, tau=TAU, log_timesteps=True, w_cutoff=0.99)
        drawn = sampler.sample(self.model, LinearPath(), torch.randn_like(batch["coords"]), batch)
        watch.all_is = "confidence"  # the model that folds may also compute the confidence
        watch.say("confidence")
        # The confidence module reads the coordinates before they are scaled to Å.
        latent = self.latent(drawn["denoised_coords"], torch.ones(1, device=self.device), batch)["latent"]
        plddt = self.confidence(latent, batch)["plddt"][0].float().cpu() * 100
        watch.all_is = ""
        return processor.postprocess(drawn, batch)["denoised_coords"][0].float().cpu(), plddt

    def write(
        self,
        job: Job,
        target: Any,
        batch: dict[str, Any],
        coordinates: torch.Tensor,
        plddt: torch.Tensor,
        rank: int,
    ) -> None:
        """Writes one sample as an mmCIF file and its pLDDT per residue as an array. rank 0 is the best."""
        if not torch.isfinite(coordinates).all() or not torch.isfinite(plddt).all():
            raise Failure("output_invalid", "the model gave coordinates or confidences that are not numbers")
        mask, record = batch["atom_pad_mask"][0].cpu(), Record(**asdict(target.record))
        structure = process_structure(deepcopy(target.structure), coordinates, mask, record)
        path = job.path(f"simplefold/{NAME}-{rank}.cif")
        save_structure(structure, path.parent, path.stem, output_format="mmcif", plddts=plddt)
        job.file("structure", path, rank=rank)
        job.array("plddt", plddt, rank=rank)

    def result(self, chain: str, watch: Watch, candidates: list[tuple[torch.Tensor, torch.Tensor]]) -> foldrun.Result:
        """The result of a job's samples: their timings, and mean pLDDT from 0 to 100."""
        out = foldrun.Result(timings=watch.timings())
        if chain != "A":  # the package's name for every chain
            out.chain_map = {"A": chain}
        if self.random:
            out.notes.append(weights.RANDOM_NOTE)
        out.metrics = {"samples": [{"mean_plddt": plddt.mean().item()} for _, plddt in candidates]}
        return out


if __name__ == "__main__":
    foldrun.serve(SimpleFold())
