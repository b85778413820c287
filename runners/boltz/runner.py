"""The runner of Boltz-2 and Boltz-1: the package's own functions, with the model kept loaded between jobs.

It does what `boltz predict` does, step by step, less the command line and Lightning's Trainer, which moves the weights off the
device after every job. What the command line prints and passes over is a failure here.
"""

import gc
import json
import sys
import tarfile
import traceback
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import foldrun
import torch
from pytorch_lightning import seed_everything
from rdkit import Chem
from rdkit.Chem import AllChem, Descriptors

import boltz.main as package
import chemistry
import document
import outcome
from boltz.data.module.inference import BoltzInferenceDataModule
from boltz.data.module.inference import PredictionDataset as Dataset1
from boltz.data.module.inference import collate as collate1
from boltz.data.module.inferencev2 import Boltz2InferenceDataModule
from boltz.data.module.inferencev2 import PredictionDataset as Dataset2
from boltz.data.module.inferencev2 import collate as collate2
from boltz.data.types import Manifest
from boltz.data.write.writer import BoltzAffinityWriter, BoltzWriter
from boltz.model.models.boltz1 import Boltz1
from boltz.model.models.boltz2 import Boltz2
from document import Refused
from foldrun import Failure, Watch
from foldrun.alignment import Broken, rows, table

FILES = {"boltz-2": ["boltz2_conf.ckpt", "boltz2_aff.ckpt"], "boltz": ["boltz1_conf.ckpt", "ccd.pkl"]}
# Samples at once where the service sets no bound; the package's own default.
PARALLEL = 5
# A cache of random weights has this file, so that no result of it passes for a prediction.
RANDOM = "RANDOM_WEIGHTS"
NAME = "job"
# What the package raises on a job that it cannot take. Anything else is a fault of the installation, not of the job.
REFUSALS = (ValueError, KeyError, AssertionError)
# The package reaches Descriptors through AllChem, which has it only where other modules were imported before.
AllChem.Descriptors = Descriptors


