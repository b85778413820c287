"""Event streams: their syntax, and following one until a run ends.

A stream is read from where it broke (Last-Event-ID). Where it cannot be had, and near the end of a time limit, the
state is asked for once a second instead.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from . import errors
from ._flow import Answer, Close, Flow, Open, Pause, Policy, Read, send, send_json
from ._flow import get as get_call
from .models import ENDED

MAX_EVENT = 1 << 20
"""Bytes of one event."""


@dataclass(frozen=True)
class Progress:
    """The progress of a run: `done` of `total` steps of `stage`. `line` is a line of its log."""

    status: str | None = None
    stage: str = ""
    done: int = 0
    total: int = 0
    line: str | None = None
    queue_position: int | None = None
    counts: dict[str, int] = field(default_factory=lambda: dict[str, int]())
    """For a batch: its rows by state."""


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class ServerSentEvent:
    id: str
    event: str
    data: str


class Parser:
    """Parses a stream of server-sent events as the HTML standard says, from pieces of any size."""

    def __init__(self) -> None:
        self.last_id: str = ""
        self.events: int = 0
        self._rest = b""
        self._size = 0
        self._skip_newline = False
        self._data: list[str] = []
        self._event = ""
        self._id: str | None = None

    def feed(self, piece: bytes) -> Iterator[ServerSentEvent]:
        """The events that the piece completes."""
        for line in self._lines(piece):
            event = self._line(line)
            if event is not None:
                self.events += 1
                yield event

    def drop(self) -> None:
        """Forgets what an interrupted stream has left; the id of the last event stays."""
        self._rest, self._data, self._event, self._size, self._skip_newline = b"", [], "", 0, False
        self._id = None

    def _lines(self, piece: bytes) -> Iterator[str]:
        if self._skip_newline and piece:
            piece = piece.removeprefix(b"\n")
            self._skip_newline = False
        if piece.endswith(b"\r"):
            self._skip_newline = True
        *lines, self._rest = (self._rest + piece).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        if len(self._rest) > MAX_EVENT:
            raise errors.InvalidAnswer("the event stream has a line of more than 1 MiB")
        yield from (line.decode("utf-8", "replace") for line in lines)

    def _line(self, line: str) -> ServerSentEvent | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        self._size += len(value)
        if self._size > MAX_EVENT:
            raise errors.InvalidAnswer("the event stream has an event of more than 1 MiB")
        match name:
            case "data":
                self._data.append(value)
            case "event":
                self._event = value
            case "id" if "\0" not in value:
                self._id = value
            case _:
                pass
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        data, event = self._data, self._event
        self._data, self._event, self._size = [], "", 0
        if self._id is not None:
            self.last_id, self._id = self._id, None
        if not data:
            return None
        return ServerSentEvent(self.last_id, event or "message", "\n".join(data))


@dataclass(frozen=True)
class Watched:
    """A run that is waited for: the path of its events, and that of its state with its reader."""

    id: str
    events: str
    state: str
    read_event: Callable[[Any], Progress]
    read_state: Callable[[Any], Progress]


SILENCE = 45.0
"""Seconds without a byte after which a stream is taken for dead. The service writes every 15."""
ATTEMPTS = 3
"""How often in a row a stream may fail before the state is polled instead."""
QUIET = 5.0
"""Seconds after which a connection without events was one all the same."""
POLL_RETRIES = 10
"""So that a service that starts again, which takes less than a minute, does not end a wait."""


def follow(policy: Policy, what: Watched, on_progress: OnProgress, timeout: float | None) -> Flow[None]:
    """Waits until it has ended. WaitTimeout: the time is over."""
    deadline = None if timeout is None else policy.clock() + timeout
    parser, failures = Parser(), 0
    while failures < ATTEMPTS and _left(policy, deadline) > SILENCE:
        before, began = parser.events, policy.clock()
        try:
            ended = yield from _stream(policy, what, on_progress, deadline, parser)
        except errors.ConnectionFailed:
            ended = False
        yield Close()
        if ended:
            return
        real = parser.events > before or policy.clock() - began > QUIET
        failures = 1 if real else failures + 1
        parser.drop()
        if failures < ATTEMPTS:
            yield Pause(policy.delay(failures))
    patient = dataclasses.replace(policy, retries=max(policy.retries, POLL_RETRIES))
    try:
        yield from _poll(patient, what, on_progress, deadline)
    except errors.ConnectionFailed as e:
        raise errors.ConnectionFailed(f"{e}. The service keeps what was waited for: wait() may be called again") from e


def _left(policy: Policy, deadline: float | None) -> float:
    return float("inf") if deadline is None else deadline - policy.clock()


def _stream(
    policy: Policy, what: Watched, on_progress: OnProgress, deadline: float | None, parser: Parser
) -> Flow[bool]:
    """Reads the stream until it breaks or little time is left. Answers whether the run has ended."""
    headers = {"Accept": "text/event-stream"}
    if parser.last_id:
        headers["Last-Event-ID"] = parser.last_id
    answer: Answer = yield Open(get_call(what.events, headers=headers, read_timeout=SILENCE))
    if answer.status in (401, 403, 404):
        yield from send(policy, get_call(what.state))  # raises what the service says
    if answer.status != 200 or "text/event-stream" not in answer.headers.get("content-type", ""):
        return False
    while piece := (yield Read()):
        for event in parser.feed(piece):
            progress = what.read_event(_json(event.data))
            on_progress(progress)
            if progress.status in ENDED:
                return True
        if _left(policy, deadline) <= SILENCE:
            return False
    return False


def _json(data: str) -> Any:
    try:
        return json.loads(data)
    except ValueError as e:
        raise errors.InvalidAnswer("the event stream has an event that is not JSON") from e


def _poll(policy: Policy, what: Watched, on_progress: OnProgress, deadline: float | None) -> Flow[None]:
    last: Progress | None = None
    while True:
        progress = what.read_state((yield from send_json(policy, get_call(what.state))))
        if progress != last:
            on_progress(progress)
        if progress.status in ENDED:
            return
        left = _left(policy, deadline)
        if left <= 0:
            raise errors.WaitTimeout(f"{what.id} has not ended in time; it goes on, and wait() can be called again")
        yield Pause(min(policy.poll_every, left))
        last = progress
