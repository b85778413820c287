"""The clients: Pleat blocks, AsyncPleat is awaited. ClientFlows has what both do."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from . import batch as batches
from . import workflow as workflows
from ._drive import AsyncDriver, Driver, Origin
from ._flow import Call, Flow, Policy, get, page, query_of, send_json
from ._project import Projects
from ._wire import decode, present
from .batch import AsyncBatch, Batch, Rows, rows_to_wire
from .design import AsyncDesign, Design
from .inputs import (
    Constraints,
    JobRequest,
    Molecule,
    Params,
    Protein,
    Template,
    constraints,
    molecules,
    seeded,
)
from .job import AsyncJob, Job
from .library import AsyncLibrary, Library
from .models import (
    BatchInfo,
    BatchValidation,
    CreatedJob,
    JobRow,
    JobView,
    Me,
    Model,
    ProjectRole,
    Usage,
    Validation,
    WorkflowView,
)
from .workflow import AsyncQuestion, AsyncSimulation, AsyncWorkflow, Question, Simulation, Workflow

if TYPE_CHECKING:
    from types import TracebackType

    import httpx
    from typing_extensions import Self

DEFAULT_URL = "http://127.0.0.1:8080"
DEFAULT_MODEL = "mini"
"""The model that every server has. It is small; see docs/mini.md for what to expect of it."""


class ClientFlows:
    """Calls of the service, as flows."""

    def __init__(self, url: str | None, key: str | None, project: str | None, policy: Policy | None) -> None:
        self._origin = Origin.of(
            url or os.environ.get("PLEAT_URL") or DEFAULT_URL,
            key if key is not None else os.environ.get("PLEAT_KEY") or None,
        )
        self._policy = policy or Policy()
        self._projects = Projects.of(self._policy, project)

    @property
    def url(self) -> str:
        """The address of the service."""
        return str(self._origin.url)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def _create(
        self, request: JobRequest, library_item: str | None, cache: bool, key: str | None, project: str | None
    ) -> Flow[CreatedJob]:
        headers = {"Idempotency-Key": key or str(uuid.uuid4())}
        if not cache:
            headers["Cache-Control"] = "no-cache"
        query = query_of({"from": library_item})
        body = yield from self._projects.add(request.to_wire(), project)
        call = Call("POST", "/v1/jobs", query=query, json=body, headers=headers, repeatable=True)
        return decode(CreatedJob, (yield from send_json(self._policy, call)))

    def _validate(self, request: JobRequest, project: str | None) -> Flow[Validation]:
        body = yield from self._projects.add(request.to_wire(), project)
        call = Call("POST", "/v1/jobs/validate", json=body, repeatable=True)
        return decode(Validation, (yield from send_json(self._policy, call)))

    def _job(self, id: str) -> Flow[JobView]:
        return decode(JobView, (yield from send_json(self._policy, get(f"/v1/jobs/{quote(id, safe='')}"))))

    def _jobs(
        self, cursor: str | None, status: str | None, text: str | None, project: str | None, by: str | None
    ) -> Flow[tuple[list[JobRow], str | None]]:
        query = {"limit": 100, "cursor": cursor, "status": status, "q": text, "createdBy": by}
        query["projectId"] = yield from self._projects.id(project)
        rows, following = yield from page(self._policy, "/v1/jobs", query)
        return [decode(JobRow, r) for r in rows], following

    def _models(self) -> Flow[tuple[Model, ...]]:
        rows, _ = yield from page(self._policy, "/v1/models")
        return tuple(decode(Model, m, f"data[{i}]") for i, m in enumerate(rows))

    def _usage(
        self, project: str | None, first_day: str | None, last_day: str | None, by: Sequence[str] | None
    ) -> Flow[Usage]:
        query = {
            "projectId": (yield from self._projects.id(project)),
            "from": first_day,
            "to": last_day,
            "by": None if by is None else ",".join(by),
        }
        return decode(Usage, (yield from send_json(self._policy, get("/v1/usage", query))))

    def _me(self) -> Flow[Me]:
        return decode(Me, (yield from send_json(self._policy, get("/v1/me"))))

    def _batch(self, body: dict[str, Any], resume: bool, idempotency_key: str | None, project: str | None) -> Flow[str]:
        body = yield from self._projects.add(body, project)
        return (yield from batches.create(self._policy, body, resume, idempotency_key))

    def _validate_batch(self, body: dict[str, Any], project: str | None) -> Flow[BatchValidation]:
        body = yield from self._projects.add(body, project)
        return (yield from batches.validate(self._policy, body))

    def _batch_info(self, id: str) -> Flow[BatchInfo]:
        return decode(BatchInfo, (yield from send_json(self._policy, get(f"/v1/batches/{quote(id, safe='')}"))))

    def _start(self, kind: str, name: str | None, given: Mapping[str, Any], project: str | None) -> Flow[WorkflowView]:
        body = present(workflow_name=kind, name=name) | {"workflow_input": dict(given)}
        body = yield from self._projects.add(body, project)
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        call = Call("POST", "/v1/workflows", json=body, headers=headers, repeatable=True)
        return decode(WorkflowView, (yield from send_json(self._policy, call)))

    def _workflow(self, id: str) -> Flow[WorkflowView]:
        call = get(f"/v1/workflows/{quote(id, safe='')}")
        return decode(WorkflowView, (yield from send_json(self._policy, call)))

    def _request(self, method: str, path: str, body: Any, query: Mapping[str, Any]) -> Flow[Any]:
        if not path.startswith("/"):
            raise ValueError(f"path is {path!r}; it must begin with a slash, such as /v1/classes")
        call = Call(method.upper(), path, query=query_of(query), json=body, repeatable=method.upper() == "GET")
        return (yield from send_json(self._policy, call))


def _fold_request(
    sequence: str | Protein, model: str, name: str | None, params: Params | None, public: bool
) -> JobRequest:
    return JobRequest(name=name or "fold", model=model, molecules=molecules(sequence), params=params, public=public)


def _complex_request(
    parts: Sequence[str | Molecule],
    model: str,
    name: str | None,
    params: Params | None,
    limits: Constraints | None,
    templates: Sequence[Template],
    public: bool,
) -> JobRequest:
    if not parts:
        raise ValueError("molecules is empty; a complex has at least one chain")
    return JobRequest(
        name=name or "complex",
        model=model,
        molecules=molecules(parts),
        params=params,
        constraints=constraints(limits, templates),
        public=public,
    )


def _batch_body(
    rows: Rows,
    name: str,
    model: str,
    params: Params | None,
    limits: Constraints | None,
    templates: Sequence[Template],
    public: bool,
) -> dict[str, Any]:
    return {
        **rows_to_wire(rows, model),
        **present(
            name=name,
            params=(params or Params()).to_wire(model),
            constraints=constraints(limits, templates),
            isPublic=True if public else None,
        ),
    }


class Pleat(ClientFlows):
    """A client that blocks. It may be used by several threads, and pickled for other processes, with its key.

    `url` and `key` come from PLEAT_URL and PLEAT_KEY if they are not given. Without a key, public jobs can be read.
    `project`, or PLEAT_PROJECT, is the id or name of the project in which it creates and lists, unless a call names
    another; without one, it is that of the key, or else the user's own.
    `http` is an httpx.Client of your own, for proxies and certificates; `policy` says how patient the client is.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        project: str | None = None,
        *,
        http: httpx.Client | None = None,
        policy: Policy | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(url, key, project, policy)
        self._driver = Driver(self._origin, http, sleep)
        self._run = self._driver.run
        self.library: Library = Library(self._driver, self._policy, self._projects)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._driver.close()

    def fold(
        self,
        sequence: str | Protein,
        *,
        model: str = DEFAULT_MODEL,
        name: str | None = None,
        params: Params | None = None,
        seed: int | None = None,
        public: bool = False,
        cache: bool = True,
        idempotency_key: str | None = None,
        project: str | None = None,
    ) -> Job:
        """Creates a job that folds a protein and returns at once.

        `seed` is that of `params`. Without `cache`, it is computed even if there is a result of the same input. Every
        call has an idempotency key of its own, so that it can be repeated safely; the same key and input within a day
        make one job.
        """
        request = _fold_request(sequence, model, name, seeded(params, seed), public)
        return self._new_job(self._run(self._create(request, None, cache, idempotency_key, project)))

    def complex(
        self,
        molecules: Sequence[str | Molecule],
        *,
        model: str,
        name: str | None = None,
        params: Params | None = None,
        seed: int | None = None,
        constraints: Constraints | None = None,
        templates: Sequence[Template] = (),
        library_item: str | None = None,
        public: bool = False,
        cache: bool = True,
        idempotency_key: str | None = None,
        project: str | None = None,
    ) -> Job:
        """Creates a job of several molecules and returns at once. A text is a protein.

        Models for complexes fold them together, others each on its own. `library_item` has alignments to use.
        """
        request = _complex_request(molecules, model, name, seeded(params, seed), constraints, templates, public)
        return self._new_job(self._run(self._create(request, library_item, cache, idempotency_key, project)))

    def _new_job(self, made: CreatedJob) -> Job:
        return Job(self._driver, self._policy, made.job_id, made.job_name)

    def validate(
        self,
        molecules: Sequence[str | Molecule],
        *,
        model: str = DEFAULT_MODEL,
        params: Params | None = None,
        constraints: Constraints | None = None,
        templates: Sequence[Template] = (),
        project: str | None = None,
    ) -> Validation:
        """Checks a job and estimates its cost. It creates nothing."""
        request = _complex_request(molecules, model, None, params, constraints, templates, False)
        return self._run(self._validate(request, project))

    def job(self, id: str) -> Job:
        """A job that exists."""
        view = self._run(self._job(id))
        return Job(self._driver, self._policy, view.job.id, view.job.name)

    def jobs(
        self,
        *,
        status: str | None = None,
        name: str | None = None,
        project: str | None = None,
        created_by: str | None = None,
    ) -> Iterator[JobRow]:
        """The jobs of the project, the newest first; `name` is a part of their names.

        `created_by` is "me" or the id of a user.
        """
        cursor: str | None = None
        while True:
            rows, cursor = self._run(self._jobs(cursor, status, name, project, created_by))
            yield from rows
            if cursor is None:
                return

    def batch(
        self,
        rows: Rows,
        *,
        name: str,
        model: str = DEFAULT_MODEL,
        params: Params | None = None,
        constraints: Constraints | None = None,
        templates: Sequence[Template] = (),
        public: bool = False,
        resume: bool = True,
        idempotency_key: str | None = None,
        project: str | None = None,
    ) -> Batch:
        """Creates a batch and returns at once; with `resume`, the batch of this name if there is one.

        `rows` is a mapping of ids to complexes, a list of them, or a Matrix, Ligands, Variants or Seeds. A batch of
        this name with other rows or another model raises BatchDiffers.
        """
        body = _batch_body(rows, name, model, params, constraints, templates, public)
        id = self._run(self._batch(body, resume, idempotency_key, project))
        return Batch(self._driver, self._policy, id, name)

    def validate_batch(
        self,
        rows: Rows,
        *,
        name: str,
        model: str = DEFAULT_MODEL,
        params: Params | None = None,
        project: str | None = None,
    ) -> BatchValidation:
        """Checks a batch and says what it comes to. It creates nothing."""
        return self._run(self._validate_batch(_batch_body(rows, name, model, params, None, (), False), project))

    def get_batch(self, id: str) -> Batch:
        """A batch that exists."""
        info = self._run(self._batch_info(id))
        return Batch(self._driver, self._policy, info.batch_id, info.name)

    def ask(self, target: Job | str, question: str, *, name: str | None = None, project: str | None = None) -> Question:
        """Asks about a job, `pdb:ID`, `uniprot:ID` or `library:ID`, and returns at once."""
        made = self._run(self._start("qna_v1", name, workflows.question_input(target, question), project))
        return Question(self._driver, self._policy, made.workflow_id, made.name)

    def simulate(
        self,
        target: Job | str | None = None,
        *,
        name: str | None = None,
        project: str | None = None,
        **options: Any,
    ) -> Simulation:
        """Simulates a job, or `sequence=`, and returns at once.

        The options are the fields of docs/interface.md, such as `temp=293.15` and `sim_length_ns=0.2`.
        """
        made = self._run(self._start("md", name, workflows.simulation_input(target, options), project))
        return Simulation(self._driver, self._policy, made.workflow_id, made.name)

    def design(
        self,
        target: Job | str | Mapping[str, Any],
        *,
        name: str | None = None,
        project: str | None = None,
        **options: Any,
    ) -> Design:
        """Designs binders for a job, `pdb:ID`, `library:ID` or a target, and returns at once.

        The options are the fields of docs/interface.md, such as `binder={"length": "80..120"}` and `numDesigns=50`.
        """
        made = self._run(self._start("design_v1", name, workflows.design_input(target, options), project))
        return Design(self._driver, self._policy, made.workflow_id, made.name)

    def workflow(self, id: str) -> Workflow:
        """A workflow that exists: a Question, Simulation or Design if it is one."""
        view = self._run(self._workflow(id))
        return _classes_of(view)[0](self._driver, self._policy, view.workflow_id, view.name)

    def models(self) -> tuple[Model, ...]:
        """The models that the service has now."""
        return self._run(self._models())

    def usage(
        self,
        *,
        project: str | None = None,
        first_day: str | None = None,
        last_day: str | None = None,
        by: Sequence[str] | None = None,
    ) -> Usage:
        """The use of today's quotas, and what one's runs have spent: this month, or on days such as "2027-01-31".

        `by` is what sums are grouped by: of "model" and "day", both by default.
        """
        return self._run(self._usage(project, first_day, last_day, by))

    def me(self) -> Me:
        """The user of the key, and what it may do."""
        return self._run(self._me())

    def projects(self) -> tuple[ProjectRole, ...]:
        """The projects in which the key's user has a role, the own one first."""
        return self._run(self._projects.list())

    def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Any other call of docs/interface.md: sends and answers JSON."""
        return self._run(self._request(method, path, body, query))


class AsyncPleat(ClientFlows):
    """The same client, to be awaited: `async with AsyncPleat() as pleat: job = await pleat.fold("MKT")`."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        project: str | None = None,
        *,
        http: httpx.AsyncClient | None = None,
        policy: Policy | None = None,
        sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
    ) -> None:
        super().__init__(url, key, project, policy)
        self._driver = AsyncDriver(self._origin, http, sleep)
        self._run = self._driver.run
        self.library: AsyncLibrary = AsyncLibrary(self._driver, self._policy, self._projects)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._driver.close()

    async def fold(
        self,
        sequence: str | Protein,
        *,
        model: str = DEFAULT_MODEL,
        name: str | None = None,
        params: Params | None = None,
        seed: int | None = None,
        public: bool = False,
        cache: bool = True,
        idempotency_key: str | None = None,
        project: str | None = None,
    ) -> AsyncJob:
        """As Pleat.fold()."""
        request = _fold_request(sequence, model, name, seeded(params, seed), public)
        return self._new_job(await self._run(self._create(request, None, cache, idempotency_key, project)))

    async def complex(
        self,
        molecules: Sequence[str | Molecule],
        *,
        model: str,
        name: str | None = None,
        params: Params | None = None,
        seed: int | None = None,
        constraints: Constraints | None = None,
        templates: Sequence[Template] = (),
        library_item: str | None = None,
        public: bool = False,
        cache: bool = True,
        idempotency_key: str | None = None,
        project: str | None = None,
    ) -> AsyncJob:
        """As Pleat.complex()."""
        request = _complex_request(molecules, model, name, seeded(params, seed), constraints, templates, public)
        return self._new_job(await self._run(self._create(request, library_item, cache, idempotency_key, project)))

    def _new_job(self, made: CreatedJob) -> AsyncJob:
        return AsyncJob(self._driver, self._policy, made.job_id, made.job_name)

    async def validate(
        self,
        molecules: Sequence[str | Molecule],
        *,
        model: str = DEFAULT_MODEL,
        params: Params | None = None,
        constraints: Constraints | None = None,
        templates: Sequence[Template] = (),
        project: str | None = None,
    ) -> Validation:
        """Checks a job and estimates its cost. It creates nothing."""
        request = _complex_request(molecules, model, None, params, constraints, templates, False)
        return await self._run(self._validate(request, project))

    async def job(self, id: str) -> AsyncJob:
        """A job that exists."""
        view = await self._run(self._job(id))
        return AsyncJob(self._driver, self._policy, view.job.id, view.job.name)

    async def jobs(
        self,
        *,
        status: str | None = None,
        name: str | None = None,
        project: str | None = None,
        created_by: str | None = None,
    ) -> AsyncIterator[JobRow]:
        """The jobs of the project, the newest first; `name` is a part of their names.

        `created_by` is "me" or the id of a user.
        """
        cursor: str | None = None
        while True:
            rows, cursor = await self._run(self._jobs(cursor, status, name, project, created_by))
            for row in rows:
                yield row
            if cursor is None:
                return

    async def batch(
        self,
        rows: Rows,
        *,
        name: str,
        model: str = DEFAULT_MODEL,
        params: Params | None = None,
        constraints: Constraints | None = None,
        templates: Sequence[Template] = (),
        public: bool = False,
        resume: bool = True,
        idempotency_key: str | None = None,
        project: str | None = None,
    ) -> AsyncBatch:
        """As Pleat.batch()."""
        body = _batch_body(rows, name, model, params, constraints, templates, public)
        id = await self._run(self._batch(body, resume, idempotency_key, project))
        return AsyncBatch(self._driver, self._policy, id, name)

    async def validate_batch(
        self,
        rows: Rows,
        *,
        name: str,
        model: str = DEFAULT_MODEL,
        params: Params | None = None,
        project: str | None = None,
    ) -> BatchValidation:
        """Checks a batch and says what it comes to. It creates nothing."""
        return await self._run(self._validate_batch(_batch_body(rows, name, model, params, None, (), False), project))

    async def get_batch(self, id: str) -> AsyncBatch:
        """A batch that exists."""
        info = await self._run(self._batch_info(id))
        return AsyncBatch(self._driver, self._policy, info.batch_id, info.name)

    async def ask(
        self, target: AsyncJob | str, question: str, *, name: str | None = None, project: str | None = None
    ) -> AsyncQuestion:
        """As Pleat.ask()."""
        made = await self._run(self._start("qna_v1", name, workflows.question_input(target, question), project))
        return AsyncQuestion(self._driver, self._policy, made.workflow_id, made.name)

    async def simulate(
        self,
        target: AsyncJob | str | None = None,
        *,
        name: str | None = None,
        project: str | None = None,
        **options: Any,
    ) -> AsyncSimulation:
        """As Pleat.simulate()."""
        made = await self._run(self._start("md", name, workflows.simulation_input(target, options), project))
        return AsyncSimulation(self._driver, self._policy, made.workflow_id, made.name)

    async def design(
        self,
        target: AsyncJob | str | Mapping[str, Any],
        *,
        name: str | None = None,
        project: str | None = None,
        **options: Any,
    ) -> AsyncDesign:
        """As Pleat.design()."""
        made = await self._run(self._start("design_v1", name, workflows.design_input(target, options), project))
        return AsyncDesign(self._driver, self._policy, made.workflow_id, made.name)

    async def workflow(self, id: str) -> AsyncWorkflow:
        """A workflow that exists: an AsyncQuestion, AsyncSimulation or AsyncDesign if it is one."""
        view = await self._run(self._workflow(id))
        return _classes_of(view)[1](self._driver, self._policy, view.workflow_id, view.name)

    async def models(self) -> tuple[Model, ...]:
        """The models that the service has now."""
        return await self._run(self._models())

    async def usage(
        self,
        *,
        project: str | None = None,
        first_day: str | None = None,
        last_day: str | None = None,
        by: Sequence[str] | None = None,
    ) -> Usage:
        """The use of today's quotas, and what one's runs have spent: this month, or on days such as "2027-01-31".

        `by` is what sums are grouped by: of "model" and "day", both by default.
        """
        return await self._run(self._usage(project, first_day, last_day, by))

    async def me(self) -> Me:
        """The user of the key, and what it may do."""
        return await self._run(self._me())

    async def projects(self) -> tuple[ProjectRole, ...]:
        """The projects in which the key's user has a role, the own one first."""
        return await self._run(self._projects.list())

    async def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Any other call of docs/interface.md: sends and answers JSON."""
        return await self._run(self._request(method, path, body, query))


_WORKFLOWS: dict[str, tuple[type[Workflow], type[AsyncWorkflow]]] = {
    "inference_qna": (Question, AsyncQuestion),
    "inference_md": (Simulation, AsyncSimulation),
    "inference_calvados_openmm": (Simulation, AsyncSimulation),
    "pipeline_run_design_v1": (Design, AsyncDesign),
    "pipeline_run_boltzgen_v1": (Design, AsyncDesign),
}
"""Workflows by the types of their tasks, in both spellings of docs/interface.md."""


def _classes_of(view: WorkflowView) -> tuple[type[Workflow], type[AsyncWorkflow]]:
    return _WORKFLOWS.get(view.tasks[0].task_type if view.tasks else "", (Workflow, AsyncWorkflow))
