"""The common part of jobs, batches and workflows: they are followed until they end.

RunFlows has the decisions as flows. SyncRun and AsyncRun execute them; each of their methods is one line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Generator
from datetime import date
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from . import errors
from ._flow import Call, Flow, Policy, get, send, send_json
from ._project import Projects
from ._wire import decode, present
from .events import OnProgress, Progress, Watched, follow
from .models import ENDED, NewLink
from .progress import reporter

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._drive import AsyncDriver, Driver

V = TypeVar("V")
T = TypeVar("T")


class RunFlows(ABC, Generic[V]):
    """Something that the service computes. V is what the service says of it."""

    _word: str
    _model: type[V]

    def __init__(self, policy: Policy, id: str, name: str) -> None:
        self._policy = policy
        self.id = id
        self.name = name
        self._view: V | None = None

    def __repr__(self) -> str:
        status = "" if self._view is None else f", status={self._status(self._view)!r}"
        return f"{type(self).__name__}(id={self.id!r}, name={self.name!r}{status})"

    @property
    @abstractmethod
    def _path(self) -> str: ...

    @abstractmethod
    def _status(self, view: V) -> str: ...

    @abstractmethod
    def _failure(self, view: V) -> tuple[str, str | None]:
        """Why it failed, and the kind of failure."""

    @abstractmethod
    def _progress_of_view(self, view: V) -> Progress: ...

    def _progress_of_event(self, event: Any) -> Progress:
        kind = event.get("kind")
        return Progress(
            status=event.get("state") if kind == "state" else None,
            stage=event.get("stage") or "",
            done=event.get("done") or 0,
            total=event.get("total") or 0,
            line=event.get("line") if kind == "log" else None,
        )

    def _read(self, body: Any) -> V:
        self._view = decode(self._model, body)
        return self._view

    def _refresh(self) -> Flow[V]:
        return self._read((yield from send_json(self._policy, get(self._path))))

    def _current(self) -> Flow[V]:
        """The answer of the service, asked again until the run has ended."""
        if self._view is not None and self._status(self._view) in ENDED:
            return self._view
        return (yield from self._refresh())

    def _completed(self) -> Flow[V]:
        view = yield from self._current()
        status = self._status(view)
        if status not in ENDED:
            raise errors.NoResult(f"the {self._word} {self.id} is {status}; wait() waits until it has ended")
        self._raise_failure(view)
        return view

    def _raise_failure(self, view: V) -> None:
        status = self._status(view)
        if status == "STOPPED":
            raise errors.RunStopped(f"the {self._word} {self.id} was cancelled", id=self.id, status=status)
        if status == "FAILED":
            message, kind = self._failure(view)
            raise errors.RunFailed(message, id=self.id, status=status, kind=kind)

    def _wait(self, timeout: float | None, progress: bool | OnProgress | None, check: bool) -> Flow[None]:
        watched = Watched(
            id=f"the {self._word} {self.id}",
            events=f"{self._path}/events",
            state=self._path,
            read_event=self._progress_of_event,
            read_state=lambda body: self._progress_of_view(self._read(body)),
        )
        with reporter(self.name or self.id, progress) as report:
            yield from follow(self._policy, watched, report, timeout)
        view = yield from self._refresh()
        if check:
            self._raise_failure(view)

    def _forget(self) -> None:
        """Forgets what the service has said, because it is no longer so."""
        self._view = None

    def _change(self, method: str, path: str = "", body: Any = None) -> Flow[None]:
        yield from send(self._policy, Call(method, self._path + path, json=body))
        self._forget()

    def _share(self, expires: str | date | None) -> Flow[NewLink]:
        end = expires.isoformat() if isinstance(expires, date) else expires
        call = Call("POST", f"{self._path}/links", json=present(expiresAt=end))
        return decode(NewLink, (yield from send_json(self._policy, call)))

    def _move(self, project: str) -> Flow[None]:
        id = yield from Projects(self._policy, None).id(project)
        yield from self._change("POST", "/move", {"projectId": id})


class Later(Generic[T]):
    """A value that is fetched when it is awaited."""

    def __init__(self, fetch: Callable[[], Awaitable[T]]) -> None:
        self._fetch = fetch

    def __await__(self) -> Generator[Any, None, T]:
        return self._fetch().__await__()


class SyncRun(RunFlows[V]):
    """The methods of everything that is waited for. They block."""

    def __init__(self, driver: Driver, policy: Policy, id: str, name: str) -> None:
        super().__init__(policy, id, name)
        self._driver = driver
        self._run = driver.run

    def wait(
        self, *, timeout: float | None = None, progress: bool | OnProgress | None = None, check: bool = True
    ) -> Self:
        """Waits for the end and raises RunFailed if it is a failure, unless `check` is False.

        After `timeout` seconds, WaitTimeout is raised and what was waited for goes on, as after an interrupt.
        `progress` is a function that is called with each Progress, or whether to draw a bar; None: where one can be
        seen.
        """
        self._run(self._wait(timeout, progress, check))
        return self

    @property
    def status(self) -> str:
        """The state now, such as RUNNING or COMPLETED."""
        return self._status(self._run(self._current()))

    def refresh(self) -> V:
        """Asks the service for everything that it says of this."""
        return self._run(self._refresh())

    def cancel(self) -> None:
        """Stops it. Conflict: it has ended."""
        self._run(self._change("POST", "/cancel"))

    def publish(self, public: bool = True) -> None:
        """Lets everyone with the link read it, or no longer."""
        self._run(self._change("PATCH", "/public", {"isPublic": public}))

    def share(self, *, expires: str | date | None = None) -> NewLink:
        """Makes a link by which everyone who has it reads this. `url` of it is shown only once.

        It ends after 30 days, or when `expires` says: a time with its zone, or a date, its last day.
        """
        return self._run(self._share(expires))

    def delete(self) -> None:
        """Deletes it with everything that came of it."""
        self._run(self._change("DELETE"))


class AsyncRun(RunFlows[V]):
    """The methods of everything that is waited for, to be awaited."""

    def __init__(self, driver: AsyncDriver, policy: Policy, id: str, name: str) -> None:
        super().__init__(policy, id, name)
        self._driver = driver
        self._run = driver.run

    async def wait(
        self, *, timeout: float | None = None, progress: bool | OnProgress | None = None, check: bool = True
    ) -> Self:
        """As SyncRun.wait()."""
        await self._run(self._wait(timeout, progress, check))
        return self

    @property
    def status(self) -> Later[str]:
        """The state now, such as RUNNING or COMPLETED."""

        async def fetch() -> str:
            return self._status(await self._run(self._current()))

        return Later(fetch)

    async def refresh(self) -> V:
        """Asks the service for everything that it says of this."""
        return await self._run(self._refresh())

    async def cancel(self) -> None:
        """Stops it. Conflict: it has ended."""
        await self._run(self._change("POST", "/cancel"))

    async def publish(self, public: bool = True) -> None:
        """Lets everyone with the link read it, or no longer."""
        await self._run(self._change("PATCH", "/public", {"isPublic": public}))

    async def share(self, *, expires: str | date | None = None) -> NewLink:
        """As SyncRun.share()."""
        return await self._run(self._share(expires))

    async def delete(self) -> None:
        """Deletes it with everything that came of it."""
        await self._run(self._change("DELETE"))
