"""A fold job and its results. JobFlows decides; Job and AsyncJob are the same methods, blocking and awaited."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from . import errors, files
from ._flow import Call, Flow, get, send_json
from ._run import AsyncRun, Later, RunFlows, SyncRun
from ._wire import decode
from .events import Progress
from .inputs import Params
from .models import Artifact, Contacts, CreatedJob, Creator, JobView, Results, Scores
from .structure import Structure, pae_of, structure_of
from .view import score_rows, table

if TYPE_CHECKING:
    import gemmi
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    from Bio.PDB.Structure import Structure as BioStructure
    from biotite.structure import AtomArray

LINKS_LAST = 3600.0
"""Seconds for which links are used. Those of private jobs work for up to a day."""


class JobFlows(RunFlows[JobView]):
    """The operations of a job, as flows."""

    _word = "job"
    _model = JobView
    _results: tuple[float, Results] | None = None
    _structures: tuple[Structure, ...] | None = None

    @property
    def _path(self) -> str:
        return f"/v1/jobs/{quote(self.id, safe='')}"

    def _status(self, view: JobView) -> str:
        return view.job.status

    def _failure(self, view: JobView) -> tuple[str, str | None]:
        f = view.run.failure
        return ("the job failed", None) if f is None else (f.message, f.kind)

    def _progress_of_view(self, view: JobView) -> Progress:
        p = view.progress
        return Progress(view.job.status, p.stage, p.done, p.total, queue_position=p.queue_position)

    def _forget(self) -> None:
        super()._forget()
        self._results = self._structures = None

    def _load_results(self) -> Flow[Results]:
        now = self._policy.clock()
        if self._results is None or now - self._results[0] > LINKS_LAST:
            yield from self._completed()
            body = yield from send_json(self._policy, get(f"{self._path}/results"))
            self._results = now, decode(Results, body)
        return self._results[1]

    def _scores(self) -> Flow[Scores]:
        view = yield from self._completed()
        if not view.predictions:
            raise errors.NoResult(f"the job {self.id} has no structure")
        return view.predictions[0]

    def _load_structures(self) -> Flow[tuple[Structure, ...]]:
        if self._structures is None:
            view = yield from self._completed()
            metrics = yield from self._file("metrics_json", None)
            found: list[Structure] = []
            for scores in view.predictions:
                cif = yield from self._file("cif", scores.sequence_id)
                found.append(structure_of(self.name, scores, cif, metrics))
            self._structures = tuple(found)
        return self._structures

    def _structure(self, index: int) -> Flow[Structure]:
        all_of_it = yield from self._load_structures()
        try:
            return all_of_it[index]
        except IndexError:
            raise errors.NoResult(f"the job {self.id} has {len(all_of_it)} structures; there is none {index}") from None

    def _pae(self) -> Flow[npt.NDArray[np.float64]]:
        scores = yield from self._scores()
        return pae_of("pae.json", (yield from self._file("pae_json", scores.sequence_id)))

    def _artifact(self, kind: str, sequence: str | None) -> Flow[Artifact]:
        results = yield from self._load_results()
        for a in results.artifacts:
            if a.kind == kind and sequence in (None, a.sequence_id):
                return a
        raise errors.NoResult(f"the job {self.id} has no file of the kind {kind}")

    def _file(self, kind: str, sequence: str | None) -> Flow[bytes]:
        return (yield from files.read(self._policy, _source((yield from self._artifact(kind, sequence)))))

    def _save(self, folder: str | os.PathLike[str], only: Collection[str] | None) -> Flow[list[Path]]:
        results = yield from self._load_results()
        known = {a.name for a in results.artifacts}
        for name in only or ():
            if name not in known:
                raise errors.NoResult(f"the job {self.id} has no file {name}; it has {', '.join(sorted(known))}")
        into = Path(folder)
        into.mkdir(parents=True, exist_ok=True)
        saved: list[Path] = []
        for a in results.artifacts:
            if a.name in only if only is not None else a.kind not in ("archive", "plots"):
                saved.append((yield from files.save(self._policy, _source(a), into)))
        return saved

    def _contacts(self, chains: str | None, limit: int | None) -> Flow[Contacts]:
        yield from self._completed()
        call = get(f"{self._path}/contacts", {"chains": chains, "limit": limit})
        return decode(Contacts, (yield from send_json(self._policy, call)))

    def _rerun(self, params: Params | None, model: str | None, cache: bool) -> Flow[None]:
        view = yield from self._current()
        wire = None
        if params is not None or model is not None:
            wire = (params or Params()).to_wire(model or view.run.model_name)
        headers = {} if cache else {"Cache-Control": "no-cache"}
        body = {} if wire is None else {"params": wire}
        call = Call("POST", f"{self._path}/runs", json=body, headers=headers)
        decode(CreatedJob, (yield from send_json(self._policy, call)))
        self._forget()

    def _card(self) -> str:
        rows: list[tuple[str, object]] = [("job", self.id)]
        if self._view is not None:
            rows.append(("status", self._view.job.status))
            if self._view.predictions:
                rows += score_rows(self._view.predictions[0])
        return table(self.name, rows)


def _source(a: Artifact) -> files.Source:
    return files.Source(a.name, link=a.url, size=a.bytes, sha256=a.sha256)


class Job(JobFlows, SyncRun[JobView]):
    """A fold job. Reading a result before the end raises NoResult; wait() waits for it."""

    @property
    def created_by(self) -> Creator | None:
        """The user who created it; None: you have no role in its project."""
        return self._run(self._current()).job.created_by

    @property
    def scores(self) -> Scores:
        """The scores of the first structure."""
        return self._run(self._scores())

    @property
    def plddt(self) -> npt.NDArray[np.float64]:
        """pLDDT, 0 to 100, of the residues of the first structure."""
        return self._run(self._structure(0)).plddt

    @property
    def predicted_rmsd(self) -> npt.NDArray[np.float64]:
        """The predicted RMSD in Å of the residues of the first structure, where the model gives it and no pLDDT."""
        return self._run(self._structure(0)).predicted_rmsd

    @property
    def pae(self) -> npt.NDArray[np.float64]:
        """The predicted aligned error of the first structure in Å: row, aligned residue; column, scored residue."""
        return self._run(self._pae())

    @property
    def results(self) -> Results:
        """Scores, and the links to all files."""
        return self._run(self._load_results())

    @property
    def structures(self) -> tuple[Structure, ...]:
        """All structures: one of a complex, and one of each sequence where a model folds chains alone."""
        return self._run(self._load_structures())

    def structure(self, index: int = 0) -> Structure:
        """One of the structures."""
        return self._run(self._structure(index))

    def save(self, folder: str | os.PathLike[str], *, only: Collection[str] | None = None) -> list[Path]:
        """Writes the files of the run, or those named, into a folder. Archives of files are written if named.

        Length and SHA-256 are checked, and a file that is there already is not downloaded again.
        """
        return self._run(self._save(folder, only))

    def contacts(self, *, chains: str | None = None, limit: int | None = None) -> Contacts:
        """The contacts between chains; `chains="A-B"` selects two."""
        return self._run(self._contacts(chains, limit))

    def rerun(self, params: Params | None = None, *, model: str | None = None, cache: bool = True) -> None:
        """Runs the job again, with other parameters or another model if they are given."""
        self._run(self._rerun(params, model, cache))

    def move(self, project: str) -> None:
        """Moves it to another project, by id or name. Conflict: it has not ended."""
        self._run(self._move(project))

    def to_biotite(self) -> AtomArray[Any]:
        return self.structure().to_biotite()

    def to_gemmi(self) -> gemmi.Structure:
        return self.structure().to_gemmi()

    def to_biopython(self) -> BioStructure:
        return self.structure().to_biopython()

    def pairs_to_pandas(self) -> pd.DataFrame:
        """The scores of each two chains of the first structure."""
        return self.structure().pairs_to_pandas()

    def residues_to_pandas(self) -> pd.DataFrame:
        """A row for each residue of the first structure."""
        return self.structure().residues_to_pandas()

    def view(self, *, width: int = 640, height: int = 480) -> Any:
        """A py3Dmol view of the first structure."""
        return self.structure().view(width=width, height=height)

    def save_html(self, path: str | os.PathLike[str]) -> Path:
        """Writes a page that shows the first structure in a browser."""
        return self.structure().save_html(path)

    def _repr_html_(self) -> str:
        try:
            return self.structure().to_html()
        except errors.PleatError:
            return self._card()


class AsyncJob(JobFlows, AsyncRun[JobView]):
    """A fold job, whose methods and properties are awaited: `await job.scores`."""

    @property
    def created_by(self) -> Later[Creator | None]:
        """The user who created it; None: you have no role in its project."""

        async def fetch() -> Creator | None:
            return (await self._run(self._current())).job.created_by

        return Later(fetch)

    @property
    def scores(self) -> Later[Scores]:
        """The scores of the first structure."""
        return Later(lambda: self._run(self._scores()))

    @property
    def plddt(self) -> Later[npt.NDArray[np.float64]]:
        """pLDDT, 0 to 100, of the residues of the first structure."""

        async def fetch() -> npt.NDArray[np.float64]:
            return (await self.structure()).plddt

        return Later(fetch)

    @property
    def predicted_rmsd(self) -> Later[npt.NDArray[np.float64]]:
        """The predicted RMSD in Å of the residues of the first structure, where the model gives it and no pLDDT."""

        async def fetch() -> npt.NDArray[np.float64]:
            return (await self.structure()).predicted_rmsd

        return Later(fetch)

    @property
    def pae(self) -> Later[npt.NDArray[np.float64]]:
        """The predicted aligned error of the first structure in Å: row, aligned residue; column, scored residue."""
        return Later(lambda: self._run(self._pae()))

    @property
    def results(self) -> Later[Results]:
        """Scores, and the links to all files."""
        return Later(lambda: self._run(self._load_results()))

    @property
    def structures(self) -> Later[tuple[Structure, ...]]:
        """All structures: one of a complex, and one of each sequence where a model folds chains alone."""
        return Later(lambda: self._run(self._load_structures()))

    async def structure(self, index: int = 0) -> Structure:
        """One of the structures. Its arrays and conversions need no await."""
        return await self._run(self._structure(index))

    async def save(self, folder: str | os.PathLike[str], *, only: Collection[str] | None = None) -> list[Path]:
        """As Job.save()."""
        return await self._run(self._save(folder, only))

    async def contacts(self, *, chains: str | None = None, limit: int | None = None) -> Contacts:
        """The contacts between chains; `chains="A-B"` selects two."""
        return await self._run(self._contacts(chains, limit))

    async def rerun(self, params: Params | None = None, *, model: str | None = None, cache: bool = True) -> None:
        """Runs the job again, with other parameters or another model if they are given."""
        await self._run(self._rerun(params, model, cache))

    async def move(self, project: str) -> None:
        """Moves it to another project, by id or name. Conflict: it has not ended."""
        await self._run(self._move(project))

    async def to_biotite(self) -> AtomArray[Any]:
        return (await self.structure()).to_biotite()

    async def to_gemmi(self) -> gemmi.Structure:
        return (await self.structure()).to_gemmi()

    async def to_biopython(self) -> BioStructure:
        return (await self.structure()).to_biopython()

    async def pairs_to_pandas(self) -> pd.DataFrame:
        """The scores of each two chains of the first structure."""
        return (await self.structure()).pairs_to_pandas()

    async def residues_to_pandas(self) -> pd.DataFrame:
        """A row for each residue of the first structure."""
        return (await self.structure()).residues_to_pandas()

    async def view(self, *, width: int = 640, height: int = 480) -> Any:
        """A py3Dmol view of the first structure."""
        return (await self.structure()).view(width=width, height=height)

    async def save_html(self, path: str | os.PathLike[str]) -> Path:
        """Writes a page that shows the first structure in a browser."""
        return (await self.structure()).save_html(path)

    def _repr_html_(self) -> str:
        loaded = self._structures
        return loaded[0].to_html() if loaded else self._card()
