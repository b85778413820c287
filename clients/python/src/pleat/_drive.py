"""Executes flows over httpx: Driver blocks, AsyncDriver awaits. Neither decides anything; `_flow` does.

Both send the key to the origin of the service alone, bound what they hold in memory, and turn the exceptions of httpx
into ConnectionFailed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

import httpx

from . import errors
from ._flow import MAX_ANSWER, Answer, Call, Close, Effect, Flow, Open, Pause, Read
from ._version import VERSION

T = TypeVar("T")
C = TypeVar("C", httpx.Client, httpx.AsyncClient)

TIMEOUT = httpx.Timeout(60.0, connect=10.0)
REDIRECTS = 5


@dataclass(frozen=True)
class Origin:
    """The service and the key for it. The key is not part of its text."""

    url: httpx.URL
    key: str | None

    @classmethod
    def of(cls, url: str, key: str | None) -> Origin:
        """Checks both. The messages do not contain the key, which may be bytes, begin and end as in a file."""
        if isinstance(key, bytes):  # pyright: ignore[reportUnnecessaryIsInstance] # not all callers check types
            key = key.decode("utf-8", "replace")
        key = None if key is None else key.removeprefix("\ufeff").strip()
        try:
            parsed = httpx.URL(url.strip() if isinstance(url, str) else url)  # pyright: ignore
        except (httpx.InvalidURL, TypeError) as e:
            raise ValueError(f"url is {url!r}; it must be an address such as http://127.0.0.1:8080") from e
        if parsed.scheme not in ("http", "https") or not parsed.host or parsed.query or parsed.fragment:
            raise ValueError(f"url is {url!r}; it must be an address such as http://127.0.0.1:8080")
        if parsed.path.rstrip("/").endswith("/v1"):
            raise ValueError(f"url is {url!r}; leave out /v1, as in http://127.0.0.1:8080")
        if parsed.userinfo:
            raise ValueError("url has a user or password; give the API key as key instead")
        if key is not None and key.lower().startswith("bearer "):
            raise ValueError("key begins with Bearer; leave that out, since it is added to every call")
        if key is not None and not (key.isascii() and key.isprintable() and key and " " not in key):
            raise ValueError("key has characters that an API key does not have; it begins with pleat_")
        return cls(parsed, key)

    def __repr__(self) -> str:
        return f"Origin({str(self.url)!r})"

    def trusts_environment(self) -> bool:
        """Whether proxies of the environment apply: not to loopback addresses, which they could not reach."""
        return self.url.host not in ("127.0.0.1", "::1", "localhost")

    def request(self, http: httpx.Client | httpx.AsyncClient, call: Call) -> httpx.Request:
        """The request of a call."""
        headers = {"Accept": "application/json, application/problem+json", **call.headers}
        headers["User-Agent"] = f"pleat-client/{VERSION}"
        target = call.target
        if call.signed:
            target = str(self.url).rstrip("/") + call.target
            if self.key is not None:
                headers["Authorization"] = f"Bearer {self.key}"
        timeout = TIMEOUT
        if call.read_timeout is not None:
            timeout = httpx.Timeout(60.0, connect=10.0, read=call.read_timeout)
        return http.build_request(
            call.method,
            target,
            params=dict(call.query) or None,
            headers=headers,
            json=call.json,
            files=[("files", f) for f in call.files] or None,
            timeout=timeout,
        )

    def next(self, call: Call, response: httpx.Response, hop: int) -> httpx.Request | None:
        """The request that a redirect asks for, if it may be followed; None: the response is no redirect."""
        request = response.next_request
        if request is None:
            return None
        if hop >= REDIRECTS:
            raise errors.InvalidAnswer(f"{call}: there are more than {REDIRECTS} redirects")
        same = (request.url.scheme, request.url.host, request.url.port) == (
            self.url.scheme,
            self.url.host,
            self.url.port,
        )
        if call.signed and not (same and call.method == "GET"):
            to = request.url.copy_with(query=None, fragment=None)
            raise errors.InvalidAnswer(
                f"{call}: the service redirects to {to}. The key is not sent there; "
                "if this is the address of the service, use it as url."
            )
        return request


def _client(kind: Callable[..., C], origin: Origin) -> C:
    """A client of httpx for an origin. What the environment says of proxies and certificates may be wrong."""
    try:
        return kind(trust_env=origin.trusts_environment())
    except (ValueError, OSError, ImportError) as e:
        raise ValueError(
            f"the proxy or the certificates that the environment names cannot be used ({e}); "
            "check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
        ) from e


def _answer(response: httpx.Response, body: bytes = b"") -> Answer:
    return Answer(response.status_code, {k.lower(): v for k, v in response.headers.items()}, body)


def _failed(call: Call, e: Exception) -> errors.ConnectionFailed:
    what = str(e) or type(e).__name__
    if isinstance(e, httpx.ConnectError | httpx.ConnectTimeout):
        # Without the path: links of results are signed.
        address = f"{e.request.url.scheme}://{e.request.url.netloc.decode()}"
        what = f"nothing answers at {address} ({what}); check the address, PLEAT_URL or url, and that the server runs"
    return errors.ConnectionFailed(f"{call}: {what}")


def _bound(call: Call, size: int) -> None:
    if size > MAX_ANSWER:
        raise errors.InvalidAnswer(f"{call}: the answer has more than {MAX_ANSWER >> 20} MiB")


def _again(driver: Driver | AsyncDriver) -> tuple[Any, ...]:
    """How a driver is made in another process: with the key, and with connections of its own."""
    if not driver._owned:  # pyright: ignore[reportPrivateUsage]
        raise TypeError("a client with an http of one's own cannot be pickled; make one in each process")
    return type(driver), (driver.origin, None, driver._sleep)  # pyright: ignore[reportPrivateUsage]


class Driver:
    """Executes flows and blocks."""

    def __init__(self, origin: Origin, http: httpx.Client | None, sleep: Callable[[float], None] = time.sleep) -> None:
        self.origin = origin
        self._owned = http is None
        self.http: httpx.Client = http or _client(httpx.Client, origin)
        self._sleep = sleep

    def __reduce__(self) -> tuple[Any, ...]:
        return _again(self)

    def close(self) -> None:
        """Closes connections, unless they are those of a client that was given."""
        if self._owned:
            self.http.close()

    def run(self, flow: Flow[T]) -> T:
        """Executes a flow. Every stream that it has opened is closed, whatever happens."""
        stream = _Stream(self)
        reply: Any = None
        problem: Exception | None = None
        try:
            while True:
                try:
                    effect = flow.send(reply) if problem is None else flow.throw(problem)
                except StopIteration as end:
                    return end.value
                reply, problem = None, None
                try:
                    reply = self._do(effect, stream)
                except errors.PleatError as e:
                    problem = e
        finally:
            flow.close()
            stream.close()

    def _do(self, effect: Effect, stream: _Stream) -> Any:
        match effect:
            case Pause(seconds):
                self._sleep(seconds)
            case Open(call):
                return stream.open(call)
            case Read():
                return stream.read()
            case Close():
                stream.close()
            case Call():
                with _Stream(self) as whole:
                    return whole.whole(effect)


class _Stream:
    """A response whose body is read in pieces."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._call: Call | None = None
        self._response: httpx.Response | None = None
        self._pieces: Any = iter(())

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, t: TracebackType | None) -> None:
        self.close()

    def _send(self, call: Call) -> httpx.Response:
        self.close()
        http, origin, self._call = self._driver.http, self._driver.origin, call
        try:
            request, hop = origin.request(http, call), 0
            while True:
                self._response = http.send(request, stream=True, follow_redirects=False)
                following = origin.next(call, self._response, hop)
                if following is None:
                    self._pieces = self._response.iter_bytes()
                    return self._response
                self.close()
                request, hop = following, hop + 1
        except (httpx.HTTPError, httpx.InvalidURL) as e:
            raise _failed(call, e) from None

    def open(self, call: Call) -> Answer:
        response = self._send(call)
        if response.status_code >= 400:
            return _answer(response, self._rest(call))
        return _answer(response)

    def whole(self, call: Call) -> Answer:
        return _answer(self._send(call), self._rest(call))

    def _rest(self, call: Call) -> bytes:
        body = bytearray()
        while piece := self.read():
            body += piece
            _bound(call, len(body))
        return bytes(body)

    def read(self) -> bytes:
        try:
            return next((p for p in self._pieces if p), b"")
        except (httpx.HTTPError, httpx.StreamError) as e:
            assert self._call is not None  # noqa: S101 # pieces come of a call
            raise _failed(self._call, e) from None

    def close(self) -> None:
        if self._response is not None:
            self._response.close()
        self._response = None


