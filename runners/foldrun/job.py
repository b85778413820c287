"""The objects that the author of a runner handles: the load request, the job, and how each ends."""

import array
import hashlib
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from . import wire

# The folders of an absolute path: not those of an address, nor a slash within a word, such as that of a unit.
_FOLDERS = re.compile(r"(?<![\w.:/)\]~-])~?/(?:[\w.+@-]+/)+")


class Cancelled(BaseException):
    """The job was cancelled. It is not an Exception, so that packages which catch those let it through."""


class Failure(Exception):
    """Ends a job, or the loading, with a code of the protocol and one sentence for the job's owner."""

    def __init__(self, code: str, message: str, retryable: bool | None = None, detail: str = "") -> None:
        super().__init__(message)
        if code not in wire.CODES:
            raise ValueError(f"{code} is not one of {', '.join(wire.CODES)}")
        self.code, self.message, self.retryable, self.detail = code, message, retryable, detail


def invalid(message: str) -> Failure:
    """The failure of a job whose input is wrong. The message names the field."""
    return Failure("invalid_input", message)


def unsupported(message: str) -> Failure:
    """The failure of a valid job that this model cannot run."""
    return Failure("unsupported", message)


def too_large(message: str) -> Failure:
    """The failure of a job that needs more memory, time or disk than this engine has."""
    return Failure("too_large", message)


def without_folders(text: str, *folders: Path) -> str:
    """A message of a package for the owner of a job, without the folders of this machine: those given, whatever letters
    they have, and those of any other absolute path. The last part of a path stays."""
    for folder in sorted({str(f) for given in folders for f in (given, given.resolve())}, key=len, reverse=True):
        text = text.replace(f"{folder}/", "")
    return _FOLDERS.sub("", text)


@dataclass
class Template:
    """An example of one chain: an mmCIF file whose only chain is named A, with the positions of the job's chain."""

    path: Path
    sequence: int  # index into the job's sequences
    chain: str  # of the job
    force: bool = False  # hold the chain within max_distance of the template
    max_distance: float = 0.0  # Å


@dataclass
class Component:
    """A molecule of the job's own, whose code stands for an entry of the chemical component dictionary."""

    code: str
    smiles: str = ""
    atoms: list[str] = field(default_factory=list)  # their names, in the order of the SMILES
    leaving: list[str] = field(default_factory=list)  # names of the atoms that a residue within a chain lacks
    path: Path | None = None  # instead of a SMILES: mmCIF as the chemical component dictionary has it


@dataclass
class Load:
    """The load request: a model of the manifest, on a device (cpu, or cuda:0, the only one that this process sees)."""

    model: str
    weights_dir: Path | None
    device: str
    threads: int = 0  # CPU cores to use; 0: the runner chooses


@dataclass
class Ready:
    """The loaded model."""

    engine_version: str
    weights_sha256: str | None = None  # None where the engine has no weights
    device: str | None = None  # a name for people, such as NVIDIA H100; None: the requested device
    mem: dict[str, int] = field(default_factory=dict)  # device_used and device_total in bytes, where known
    detail: dict[str, Any] = field(default_factory=dict)  # versions of packages, for the record


@dataclass
class Result:
    """The predictions of a job, in addition to its files. Scores that the model does not give are left out, never
    invented."""

    scores: dict[str, Any] = field(default_factory=dict)
    # Chain in the structure file → chain of the job; only those that differ.
    chain_map: dict[str, str] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)  # seconds by stage
    metrics: dict[str, Any] = field(default_factory=dict)  # anything else worth keeping, small
    # For a design: its parameters as they took effect, in the names of the request; those that the package does not say
    # are left out.
    params: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # sentences that the owner should read
    answer: str | None = None  # to a question