class Boltz(foldrun.Runner):
    engine = "boltz"

    def __init__(self):
        self.name, self.model, self.affinity, self.random = "", None, None, False

    def load(self, request):
        torch.set_grad_enabled(False)
        torch.set_float32_matmul_precision("highest")
        if request.threads:
            torch.set_num_threads(request.threads)
        Chem.SetDefaultPickleProperties(Chem.PropertyPickleOptions.AllProps)
        self.name, self.cache, self.device = request.model, request.weights_dir, torch.device(request.device)
        self.model = self.affinity = None
        self.find_weights()
        digest = foldrun.Digest([self.cache / f for f in FILES[self.name] if f.endswith(".ckpt")])
        self.watch = Watch(torch.cuda.synchronize if self.device.type == "cuda" else lambda: None)
        self.dictionary = chemistry.Dictionary(self.cache, folder=self.name == "boltz-2")
        self.model = self.checkpoint(FILES[self.name][0], {})
        detail = {"torch": torch.__version__, "random_weights": self.random}
        return foldrun.Ready(version("boltz"), digest.hex(), self.device_name(), self.memory(), detail)

    def find_weights(self):
        """Refuses a cache in which something is missing: the package would fetch it from the network."""
        if self.cache is None or not self.cache.is_dir():
            raise Failure("weights_missing", f"the model {self.name} has no folder of weights")
        if self.name == "boltz-2" and not (self.cache / "mols").is_dir() and (self.cache / "mols.tar").is_file():
            with tarfile.open(self.cache / "mols.tar") as tar:
                tar.extractall(self.cache, filter="data")
        wanted = FILES[self.name] + (["mols"] if self.name == "boltz-2" else [])
        missing = [f for f in wanted if not (self.cache / f).exists()]
        if missing:
            raise Failure("weights_missing", f"the weights of {self.name} are not complete: {', '.join(missing)} is missing")
        self.random = (self.cache / RANDOM).exists()

    def checkpoint(self, file: str, more: dict):
        """A model of the package, as its command line loads it, on the device and hooked."""
        two = self.name == "boltz-2"
        steering = package.BoltzSteeringParams()
        steering.fk_steering = steering.physical_guidance_update = False
        args = {
            "predict_args": {}, "map_location": "cpu", "ema": False, "steering_args": asdict(steering),
            "diffusion_process_args": asdict(package.Boltz2DiffusionParams() if two else package.BoltzDiffusionParams()),
            "pairformer_args": asdict(package.PairformerArgsV2() if two else package.PairformerArgs()),
            "msa_args": asdict(package.MSAModuleArgs(subsample_msa=False, use_paired_feature=two)),
            "use_kernels": kernels(self.device),
        }  # fmt: skip
        model = (Boltz2 if two else Boltz1).load_from_checkpoint(self.cache / file, strict=True, **{**args, **more})
        model.eval()
        model.setup("predict")
        model.to(self.device)
        self.watch.attach(model, trunk=model.pairformer_module, diffusion=model.structure_module.score_model, confidence=model.confidence_module)
        return model

    def affinity_model(self):
        """The second model of Boltz-2, loaded when the first job asks for it and kept."""
        if self.affinity is None:
            steering = package.BoltzSteeringParams()
            steering.fk_steering = steering.physical_guidance_update = steering.contact_guidance_update = False
            self.affinity = self.checkpoint(FILES[self.name][1], {"steering_args": asdict(steering), "use_kernels": False})
        return self.affinity

    def predict(self, job):
        if job.kind != "fold":
            raise Failure("unsupported", f"{self.name} folds; it does no {job.kind}")
        with self.watch.follow(job) as watch:
            try:
                return Prediction(self, job, watch).run()
            except Refused as e:
                raise Failure(e.code, e.message) from None
            except (RuntimeError, MemoryError) as e:
                if not short_of_memory(e):
                    raise
                self.free()
                raise Failure("oom", "the device has not enough memory for this job") from e

    def free(self):
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def device_name(self) -> str:
        return torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "cpu"

    def memory(self) -> dict:
        if self.device.type != "cuda":
            return {}
        unused, total = torch.cuda.mem_get_info(self.device)
        return {"device_used": total - unused, "device_total": total}


