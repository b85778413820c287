"""The runner of Boltz-2 and Boltz-1. It calls the package's own functions and keeps the model loaded between jobs.

It does what `boltz predict` does, step by step, without the command line and without Lightning's Trainer, which moves
the weights off the device after every job. Errors that the command line prints and ignores are failures here.
"""

import json
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import boltz.main as package
import torch
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
from pytorch_lightning import seed_everything
from rdkit import Chem
from rdkit.Chem import AllChem, Descriptors

import chemistry
import document
import foldrun
import outcome
from foldrun import Failure, Job, Watch, pytorch, unsupported, weights
from foldrun.chemistry import seeded_conformers
from foldrun.document import alignment_tables
from foldrun.serve import OUT_OF_MEMORY, classify

FILES = {"boltz-2": ["boltz2_conf.ckpt", "boltz2_aff.ckpt"], "boltz": ["boltz1_conf.ckpt", "ccd.pkl"]}
# Samples at once where the service sets no limit: the package's default.
PARALLEL = 5
NAME = "job"
# The exceptions of the package for a job that it cannot run. Any other exception is a fault of the installation.
REFUSALS = (ValueError, KeyError, AssertionError)
# The package uses AllChem.Descriptors, which exists only after other modules were imported.
AllChem.Descriptors = Descriptors


class Boltz(foldrun.Runner):
    """Boltz-1 and Boltz-2. One of them is loaded at a time, and the model for affinities when a job asks for one."""

    engine = "boltz"

    def __init__(self) -> None:
        self.name = ""  # boltz-2 or boltz
        self.cache = Path()
        self.device = torch.device("cpu")
        self.model: Any = None
        self.affinity: Any = None  # the second model of Boltz-2, once a job has needed it
        self.random = False
        self.watch = Watch()
        self.dictionary: Any = None

    def load(self, request: foldrun.Load) -> foldrun.Ready:
        pytorch.prepare(request.threads)
        torch.set_float32_matmul_precision("highest")
        Chem.SetDefaultPickleProperties(Chem.PropertyPickleOptions.AllProps)
        self.name, self.device = request.model, torch.device(request.device)
        self.model = self.affinity = None
        self.cache = find_weights(self.name, request.weights_dir)
        self.random = weights.are_random(self.cache)
        digest = foldrun.Digest([self.cache / f for f in FILES[self.name] if f.endswith(".ckpt")])
        self.watch = pytorch.watch(self.device)
        self.dictionary = chemistry.Dictionary(self.cache, folder=self.name == "boltz-2")
        self.model = self.checkpoint(FILES[self.name][0], {})
        return foldrun.Ready(
            engine_version=version("boltz"),
            weights_sha256=digest.hex(),
            device=pytorch.device_name(self.device),
            mem=pytorch.device_memory(self.device),
            detail={"torch": torch.__version__, "random_weights": self.random},
        )

    def checkpoint(self, file: str, more: dict[str, Any]) -> Any:
        """A model of the package, loaded as its command line does, on the device and with the hooks of the watch."""
        two = self.name == "boltz-2"
        steering = package.BoltzSteeringParams()
        steering.fk_steering = steering.physical_guidance_update = False
        args = {
            "predict_args": {},
            "map_location": "cpu",
            "ema": False,
            "steering_args": asdict(steering),
            "diffusion_process_args": asdict(
                package.Boltz2DiffusionParams() if two else package.BoltzDiffusionParams()
            ),
            "pairformer_args": asdict(package.PairformerArgsV2() if two else package.PairformerArgs()),
            "msa_args": asdict(package.MSAModuleArgs(subsample_msa=False, use_paired_feature=two)),
            "use_kernels": kernels(self.device),
        }
        model = (Boltz2 if two else Boltz1).load_from_checkpoint(self.cache / file, strict=True, **{**args, **more})
        model.eval()
        model.setup("predict")
        model.to(self.device)
        self.watch.attach(
            model,
            trunk=model.pairformer_module,
            diffusion=model.structure_module.score_model,
            confidence=model.confidence_module,
        )
        return model

    def affinity_model(self) -> Any:
        """The second model of Boltz-2. The first job that needs it loads it."""
        if self.affinity is None:
            steering = package.BoltzSteeringParams()
            steering.fk_steering = steering.physical_guidance_update = steering.contact_guidance_update = False
            more = {"steering_args": asdict(steering), "use_kernels": False}
            self.affinity = self.checkpoint(FILES[self.name][1], more)
        return self.affinity

    def predict(self, job: Job) -> foldrun.Result:
        with self.watch.follow(job) as watch:
            return Prediction(self, job, watch).run()


