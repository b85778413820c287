"""Batches: many folds of one model, whose scores are one table. A batch is found again by its name."""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from . import errors, files
from ._flow import Call, Flow, Policy, get, page, pages, query_of, send_json
from ._packages import need
from ._run import AsyncRun, RunFlows, SyncRun
from ._wire import decode, present
from .events import Progress
from .inputs import Constraints, Ligand, Molecule, Params, Template, constraints, molecules
from .models import BatchInfo, BatchPage, BatchRow, BatchValidation, CreatedBatch, RetriedBatch, ScoreColumn
from .view import table

if TYPE_CHECKING:
    import pandas as pd

PAGE = 1000
"""Rows of one page of a table, the most that the service gives."""

LARGE = 600.0
"""Seconds that the service may need to check a batch of 100,000 rows."""

Complex = str | Molecule | Sequence[str | Molecule]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One row of a list, or one side of a matrix: molecules that are folded together, with parameters of their own."""

    molecules: Complex
    id: str | None = None
    params: Params | None = None
    constraints: Constraints | None = None
    templates: Sequence[Template] = ()

    def to_wire(self, model: str | None) -> dict[str, Any]:
        return present(
            customId=self.id,
            sequences=molecules(self.molecules),
            params=None if self.params is None else self.params.to_wire(model),
            constraints=constraints(self.constraints, self.templates),
        )


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Each binder with each target; without targets, the binders with one another."""

    binders: Sequence[Entry]
    targets: Sequence[Entry] = ()
    upper_triangle: bool | None = None
    with_itself: bool | None = None

    def to_wire(self, model: str) -> dict[str, Any]:
        return present(
            kind="matrix",
            binders=[e.to_wire(None) for e in self.binders],
            targets=[e.to_wire(None) for e in self.targets],
            upperTriangle=self.upper_triangle,
            self=self.with_itself,
        )


@dataclass(frozen=True, kw_only=True)
class Ligands:
    """One complex with each of many ligands, by their ids."""

    complex: Complex
    ligands: Mapping[str, Ligand]

    def to_wire(self, model: str) -> dict[str, Any]:
        rows = [
            present(
                customId=id,
                sequence=x.smiles if x.ccd is None else x.ccd,
                is_ccd=None if x.ccd is None else True,
                property_type="affinity" if x.affinity else None,
            )
            for id, x in self.ligands.items()
        ]
        return {"kind": "ligands", "sequences": molecules(self.complex), "ligands": rows}


@dataclass(frozen=True, kw_only=True)
class Variants:
    """One chain with mutations, such as `A23V` or `A23V:K45R`; `WT` is the chain as it is.

    `scan` makes every single mutation of the residues from its first to its last number, to the letters of `to`.
    """

    complex: Complex
    mutations: Sequence[str] = ()
    scan: tuple[int, int] | None = None
    to: str | None = None
    chain: str | None = None

    def to_wire(self, model: str) -> dict[str, Any]:
        scan = None if self.scan is None else {"from": self.scan[0], "to": self.scan[1], **present(residues=self.to)}
        return present(
            kind="variants",
            sequences=molecules(self.complex),
            mutations=list(self.mutations),
            scan=scan,
            chain=self.chain,
        )


@dataclass(frozen=True, kw_only=True)
class Seeds:
    """One complex with several seeds, or with `count` of them."""

    complex: Complex
    seeds: Sequence[int | str] = ()
    count: int | None = None

    def to_wire(self, model: str) -> dict[str, Any]:
        return present(
            kind="seeds",
            sequences=molecules(self.complex),
            seeds=[str(s) for s in self.seeds],
            seedCount=self.count,
        )


Rows = Mapping[str, Complex] | Iterable["Complex | Entry"] | Matrix | Ligands | Variants | Seeds


def rows_to_wire(rows: Rows, model: str) -> dict[str, Any]:
    """The content of a batch: complexes by their ids, a list of them, or a plan."""
    if isinstance(rows, Matrix | Ligands | Variants | Seeds):
        return rows.to_wire(model)
    if isinstance(rows, str):
        raise TypeError("rows is one text; a batch is a list of sequences, or a mapping of ids to sequences")
    if isinstance(rows, Mapping):
        given = cast("Mapping[str, Complex]", rows)
        entries = [Entry(id=id, molecules=m) for id, m in given.items()]
    else:
        entries = [r if isinstance(r, Entry) else Entry(molecules=r) for r in rows]
    return {"kind": "list", "jobs": [e.to_wire(model) for e in entries]}


