"""A relay between a client and a server that goes wrong as networks do: it refuses, breaks off and changes answers."""

from __future__ import annotations

import http.client
import http.server
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Seen:
    """A request that came through."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Refusal:
    """Answers instead of the server."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass
class BreakOff:
    """Passes a request on and breaks off after so many bytes of the body of the answer."""

    after: int


Trouble = Refusal | BreakOff | None


class Relay:
    """`trouble` decides for each request what goes wrong; None: nothing. `change` may change bodies of answers."""

    def __init__(self, url: str) -> None:
        self.seen: list[Seen] = []
        self.trouble: Callable[[Seen], Trouble] = lambda _: None
        self.change: Callable[[Seen, bytes], bytes] | None = None
        self.upstream = urlsplit(url)
        relay = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                relay.handle(self)

            do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = handle_any

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Relay:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def handle(self, h: http.server.BaseHTTPRequestHandler) -> None:
        body = h.rfile.read(int(h.headers.get("content-length", 0)))
        seen = Seen(h.command, h.path, {k.lower(): v for k, v in h.headers.items()}, body)
        self.seen.append(seen)
        trouble = self.trouble(seen)
        h.close_connection = True
        try:
            if isinstance(trouble, Refusal):
                self._refuse(h, trouble)
            else:
                self._pass_on(h, seen, trouble)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client has closed the stream

    def _refuse(self, h: http.server.BaseHTTPRequestHandler, r: Refusal) -> None:
        h.send_response(r.status)
        for name, value in {"Content-Length": str(len(r.body)), "Connection": "close", **r.headers}.items():
            h.send_header(name, value)
        h.end_headers()
        h.wfile.write(r.body)

    def _pass_on(self, h: http.server.BaseHTTPRequestHandler, seen: Seen, trouble: BreakOff | None) -> None:
        upstream = http.client.HTTPConnection(self.upstream.hostname or "", self.upstream.port, timeout=60)
        drop = {"host", "connection", "accept-encoding"}
        upstream.request(seen.method, seen.path, seen.body, {k: v for k, v in seen.headers.items() if k not in drop})
        answer = upstream.getresponse()
        h.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                h.send_header(name, value)
        h.send_header("Transfer-Encoding", "chunked")
        h.send_header("Connection", "close")
        h.end_headers()
        left = trouble.after if trouble else None
        try:
            if self.change is not None:
                self._chunk(h, self.change(seen, answer.read()))
            while left != 0 and (piece := answer.read1(left or 65536)):
                self._chunk(h, piece)
                left = None if left is None else left - len(piece)
            if left is None:
                h.wfile.write(b"0\r\n\r\n")  # without it, the client sees that the answer is not whole
        finally:
            upstream.close()

    @staticmethod
    def _chunk(h: http.server.BaseHTTPRequestHandler, piece: bytes) -> None:
        if piece:
            h.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            h.wfile.flush()