class Prediction:
    """One job, from the request to its files."""

    def __init__(self, runner: Boltz, job: Job, watch: Watch) -> None:
        self.runner, self.job, self.watch = runner, job, watch
        self.two = runner.name == "boltz-2"
        self.params = job.params
        self.samples = job.integer("diffusionSample", 1)
        self.out = job.workdir / "boltz"
        self.predictions = self.out / "predictions" / NAME
        self.dictionary = self.extended_dictionary()
        self.doc = self.document()
        # Set by process and features.
        self.manifest: Any = None
        self.structure: Any = None
        self.batch: dict[str, Any] = {}

    def run(self) -> foldrun.Result:
        """Runs the steps of the job and returns its result."""
        seed_everything(self.job.seed, verbose=False)
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
        result = outcome.result(self.job, self.predictions, NAME, self.structure, self.doc, scores, self.samples)
        self.watch.say("write", 2, 2)
        result.timings = self.watch.timings()
        if self.runner.random:
            result.notes.insert(0, weights.RANDOM_NOTE)
        return result

    def document(self) -> document.Document:
        """The input document of the job. Its alignments are written, and its ligands are checked."""
        self.watch.say("prepare")
        tables = alignment_tables(self.job, "boltz")
        doc = document.build(self.job.input, self.runner.name, tables, self.job.templates())
        chemistry.check(self.job.input["sequences"], doc, self.dictionary)
        return doc

    def extended_dictionary(self) -> chemistry.Dictionary:
        """The chemical dictionary, with the components of the job's own if it has any."""
        given, sequences = self.job.components(), self.job.input["sequences"]
        if given and not self.two:
            raise unsupported(f"constraints.components is not taken by the model {self.runner.name}; boltz-2 does")
        own = chemistry.without_hydrogens(sequences, self.runner.dictionary)
        own |= chemistry.components(given, self.job.seed)
        if not own:
            return self.runner.dictionary
        codes = chemistry.codes(sequences)
        return self.runner.dictionary.extended(own, codes, self.job.workdir / "components")

    def process(self) -> None:
        """Lets the package read the document. It prints its failures and continues; here they end the job."""
        path = self.job.path(f"boltz/{NAME}.yaml")
        path.write_text(json.dumps(self.doc.content))
        with swallowed() as failures, seeded_conformers(self.job.seed):
            package.process_inputs(
                data=[path],
                out_dir=self.out,
                ccd_path=self.runner.cache / "ccd.pkl",
                mol_dir=self.dictionary.mols,
                msa_server_url="",
                msa_pairing_strategy="greedy",
                use_msa_server=False,
                boltz2=self.two,
                preprocessing_threads=1,
            )
        self.job.check()
        processed = self.out / "processed"
        written = (processed / "manifest.json").exists()
        self.manifest = Manifest.load(processed / "manifest.json") if written else Manifest([])
        if not self.manifest.records:
            raise failed(failures[0] if failures else None, "Boltz cannot read this job", str(self.job.workdir))
        structure = outcome.Layout(
            processed / "structures" / f"{NAME}.npz", self.manifest.records[0], per_atom=not self.two
        )
        self.structure = structure
        self.job.log(f"{structure.tokens} tokens, {structure.atoms} atoms in {len(structure.chain_names)} chains")

    def features(self, affinity: bool) -> dict[str, Any]:
        """The model's input, on the device."""
        processed = self.out / "processed"
        common = {
            "manifest": self.manifest,
            "msa_dir": processed / "msa",
            "constraints_dir": processed / "constraints",
        }
        if not self.two:
            data = once(Dataset1)(target_dir=processed / "structures", **common)
            module, collate = BoltzInferenceDataModule, collate1
        else:
            data = once(Dataset2)(
                target_dir=self.out / "predictions" if affinity else processed / "structures",
                mol_dir=self.dictionary.mols,
                extra_mols_dir=processed / "mols",
                template_dir=None if affinity else processed / "templates",
                override_method="other" if affinity else None,
                affinity=affinity,
                **common,
            )
            module, collate = Boltz2InferenceDataModule, collate2
        return module.transfer_batch_to_device(None, collate([data[0]]), self.runner.device, 0)

    def fold(self) -> dict[str, Any]:
        """Runs the model for all samples. Returns its output with coordinates in Å, of shape (samples, atoms, 3)."""
        recycling, steps = self.job.integer("recyclingSteps", 3), self.job.integer("samplingSteps", 200)
        value = document.parallel(self.samples, self.job.parallel or PARALLEL)
        model = self.runner.model
        model.predict_args = {
            "recycling_steps": recycling,
            "sampling_steps": steps,
            "diffusion_samples": self.samples,
            "max_parallel_samples": value,
            "write_confidence_summary": True,
            "write_full_pae": True,
            "write_full_pde": False,
        }
        scale = self.params.get("stepScale")
        if scale is None:
            scale = 1.5 if self.two else 1.638
        model.structure_module.step_scale = float(scale)
        parts = min(self.samples % value + 1, self.samples) if self.two else 1
        self.watch.totals = {"trunk": recycling + 1, "diffusion": steps * parts}
        return self.step(model, self.batch)

    def step(self, model: Any, batch: dict[str, Any]) -> dict[str, Any]:
        """One prediction of a model. Running out of memory, which the package hides, is an error here."""
        # As the command line does: without gradients, Boltz-2 in mixed precision and Boltz-1 in single precision.
        with torch.inference_mode(), torch.autocast(self.runner.device.type, torch.bfloat16, enabled=self.two):
            prediction = model.predict_step(batch, 0)
        if prediction["exception"]:
            raise MemoryError("the package ran out of memory and skipped the job")
        if "coords" in prediction and not torch.isfinite(prediction["coords"]).all():
            raise Failure("output_invalid", "the model gave coordinates that are not numbers")
        return prediction

    def write(self, prediction: dict[str, Any]) -> None:
        """Writes the samples as mmCIF files and arrays, ranked by the package."""
        structures = self.out / "processed" / "structures"
        writer = BoltzWriter(structures, self.out / "predictions", "mmcif", boltz2=self.two)
        writer.write_on_batch_end(None, self.runner.model, prediction, [0], self.batch, 0, 0)
        if writer.failed:
            raise Failure("output_invalid", "Boltz wrote no structure")

    def predict_affinity(self) -> dict[str, float]:
        """Runs the model for affinities on the best sample and returns its scores."""
        watch = self.watch
        watch.all_is = "affinity"
        steps = self.job.integer("samplingStepsAffinity", 200)
        samples = self.job.integer("diffusionSamplesAffinity", 5)
        watch.say("affinity")
        model = self.runner.affinity_model()
        # The command line sets 1, which computes all samples at once.
        value = document.parallel(samples, self.job.parallel) if self.job.parallel else 1
        watch.totals["affinity"] = 5 + 1 + steps * min(samples % value + 1, samples) + 1
        model.predict_args = {
            "recycling_steps": 5,
            "sampling_steps": steps,
            "diffusion_samples": samples,
            "max_parallel_samples": value,
            "write_confidence_summary": False,
            "write_full_pae": False,
            "write_full_pde": False,
        }
        model.affinity_mw_correction = bool(self.params.get("affinityMwCorrection"))
        model.structure_module.step_scale = self.runner.model.structure_module.step_scale
        seed_everything(self.job.seed, verbose=False)
        batch = self.features(affinity=True)
        prediction = self.step(model, batch)
        writer = BoltzAffinityWriter(self.out / "processed" / "structures", self.out / "predictions")
        writer.write_on_batch_end(None, model, prediction, [0], batch, 0, 0)
        watch.all_is = ""
        return outcome.affinity(self.predictions, NAME)


