"""Downloads: to memory or to a folder, with length and SHA-256 checked.

A file has its name in the folder only once it is whole. A name never leads outside the folder.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO

from . import errors
from ._flow import MAX_ANSWER, Answer, Call, Close, Flow, Open, Policy, Read, refusal, repeat


@dataclass(frozen=True)
class Source:
    """A file to download. `link` is an address that needs no key; otherwise `target` is a path of the service."""

    name: str
    link: str | None = None
    target: str | None = None
    size: int | None = None
    sha256: str | None = None
    query: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())

    def call(self) -> Call:
        if self.link is not None:
            return Call("GET", self.link, headers={"Accept": "*/*"}, signed=False, repeatable=True)
        return Call("GET", self.target or "", query=self.query, headers={"Accept": "*/*"}, repeatable=True)


def safe_name(name: str) -> str:
    """A name of a file as it is, if it can lead nowhere else."""
    if name in ("", ".", "..") or any(c in name for c in "/\\:\0") or len(name.encode()) > 255:
        raise errors.UnsafeName(f"the service names a file {name!r}, which is not saved: it would leave its folder")
    return name


def read(policy: Policy, source: Source) -> Flow[bytes]:
    """A file as bytes, of the size that the service states, or else of at most 64 MiB."""

    def attempt() -> Flow[bytes]:
        body = bytearray()
        yield from _receive(source, body.extend, MAX_ANSWER if source.size is None else source.size)
        return bytes(body)

    return (yield from repeat(policy, attempt))


def save(policy: Policy, source: Source, folder: Path) -> Flow[Path]:
    """Writes a file into a folder, unless it is there already. Answers its path."""
    path = folder / safe_name(source.name)
    if source.sha256 and path.is_file() and not path.is_symlink() and _digest(path) == source.sha256:
        return path

    def attempt() -> Flow[Path]:
        with _Partial(path) as partial:
            yield from _receive(source, partial.file.write, None)
            partial.keep()
        return path

    return (yield from repeat(policy, attempt))


class _Partial:
    """A temporary file next to a path, which it replaces when it is kept."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept = False

    def __enter__(self) -> _Partial:
        self._name = self._path.parent / f".pleat-{secrets.token_hex(8)}"
        self.file: IO[bytes] = self._name.open("xb")
        return self

    def keep(self) -> None:
        self.file.close()
        os.replace(self._name, self._path)
        self._kept = True

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, t: TracebackType | None) -> None:
        self.file.close()
        if not self._kept:
            self._name.unlink()


def _digest(path: Path) -> str:
    sha = hashlib.sha256()
    with path.open("rb") as f:
        while piece := f.read(1 << 20):
            sha.update(piece)
    return sha.hexdigest()


def _receive(source: Source, write: Callable[[bytes], object], limit: int | None) -> Flow[None]:
    """Hands the body on in pieces and checks the whole."""
    answer: Answer = yield Open(source.call())
    if answer.status >= 400:
        raise refusal(answer)
    sha, length, limit = hashlib.sha256(), 0, source.size if limit is None else limit
    while piece := (yield Read()):
        length += len(piece)
        if limit is not None and length > limit:
            raise errors.ChecksumMismatch(f"{source.name} has more than {limit} bytes")
        sha.update(piece)
        write(piece)
    yield Close()
    if source.size is not None and length != source.size:
        raise errors.ChecksumMismatch(f"{source.name} has {length} bytes; the service states {source.size}")
    want, got = source.sha256 or _stated(answer), sha.hexdigest()
    if want is not None and want != got:
        raise errors.ChecksumMismatch(f"the SHA-256 of {source.name} is {got}; the service states {want}")


def _stated(answer: Answer) -> str | None:
    """The SHA-256 that an entity tag holds, if it does."""
    tag = answer.headers.get("etag", "").strip('"').removesuffix("-gzip")
    return tag if len(tag) == 64 and all(c in "0123456789abcdef" for c in tag) else None
