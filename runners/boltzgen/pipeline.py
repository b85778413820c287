"""The package's own steps in this process, one after the other, with a seed, progress and a way to stop."""

import argparse
import copy
import inspect
import json
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any

import boltzgen.cli.boltzgen as cli
import boltzgen.task.filter.filter as filtering
import boltzgen.task.predict.predict as predict
import hydra
import numpy as np
import omegaconf
import torch
import yaml
from boltzgen.data import const
from boltzgen.data.data import Structure
from boltzgen.data.write.mmcif import to_mmcif
from boltzgen.task.analyze.analyze_utils import get_best_folding_sample
from pytorch_lightning import seed_everything

from foldrun import Failure, Watch, unsupported
from plan import OUT, PREDICTIONS

CHAINS = "chains.json"  # of each design, as drawn
# The components that no sequence is drawn with, in the configuration of the step inverse_folding.
AVOIDED = "override.inverse_fold_args.inverse_fold_restriction"
ALIVE = 60.0  # seconds after which progress is repeated within a design
EACH = 16  # designs that are worth another process for measuring
POLL = 0.2  # seconds between looks for a cancel while other processes work
KINDS = {number: name for name, number in const.chain_type_ids.items()}
PROTOCOLS = copy.deepcopy(cli.protocol_configs)


def configure(arguments: list[str]) -> list[str]:
    """Lets the package check the spec and write the configuration of every step. Returns the steps in their order."""
    # The package adds the overrides of a run to its own lists, where the next run would find them.
    cli.protocol_configs = copy.deepcopy(PROTOCOLS)
    config = Path(OUT) / "config"
    if config.exists():  # of an earlier attempt, maybe on another machine
        shutil.rmtree(config)
    parsed: argparse.Namespace = cli.build_parser().parse_args(arguments)
    cli.configure_command(parsed)
    steps = yaml.safe_load((Path(OUT) / "steps.yaml").read_text())["steps"]
    return [s["name"] for s in steps]


def parameters() -> dict[str, Any]:
    """The parameters of a design in the names of the request, as the configuration of the steps has them: what the
    protocol or the package sets where the caller gave nothing."""
    folder = Path(OUT) / "config"
    ranking = {name: p.default for name, p in inspect.signature(filtering.Filter.__init__).parameters.items()}
    ranking |= yaml.safe_load((folder / "filtering.yaml").read_text())
    out = {
        "alpha": ranking["alpha"],
        "refoldingRmsdThreshold": ranking["refolding_rmsd_threshold"],
        "filterBiased": ranking["filter_biased"],
    }
    drawing = folder / "inverse_folding.yaml"
    if drawing.exists():
        avoided = omegaconf.OmegaConf.select(omegaconf.OmegaConf.load(drawing), AVOIDED) or []
        out["inverseFoldAvoid"] = "".join(sorted(const.prot_token_to_letter[code] for code in avoided))
    return {name: value for name, value in out.items() if value not in (None, "")}