class Prediction:
    """One job, from the request to its files."""

    def __init__(self, runner: Boltz, job, watch: Watch):
        self.runner, self.job, self.watch = runner, job, watch
        self.two = runner.name == "boltz-2"
        self.params = job.params
        self.samples = int(self.params.get("diffusionSample") or 1)
        self.out = job.workdir / "boltz"

    def run(self) -> foldrun.Result:
        self.watch.say("prepare")
        seed_everything(self.job.seed, verbose=False)
        self.doc = self.document()
        self.process()
        self.batch = self.features(affinity=False)
        prediction = self.fold()
        self.watch.enter("write")
        self.write(prediction)
        del prediction
        scores = outcome.scores(self.predictions, NAME, self.structure.chain_names)
        if self.doc.affinity:
            scores.affinity = self.predict_affinity()
        self.watch.say("write", 1, 2)
        result = outcome.hand_in(self.job, self.predictions, NAME, self.structure, self.doc, scores, self.samples)
        self.watch.say("write", 2, 2)
        self.watch.enter("")
        result.timings = {k: round(v, 4) for k, v in self.watch.seconds.items()}
        if self.runner.random:
            result.notes.insert(0, "The weights of this model are random: the structure and every score are meaningless, and show only that the service works.")
        return result

    @property
    def predictions(self) -> Path:
        return self.out / "predictions" / NAME

    def document(self):
        alignments = {}
        for i, s in enumerate(self.job.input["sequences"]):
            unpaired, paired = self.job.input_file("msa", i), self.job.input_file("msa_paired", i)
            if s["kind"] != "protein" or not (unpaired or paired):
                continue
            try:
                whole = rows(unpaired.read_text("utf-8", "replace"), s["sequence"]) if unpaired else []
                matched = rows(paired.read_text("utf-8", "replace"), s["sequence"]) if paired else []
            except Broken as e:
                raise document.invalid(f"the alignment of sequences[{i}] cannot be used: {e}") from None
            path = self.job.path(f"boltz/alignment-{i}.csv")
            path.write_text(table(whole, matched))
            alignments[i] = str(path)
        doc = document.build(self.job.input, self.runner.name, alignments)
        chemistry.check(doc, self.runner.dictionary)
        return doc

    def process(self):
        """The package's own reading of the document. It prints its failures and goes on; here they end the job."""
        path = self.job.path(f"boltz/{NAME}.yaml")
        path.write_text(json.dumps(self.doc.content))
        with swallowed() as failures, seeded_conformers(self.job.seed):
            package.process_inputs(
                data=[path], out_dir=self.out, ccd_path=self.runner.cache / "ccd.pkl", mol_dir=self.runner.cache / "mols",
                msa_server_url="", msa_pairing_strategy="greedy", use_msa_server=False, boltz2=self.two, preprocessing_threads=1,
            )  # fmt: skip
        self.job.check()
        processed = self.out / "processed"
        self.manifest = Manifest.load(processed / "manifest.json") if (processed / "manifest.json").exists() else Manifest([])
        if not self.manifest.records:
            raise failed(failures[0] if failures else None, "Boltz cannot read this job", self.job.workdir)
        self.structure = outcome.Layout(processed / "structures" / f"{NAME}.npz", self.manifest.records[0], per_atom=not self.two)
        self.job.log(f"{self.structure.tokens} tokens, {self.structure.atoms} atoms in {len(self.structure.chain_names)} chains")

    def features(self, affinity: bool) -> dict:
        """The model's input, on the device."""
        processed = self.out / "processed"
        common = {"manifest": self.manifest, "msa_dir": processed / "msa", "constraints_dir": processed / "constraints"}
        if not self.two:
            data = once(Dataset1)(target_dir=processed / "structures", **common)
            module, collate = BoltzInferenceDataModule, collate1
        else:
            data = once(Dataset2)(
                target_dir=self.out / "predictions" if affinity else processed / "structures", mol_dir=self.runner.cache / "mols",
                extra_mols_dir=processed / "mols", override_method="other" if affinity else None, affinity=affinity, **common,
            )  # fmt: skip
            module, collate = Boltz2InferenceDataModule, collate2
        return module.transfer_batch_to_device(None, collate([data[0]]), self.runner.device, 0)

    def fold(self) -> dict:
        p, recycling, steps = self.params, int(self.params.get("recyclingSteps") or 3), int(self.params.get("samplingSteps") or 200)
        most = self.job.parallel or PARALLEL
        value = document.parallel(self.samples, most)
        model = self.runner.model
        model.predict_args = {
            "recycling_steps": recycling, "sampling_steps": steps, "diffusion_samples": self.samples, "max_parallel_samples": value,
            "write_confidence_summary": True, "write_full_pae": True, "write_full_pde": False,
        }  # fmt: skip
        model.structure_module.step_scale = float(p["stepScale"] if p.get("stepScale") is not None else 1.5 if self.two else 1.638)
        parts = min(self.samples % value + 1, self.samples) if self.two else 1
        self.watch.totals = {"trunk": recycling + 1, "diffusion": steps * parts}
        return self.step(model, self.batch)

    def step(self, model, batch) -> dict:
        # As the command line does: without any bookkeeping for gradients, Boltz-2 in mixed precision and Boltz-1 in single.
        with torch.inference_mode(), torch.autocast(self.runner.device.type, torch.bfloat16, enabled=self.two):
            prediction = model.predict_step(batch, 0)
        if prediction["exception"]:
            raise MemoryError("the package ran out of memory and skipped the job")
        if "coords" in prediction and not torch.isfinite(prediction["coords"]).all():
            raise Failure("output_invalid", "the model gave coordinates that are not numbers")
        return prediction

    def write(self, prediction: dict):
        writer = BoltzWriter(self.out / "processed" / "structures", self.out / "predictions", "mmcif", boltz2=self.two)
        writer.write_on_batch_end(None, self.runner.model, prediction, [0], self.batch, 0, 0)
        if writer.failed:
            raise Failure("output_invalid", "Boltz wrote no structure")

    def predict_affinity(self) -> dict:
        p, watch = self.params, self.watch
        watch.all_is = "affinity"
        steps, samples = int(p.get("samplingStepsAffinity") or 200), int(p.get("diffusionSamplesAffinity") or 5)
        watch.say("affinity")
        model = self.runner.affinity_model()
        # The command line sets 1, which computes all samples at once.
        value = document.parallel(samples, self.job.parallel) if self.job.parallel else 1
        watch.totals["affinity"] = 5 + 1 + steps * min(samples % value + 1, samples) + 1
        model.predict_args = {
            "recycling_steps": 5, "sampling_steps": steps, "diffusion_samples": samples, "max_parallel_samples": value,
            "write_confidence_summary": False, "write_full_pae": False, "write_full_pde": False,
        }  # fmt: skip
        model.affinity_mw_correction = bool(p.get("affinityMwCorrection"))
        model.structure_module.step_scale = self.runner.model.structure_module.step_scale
        seed_everything(self.job.seed, verbose=False)
        batch = self.features(affinity=True)
        prediction = self.step(model, batch)
        writer = BoltzAffinityWriter(self.out / "processed" / "structures", self.out / "predictions")
        writer.write_on_batch_end(None, model, prediction, [0], batch, 0, 0)
        watch.all_is = ""
        return outcome.affinity(self.predictions, NAME)


