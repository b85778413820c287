"""The runner of OpenFold3: the package's own functions, with the model kept loaded between jobs.

The package's experiment loads the model once. A job then goes the way of `run_openfold predict` less Lightning's Trainer and its
loader processes, which catch what fails, log it and end in good order: here an exception of the package is a failure of the job.
"""

import json
import tempfile
import traceback
from importlib.metadata import version
from pathlib import Path
from pickle import UnpicklingError

import foldrun
import torch
from foldrun import Failure, Watch
from foldrun.alignment import Broken, rows
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
import outcome
from document import Refused
from features import NotFeaturised, Shapeless, features

CHECKPOINT = OPENFOLD_MODEL_CHECKPOINT_REGISTRY[DEFAULT_CHECKPOINT_NAME].file_name
# Beside a checkpoint of another size: the package's model_update.custom, by which its model differs from the released one.
UPDATE = "model_update.json"
# A folder of random weights has this file, so that no result of it passes for a prediction.
RANDOM = "RANDOM_WEIGHTS"
NAME = "job"
# Of fewer tokens the package cannot make an atom's frame.
LEAST = 3


class OpenFold3(foldrun.Runner):
    engine = "openfold3"

    def load(self, request):
        if request.weights_dir is None or not (request.weights_dir / CHECKPOINT).is_file():
            raise Failure("weights_missing", f"the weights of {request.model} are not complete: {CHECKPOINT} is missing")
        torch.set_grad_enabled(False)
        _configure_torch_backend()
        _enable_tf32()
        if request.threads:
            torch.set_num_threads(request.threads)
        self.device, folder = torch.device(request.device), request.weights_dir
        self.random = (folder / RANDOM).exists()
        digest = foldrun.Digest([folder / CHECKPOINT])
        self.scratch = tempfile.TemporaryDirectory(prefix="openfold3-")
        self.experiment = InferenceExperimentRunner(self.config(folder), use_msa_server=False, use_templates=False, output_dir=Path(self.scratch.name))
        try:
            self.experiment.setup()
        except (ValueError, KeyError, EOFError, UnpicklingError) as e:
            raise Failure("load_failed", f"{CHECKPOINT} is damaged, or of another model than this version's", detail=traceback.format_exc()) from e
        self.module = self.experiment.lightning_module.eval().to(self.device)
        model = self.module.model
        self.parts = Parts(model.sample_diffusion)
        self.watch = Watch(torch.cuda.synchronize if self.device.type == "cuda" else lambda: None)
        self.watch.attach(model, trunk=model.pairformer_stack, diffusion=model.diffusion_module, confidence=model.aux_heads)
        self.settings = Settings(model)
        detail = {"torch": torch.__version__, "random_weights": self.random}
        return foldrun.Ready(version("openfold3"), digest.hex(), self.device_name(), self.memory(), detail)

    def config(self, folder: Path) -> InferenceExperimentConfig:
        # The package's default takes kernels that only a GPU has.
        update = {"settings": {"memory": {"eval": {"use_triton_triangle_kernels": self.device.type == "cuda"}}}}
        if (folder / UPDATE).exists():
            update = deep_update(json.loads((folder / UPDATE).read_text()), update)
        return InferenceExperimentConfig(
            inference_ckpt_path=folder / CHECKPOINT, cache_path=Path(self.scratch.name),
            pl_trainer_args={"accelerator": "gpu" if self.device.type == "cuda" else "cpu"},
            model_update={"presets": ["predict"], "custom": update},
        )  # fmt: skip

    def predict(self, job):
        with self.watch.follow(job):
            try:
                return Prediction(self, job).run()
            except Refused as e:
                raise Failure(e.code, e.message) from None
            except NotFeaturised as e:
                raise failed(e.__cause__, job.workdir) from e

    def device_name(self) -> str:
        return torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "cpu"

    def memory(self) -> dict:
        if self.device.type != "cuda":
            return {}
        unused, total = torch.cuda.mem_get_info(self.device)
        return {"device_used": total - unused, "device_total": total}

    def close(self):
        if hasattr(self, "scratch"):
            self.scratch.cleanup()


class Settings:
    """What the package reads from its configuration at each job."""

    def __init__(self, model):
        self.model, self.shared, self.eval = model, model.shared, model.settings.memory.eval
        self.whole = {"offload": self.eval.offload_inference.copy_and_resolve_references(), "tokens": model.aux_heads.per_sample_token_cutoff,
                      "atoms": self.eval.per_sample_atom_cutoff}  # fmt: skip

    def use(self, recycles: int, steps: int, samples: int, scale: float, sparing: bool):
        """sparing: as the package's preset low_mem."""
        self.shared.num_recycles = recycles
        self.shared.diffusion.no_full_rollout_steps, self.shared.diffusion.no_full_rollout_samples = steps, samples
        self.model.sample_diffusion.step_scale = scale
        modules = {"template_module": True, "msa_module": True, "confidence_heads": True, "token_cutoff": 0}
        self.eval.offload_inference.update(modules if sparing else self.whole["offload"])
        self.eval.per_sample_atom_cutoff = 0 if sparing else self.whole["atoms"]
        self.model.aux_heads.per_sample_token_cutoff = 0 if sparing else self.whole["tokens"]


