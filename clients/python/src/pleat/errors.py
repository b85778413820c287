"""Every error that this package raises on purpose. All of them are a PleatError.

A refusal of the service is an APIError with the service's own sentence. Its subclasses follow the status, so that a
program can tell a quota from a mistake. No error contains the API key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class PleatError(Exception):
    """The base of all errors of this package."""

    def __reduce__(self) -> tuple[Any, ...]:
        # A pool of processes waits for ever for an error that cannot be made again.
        return _restored, (type(self), self.args, dict(self.__dict__))


def _restored(kind: type[PleatError], args: tuple[Any, ...], state: dict[str, Any]) -> PleatError:
    """An error that was pickled or copied, whatever its initializer wants."""
    e = kind.__new__(kind, *args)
    e.__dict__.update(state)
    return e


@dataclass(frozen=True)
class Fault:
    """One fault of a request: `field` is a path in it, such as `sequences[1].proteinChain.sequence`."""

    field: str
    message: str


class APIError(PleatError):
    """The service refused a call. `message` is its sentence, `faults` every fault that it found."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        faults: tuple[Fault, ...] = (),
        retry_after: float | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.faults = faults
        self.retry_after = retry_after
        """Seconds after which the service would answer; None: it did not say."""
        self.request_id = request_id

    def __str__(self) -> str:
        further = [f"{f.field}: {f.message}" if f.field else f.message for f in self.faults[1:]]
        return "\n".join([self.message, *further])


class InvalidRequest(APIError):
    """400: the input is invalid."""


class Unauthorized(APIError):
    """401: the key is missing or invalid."""

    def __str__(self) -> str:
        if self.message != "Unauthorized":
            return super().__str__()
        return "Unauthorized: the API key is missing or not valid on this server; set PLEAT_KEY, or pass key to Pleat()"


class Forbidden(APIError):
    """403: the key lacks the scope that the call needs."""


class NotFound(APIError):
    """404: there is no such object for this key."""


class Conflict(APIError):
    """409: the state of the object does not allow the call."""


class TooLarge(APIError):
    """413: the input is too large."""


class LimitReached(APIError):
    """429: a quota or a rate limit is reached; see `retry_after`."""


class ServerError(APIError):
    """5xx: the service failed, or cannot answer now."""


_BY_STATUS: dict[int, type[APIError]] = {
    400: InvalidRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    429: LimitReached,
}


def of_status(status: int) -> type[APIError]:
    """The class of errors with a status."""
    return ServerError if status >= 500 else _BY_STATUS.get(status, APIError)


class ConnectionFailed(PleatError):
    """The service was not reached, or the connection broke. It is not known whether it has executed the call."""


class InvalidAnswer(PleatError):
    """The answer does not follow the interface of Pleat, or is damaged."""


class RunFailed(PleatError):
    """A job, batch or workflow ended without a result. `kind` is the kind of failure, such as `invalid_input`."""

    def __init__(self, message: str, *, id: str, status: str, kind: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.id = id
        self.status = status
        self.kind = kind


class RunStopped(RunFailed):
    """It was cancelled."""


class WaitTimeout(PleatError, TimeoutError):
    """The time given to wait() is over. The run goes on."""


class NoResult(PleatError):
    """There is no such result: the run has not completed, or its engine does not give the value."""


class ChecksumMismatch(PleatError):
    """A downloaded file is not the one that the service stored."""


class UnsafeName(PleatError):
    """A file has a name that would lead outside its folder."""


class BatchDiffers(PleatError):
    """There is a batch of this name, and it is another one."""


class InvalidSignature(PleatError):
    """A webhook was not signed with the secret, or is too old."""


class MissingPackage(PleatError, ImportError):
    """A feature needs a package that is not installed; the message names the extra that brings it."""
