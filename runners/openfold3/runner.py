"""The runner of OpenFold3. It calls the package's own functions and keeps the model loaded between jobs.

The package's experiment loads the model once. A job is then done as by `run_openfold predict`, without Lightning's
Trainer and its loader processes, which log failures and exit normally: here an exception of the package is a failure of
the job.
"""

import json
import tempfile
import traceback
from importlib.metadata import version
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from openfold3.core.config.config_utils import deep_update
from openfold3.core.config.pocket_sampling_config import PocketSamplingSettings
from openfold3.core.data.framework.data_module import openfold_batch_collator
from openfold3.entry_points.experiment_runner import InferenceExperimentRunner
from openfold3.entry_points.import_utils import _configure_torch_backend, _enable_tf32
from openfold3.entry_points.parameters import DEFAULT_CHECKPOINT_NAME, OPENFOLD_MODEL_CHECKPOINT_REGISTRY
from openfold3.entry_points.validator import InferenceExperimentConfig
from openfold3.projects.of3_all_atom.config.inference_query_format import InferenceQuerySet
from pytorch_lightning import seed_everything

import chemistry
import document
import foldrun
import outcome
import template
from features import NotFeaturised, Shapeless, features
from foldrun import Failure, Job, Watch, invalid, pytorch, unsupported, weights
from foldrun.document import aligned_rows

CHECKPOINT = OPENFOLD_MODEL_CHECKPOINT_REGISTRY[DEFAULT_CHECKPOINT_NAME].file_name
# Next to a checkpoint of another size: the package's model_update.custom, its difference to the released model.
UPDATE = "model_update.json"
NAME = "job"
# With fewer tokens the package cannot make an atom's frame.
MIN_TOKENS = 3


class OpenFold3(foldrun.Runner):
    """OpenFold3 of its package, with one model that is always loaded."""

    engine = "openfold3"

    def __init__(self) -> None:
        self.device = torch.device("cpu")
        self.random = False
        self.scratch: tempfile.TemporaryDirectory[str] | None = None
        self.experiment: Any = None
        self.module: Any = None
        self.parts: Any = None
        self.settings: Any = None
        self.watch = Watch()

    def load(self, request: foldrun.Load) -> foldrun.Ready:
        folder = weights.require(request.model, request.weights_dir, [CHECKPOINT])
        pytorch.prepare(request.threads)
        _configure_torch_backend()
        _enable_tf32()
        self.device = torch.device(request.device)
        self.random = weights.are_random(folder)
        digest = foldrun.Digest([folder / CHECKPOINT])
        self.scratch = tempfile.TemporaryDirectory(prefix="openfold3-")
        scratch = Path(self.scratch.name)
        self.experiment = InferenceExperimentRunner(
            self.config(folder, scratch), use_msa_server=False, use_templates=False, output_dir=scratch
        )
        try:
            self.experiment.setup()
        except (ValueError, KeyError, EOFError, UnpicklingError) as e:
            message = f"{CHECKPOINT} is damaged, or belongs to another model than this version's"
            raise Failure("load_failed", message, detail=traceback.format_exc()) from e
        self.module = self.experiment.lightning_module.eval().to(self.device)
        model = self.module.model
        self.parts = Parts(model.sample_diffusion)
        self.watch = pytorch.watch(self.device)
        self.watch.attach(
            model, trunk=model.pairformer_stack, diffusion=model.diffusion_module, confidence=model.aux_heads
        )
        self.settings = Settings(model)
        return foldrun.Ready(
            engine_version=version("openfold3"),
            weights_sha256=digest.hex(),
            device=pytorch.device_name(self.device),
            mem=pytorch.device_memory(self.device),
            detail={"torch": torch.__version__, "random_weights": self.random},
        )

    def config(self, folder: Path, scratch: Path) -> InferenceExperimentConfig:
        """The configuration of the package: its preset for predictions, with the changes of the weights' folder."""
        # The package's default uses kernels that only a GPU has.
        gpu = self.device.type == "cuda"
        update = {"settings": {"memory": {"eval": {"use_triton_triangle_kernels": gpu}}}}
        if (folder / UPDATE).exists():
            update = deep_update(json.loads((folder / UPDATE).read_text()), update)
        return InferenceExperimentConfig(
            inference_ckpt_path=folder / CHECKPOINT,
            cache_path=scratch,
            pl_trainer_args={"accelerator": "gpu" if gpu else "cpu"},
            model_update={"presets": ["predict"], "custom": update},
        )

    def predict(self, job: Job) -> foldrun.Result:
        with self.watch.follow(job):
            try:
                return Prediction(self, job).run()
            except NotFeaturised as e:
                raise failed(e.__cause__ or e, str(job.workdir)) from e

    def close(self) -> None:
        """Removes the folder for the package's temporary files."""
        if self.scratch is not None:
            self.scratch.cleanup()


