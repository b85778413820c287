"""Workflows: questions and simulations; designs are in `design`.

Their files have a length, and a SHA-256 in the entity tag of the answer.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from . import errors, files
from ._flow import Flow, get, send
from ._packages import need
from ._run import AsyncRun, Later, RunFlows, SyncRun
from ._wire import decode
from .events import Progress
from .models import WorkflowFile, WorkflowTask, WorkflowView
from .view import table

if TYPE_CHECKING:
    from MDAnalysis import Universe


class WorkflowFlows(RunFlows[WorkflowView]):
    """The operations of every workflow, as flows."""

    _word = "workflow"
    _model = WorkflowView

    @property
    def _path(self) -> str:
        return f"/v1/workflows/{quote(self.id, safe='')}"

    def _status(self, view: WorkflowView) -> str:
        return view.status

    def _failure(self, view: WorkflowView) -> tuple[str, str | None]:
        reasons = [t.error for t in view.tasks if t.error]
        return (reasons[0] if reasons else "the workflow failed"), None

    def _progress_of_view(self, view: WorkflowView) -> Progress:
        return Progress(view.status, view.stage, view.done, view.total)

    def _task(self) -> Flow[WorkflowTask]:
        view = yield from self._completed()
        if not view.tasks or view.tasks[0].raw_result is None:
            raise errors.NoResult(f"the workflow {self.id} has no result")
        return view.tasks[0]

    def _result(self) -> Flow[dict[str, Any]]:
        return dict((yield from self._task()).raw_result)

    def _sources(self) -> Flow[dict[str, files.Source]]:
        # Asked anew each time: links work for a day only.
        self._view = None
        result = yield from self._result()
        files_of = [decode(WorkflowFile, a, "artifacts") for a in result.get("artifacts") or ()]
        return {f.path: files.Source(Path(f.path).name, link=f.url, size=f.size_bytes) for f in files_of}

    def _save(self, folder: str | os.PathLike[str], only: Collection[str] | None) -> Flow[list[Path]]:
        sources = yield from self._sources()
        for name in only or ():
            if name not in sources:
                raise errors.NoResult(f"the workflow {self.id} has no file {name}; it has {', '.join(sorted(sources))}")
        into = Path(folder)
        into.mkdir(parents=True, exist_ok=True)
        saved: list[Path] = []
        for name, source in sources.items():
            if name in only if only is not None else not name.endswith(".zip"):
                saved.append((yield from files.save(self._policy, source, into)))
        return saved

    def _log(self) -> Flow[str]:
        call = get(f"/v1/workflows/logs/{quote(self.id, safe='')}", headers={"Accept": "text/plain"})
        return (yield from send(self._policy, call)).body.decode("utf-8", "replace")

    def _repr_html_(self) -> str:
        rows: list[tuple[str, object]] = [("workflow", self.id)]
        if self._view is not None:
            rows += [("type", self._view.workflow_type), ("status", self._view.status)]
        return table(self.name, rows)

    def _answer(self) -> Flow[str]:
        answer = (yield from self._result()).get("answer")
        if answer is None:
            raise errors.NoResult(f"the workflow {self.id} has no answer")
        return str(answer)

    def _metrics(self) -> Flow[dict[str, Any]]:
        return dict((yield from self._result()).get("metrics") or {})

    def _trajectory(self, folder: str | os.PathLike[str] | None) -> Flow[Universe]:
        mda = need("MDAnalysis", "dynamics")
        names = yield from self._sources()
        moving = [n for n in names if n.endswith((".dcd", ".xtc"))]
        if "topology.pdb" not in names or not moving:
            raise errors.NoResult(f"the workflow {self.id} has no trajectory")
        into = tempfile.mkdtemp(prefix="pleat-") if folder is None else folder
        paths = yield from self._save(into, ["topology.pdb", moving[0]])
        by_name = {p.name: str(p) for p in paths}
        return mda.Universe(by_name["topology.pdb"], by_name[moving[0]])


class Workflow(WorkflowFlows, SyncRun[WorkflowView]):
    """Any workflow. Reading a result before the end raises NoResult; wait() waits for it."""

    @property
    def result(self) -> dict[str, Any]:
        """The result of its task, as docs/interface.md describes it for its type."""
        return self._run(self._result())

    @property
    def log(self) -> str:
        return self._run(self._log())

    def save(self, folder: str | os.PathLike[str], *, only: Collection[str] | None = None) -> list[Path]:
        """Writes its files, or those named, into a folder. Zip archives are written if named."""
        return self._run(self._save(folder, only))

    def move(self, project: str) -> None:
        """Moves it to another project, by id or name. Conflict: it has not ended."""
        self._run(self._move(project))


class Question(Workflow):
    """A question about a structure."""

    @property
    def answer(self) -> str:
        """The answer, in plain text."""
        return self._run(self._answer())


class Simulation(Workflow):
    """A simulation by molecular dynamics."""

    @property
    def metrics(self) -> dict[str, Any]:
        """RMSD, RMSF, radius of gyration and more, as docs/interface.md says."""
        return self._run(self._metrics())

    def trajectory(self, folder: str | os.PathLike[str] | None = None) -> Universe:
        """The trajectory as a universe of MDAnalysis, whose files are in the folder; None: in a temporary one."""
        return self._run(self._trajectory(folder))


class AsyncWorkflow(WorkflowFlows, AsyncRun[WorkflowView]):
    """Any workflow, whose methods and properties are awaited."""

    @property
    def result(self) -> Later[dict[str, Any]]:
        """The result of its task, as docs/interface.md describes it for its type."""
        return Later(lambda: self._run(self._result()))

    @property
    def log(self) -> Later[str]:
        return Later(lambda: self._run(self._log()))

    async def save(self, folder: str | os.PathLike[str], *, only: Collection[str] | None = None) -> list[Path]:
        """As Workflow.save()."""
        return await self._run(self._save(folder, only))

    async def move(self, project: str) -> None:
        """Moves it to another project, by id or name. Conflict: it has not ended."""
        await self._run(self._move(project))


class AsyncQuestion(AsyncWorkflow):
    """A question about a structure."""

    @property
    def answer(self) -> Later[str]:
        """The answer, in plain text."""
        return Later(lambda: self._run(self._answer()))


class AsyncSimulation(AsyncWorkflow):
    """A simulation by molecular dynamics."""

    @property
    def metrics(self) -> Later[dict[str, Any]]:
        """RMSD, RMSF, radius of gyration and more, as docs/interface.md says."""
        return Later(lambda: self._run(self._metrics()))

    async def trajectory(self, folder: str | os.PathLike[str] | None = None) -> Universe:
        """The trajectory as a universe of MDAnalysis, whose files are in the folder; None: in a temporary one."""
        return await self._run(self._trajectory(folder))


def question_input(target: object, question: str) -> dict[str, Any]:
    """The input of a question about a job, `pdb:ID`, `uniprot:ID` or `library:ID`."""
    kind, id = _target(target)
    where: dict[str, Any] = {
        "job": {"targetSource": "fold_job", "source_job_id": id},
        "pdb": {"targetSource": "pdb", "pdbId": id},
        "uniprot": {"targetSource": "uniprot", "uniprotId": id},
        "library": {"targetSource": "library", "libraryItemId": id},
    }[kind]
    return {**where, "question": question}


def _target(target: object) -> tuple[str, str]:
    if isinstance(target, RunFlows):
        return "job", target.id
    kind, colon, id = str(target).partition(":")
    if not colon:
        return "job", kind
    if kind not in ("job", "pdb", "uniprot", "library"):
        raise ValueError(f"target is {target!r}; it must be a job, its id, or pdb:ID, uniprot:ID or library:ID")
    return kind, id


def simulation_input(target: object, options: Mapping[str, Any]) -> dict[str, Any]:
    """The input of a simulation of a job, or of the sequence that the options have."""
    out = dict(options)
    if target is not None:
        kind, id = _target(target)
        if kind != "job":
            raise ValueError(f"target is {target!r}; a simulation starts from a job, or from sequence=")
        out = {"sourceType": "fold_job", "sourceJobId": id, "preset": "single_af_go", **out}
    elif "sequence" in out:
        out = {"preset": "single_idr_fasta", **out}
    return out


def design_input(target: object, options: Mapping[str, Any]) -> dict[str, Any]:
    """The input of a design for a job, `pdb:ID`, `library:ID`, or a target as docs/interface.md has it."""
    if isinstance(target, Mapping):
        return {"target": target, **options}
    kind, id = _target(target)
    key = {"job": "sourceJobId", "pdb": "pdbId", "library": "libraryItemId"}.get(kind)
    if key is None:
        raise ValueError(f"target is {target!r}; a design is for a job, pdb:ID, library:ID, or a mapping")
    return {"target": {key: id}, **options}
