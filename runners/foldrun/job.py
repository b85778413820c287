"""What a runner's author handles: the load request, the job, and how either ends."""

import array
import hashlib
import os
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import wire


class Cancelled(BaseException):
    """The job was cancelled. It is no Exception, so that a package which swallows those, or takes a RuntimeError for a want of
    memory, lets it through."""


class Failure(Exception):
    """Ends a job, or the loading, with a code of the protocol and one sentence for the job's owner."""

    def __init__(self, code: str, message: str, retryable: "bool | None" = None, detail: str = ""):
        super().__init__(message)
        if code not in wire.CODES:
            raise ValueError(f"{code} is not one of {', '.join(wire.CODES)}")
        self.code, self.message, self.retryable, self.detail = code, message, retryable, detail


@dataclass
class Load:
    """What to load: a model of the manifest, onto a device (cpu, or cuda:0, the one that this process sees)."""

    model: str
    weights_dir: "Path | None"
    device: str
    threads: int = 0  # cores to use; 0: the runner's choice


@dataclass
class Ready:
    """What was loaded."""

    engine_version: str
    weights_sha256: "str | None" = None  # None where the engine has no weights
    device: "str | None" = None  # a name for people, such as NVIDIA H100; None: what was asked for
    mem: dict = field(default_factory=dict)  # device_used and device_total in bytes, where known
    detail: dict = field(default_factory=dict)  # versions of packages, for the record


@dataclass
class Result:
    """What a job predicted, beside its files. Scores that the model does not give are left out, never invented."""

    scores: dict = field(default_factory=dict)
    chain_map: dict = field(default_factory=dict)  # chain in the structure file → chain of the job; only those that differ
    timings: dict = field(default_factory=dict)  # seconds by stage
    metrics: dict = field(default_factory=dict)  # anything else worth keeping, small
    notes: list = field(default_factory=list)  # sentences that the owner should read
    answer: "str | None" = None  # of a question


class Job:
    """One prediction. Files that the runner writes belong below workdir, which is fresh for every attempt."""

    def __init__(self, message: dict, send):
        self.id: str = message["id"]
        self.attempt: int = message["attempt"]
        self.workdir = Path(message["workdir"])
        self.kind: str = message["kind"]
        self.input: dict = message["input"]
        self.files: list = message.get("files") or []  # [{kind, path, sequence?}], paths relative to workdir
        self.params: dict = message.get("params") or {}
        self.seed: int = message.get("seed") or 0
        self.parallel: int = message.get("parallel") or 0  # samples at once, at most; 0: the runner's choice
        self.resume: "dict | None" = message.get("resume")  # {path, step} of the last checkpoint
        self._send = send
        self._cancel = threading.Event()
        self._said = {}
        self._results = []
        self._tokens = None

    def cancel(self):
        """Asks the job to stop; check raises Cancelled from now on."""
        self._cancel.set()

    @property
    def cancelled(self) -> bool:
        return self._cancel.is_set()

    def check(self):
        """Raises Cancelled where the job was cancelled. Call it in hooks, often: it is cheap."""
        if self._cancel.is_set():
            raise Cancelled(self.id)

    def progress(self, stage: str, done: int = 0, total: int = 0):
        """Says that a stage has done so much of its total (0: not known), at most ten times a second, and checks."""
        self.check()
        now = time.monotonic()
        last = self._said.get(stage)
        if last is not None and done != total and now - last < 0.1:
            return
        self._said[stage] = now
        self._send({"type": "progress", "id": self.id, "stage": stage, "done": int(done), "total": int(total)})

    def log(self, line, level: str = "info"):
        """Adds a line to the job's log, which its owner reads. What goes to stderr only the operator sees."""
        for part in str(line).splitlines()[:100]:
            self._send({"type": "log", "id": self.id, "level": level, "line": wire.clip(part, wire.MAX_LOG)})

    def path(self, name: str) -> Path:
        """A path below workdir for a file to write, its folder made."""
        p = self.workdir / name
        p.parent.mkdir(parents=True, exist_ok=True)
        return p

    def input_file(self, kind: str, sequence: "int | None" = None) -> "Path | None":
        """The input file of a kind (msa, msa_paired, template, structure, pae), of one sequence where one is named."""
        for f in self.files:
            if f.get("kind") == kind and (sequence is None or f.get("sequence") == sequence):
                return self.workdir / f["path"]
        return None

    def file(self, kind: str, path, rank: int = 0, **more):
        """Hands in a file of the result. It must lie below workdir and not change any more."""
        p, root = Path(os.path.abspath(self.workdir / path)), os.path.abspath(self.workdir)
        if os.path.realpath(p) != os.path.join(os.path.realpath(root), os.path.relpath(p, root)) or ".." in Path(os.path.relpath(p, root)).parts:
            raise Failure("output_invalid", f"the {kind} file is not a plain file in the folder of the work")
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
        entry = {"kind": kind, "path": os.path.relpath(p, root), "sha256": digest.hexdigest(), "bytes": size}
        if rank:
            entry["rank"] = rank
        self._results.append({**entry, **more})

    def array(self, kind: str, values, rank: int = 0):
        """Writes and hands in numbers (plddt, pae, pde): lists, lists of lists, or an array of NumPy or PyTorch, in the order of
        the structure file."""
        data, shape = float32(values)
        p = self.path(f"{kind}{f'-{rank}' if rank else ''}.f32")
        p.write_bytes(data)
        self.file(kind, p, rank, shape=shape)

    def tokens(self, counts):
        """Says how many tokens each residue of the structure file has, in its order, where they are not the protocol's own: one
        per residue of a polymer, one per heavy atom of anything else."""
        self._tokens = [int(n) for n in counts]

    def checkpoint(self, path, step: int):
        """Keeps a file from which another attempt may go on. The call returns before the service has copied it, so write each
        checkpoint under a name of its own, or replace the file whole."""
        self._send({"type": "checkpoint", "id": self.id, "path": os.path.relpath(os.path.abspath(self.workdir / path), os.path.abspath(self.workdir)), "step": int(step)})

    def fail(self, code: str, message: str, retryable: "bool | None" = None, detail: str = ""):
        """Ends the job with a failure."""
        raise Failure(code, message, retryable, detail)

    def message(self, result: Result) -> dict:
        """The result as the protocol has it."""
        out = {"type": "result", "id": self.id, "files": self._results, "scores": result.scores, "timings": result.timings}
        for name, value in (
            ("chain_map", result.chain_map),
            ("metrics", result.metrics),
            ("notes", result.notes),
            ("answer", result.answer),
            ("tokens", self._tokens),
        ):
            if value is not None and value != {} and value != []:
                out[name] = value
        return out


def float32(values):
    """Numbers as little-endian 32-bit floats in rows, and their shape."""
    if hasattr(values, "detach"):  # a tensor of PyTorch
        values = values.detach().cpu().float().numpy()
    if hasattr(values, "astype"):  # an array of NumPy
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