class Job:
    """One prediction. Files that the runner writes belong below workdir, which is fresh for every attempt."""

    def __init__(self, message: dict[str, Any], send: Callable[[dict[str, Any]], object]) -> None:
        self.id: str = message["id"]
        self.attempt: int = message["attempt"]
        self.workdir = Path(message["workdir"])
        self.kind: str = message["kind"]
        self.input: dict[str, Any] = message["input"]
        # [{kind, path, sequence?, of a template chain, force?, max_distance?, of a component code}], paths relative to
        # workdir
        self.files: list[dict[str, Any]] = message.get("files") or []
        self.params: dict[str, Any] = message.get("params") or {}
        self.seed: int = message.get("seed") or 0
        self.parallel: int = message.get("parallel") or 0  # samples at once at most; 0: the runner chooses
        self.resume: dict[str, Any] | None = message.get("resume")  # {path, step} of the last checkpoint
        # The trace of the job, as in W3C Trace Context; empty: none. TRACEPARENT has it too while the job runs.
        self.traceparent: str = message.get("traceparent") or ""
        self._send = send
        self._cancel = threading.Event()
        self._reported: dict[str, float] = {}  # stage → time of its last message
        self._results: list[dict[str, Any]] = []
        self._tokens: list[int] | None = None

    def cancel(self) -> None:
        """Asks the job to stop: check raises Cancelled from now on."""
        self._cancel.set()

    @property
    def cancelled(self) -> bool:
        """Whether the job was cancelled. A loop that cannot raise an exception looks here instead of calling check."""
        return self._cancel.is_set()

    def check(self) -> None:
        """Raises Cancelled if the job was cancelled. It is cheap: call it often."""
        if self._cancel.is_set():
            raise Cancelled(self.id)

    def integer(self, name: str, default: int) -> int:
        """A parameter as an integer; the default where it is missing or 0."""
        return int(self.params.get(name) or default)

    def progress(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Reports how much of a stage is done (total 0: not known), at most ten times a second, and calls check."""
        self.check()
        now = time.monotonic()
        last = self._reported.get(stage)
        if last is not None and done != total and now - last < 0.1:
            return
        self._reported[stage] = now
        self._send({"type": "progress", "id": self.id, "stage": stage, "done": int(done), "total": int(total)})

    def log(self, line: object, level: str = "info") -> None:
        """Adds a line to the job's log, which its owner reads. Only the operator sees stderr."""
        for part in str(line).splitlines()[:100]:
            self._send({"type": "log", "id": self.id, "level": level, "line": wire.clip(part, wire.MAX_LOG)})

    def path(self, name: str) -> Path:
        """A path below workdir for a file to write. Its folder is created."""
        p = self.workdir / name
        p.parent.mkdir(parents=True, exist_ok=True)
        return p

    def input_file(self, kind: str, sequence: int | None = None) -> Path | None:
        """The input file of a kind (msa, msa_paired, template, structure, pae); with sequence, the one of
        sequences[sequence]."""
        for f in self.files:
            if f.get("kind") == kind and (sequence is None or f.get("sequence") == sequence):
                return self.workdir / f["path"]
        return None

    def templates(self) -> list[Template]:
        """The templates of the job, in its order."""
        return [
            Template(
                self.workdir / f["path"], f["sequence"], f["chain"], bool(f.get("force")), f.get("max_distance") or 0.0
            )
            for f in self.files
            if f.get("kind") == "template"
        ]

    def components(self) -> list[Component]:
        """The molecules of the job's own: those of a SMILES, then those of files."""
        return [
            Component(c["code"], c["smiles"], list(c["atoms"]), list(c.get("leaving") or []))
            for c in self.input.get("components") or []
        ] + [Component(f["code"], path=self.workdir / f["path"]) for f in self.files if f.get("kind") == "component"]

    def file(self, kind: str, path: str | Path, rank: int = 0, **more: Any) -> None:
        """Adds a file to the result. It must be below workdir, and must not change afterwards."""
        p, root = Path(os.path.abspath(self.workdir / path)), os.path.abspath(self.workdir)
        relative = os.path.relpath(p, root)
        if os.path.realpath(p) != os.path.join(os.path.realpath(root), relative) or ".." in Path(relative).parts:
            raise Failure("output_invalid", f"the {kind} file is not a plain file in the job's folder")
        digest, size = hashlib.sha256(), 0
        try:
            with open(p, "rb") as f:
                while block := f.read(1 << 20):
                    digest.update(block)
                    size += len(block)
        except OSError as e:
            raise Failure("output_invalid", f"the {kind} file cannot be read: {e.strerror}") from None
        if len(self._results) >= wire.MAX_FILES:
            raise Failure("output_invalid", f"the result has more than {wire.MAX_FILES} files")
        entry: dict[str, Any] = {"kind": kind, "path": relative, "sha256": digest.hexdigest(), "bytes": size}
        if rank:
            entry["rank"] = rank
        self._results.append({**entry, **more})

    def array(self, kind: str, values: Any, rank: int = 0) -> None:
        """Writes numbers (plddt, predicted_rmsd, pae) and adds the file to the result. values is a list, a list of
        lists, or an array of NumPy or PyTorch, in the order of the structure file."""
        data, shape = float32(values)
        p = self.path(f"{kind}{f'-{rank}' if rank else ''}.f32")
        p.write_bytes(data)
        self.file(kind, p, rank, shape=shape)

    def tokens(self, counts: Iterable[int]) -> None:
        """Sets the number of tokens of each residue of the structure file, in its order. Call it where they differ from
        the protocol's default: one per residue of a polymer, one per heavy atom of anything else."""
        self._tokens = [int(n) for n in counts]

    def checkpoint(self, path: str | Path, step: int) -> None:
        """Offers a file from which another attempt can continue. The call returns before the service has copied it, so
        write each checkpoint under its own name, or replace the file atomically."""
        relative = os.path.relpath(os.path.abspath(self.workdir / path), os.path.abspath(self.workdir))
        self._send({"type": "checkpoint", "id": self.id, "path": relative, "step": int(step)})

    def fail(self, code: str, message: str, retryable: bool | None = None, detail: str = "") -> NoReturn:
        """Ends the job with a failure."""
        raise Failure(code, message, retryable, detail)

    def message(self, result: Result) -> dict[str, Any]:
        """The result message of the protocol."""
        out: dict[str, Any] = {
            "type": "result",
            "id": self.id,
            "files": self._results,
            "scores": result.scores,
            "timings": result.timings,
        }
        for name, value in (
            ("chain_map", result.chain_map),
            ("metrics", result.metrics),
            ("params", result.params),
            ("notes", result.notes),
            ("answer", result.answer),
            ("tokens", self._tokens),
        ):
            if value is not None and value != {} and value != []:
                out[name] = value
        return out


def float32(values: Any) -> tuple[bytes, list[int]]:
    """Numbers as little-endian 32-bit floats, row by row, and their shape."""
    if hasattr(values, "detach"):  # a PyTorch tensor
        values = values.detach().cpu().float().numpy()
    if hasattr(values, "astype"):  # a NumPy array
        return values.astype("<f4").tobytes(), list(values.shape)
    rows = list(values)
    shape = [len(rows)]
    if rows and hasattr(rows[0], "__len__"):
        shape.append(len(rows[0]))
        if any(len(r) != shape[1] for r in rows):
            raise ValueError("the rows have different lengths")
        rows = [v for r in rows for v in r]
    out = array.array("f", [float(v) for v in rows])
    if sys.byteorder == "big":
        out.byteswap()
    return out.tobytes(), shape