class Parts:
    """Has the diffusion draw its samples in parts of so many; the package draws all at once."""

    def __init__(self, sampler):
        self.most, self.whole = 0, sampler.forward  # 0: all at once
        sampler.forward = self.forward

    def forward(self, *args, no_rollout_samples: int, **kwargs):
        most = self.most or no_rollout_samples
        sizes = [min(most, no_rollout_samples - k) for k in range(0, no_rollout_samples, most)]
        return torch.cat([self.whole(*args, no_rollout_samples=n, **kwargs) for n in sizes], dim=1)


class Prediction:
    """One job, from the request to its files."""

    def __init__(self, runner: OpenFold3, job):
        self.runner, self.job, self.watch = runner, job, runner.watch

    def number(self, name: str, default):
        value = self.job.params.get(name)
        return default if value is None else value

    def run(self) -> foldrun.Result:
        job, watch = self.job, self.watch
        watch.say("prepare")
        self.doc = self.document()
        recycles, steps = int(self.number("recyclingSteps", 3)), int(self.number("samplingSteps", 200))
        samples, seeds = int(self.number("diffusionSample", 5)), int(self.number("numModelSeeds", 1))
        self.runner.parts.most = job.parallel
        self.runner.settings.use(recycles, steps, samples, float(self.number("stepScale", 1.5)), sparing=job.parallel == 1)
        parts = -(-samples // job.parallel) if job.parallel else 1
        again = steps - refined_from(steps) if "pocket_constraint" in self.doc.query else 0
        watch.totals = {"trunk": (recycles + 1) * seeds, "diffusion": (steps + again) * parts * seeds, "confidence": seeds}
        found = []
        for n in range(seeds):
            seed = (job.seed + n) % 2**32
            sample = self.features(seed)
            layout = outcome.Layout(sample["atom_array"])
            outcome.check(layout, job.input["sequences"], self.doc)
            if layout.count < LEAST:
                said = f"OpenFold3 takes {LEAST} tokens or more, which are residues, and atoms of ligands; the number in this job is {layout.count}"
                raise document.unsupported(said)
            if n == 0:
                job.log(f"{layout.count} tokens, {len(layout.atoms)} atoms in {len(layout.chains)} chains")
            found += self.infer(sample, seed, layout)
        watch.enter("write")
        result = outcome.hand_in(job, layout, self.doc, found)
        watch.say("write", 1, 1)
        watch.enter("")
        result.timings = {k: round(v, 4) for k, v in watch.seconds.items()}
        if self.runner.random:
            result.notes.insert(0, "The weights of this model are random: the structure and every score are meaningless, and show only that the service works.")
        return result

    def document(self):
        alignments = {}
        for i, s in enumerate(self.job.input["sequences"]):
            files = [self.job.input_file(kind, i) for kind in ("msa", "msa_paired")]
            if s["kind"] != "protein" or not any(files):
                continue
            try:
                alignments[i] = tuple(rows(f.read_text("utf-8", "replace"), s["sequence"]) if f else [] for f in files)
            except Broken as e:
                raise document.invalid(f"the alignment of sequences[{i}] cannot be used: {e}") from None
        doc = document.build(self.job.input, alignments, str(self.job.workdir / "openfold3"))
        chemistry.check(self.job.input["sequences"])
        for name, text in doc.alignments.items():
            self.job.path(f"openfold3/{name}").write_text(text)
        return doc

    def features(self, seed: int) -> dict:
        """The model's input. First conformers are drawn at random."""
        self.watch.enter("prepare")
        seed_everything(seed, verbose=False)
        query_set = InferenceQuerySet.model_validate({"seeds": [seed], "queries": {NAME: self.doc.query}})
        return features(self.runner.experiment, query_set, self.doc.entities, lambda done, total: self.watch.say("prepare", done, total))

    def infer(self, sample: dict, seed: int, layout) -> list:
        """The structures that are drawn for one seed."""
        module = self.runner.module
        seed_everything(seed, verbose=False)
        with torch.inference_mode():
            batch = module.transfer_batch_to_device(openfold_batch_collator([sample]), self.runner.device, 0)
            batch, outputs = module(batch)
            scores = module._compute_confidence_scores(batch, outputs)
        return outcome.samples(outputs["atom_positions_predicted"], scores, seed, layout)


def refined_from(steps: int) -> int:
    """The step from which the package draws a second time where a pocket is asked for."""
    return max(0, min(steps - 1, round(PocketSamplingSettings().noise_frac * steps)))


def failed(cause: BaseException, folder) -> Failure:
    """The failure that an exception of the package means while it reads a query: what it cannot make of a job, or its own fault."""
    text = str(cause) if isinstance(cause, Shapeless) else f"{type(cause).__name__}: {cause}".replace(str(folder), "")
    code = "invalid_input" if isinstance(cause, (ValueError, KeyError, AssertionError)) else "internal"
    return Failure(code, f"OpenFold3 cannot read this job: {text}", detail="".join(traceback.format_exception(cause)))


if __name__ == "__main__":
    foldrun.serve(OpenFold3())