def once(dataset):
    """A dataset of the package that reads its item once. The package's own asks for item 0 again when an item fails, for ever where
    there is one."""

    class Once(dataset):
        def __getitem__(self, index):
            if getattr(self, "asked", False):
                # Raised in the package's handler, so the failure itself is this one's context.
                raise NotFeaturised("Boltz could not make the model's input of this job")
            self.asked = True
            try:
                return super().__getitem__(index)
            except NotFeaturised as e:
                cause = e.__context__
                while isinstance(cause, NotFeaturised):
                    cause = cause.__context__
                raise failed(cause, str(e)) from cause

    return Once


def failed(cause: "BaseException | None", what: str, folder="") -> Failure:
    """The failure that an exception of the package means, as the owner may read it."""
    if cause is None:
        return Failure("internal", f"{what}; it gave no reason")
    if short_of_memory(cause):
        return Failure("oom", "the device has not enough memory for this job")
    reason = f"{type(cause).__name__}: {cause}"
    if folder:
        reason = reason.replace(str(folder), "")
    return Failure("invalid_input" if isinstance(cause, REFUSALS) else "internal", f"{what}: {reason}", detail="".join(traceback.format_exception(cause)))


class NotFeaturised(Exception):
    """The package's tokeniser, cropper or featuriser failed."""


@contextmanager
def swallowed():
    """The exceptions that the package catches and prints while it reads a document."""
    found, original = [], traceback.print_exc

    def keep(*args, **kwargs):
        if sys.exc_info()[1] is not None:
            found.append(sys.exc_info()[1])
        original(*args, **kwargs)

    traceback.print_exc = keep
    try:
        yield found
    finally:
        traceback.print_exc = original


@contextmanager
def seeded_conformers(seed: int):
    """Has RDKit draw a ligand's starting conformer from the job's seed. Unseeded, it depends on the jobs before."""
    original = AllChem.EmbedMolecule

    def embed(mol, options):
        options.randomSeed = seed & 0x7FFFFFFF
        return original(mol, options)

    AllChem.EmbedMolecule = embed
    try:
        yield
    finally:
        AllChem.EmbedMolecule = original


def short_of_memory(e: BaseException) -> bool:
    text = str(e).lower()
    return isinstance(e, MemoryError) or "out of memory" in text or "can't allocate memory" in text


def kernels(device) -> bool:
    """Whether the fused kernels are installed; the model itself asks for compute capability 8."""
    if device.type != "cuda":
        return False
    try:
        import cuequivariance_torch  # noqa: F401
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    foldrun.serve(Boltz())
