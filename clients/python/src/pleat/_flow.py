"""The actions of the client, without executing them: a Flow is a generator that yields effects and is sent their
results.

Everything that decides (retries, reconnecting, paging, checks of files) is written once as a flow. `_drive` executes
flows, blocking or on an event loop.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from . import errors

T = TypeVar("T")

MAX_ANSWER = 64 << 20
"""Bytes of an answer that is held in memory, as in the Go client."""


@dataclass(frozen=True)
class Call:
    """One HTTP request. `target` is a path of the service, or with `signed=False` any address, which gets no key."""

    method: str
    target: str
    query: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())
    headers: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())
    json: Any = None
    files: tuple[tuple[str, bytes], ...] = ()
    signed: bool = True
    read_timeout: float | None = None
    repeatable: bool = False
    """Whether the call may be sent twice: it reads, or has an idempotency key."""

    def __str__(self) -> str:
        return f"{self.method} {self.target.split('?')[0]}"


@dataclass(frozen=True)
class Answer:
    """Status, headers with lower-case names, and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class Open:
    """Sends a call and leaves the body to Read. The answer has a body only if it is an error. Close ends it."""

    call: Call


@dataclass(frozen=True)
class Read:
    """The next bytes of the body that Open left; none at its end."""


@dataclass(frozen=True)
class Close:
    """Ends what Open began."""


@dataclass(frozen=True)
class Pause:
    """Waits for so many seconds."""

    seconds: float


Effect = Call | Open | Read | Close | Pause
Flow = Generator[Effect, Any, T]


def _seconds() -> float:
    return time.monotonic()


@dataclass(frozen=True)
class Policy:
    """How patient a client is. Delays grow from `first_delay` to `longest_delay`, each with a random part."""

    retries: int = 4
    first_delay: float = 0.5
    longest_delay: float = 8.0
    longest_retry_after: float = 60.0
    """Seconds that a Retry-After may ask for; above it the error is raised at once."""
    poll_every: float = 1.0
    clock: Callable[[], float] = _seconds
    draw: Callable[[], float] = random.random

    def delay(self, attempt: int) -> float:
        """Seconds before the attempt after this one, which counts from 1."""
        return min(self.longest_delay, self.first_delay * 2 ** (attempt - 1)) * (0.5 + self.draw() / 2)


RETRIED = frozenset({429, 502, 503, 504})


def repeat(policy: Policy, attempt: Callable[[], Flow[T]], repeatable: bool = True) -> Flow[T]:
    """Makes an attempt, and where it may be repeated, further ones while the service is away or asks for patience."""
    number = 1
    while True:
        try:
            return (yield from attempt())
        except errors.ConnectionFailed:
            if not repeatable or number > policy.retries:
                raise
            wait = policy.delay(number)
        except errors.APIError as e:
            if not repeatable or number > policy.retries or e.status not in RETRIED:
                raise
            wait = policy.delay(number) if e.retry_after is None else e.retry_after
            if wait > policy.longest_retry_after:
                raise
        yield Pause(wait)
        number += 1


def send(policy: Policy, call: Call) -> Flow[Answer]:
    """Sends a call, again where that is safe, and raises refusals."""
    return (yield from repeat(policy, lambda: _send(call), call.repeatable))


def _send(call: Call) -> Flow[Answer]:
    answer: Answer = yield call
    if answer.status >= 400:
        raise refusal(answer)
    return answer


def send_json(policy: Policy, call: Call) -> Flow[Any]:
    """Sends a call whose answer is JSON."""
    answer: Answer = yield from send(policy, call)
    try:
        return json.loads(answer.body)
    except ValueError as e:
        raise errors.InvalidAnswer(f"{call}: the answer is not JSON; is this the address of a Pleat service?") from e


Page = tuple[list[Any], str | None]
"""The entries of a page of a list, and the cursor of the next one."""


def page(policy: Policy, path: str, query: Mapping[str, Any] | None = None) -> Flow[Page]:
    """Reads one page of a list."""
    body = yield from send_json(policy, get(path, query))
    try:
        return list(body["data"]), body.get("next_cursor")
    except (LookupError, TypeError, AttributeError) as e:
        raise errors.InvalidAnswer(f"GET {path}: the answer is no list") from e


def pages(policy: Policy, path: str, query: Mapping[str, Any] | None = None) -> Flow[list[Any]]:
    """Reads all pages of a list."""
    rows: list[Any] = []
    cursor: str | None = None
    while True:
        more, cursor = yield from page(policy, path, {**(query or {}), "cursor": cursor})
        rows += more
        if cursor is None:
            return rows


def refusal(answer: Answer) -> errors.APIError:
    """The error of an answer. For a body that is not the service's, such as a proxy's page, only the status counts."""
    message, faults = "", ()
    try:
        body: Any = json.loads(answer.body)
        message = str(body.get("detail") or body.get("message") or "")
        faults = tuple(errors.Fault(str(f["field"]), str(f["message"])) for f in body.get("errors") or ())
    except (ValueError, AttributeError, KeyError, TypeError):
        pass
    return errors.of_status(answer.status)(
        message or f"The service answered with status {answer.status}.",
        status=answer.status,
        faults=faults,
        retry_after=_retry_after(answer.headers.get("retry-after")),
        request_id=answer.headers.get("x-request-id"),
    )


def _retry_after(value: str | None) -> float | None:
    if not value:
        return None
    try:
        if value.strip().isdigit():
            return float(value)
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def get(target: str, query: Mapping[str, Any] | None = None, **more: Any) -> Call:
    """A call that reads."""
    return Call("GET", target, query=query_of(query or {}), repeatable=True, **more)


def query_of(values: Mapping[str, Any]) -> dict[str, str]:
    """The parameters that are given, as text."""
    return {k: str(v) for k, v in values.items() if v is not None}