class Settings:
    """The part of the package's configuration that a job may change."""

    def __init__(self, model: Any) -> None:
        self.model, self.shared, self.eval = model, model.shared, model.settings.memory.eval
        self.offload = self.eval.offload_inference.copy_and_resolve_references()
        self.token_cutoff = model.aux_heads.per_sample_token_cutoff
        self.atom_cutoff = self.eval.per_sample_atom_cutoff

    def use(self, recycles: int, steps: int, samples: int, scale: float, low_memory: bool) -> None:
        """low_memory: as the package's preset low_mem."""
        self.shared.num_recycles = recycles
        self.shared.diffusion.no_full_rollout_steps = steps
        self.shared.diffusion.no_full_rollout_samples = samples
        self.model.sample_diffusion.step_scale = scale
        modules = {"template_module": True, "msa_module": True, "confidence_heads": True, "token_cutoff": 0}
        self.eval.offload_inference.update(modules if low_memory else self.offload)
        self.eval.per_sample_atom_cutoff = 0 if low_memory else self.atom_cutoff
        self.model.aux_heads.per_sample_token_cutoff = 0 if low_memory else self.token_cutoff


class Parts:
    """Makes the diffusion draw its samples in parts of at most `most`. The package draws all at once."""

    def __init__(self, sampler: Any) -> None:
        self.most, self.whole = 0, sampler.forward  # 0: all at once
        sampler.forward = self.forward

    def forward(self, *args: Any, no_rollout_samples: int, **kwargs: Any) -> torch.Tensor:
        """The sampler's forward in parts. Returns coordinates of all samples, joined along dimension 1."""
        most = self.most or no_rollout_samples
        sizes = [min(most, no_rollout_samples - k) for k in range(0, no_rollout_samples, most)]
        return torch.cat([self.whole(*args, no_rollout_samples=n, **kwargs) for n in sizes], dim=1)


