"""The runner of BoltzGen: designs of binders. It runs the package's own steps in this process, and offers a checkpoint
after each.

It does what `boltzgen run` does. An error that the package prints before it goes on is a failure or a note here.
"""

import contextlib
import hashlib
import io
import json
import math
import os
import shutil
import tarfile
import traceback
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gemmi
import torch
from boltzgen.data import const
from rdkit import Chem

import foldrun
import pipeline
import plan
import rows
from foldrun import Failure, Job, Watch, invalid, pytorch, weights
from foldrun.serve import OUT_OF_MEMORY, classify
from plan import OUT

FORMAT = 1  # of checkpoints
STATE = "state.json"
FILES = [*plan.DESIGN, plan.INVERSE_FOLDING, plan.FOLDING, plan.AFFINITY, plan.MOLECULES]
DRAWN, FOLDED = "intermediate_designs", "intermediate_designs_inverse_folded"
FINAL = "final_ranked_designs"
# The exceptions of the package for a spec that it cannot read. Any other exception is a fault of the installation.
REFUSALS = (ValueError, KeyError, AssertionError, IndexError)


class BoltzGen(foldrun.Runner):
    """BoltzGen with its two networks for designs, one for sequences, and Boltz-2 to refold them."""

    engine = "boltzgen"
    kinds = ("design",)

    def __init__(self) -> None:
        self.device = torch.device("cpu")
        self.weights = Path()
        self.random = False
        self.threads = 0
        self.digest = ""
        self.watch = Watch()

    def load(self, request: foldrun.Load) -> foldrun.Ready:
        pytorch.prepare(request.threads)
        Chem.SetDefaultPickleProperties(Chem.PropertyPickleOptions.AllProps)
        self.device, self.threads = torch.device(request.device), request.threads
        self.weights = weights.require(request.model, request.weights_dir, FILES).absolute()
        self.random = weights.are_random(self.weights)
        digest = foldrun.Digest([self.weights / f for f in FILES])
        self.watch = pytorch.watch(self.device)
        if self.device.type != "cuda":
            # The package asks for it even where it does not use it.
            torch.cuda.get_device_capability = lambda *_: (0, 0)
        # The package sets this in each job; PyTorch takes it once, before it has worked.
        torch.set_num_interop_threads(1)
        torch.set_num_interop_threads = lambda _: None
        self.digest = digest.hex()
        return foldrun.Ready(
            engine_version=version("boltzgen"),
            weights_sha256=self.digest,
            device=pytorch.device_name(self.device),
            mem=pytorch.device_memory(self.device),
            detail={"torch": torch.__version__, "kernels": self.kernels(), "random_weights": self.random},
        )

    def kernels(self) -> bool:
        """Whether the fused kernels are installed. The package itself checks for compute capability 8."""
        return self.device.type == "cuda" and find_spec("cuequivariance_torch") is not None

    def predict(self, job: Job) -> foldrun.Result:
        # The report prints the path of its folder: it is relative to the job's.
        with within(job.workdir), self.watch.follow(job):
            try:
                return Run(self, job).run()
            finally:
                if self.threads:
                    torch.set_num_threads(self.threads)


