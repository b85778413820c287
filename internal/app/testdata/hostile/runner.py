import ctypes
import glob
import os
import socket
from pathlib import Path

import foldrun


def read(path):
    return lambda: Path(path).read_bytes()[:1] or 1 / 0


def send():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("127.0.0.1", 9))
    s.send(b"x")


class Hostile(foldrun.Runner):
    engine = "hostile"

    def load(self, request):
        self.weights = request.weights_dir
        return foldrun.Ready(engine_version="1")

    def predict(self, job):
        data = job.workdir.parents[3]
        service = os.getppid()
        attacks = {
            "environment": read(f"/proc/{service}/environ"),
            "memory": lambda: open(f"/proc/{service}/mem", "rb"),
            "key": read(data / "secret.key"),
            "blobs": lambda: os.listdir(data / "blobs"),
            "jobs": lambda: os.listdir(job.workdir.parent.parent),
            "weights": lambda: (self.weights / "w.ckpt").write_text("mine"),
            "rename": lambda: (self.weights / "w.ckpt").rename(self.weights / "x"),
            "home": lambda: os.listdir(os.path.expanduser("~root")),
            "temporary": lambda: os.listdir("/tmp"),
            "udp": send,
            "trace": lambda: ctypes.CDLL(None).ptrace(0x4206, service, 0, 0) == 0 or 1 / 0,
            "signal": lambda: os.kill(service, 0),
            "privileges": lambda: "NoNewPrivs:\t1" in Path("/proc/self/status").read_text() and 1 / 0,
        }
        if job.input["name"] == "none":  # without the sandbox the service would stop at its next signal
            del attacks["trace"]
        done = []
        for name, attack in attacks.items():
            try:
                attack()
                done.append(name)
            except (OSError, ArithmeticError):
                pass
        job.fail("invalid_input", "done: " + (", ".join(done) or "nothing"))


foldrun.serve(Hostile())