class AsyncDriver:
    """Executes flows on an event loop."""

    def __init__(
        self,
        origin: Origin,
        http: httpx.AsyncClient | None,
        sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
    ) -> None:
        self.origin = origin
        self._owned = http is None
        self.http: httpx.AsyncClient = http or _client(httpx.AsyncClient, origin)
        self._sleep = sleep
        self._loop: asyncio.AbstractEventLoop | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _again(self)

    async def close(self) -> None:
        """Closes connections, unless they are those of a client that was given."""
        if self._owned:
            await self.http.aclose()

    def _enter_loop(self) -> None:
        """Makes new connections where the event loop of the old ones has ended, as after asyncio.run()."""
        loop = asyncio.get_running_loop()
        if self._owned and self._loop is not None and self._loop.is_closed() and not self.http.is_closed:
            self.http = _client(httpx.AsyncClient, self.origin)
        self._loop = loop

    async def run(self, flow: Flow[T]) -> T:
        """Executes a flow. Every stream that it has opened is closed, whatever happens."""
        self._enter_loop()
        stream = _AsyncStream(self)
        reply: Any = None
        problem: Exception | None = None
        try:
            while True:
                try:
                    effect = flow.send(reply) if problem is None else flow.throw(problem)
                except StopIteration as end:
                    return end.value
                reply, problem = None, None
                try:
                    reply = await self._do(effect, stream)
                except errors.PleatError as e:
                    problem = e
        finally:
            flow.close()
            await stream.close()

    async def _do(self, effect: Effect, stream: _AsyncStream) -> Any:
        match effect:
            case Pause(seconds):
                await self._sleep(seconds)
            case Open(call):
                return await stream.open(call)
            case Read():
                return await stream.read()
            case Close():
                await stream.close()
            case Call():
                async with _AsyncStream(self) as whole:
                    return await whole.whole(effect)