class Run:
    """One job, from the request to its files."""

    def __init__(self, runner: BoltzGen, job: Job) -> None:
        self.runner, self.job, self.watch = runner, job, runner.watch
        self.plan = plan.read(job)
        self.made_of = self.fingerprint()
        self.done: list[str] = []  # whole steps
        self.notes: list[str] = []
        self.saved: list[Path] = []

    def fingerprint(self) -> str:
        """The inputs that a checkpoint must have been made of to be continued."""
        digest = hashlib.sha256()
        about = [FORMAT, version("boltzgen"), self.runner.digest, self.job.seed, self.job.input, self.job.params]
        digest.update(json.dumps(about, sort_keys=True).encode())
        for file in self.job.files:
            digest.update(file["path"].encode() + b"\0")
            digest.update((self.job.workdir / file["path"]).read_bytes())
        return digest.hexdigest()

    def run(self) -> foldrun.Result:
        """Runs the steps that are not done yet, and returns the result."""
        self.watch.say("prepare")
        plan.place_spec(self.job, self.plan)
        self.check_ligands()
        self.resume()
        steps = self.configure()
        for i, name in enumerate(steps, 1):
            if name in self.done:
                continue
            self.step(name)
            self.done.append(name)
            if i < len(steps):
                self.checkpoint(i)
        self.watch.say("write")
        result = self.result()
        result.timings = self.watch.timings()
        return result

    def check_ligands(self) -> None:
        """Refuses a SMILES that RDKit cannot read, which the package goes on with as with an empty molecule."""
        for chain, text in plan.smiles(self.job.workdir, self.plan.spec):
            if Chem.MolFromSmiles(text) is None:
                raise invalid(f"the SMILES of the ligand {chain} is not a molecule that RDKit can read: {text[:100]}")

    def configure(self) -> list[str]:
        """Lets the package check the spec."""
        runner, p = self.runner, self.plan
        device, threads = runner.device.type, runner.threads or 1
        arguments = p.arguments(runner.weights, device, runner.kernels(), threads, runner.random)
        try:
            with pipeline.seeded(self.job.seed):
                steps = pipeline.configure(arguments)
        except Exception as e:
            raise self.failed(e, "BoltzGen cannot read the spec", REFUSALS) from e
        self.job.log(
            f"{p.designs} designs with the protocol {p.protocol}, {p.batch} at once; steps: {', '.join(steps)}"
        )
        return steps

    def failed(self, e: Exception, what: str, refusals: tuple[type[Exception], ...] = ()) -> Failure:
        """The failure that an exception of the package means. Folders are removed from its message."""
        if isinstance(e, Failure):
            return e
        missing = plan.missing_component(e)
        if missing:
            return missing
        detail = "".join(traceback.format_exception(e))
        code = classify(e)
        if code == "oom":
            return Failure("oom", OUT_OF_MEMORY, detail=detail)
        reason = self.without_folders(f"{type(e).__name__}: {e}")
        code = code or ("invalid_input" if isinstance(e, refusals) else "internal")
        return Failure(code, f"{what}: {reason}", detail=detail)

    def without_folders(self, text: str) -> str:
        """A message of the package without the folders of this machine that it names."""
        return foldrun.without_folders(text, self.job.workdir, self.runner.weights)

    def step(self, name: str) -> None:
        """Runs one step and checks that it has written something."""
        designs = self.plan.designs if name == "design" else len(drawn())
        step = pipeline.Step(name, designs, self.job.seed, self.watch, self.plan.protocol == "protein-redesign")
        try:
            step.run()
        except Exception as e:
            raise self.failed(e, f"BoltzGen failed in the step {name}") from e
        if name == "design":
            pipeline.save_chains(step.chains)
        written = self.written(name)
        if written == 0:
            raise Failure("output_invalid", f"BoltzGen wrote nothing in the step {name}")
        if name != "filtering":
            self.job.log(f"{name}: {written} of {designs} designs")
        if written is not None and written < designs:
            reasons = sorted(set(step.lost.values()))
            why = self.without_folders(f": {'; '.join(reasons[:3])}") if reasons else ""
            self.notes.append(f"{designs - written} of {designs} designs are left out after the step {name}{why}.")

    def written(self, name: str) -> int | None:
        """How many designs a step has written; None of the step that writes what is read anyway."""
        if name == "filtering":
            return None
        if name == "analysis":
            return len(rows.read(next(Path(OUT, FOLDED).glob("aggregate_metrics_*.csv"))))
        if name == "design":
            return len(drawn())
        folder = Path(OUT, FOLDED)
        if name == "inverse_folding":
            return len(list(folder.glob("*.cif")))
        if name == "affinity":
            return len(list((folder / const.affinity_dirname).glob("*.npz")))
        alone = name == "design_folding"
        return len(
            list((folder / (const.refold_design_cif_dirname if alone else const.refold_cif_dirname)).glob("*.cif"))
        )

    def checkpoint(self, index: int) -> None:
        """Offers everything that the steps so far have written."""
        path = self.job.path(f"checkpoint-{index}.tar.gz")
        part = path.with_suffix(".part")
        state = {"made_of": self.made_of, "done": self.done, "notes": self.notes}
        with tarfile.open(part, "w:gz", compresslevel=1) as tar:
            raw = json.dumps(state).encode()
            entry = tarfile.TarInfo(STATE)
            entry.size = len(raw)
            tar.addfile(entry, io.BytesIO(raw))
            # The configuration has paths of this machine, and is written again.
            tar.add(OUT, OUT, filter=lambda e: None if e.name == f"{OUT}/config" else e)
        part.rename(path)
        self.job.checkpoint(path, index)
        self.saved.append(path)
        if len(self.saved) > 2:  # the service has copied it long ago
            self.saved.pop(0).unlink(missing_ok=True)

    def resume(self) -> None:
        """Takes over what an earlier attempt has done."""
        shutil.rmtree(OUT, ignore_errors=True)
        if not self.job.resume:
            return
        try:
            with tarfile.open(self.job.workdir / self.job.resume["path"], "r:gz") as tar:
                file = tar.extractfile(STATE)
                state = json.loads(file.read()) if file else {}
                if state.get("made_of") != self.made_of:
                    self.job.log("the last attempt's checkpoint is of another version; starting from the beginning")
                    return
                members = [m for m in tar.getmembers() if m.name == OUT or m.name.startswith(f"{OUT}/")]
                tar.extractall(self.job.workdir, members, filter="data")
            self.done, self.notes = list(state["done"]), list(state["notes"])
        except Exception as e:
            shutil.rmtree(OUT, ignore_errors=True)
            self.job.log(
                f"the last attempt's checkpoint cannot be read ({type(e).__name__}); starting from the beginning"
            )
            return
        self.job.log(f"continued after the step {self.done[-1]} of an earlier attempt")

    def result(self) -> foldrun.Result:
        """Reads what the package has written and names its files."""
        final = Path(OUT, FINAL)
        tables = [final / "all_designs_metrics.csv", final / f"final_designs_metrics_{self.plan.budget}.csv"]
        report = final / "results_overview.pdf"
        for path in [*tables, report]:
            if not path.is_file():
                raise Failure("output_invalid", f"BoltzGen wrote no {path.name}")
        chains = {name: [rows.Chain(*c) for c in found] for name, found in pipeline.load_chains().items()}
        table = [rows.row(cells, chains.get(cells["id"], [])) for cells in rows.read(tables[0])]
        table.sort(key=lambda r: r["final_rank"] or math.inf)  # a list that is being sorted has no length
        returned = {cells["id"] for cells in rows.read(tables[1])}
        if not table or not returned:
            raise Failure("output_invalid", "BoltzGen returned no design")
        path = self.job.path("designs.jsonl")
        path.write_text("".join(json.dumps(r, allow_nan=False) + "\n" for r in table))
        self.job.file("designs", path)
        maps: list[dict[str, str]] = []
        for row in table:
            if row["id"] in returned:
                maps.append(self.structure(row, chains.get(row["id"], [])))
        for path in tables:
            self.job.file("table", self.job.workdir / path)
        self.job.file("report", self.job.workdir / report)
        analysed = self.written("analysis") or 0
        passed = sum(r["pass_filters"] is True for r in table)
        metrics = {
            "requested": self.plan.designs,
            "generated": len(drawn()),
            "considered": len(table),
            "duplicates": analysed - len(table),
            "passed": passed,
            "returned": len(maps),
        }
        return foldrun.Result(
            chain_map=maps[0] if all(m == maps[0] for m in maps) else {},
            metrics=metrics,
            params=pipeline.parameters(),
            notes=self.all_notes(metrics),
        )

    def structure(self, row: dict[str, Any], chains: list[rows.Chain]) -> dict[str, str]:
        """Names the file of one design. Returns which chain of the spec each of its chains is."""
        path = self.job.workdir / OUT / FOLDED / const.refold_cif_dirname / f"{row['id']}.cif"
        if not path.is_file():
            raise Failure("output_invalid", f"BoltzGen wrote no structure of the design {row['id']}")
        names = chain_names(path)
        if len(names) != len(chains):
            raise Failure(
                "output_invalid",
                f"the design {row['id']} has {len(names)} chains; its spec has {len(chains)}",
            )
        found = {name: chain.name for name, chain in zip(names, chains)}
        self.job.file("design", path, rank=row["final_rank"], id=row["id"], chain_map=found)
        return found

    def all_notes(self, metrics: dict[str, int]) -> list[str]:
        """The sentences for the owner."""
        notes = [weights.RANDOM_NOTE] if self.runner.random else []
        notes += self.notes
        if metrics["duplicates"]:
            notes.append(f"{metrics['duplicates']} designs have the sequence of another one, and count once.")
        if not metrics["passed"]:
            notes.append("No design passes every filter; those returned are the best of all.")
        elif metrics["passed"] < metrics["returned"]:
            notes.append(f"Only {metrics['passed']} designs pass every filter; see pass_filters.")
        return notes


@contextlib.contextmanager
def within(folder: Path) -> Iterator[None]:
    """Works in a folder until the end of the block."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def drawn() -> list[Path]:
    """The designs as they were drawn, before their sequences."""
    return sorted(Path(OUT, DRAWN).glob("*.cif"))


def chain_names(path: Path) -> list[str]:
    """The chains of a structure file of the package, in its order."""
    return [chain.name for chain in gemmi.read_structure(str(path))[0]]


if __name__ == "__main__":
    foldrun.serve(BoltzGen())