class Prediction:
    """One job, from the request to its files."""

    def __init__(self, runner: OpenFold3, job: Job) -> None:
        self.runner, self.job, self.watch = runner, job, runner.watch
        self.watch.say("prepare")
        self.doc = self.document()
        self.templates = self.read_templates()

    def number(self, name: str, default: float) -> Any:
        """A parameter of the job, or its default where the job has none."""
        value = self.job.params.get(name)
        return default if value is None else value

    def run(self) -> foldrun.Result:
        """Draws the samples of every seed, ranks them and returns the result."""
        job, watch = self.job, self.watch
        seeds = int(self.number("numModelSeeds", 1))
        self.configure(seeds)
        drawn: list[outcome.Sample] = []
        layout = None
        for n in range(seeds):
            seed = (job.seed + n) % 2**32
            sample = self.features(seed)
            layout = self.layout(sample)
            if n == 0:
                job.log(f"{layout.count} tokens, {len(layout.atoms)} atoms in {len(layout.chains)} chains")
            drawn += self.infer(sample, seed, layout)
        if layout is None:
            raise Failure("invalid_input", f"numModelSeeds is {seeds}; it is 1 or more")
        watch.enter("write")
        result = outcome.result(job, layout, self.doc, drawn)
        watch.say("write", 1, 1)
        result.timings = watch.timings()
        if self.runner.random:
            result.notes.insert(0, weights.RANDOM_NOTE)
        return result

    def configure(self, seeds: int) -> None:
        """Applies the job's parameters to the model, and tells the watch how many units each stage has."""
        job = self.job
        recycles, steps = int(self.number("recyclingSteps", 3)), int(self.number("samplingSteps", 200))
        samples = int(self.number("diffusionSample", 5))
        scale = float(self.number("stepScale", 1.5))
        self.runner.parts.most = job.parallel
        self.runner.settings.use(recycles, steps, samples, scale, low_memory=job.parallel == 1)
        parts = -(-samples // job.parallel) if job.parallel else 1
        repeated = steps - refined_from(steps) if "pocket_constraint" in self.doc.query else 0
        self.watch.totals = {
            "trunk": (recycles + 1) * seeds,
            "diffusion": (steps + repeated) * parts * seeds,
            "confidence": seeds,
        }

    def layout(self, sample: dict[str, Any]) -> outcome.Layout:
        """The layout of the model's input, checked against the job."""
        layout = outcome.Layout(sample["atom_array"])
        outcome.check(layout, self.job.input["sequences"], self.doc)
        if layout.count < MIN_TOKENS:
            raise unsupported(
                f"OpenFold3 takes {MIN_TOKENS} tokens or more, which are residues, and atoms of ligands; "
                f"the number in this job is {layout.count}"
            )
        return layout

    def document(self) -> document.Document:
        """The input document of the job. Its alignments are written, and its ligands are checked."""
        alignments = {}
        for i, s in enumerate(self.job.input["sequences"]):
            found = aligned_rows(self.job, i) if s["kind"] == "protein" else None
            if found is not None:
                alignments[i] = found
        doc = document.build(self.job.input, alignments, str(self.job.workdir / "openfold3"))
        chemistry.check(self.job.input["sequences"])
        for name, text in doc.alignments.items():
            self.job.path(f"openfold3/{name}").write_text(text)
        return doc

    def read_templates(self) -> dict[str, list[Any]]:
        """The residues of the job's templates that the model can read, by the chain in the package's files."""
        out: dict[str, list[Any]] = {}
        for t in self.job.templates():
            atoms, incomplete = template.residues(t.path)
            if len(atoms) == 0:
                raise invalid(
                    f"a template of chain {t.chain} has no residue with N, CA, C and CB, which OpenFold3 reads"
                )
            if incomplete:
                self.job.log(f"chain {t.chain}: {incomplete} residues of a template lack N, CA, C or CB: not used")
            out.setdefault(self.doc.names[t.chain], []).append(atoms)
        return out

    def features(self, seed: int) -> dict[str, Any]:
        """The model's input. Conformers depend on the seed."""
        self.watch.enter("prepare")
        seed_everything(seed, verbose=False)
        query_set = InferenceQuerySet.model_validate({"seeds": [seed], "queries": {NAME: self.doc.query}})

        def report(done: int, total: int) -> None:
            self.watch.say("prepare", done, total)

        return features(self.runner.experiment, query_set, self.doc.entities, self.templates, report)

    def infer(self, sample: dict[str, Any], seed: int, layout: outcome.Layout) -> list[outcome.Sample]:
        """The samples of one seed."""
        module = self.runner.module
        seed_everything(seed, verbose=False)
        with torch.inference_mode():
            batch = module.transfer_batch_to_device(openfold_batch_collator([sample]), self.runner.device, 0)
            batch, outputs = module(batch)
            scores = module._compute_confidence_scores(batch, outputs)
        return outcome.samples(outputs["atom_positions_predicted"], scores, seed, layout)


def refined_from(steps: int) -> int:
    """The step from which the package repeats the diffusion for a pocket constraint."""
    return max(0, min(steps - 1, round(PocketSamplingSettings().noise_frac * steps)))


def failed(cause: BaseException, folder: str) -> Failure:
    """The failure of an exception while the package reads a query: invalid input, or a fault of the package."""
    text = str(cause) if isinstance(cause, Shapeless) else f"{type(cause).__name__}: {cause}".replace(folder, "")
    code = "invalid_input" if isinstance(cause, (ValueError, KeyError, AssertionError)) else "internal"
    return Failure(code, f"OpenFold3 cannot read this job: {text}", detail="".join(traceback.format_exception(cause)))


if __name__ == "__main__":
    foldrun.serve(OpenFold3())
