"""A runner as the service sees it: a process with two pipes."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

from foldrun.serve import classify

RUNNERS = Path(__file__).resolve().parents[2]

BODY = """
import os, sys, time
print("a package prints before anything else")
import foldrun

class Mine(foldrun.Runner):
    engine = "mine"
    loads = 0
    def load(self, request):
        os.write(1, b"a library in C prints to descriptor 1\\n")
        if request.model == "absent":
            raise foldrun.Failure("weights_missing", "there is no absent.ckpt")
        if request.model == "broken":
            raise ValueError("bad magic number")
        self.loads += 1
        return foldrun.Ready(engine_version="1.0", detail={"loads": self.loads})
    def predict(self, job):
        print("a package prints")
        assert sys.stdin.read() == ""
        what = job.input.get("do")
        if what == "trace":
            job.log(job.traceparent + " " + os.environ.get("TRACEPARENT", "none"))
        if what == "sleep":
            while True:
                try:
                    job.progress("diffusion", 0, 1)
                    time.sleep(0.01)
                except Exception:
                    pass  # a package that swallows every exception
        if what == "oom":
            raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")
        if what == "lost":
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        if what == "refuse":
            job.fail("invalid_input", "the SMILES cannot be read")
        if what == "none":
            return None
        if what == "huge":
            return foldrun.Result(metrics={"x": "y" * (2 << 20)})
        job.log("line 1\\nline 2")
        job.path("model.cif").write_text("data_x")
        job.file("structure", "model.cif")
        job.array("plddt", [90.0, 80.0])
        return foldrun.Result(scores={"ptm": float("nan"), "iptm": 0.5}, timings={"trunk": 0.1})