class Step:
    """One step of the package."""

    def __init__(self, name: str, designs: int, seed: int, watch: Watch, redesign: bool = False) -> None:
        self.name, self.designs, self.seed, self.watch, self.redesign = name, designs, seed, watch, redesign
        self.done = 0
        self.said = 0.0
        self.lost: dict[str, str] = {}  # design → why it is left out
        self.chains: dict[str, list[Any]] = {}  # design → its chains, of the step design

    def run(self) -> None:
        """Runs the step. Raises Cancelled after a cancel."""
        self.say()
        config = omegaconf.OmegaConf.load(Path(OUT) / "config" / f"{self.name}.yaml")
        with seeded(self.seed):
            task = hydra.utils.instantiate(config)
            if self.name in PREDICTIONS:
                self.predict(task, config)
            elif self.name == "analysis":
                self.analyse(task)
            else:
                with paged(self.alive):
                    task.run(config)
        self.watch.check()

    def say(self) -> None:
        """Reports the designs done."""
        self.said = monotonic()
        self.watch.say(self.name, min(self.done, self.designs), self.designs)

    def alive(self) -> None:
        """Checks for a cancel, and repeats the progress now and then: one design may take many minutes."""
        self.watch.check()
        if monotonic() - self.said > ALIVE:
            self.say()

    def predict(self, task: Any, config: Any) -> None:
        """Runs a step with a network."""
        write = task.writer.write_on_batch_end

        def written(
            trainer: Any, module: Any, prediction: Any, indices: Any, batch: Any, index: int, loader: int = 0
        ) -> None:
            name = str(batch["id"][0])
            if failed(batch):
                self.lost[name] = "its structure and its mask have different lengths"
            elif failed(prediction):
                raise MemoryError("the package ran out of memory and skipped a design")
            else:
                write(trainer, module, prediction, indices, batch, index, loader)
                if self.name == "folding":
                    refold(task.writer.refold_cif_dir / f"{name}.cif", prediction)
            self.done += prediction["coords"].shape[0] if self.name == "design" and "coords" in prediction else 1
            self.say()

        task.writer.write_on_batch_end = written
        if self.name == "design":
            self.record_chains(task)
        with hooked(self.alive):
            task.run(config)

    def record_chains(self, task: Any) -> None:
        """Notes the chains of every draw: of several nested specs each design has one."""
        data = task.data.predict_set
        parse = data.parser.parse_yaml
        samples = task.predict_args["diffusion_samples"]
        total = data.dataset.multiplicity * samples
        digits = len(str(total - 1))
        drawn = 0

        def parsed(path: Path, *more: Any, **named: Any) -> Any:
            nonlocal drawn
            target = parse(path, *more, **named)
            found = chains_of(target)
            # For a redesign the target is the residues that stay, else the chains that have none to design.
            if target.design_info.res_design_mask.all() or not self.redesign and all(c[2] for c in found):
                raise unsupported(
                    "BoltzGen measures a design against a target, which the spec does not have; a target is a chain "
                    "without a designed residue, in protein-redesign the residues that stay"
                )
            for n in range(drawn * samples, (drawn + 1) * samples):
                self.chains[path.stem if total == 1 else f"{path.stem}_{n:0{digits}d}"] = found
            drawn += 1
            return target

        data.parser.parse_yaml = parsed

    def analyse(self, task: Any) -> None:
        """Measures every design, in several processes if there are many. One that cannot be read is left out."""
        ids = [p.stem for p in task.data.predict_set.generated_paths]
        self.designs = len(ids)
        processes = min(task.num_processes, -(-len(ids) // EACH))

        def note(name: str, reason: str) -> None:
            if reason:
                self.lost[name] = reason
            self.done += 1
            self.say()

        if processes == 1:
            for i, name in enumerate(ids):
                note(name, measure(task, i, self.seed))
        else:
            pool = ProcessPoolExecutor(processes, get_context("spawn"), start, (task, self.seed))
            try:
                waiting = {pool.submit(measure_here, i): name for i, name in enumerate(ids)}
                while waiting:
                    ready, _ = wait(waiting, POLL, FIRST_COMPLETED)
                    self.alive()
                    for future in ready:
                        note(waiting.pop(future), future.result())
            except BaseException:
                for process in list((pool._processes or {}).values()):
                    process.terminate()
                raise
            finally:
                pool.shutdown(cancel_futures=True)
        if len(self.lost) == len(ids):
            reason = next(iter(self.lost.values()))
            raise Failure("output_invalid", f"BoltzGen could analyse none of the {len(ids)} designs: {reason}")
        task.aggregate_metrics()


def failed(answer: dict[str, Any]) -> bool:
    """Whether the package marks a batch or a prediction as failed: by a truth value, or by one for each sample."""
    mark = answer.get("exception", False)
    return any(mark) if isinstance(mark, (list, tuple)) else bool(mark)


def chains_of(target: Any) -> list[list[Any]]:
    """Name, kind and whether something of it is designed, of each chain of a parsed spec."""
    mask = target.design_info.res_design_mask
    return [
        [
            c["name"].item(),
            KINDS[c["mol_type"].item()],
            bool(mask[c["res_idx"] : c["res_idx"] + c["res_num"]].any()),
        ]
        for c in target.structure.chains
    ]


def refold(path: Path, prediction: dict[str, Any]) -> None:
    """Writes the refold of a design again. The package writes the coordinates of the sample with the best ipTM and the
    pLDDT of the first one, and its table has the scores of a third. Here all are of the table's."""
    scores = {k: prediction[k].float().cpu().numpy() for k in ("design_to_target_iptm", "design_ptm", "coords")}
    # The package's own choice; the number of each sample stands for its coordinates.
    scores["coords"] = np.arange(len(scores["coords"]))
    best = int(get_best_folding_sample(scores)["coords"])
    features = {
        k: v[0] for k, v in prediction.items() if k not in ("coords", "exception") and hasattr(v, "__getitem__")
    }
    features["coords"] = prediction["coords"][best].cpu()
    structure, _, _ = Structure.from_feat(features)
    plddt = prediction["plddt"][best].float()
    if not torch.isfinite(plddt).all() or not torch.isfinite(features["coords"]).all():
        raise Failure("output_invalid", f"BoltzGen refolded {path.stem} to values that are not numbers")
    atoms = features["atom_to_token"].float() @ plddt.to(features["atom_to_token"].device)
    structure.atoms["bfactor"] = 100 * atoms[features["atom_pad_mask"].bool()].cpu().numpy()
    path.write_text(to_mmcif(structure))


@contextmanager
def hooked(alive: Callable[[], None]) -> Iterator[None]:
    """Gives every model that the package loads hooks that look for a cancel."""
    original = predict.Boltz

    class Hooked:
        @staticmethod
        def load_from_checkpoint(*args: Any, **more: Any) -> Any:
            model = original.load_from_checkpoint(*args, **more)
            for name, module in model.named_modules():
                if name.rpartition(".")[2].isdigit():
                    module.register_forward_pre_hook(lambda *_: alive())
            return model

    predict.Boltz = Hooked
    try:
        yield
    finally:
        predict.Boltz = original


@contextmanager
def paged(alive: Callable[[], None]) -> Iterator[None]:
    """Looks for a cancel before each page of the report."""
    original = filtering.PdfPages

    class Paged(original):
        def savefig(self, *args: Any, **more: Any) -> None:
            alive()
            super().savefig(*args, **more)

    filtering.PdfPages = Paged
    try:
        yield
    finally:
        filtering.PdfPages = original
        filtering.plt.close("all")


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draws everything random from the seed. The package takes generators of NumPy without one; they get one here."""
    original = np.random.default_rng

    def generator(value: Any = None) -> np.random.Generator:
        return original(np.random.randint(2**32, dtype=np.uint64) if value is None else value)

    seed_everything(seed, workers=False, verbose=False)
    np.random.default_rng = generator
    try:
        yield
    finally:
        np.random.default_rng = original


def measure(task: Any, index: int, seed: int) -> str:
    """Measures one design. Returns why it could not."""
    with seeded((seed + index) % 2**32):
        try:
            if task.compute_metrics(index) is not None:
                return ""
        except Exception as e:
            return f"{type(e).__name__}: {e}".splitlines()[0][:200]
    return "the package cannot read it"


TASK: list[Any] = []  # of a process for measuring: the task and its seed


def start(task: Any, seed: int) -> None:
    """Begins a process for measuring."""
    torch.set_num_threads(1)
    TASK[:] = [task, seed]


def measure_here(index: int) -> str:
    """Measures one design in a process for that."""
    return measure(TASK[0], index, TASK[1])


def save_chains(chains: dict[str, list[Any]]) -> None:
    """Keeps the chains of the designs for the end of the job, which another attempt may reach."""
    (Path(OUT) / CHAINS).write_text(json.dumps(chains))


def load_chains() -> dict[str, list[Any]]:
    """The chains of each design."""
    return json.loads((Path(OUT) / CHAINS).read_text())