def find_weights(model: str, folder: Path | None) -> Path:
    """The folder of the weights, with the dictionary that the service has unpacked. Raises Failure where a file is
    missing: the package would download it."""
    return weights.require(model, folder, FILES[model] + (["mols"] if model == "boltz-2" else []))


def once(dataset: Any) -> Any:
    """A dataset of the package that reads its item once. After a failure the package's own asks for item 0 again, which
    never ends where there is only one item."""

    class Once(dataset):
        def __getitem__(self, index: int) -> Any:
            if getattr(self, "asked", False):
                # The package's handler raises this, so that its __context__ is the failure itself.
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


def failed(cause: BaseException | None, what: str, folder: str = "") -> Failure:
    """The failure that an exception of the package means. The folder of the job is removed from its message."""
    if cause is None:
        return Failure("internal", f"{what}; it gave no reason")
    if classify(cause) == "oom":
        return Failure("oom", OUT_OF_MEMORY)
    reason = f"{type(cause).__name__}: {cause}"
    if folder:
        reason = reason.replace(folder, "")
    code = "invalid_input" if isinstance(cause, REFUSALS) else "internal"
    return Failure(code, f"{what}: {reason}", detail="".join(traceback.format_exception(cause)))


class NotFeaturised(Exception):
    """The package's tokeniser, cropper or featuriser failed."""


@contextmanager
def swallowed() -> Iterator[list[BaseException]]:
    """Collects the exceptions that the package catches and prints while it reads a document."""
    found: list[BaseException] = []
    original = traceback.print_exc

    def collect(*args: Any, **kwargs: Any) -> None:
        e = sys.exc_info()[1]
        if e is not None:
            found.append(e)
        original(*args, **kwargs)

    traceback.print_exc = collect
    try:
        yield found
    finally:
        traceback.print_exc = original


def kernels(device: torch.device) -> bool:
    """Whether the fused kernels are installed. The model itself checks for compute capability 8."""
    if device.type != "cuda":
        return False
    try:
        import cuequivariance_torch  # noqa: F401
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    foldrun.serve(Boltz())