class _AsyncStream:
    """A response whose body is read in pieces."""

    def __init__(self, driver: AsyncDriver) -> None:
        self._driver = driver
        self._call: Call | None = None
        self._response: httpx.Response | None = None
        self._pieces: Any = None

    async def __aenter__(self) -> _AsyncStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, e: BaseException | None, t: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(self, call: Call) -> httpx.Response:
        await self.close()
        http, origin, self._call = self._driver.http, self._driver.origin, call
        try:
            request, hop = origin.request(http, call), 0
            while True:
                self._response = await http.send(request, stream=True, follow_redirects=False)
                following = origin.next(call, self._response, hop)
                if following is None:
                    self._pieces = self._response.aiter_bytes()
                    return self._response
                await self.close()
                request, hop = following, hop + 1
        except (httpx.HTTPError, httpx.InvalidURL) as e:
            raise _failed(call, e) from None

    async def open(self, call: Call) -> Answer:
        response = await self._send(call)
        if response.status_code >= 400:
            return _answer(response, await self._rest(call))
        return _answer(response)

    async def whole(self, call: Call) -> Answer:
        return _answer(await self._send(call), await self._rest(call))

    async def _rest(self, call: Call) -> bytes:
        body = bytearray()
        while piece := await self.read():
            body += piece
            _bound(call, len(body))
        return bytes(body)

    async def read(self) -> bytes:
        try:
            while self._pieces is not None:
                if piece := await self._pieces.__anext__():
                    return piece
            return b""
        except StopAsyncIteration:
            return b""
        except (httpx.HTTPError, httpx.StreamError) as e:
            assert self._call is not None  # noqa: S101 # pieces come of a call
            raise _failed(self._call, e) from None

    async def close(self) -> None:
        if self._pieces is not None:
            await self._pieces.aclose()
        if self._response is not None:
            await self._response.aclose()
        self._pieces = self._response = None
