"""The runner's process and its three threads.

The main thread loads and predicts, because packages need signals and devices there. A second thread reads what the
service sends, so that a cancel arrives while the model runs. A third sends heartbeats.
"""

import contextlib
import gc
import os
import random
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from . import wire
from .job import Cancelled, Failure, Job, Load, Ready, Result, without_folders

LINGER = 5.0  # seconds that a job may take to stop after the service has gone
OUT_OF_MEMORY = "the device has not enough memory for this job"


class Runner:
    """A model's runner. Subclass it; serve calls load once per model, then predict for each job, one at a time."""

    engine: str = ""  # the manifest's engine, sent in the answer to hello
    kinds: tuple[str, ...] = ("fold",)  # the kinds of jobs that predict accepts: fold, qna, md, design

    def load(self, request: Load) -> Ready:
        """Loads a model, which replaces one that was loaded before. Raises Failure, such as weights_missing."""
        raise NotImplementedError

    def predict(self, job: Job) -> Result:
        """Runs a job and returns its scores; the files are sent with job.file and job.array. Raises Failure, or lets
        Cancelled through. The model stays loaded in every case."""
        raise NotImplementedError

    def close(self) -> None:
        """Called before the process ends normally."""


def serve(runner: Runner) -> None:
    """Runs the protocol on the original stdin and stdout until the service sends shutdown or closes them.

    From here on stdout is stderr and stdin is empty, so that no package can write to the protocol or read from it."""
    incoming, outgoing = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout.flush()
    Server(runner, incoming, outgoing).run()


class Server:
    """The protocol over two descriptors."""

    def __init__(self, runner: Runner, incoming: int, outgoing: int) -> None:
        self.runner, self.outgoing = runner, outgoing
        self.incoming = os.fdopen(incoming, "rb")
        self.work: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self.writing = threading.Lock()
        self.state = threading.Lock()
        self.jobs: dict[str, Job] = {}  # by id, until they end
        self.grease: random.Random | None = None
        self.gone = threading.Event()

    def send(self, message: dict[str, Any]) -> None:
        """Writes one complete message."""
        if self.grease:
            message = greased(message, self.grease)
        try:
            line = wire.encode(message)
        except (TypeError, ValueError, RecursionError) as e:
            raise Failure("output_invalid", f"the {message['type']} message has no JSON form: {e}") from None
        if len(line) > wire.MAX_FROM_RUNNER:
            raise Failure(
                "output_invalid",
                f"the {message['type']} message has {len(line)} bytes; the protocol allows {wire.MAX_FROM_RUNNER}",
            )
        with self.writing:
            while line:
                try:
                    line = line[os.write(self.outgoing, line) :]
                except OSError:  # the service has gone; the reader ends the process
                    return
        if self.grease and self.grease.random() < 0.3:
            with self.writing:
                os.write(self.outgoing, wire.encode({"type": f"x-{self.grease.random()}", "id": None, "any": [1, {}]}))

    def run(self) -> None:
        """Runs jobs one after the other in the main thread, while other threads read messages and send heartbeats."""
        threading.Thread(target=self.read, name="foldrun-read", daemon=True).start()
        while True:
            message = self.work.get()
            if message is None:
                break
            if message["type"] == "load":
                self.load(message)
            else:
                self.predict(message)
        if not self.gone.is_set():
            self.runner.close()

    def read(self) -> None:
        """Reads messages until shutdown, or the end of input, which means that the service has gone."""
        try:
            while line := self.incoming.readline(wire.MAX_TO_RUNNER + 1):
                if len(line) > wire.MAX_TO_RUNNER:
                    raise wire.WireError(f"a line has more than {wire.MAX_TO_RUNNER} bytes")
                message = wire.decode(line, wire.TO_RUNNER)
                if message is not None and self.receive(message):
                    return
        except wire.WireError as e:
            print(f"foldrun: the service broke the protocol: {e}", file=sys.stderr, flush=True)
        self.gone.set()
        with self.state:
            for job in self.jobs.values():
                job.cancel()
        self.work.put(None)
        late = threading.Timer(LINGER, lambda: os._exit(1))
        late.daemon = True
        late.start()

    def receive(self, message: dict[str, Any]) -> bool:
        """Handles one message. Returns true if it was the last."""
        kind = message["type"]
        if kind == "hello":
            self.hello(message)
        elif kind == "ping":
            self.pong({"n": message.get("n", 0)})
        elif kind == "cancel":
            with self.state:
                job = self.jobs.get(message["id"])
                if job:
                    job.cancel()
        elif kind == "shutdown":
            self.work.put(None)
            return True
        else:
            if kind == "predict":
                with self.state:
                    self.jobs[message["id"]] = Job(message, self.send)
            self.work.put(message)
        return False

    def hello(self, message: dict[str, Any]) -> None:
        """Answers the first message with the protocol and the engine, and begins the heartbeats."""
        if message.get("grease"):
            self.grease = random.Random(message["grease"])
        self.pong({"protocol": wire.PROTOCOL, "engine": self.runner.engine})
        every = message.get("heartbeat_s") or 5

        def beat() -> None:
            while not self.gone.wait(every):
                self.pong({})

        threading.Thread(target=beat, name="foldrun-beat", daemon=True).start()

    def pong(self, more: dict[str, Any]) -> None:
        """Sends a heartbeat with the memory in use, in bytes."""
        self.send({"type": "pong", "mem": memory(), **more})

    def load(self, message: dict[str, Any]) -> None:
        """Loads a model and answers ready, or an error."""
        weights = message.get("weights_dir")
        request = Load(
            message["model"], Path(weights) if weights else None, message["device"], message.get("threads") or 0
        )
        try:
            r = self.runner.load(request)
            answer: dict[str, Any] = {"type": "ready", "engine_version": r.engine_version}
            answer |= {"device": r.device or request.device, "mem": {**memory(), **r.mem}}
            if r.weights_sha256:
                answer["weights_sha256"] = r.weights_sha256
            if r.detail:
                answer["detail"] = r.detail
            self.send(answer)
        except (Exception, Cancelled) as e:
            self.send(error(e, "load_failed"))

    def predict(self, message: dict[str, Any]) -> None:
        """Runs a job and answers with its result or an error. A job that was cancelled while it waited is not begun."""
        with self.state:
            job = self.jobs[message["id"]]
        try:
            job.check()
            if job.kind not in self.runner.kinds:
                raise Failure("unsupported", f"this runner accepts {', '.join(self.runner.kinds)}, not {job.kind}")
            with traced(job.traceparent):
                result = self.runner.predict(job)
            job.check()
            if not isinstance(result, Result):
                raise Failure("internal", "the runner's predict returned no Result")
            answer = {**job.message(result), "mem": memory()}
        except (Exception, Cancelled) as e:
            answer = {**error(e, "internal"), "id": job.id}
        if answer.get("code") == "oom":
            release()
        with self.state:
            del self.jobs[job.id]
        try:
            self.send(answer)
        except Failure as e:
            self.send({**error(e, "output_invalid"), "id": job.id})