foldrun.serve(Mine())
"""


class Process:
    def __init__(self, folder, **hello):
        script = Path(folder) / "runner.py"
        script.write_text(textwrap.dedent(BODY))
        env = {**os.environ, "PYTHONPATH": str(RUNNERS)}
        self.began = False
        self.p = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
        )
        self.send(type="hello", protocol=1, heartbeat_s=60, **hello)

    def send(self, **message):
        self.p.stdin.write(json.dumps(message).encode() + b"\n")
        self.p.stdin.flush()

    def predict(self, ident, folder, kind="fold", **given):
        self.send(type="predict", id=ident, attempt=1, workdir=str(folder), kind=kind, input=given)

    def receive(self, *types):
        """The next message of one of some types."""
        while line := self.p.stdout.readline():
            if not self.began and not line.startswith(b"{"):
                continue  # what is printed before the answer to hello is no message
            self.began = True
            message = json.loads(line)
            if message["type"] in types:
                return message
        raise AssertionError("the runner ended: " + self.p.stderr.read().decode())

    def end(self):
        self.p.stdin.close()
        try:
            code = self.p.wait(15)
        except subprocess.TimeoutExpired:
            self.p.kill()
            raise
        finally:
            self.p.stdout.close()
            self.err = self.p.stderr.read().decode()
            self.p.stderr.close()
        return code


class Serve(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = Path(folder.name)

    def start(self, **hello):
        self.r = Process(self.dir, **hello)
        self.addCleanup(lambda: self.r.p.poll() is None and (self.r.p.kill(), self.r.end()))
        return self.r

    def test_life(self):
        r = self.start()
        hello = r.receive("pong")
        self.assertEqual((hello["protocol"], hello["engine"]), (1, "mine"))
        self.assertGreater(hello["mem"]["rss"], 0)
        r.send(type="load", model="m", device="cpu")
        self.assertEqual(r.receive("ready", "error")["engine_version"], "1.0")
        for ident in ("a", "b"):  # the second without another load
            r.predict(ident, self.dir)
            self.assertEqual(r.receive("log", "error")["line"], "line 1")
            got = r.receive("result", "error")
            self.assertEqual(got["id"], ident)
            self.assertEqual(got["scores"], {"ptm": None, "iptm": 0.5})
            self.assertEqual([f["kind"] for f in got["files"]], ["structure", "plddt"])
            self.assertEqual(got["files"][1]["shape"], [2])
        r.send(type="ping", n=9)
        self.assertEqual(r.receive("pong")["n"], 9)
        r.send(type="shutdown")
        self.assertEqual(r.end(), 0)
        for said in ("library in C", "a package prints\n"):
            self.assertIn(said, r.err)

    def test_trace(self):
        r = self.start()
        r.send(type="load", model="m", device="cpu")
        r.receive("ready", "error")
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        for given, line in ((trace, f"{trace} {trace}"), (None, " none")):
            r.send(
                type="predict",
                id="t",
                attempt=1,
                workdir=str(self.dir),
                kind="fold",
                input={"do": "trace"},
                traceparent=given,
            )
            self.assertEqual(r.receive("log", "error")["line"], line)
            r.receive("result", "error")
        r.send(type="shutdown")
        self.assertEqual(r.end(), 0)

    def test_greased(self):
        r = self.start(grease=7)
        r.send(type="x-unknown", id=5)
        r.send(type="load", model="m", device="cpu", x_new=[1])
        self.assertEqual(r.receive("ready", "error")["type"], "ready")
        for i in range(5):
            r.predict(str(i), self.dir)
            self.assertEqual(r.receive("result", "error")["type"], "result")
        r.send(type="shutdown")
        self.assertEqual(r.end(), 0)

    def test_failures(self):
        r = self.start()
        for model, code in (("absent", "weights_missing"), ("broken", "load_failed")):
            r.send(type="load", model=model, device="cpu")
            self.assertEqual(r.receive("ready", "error")["code"], code)
        r.send(type="load", model="m", device="cpu")
        r.receive("ready")
        for do, code in (
            ("oom", "oom"),
            ("lost", "device_lost"),
            ("refuse", "invalid_input"),
            ("none", "internal"),
            ("huge", "output_invalid"),
        ):
            r.predict(do, self.dir, do=do)
            got = r.receive("result", "error")
            self.assertEqual((got["id"], got.get("code")), (do, code))
        r.predict("q", self.dir, kind="qna")
        self.assertEqual(r.receive("result", "error")["code"], "unsupported")
        r.predict("after", self.dir)
        self.assertEqual(r.receive("result", "error")["type"], "result", "a failure leaves the runner able to work")

    def test_cancel(self):
        r = self.start()
        r.predict("a", self.dir, do="sleep")  # which never ends by itself
        r.receive("progress")
        r.send(type="cancel", id="a")
        got = r.receive("result", "error")
        self.assertEqual((got["id"], got["code"]), ("a", "cancelled"))
        r.predict("b", self.dir, do="sleep")
        r.send(type="cancel", id="b")  # before it begins, or after: either way
        self.assertEqual(r.receive("result", "error")["code"], "cancelled")
        r.send(type="cancel", id="gone")
        r.predict("c", self.dir)
        self.assertEqual(r.receive("result", "error")["type"], "result")

    def test_heartbeat_while_busy(self):
        r = self.start()
        r.send(type="hello", protocol=1, heartbeat_s=0.05)
        r.predict("a", self.dir, do="sleep")
        for _ in range(5):
            self.assertNotIn("n", r.receive("pong"))

    def test_service_gone(self):
        r = self.start()
        r.predict("a", self.dir, do="sleep")
        r.receive("progress")
        r.end()  # closes the pipe; end fails where the process does not end by itself

    def test_broken_service(self):
        r = self.start()
        r.p.stdin.write(b"garbage\n")
        r.p.stdin.flush()
        r.end()
        self.assertIn("broke the protocol", r.err)

    def test_sigterm(self):
        r = self.start()
        r.predict("a", self.dir, do="sleep")
        r.receive("progress")
        r.p.send_signal(signal.SIGTERM)
        self.assertEqual(r.end(), -signal.SIGTERM)

    def test_what_exceptions_mean(self):
        for text, code in (
            ("CUDA out of memory. Tried to allocate 20.00 GiB", "oom"),
            ("RESOURCE_EXHAUSTED: Failed to allocate request for 36.06GiB", "oom"),
            ("CUDA error: an illegal memory access was encountered", "device_lost"),
            ("INTERNAL: CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure", "device_lost"),
            ("bad magic number", ""),
        ):
            with self.subTest(text):
                self.assertEqual(classify(RuntimeError(text)), code)


if __name__ == "__main__":
    unittest.main()