def create(policy: Policy, body: dict[str, Any], resume: bool, key: str | None) -> Flow[str]:
    """Creates a batch, or with `resume` finds the one that has its name. Answers its id."""
    if resume:
        found = yield from _find(policy, body["name"], body.get("projectId"))
        if found is not None:
            yield from _same(policy, body, found)
            return found.batch_id
        # The same call at the same time makes the same key, so that two of them make one batch.
        key = key or hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    headers = {"Idempotency-Key": key or str(uuid.uuid4())}
    call = Call("POST", "/v1/batches", json=body, headers=headers, repeatable=True, read_timeout=LARGE)
    return decode(CreatedBatch, (yield from send_json(policy, call))).batch_id


def validate(policy: Policy, body: dict[str, Any]) -> Flow[BatchValidation]:
    """Checks a batch and creates nothing."""
    call = Call("POST", "/v1/batches/validate", json=body, repeatable=True, read_timeout=LARGE)
    return decode(BatchValidation, (yield from send_json(policy, call)))


def _find(policy: Policy, name: str, project: str | None) -> Flow[BatchInfo | None]:
    cursor: str | None = None
    while True:
        rows, cursor = yield from page(policy, "/v1/batches", {"limit": 200, "cursor": cursor, "projectId": project})
        for info in (decode(BatchInfo, r) for r in rows):
            if info.name == name:
                return info
        if cursor is None:
            return None


def _same(policy: Policy, body: dict[str, Any], found: BatchInfo) -> Flow[None]:
    """Raises unless a batch is the one that the body would make, as far as the service tells."""
    plan = yield from validate(policy, body)
    if not plan.valid:
        raise errors.BatchDiffers(f"there is a batch {found.name!r}, and this is no batch: {plan.errors[0].message}")
    theirs: list[tuple[str, object, object]] = [
        ("kind", found.kind, body["kind"]),
        ("model", found.model_name, plan.model_name),
        ("number of rows", found.rows, plan.rows),
        ("number of different rows", found.jobs, plan.jobs),
    ]
    if body["kind"] == "list" and found.rows <= PAGE:
        rows = yield from pages(policy, f"/v1/batches/{found.batch_id}/rows", {"limit": PAGE})
        want = [j.get("customId", str(i)) for i, j in enumerate(body["jobs"], 1)]
        theirs.append(("ids", [decode(BatchRow, r).custom_id for r in rows], want))
    for what, there, here in theirs:
        if there != here:
            raise errors.BatchDiffers(
                f"there is a batch {found.name!r} whose {what} differs: {_short(there)} there, {_short(here)} here; "
                "choose another name, or resume=False for a second one"
            )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