@contextlib.contextmanager
def traced(traceparent: str) -> Iterator[None]:
    """Sets TRACEPARENT while a job runs, where OpenTelemetry's libraries look for the trace that caused a process."""
    if traceparent:
        os.environ["TRACEPARENT"] = traceparent
    try:
        yield
    finally:
        os.environ.pop("TRACEPARENT", None)


def release() -> None:
    """Frees what a job that ran out of memory left behind, so that a smaller attempt can use all of it."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


def memory() -> dict[str, int]:
    """The resident memory of this process in bytes, where the system tells it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as f:
            return {"rss": int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")}
    except (OSError, ValueError, IndexError):
        return {}


def error(e: BaseException, code: str) -> dict[str, Any]:
    """An exception as the protocol's error message. The code of anything but a Failure is classify's, or else the given
    one; its traceback becomes the detail, for the operator."""
    detail, retryable = "", None
    if isinstance(e, Failure):
        code, message, detail, retryable = e.code, e.message, e.detail, e.retryable
    elif isinstance(e, Cancelled):
        code, message = "cancelled", "stopped by its owner"
    else:
        code = classify(e) or code
        message = without_folders(f"{type(e).__name__}: {e}") if str(e) else type(e).__name__
        if code == "oom":
            message = OUT_OF_MEMORY
        detail = "".join(traceback.format_exception(type(e), e, e.__traceback__))[-wire.MAX_DETAIL :]
        print(detail, file=sys.stderr, flush=True)
    out: dict[str, Any] = {
        "type": "error",
        "code": code,
        "message": wire.clip(message, wire.MAX_MESSAGE),
        "detail": wire.clip(detail, wire.MAX_DETAIL),
    }
    if retryable is not None:
        out["retryable"] = retryable
    return out


def classify(e: BaseException) -> str:
    """The code that an exception of a package means: oom, device_lost, or empty where it is neither."""
    name, text = type(e).__name__, str(e).lower()
    memory_texts = ("out of memory", "can't allocate memory", "resource_exhausted")
    if isinstance(e, MemoryError) or name == "OutOfMemoryError" or any(t in text for t in memory_texts):
        return "oom"
    device_texts = ("cuda error", "cuda_error", "cudnn error", "cublas error")
    if name == "AcceleratorError" or any(t in text for t in device_texts):
        return "device_lost"
    return ""


def greased(message: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The message with an unknown field and in another order, which a reader must accept."""
    items = list(message.items()) + [(f"x_{rng.randrange(1000)}", rng.choice([None, 1, "?", [], {"a": 1}]))]
    rng.shuffle(items)
    return dict(items)