class BatchFlows(RunFlows[BatchInfo]):
    """The operations of a batch, as flows."""

    _word = "batch"
    _model = BatchInfo

    @property
    def _path(self) -> str:
        return f"/v1/batches/{quote(self.id, safe='')}"

    def _status(self, view: BatchInfo) -> str:
        return view.status

    def _failure(self, view: BatchInfo) -> tuple[str, str | None]:
        return f"all {view.rows} rows of the batch failed; to_pandas() has the reason of each", None

    def _progress_of_view(self, view: BatchInfo) -> Progress:
        return Progress(view.status, counts=view.counts)

    def _progress_of_event(self, event: Any) -> Progress:
        return self._progress_of_view(decode(BatchInfo, event))

    def _table(self, sort: str | None, where: str | None) -> Flow[tuple[tuple[ScoreColumn, ...], list[dict[str, Any]]]]:
        cursor: str | None = None
        rows: list[dict[str, Any]] = []
        columns: dict[str, ScoreColumn] = {}
        while True:
            query = {"limit": PAGE, "cursor": cursor, "sort": sort, "filter": where}
            answer = decode(BatchPage, (yield from send_json(self._policy, get(f"{self._path}/rows", query))))
            columns |= {c.name: c for c in answer.columns}
            rows += answer.data
            cursor = answer.next_cursor
            if cursor is None:
                return tuple(columns.values()), rows

    def _to_pandas(self, sort: str | None, where: str | None) -> Flow[pd.DataFrame]:
        pandas = need("pandas", "pandas")
        columns, rows = yield from self._table(sort, where)
        names = ["customId", "row", "jobId", "name", "status", "error", *(c.name for c in columns)]
        frame = pandas.DataFrame([[r.get(n) for n in names] for r in rows], columns=names)
        for c in columns:
            frame[c.name] = pandas.to_numeric(frame[c.name])
        frame = frame.rename(columns={"customId": "id", "jobId": "job_id", **SHORT})
        return frame.set_index("id")

    def _rows(self, sort: str | None, where: str | None) -> Flow[tuple[BatchRow, ...]]:
        _, rows = yield from self._table(sort, where)
        return tuple(decode(BatchRow, r) for r in rows)

    def _save(self, folder: str | os.PathLike[str], where: str | None) -> Flow[Path]:
        into = Path(folder)
        into.mkdir(parents=True, exist_ok=True)
        source = files.Source(f"{self.id}.zip", target=f"{self._path}/archive.zip", query=query_of({"filter": where}))
        return (yield from files.save(self._policy, source, into))

    def _retry_failed(self) -> Flow[int]:
        call = Call("POST", f"{self._path}/retry-failed", json={})
        answer = decode(RetriedBatch, (yield from send_json(self._policy, call)))
        self._forget()
        return answer.rows

    def _repr_html_(self) -> str:
        rows: list[tuple[str, object]] = [("batch", self.id)]
        if self._view is not None:
            v = self._view
            rows += [("status", v.status), ("model", v.model_name), ("rows", v.rows)]
            rows += [(f"rows {state}", n) for state, n in v.counts.items() if n]
        return table(self.name, rows)


SHORT = {
    "meanPLDDT": "mean_plddt",
    "predictedRmsd": "predicted_rmsd",
    "ptm_score": "ptm",
    "iptm_score": "iptm",
    "max_pae_score": "max_pae",
    "affinity_pred_value": "affinity_value",
    "affinity_probability_binary": "affinity_probability",
}
"""Names of columns in a data frame, as in `models.Scores`."""


class Batch(BatchFlows, SyncRun[BatchInfo]):
    """A batch. It is COMPLETED if a row is; wait() raises only if none is. Look at the states of the rows."""

    def to_pandas(self, *, sort: str | None = None, where: str | None = None) -> pd.DataFrame:
        """The table by the ids of the rows, at any time: a score that is not there is NaN.

        `sort` and `where` are `sort` and `filter` of the interface, such as `meanPLDDT:desc` and `status=COMPLETED`.
        """
        return self._run(self._to_pandas(sort, where))

    def rows(self, *, sort: str | None = None, where: str | None = None) -> tuple[BatchRow, ...]:
        """The rows without their scores."""
        return self._run(self._rows(sort, where))

    def save(self, folder: str | os.PathLike[str], *, where: str | None = None) -> Path:
        """Writes an archive of the structures of the completed rows into a folder."""
        return self._run(self._save(folder, where))

    def retry_failed(self) -> int:
        """Runs the rows again that failed or were stopped, and says how many. Conflict: none did, or some still run."""
        return self._run(self._retry_failed())


class AsyncBatch(BatchFlows, AsyncRun[BatchInfo]):
    """A batch, whose methods and properties are awaited."""

    async def to_pandas(self, *, sort: str | None = None, where: str | None = None) -> pd.DataFrame:
        """As Batch.to_pandas()."""
        return await self._run(self._to_pandas(sort, where))

    async def rows(self, *, sort: str | None = None, where: str | None = None) -> tuple[BatchRow, ...]:
        """The rows without their scores."""
        return await self._run(self._rows(sort, where))

    async def save(self, folder: str | os.PathLike[str], *, where: str | None = None) -> Path:
        """Writes an archive of the structures of the completed rows into a folder."""
        return await self._run(self._save(folder, where))

    async def retry_failed(self) -> int:
        """Runs the rows again that failed or were stopped, and says how many. Conflict: none did, or some still run."""
        return await self._run(self._retry_failed())
