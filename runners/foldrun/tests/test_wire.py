"""The wire against the vectors that the service's own tests read too."""

import base64
import json
import math
import tempfile
import unittest
from pathlib import Path

from foldrun import Failure, wire
from foldrun.job import Job, float32

VECTORS = Path(__file__).resolve().parents[2] / "vectors"


def vectors(name):
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


class Messages(unittest.TestCase):
    def test_vectors(self):
        seen = set()
        for v in vectors("messages.json"):
            known = wire.TO_RUNNER if v["to"] == "runner" else wire.FROM_RUNNER
            with self.subTest(v["name"], to=v["to"]):
                if "error" in v:
                    with self.assertRaisesRegex(wire.WireError, v["error"]):
                        wire.decode(v["line"], known)
                    continue
                got = wire.decode(v["line"], known)
                if v["message"] is None:
                    self.assertIsNone(got)
                    continue
                fields = {k: x for k, x in got.items() if k == "type" or k in known[got["type"]]}
                self.assertEqual(fields, v["message"])
                self.assertEqual(wire.decode(wire.encode(got), known), got)
                seen.add((v["to"], got["type"]))
        want = {("runner", t) for t in wire.TO_RUNNER} | {("service", t) for t in wire.FROM_RUNNER}
        self.assertEqual(seen, want, "each message has a vector")

    def test_encode_has_no_nan(self):
        line = wire.encode({"type": "result", "scores": {"ptm": math.nan, "pair": [math.inf, 0.5]}})
        self.assertEqual(json.loads(line)["scores"], {"ptm": None, "pair": [None, 0.5]})
        self.assertEqual(line.count(b"\n"), 1)

    def test_encode_refuses_what_has_no_json(self):
        with self.assertRaises(TypeError):
            wire.encode({"type": "result", "scores": {"ptm": object()}})

    def test_clip(self):
        self.assertEqual(wire.clip("a\x1b[31mb", 100), "a [31mb")
        self.assertEqual(wire.clip("x" * 10, 4), "xxxx…")


class Arrays(unittest.TestCase):
    def test_vectors(self):
        for v in vectors("arrays.json"):
            with self.subTest(shape=v["shape"]):
                data, shape = float32(v["values"])
                self.assertEqual(shape, v["shape"])
                self.assertEqual(base64.b64encode(data).decode(), v["base64"])

    def test_ragged(self):
        with self.assertRaises(ValueError):
            float32([[1.0, 2.0], [3.0]])


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = Path(folder.name) / "work"
        (self.dir / "out").mkdir(parents=True)
        (self.dir.parent / "model.cif").write_text("outside")
        self.sent = []
        self.job = Job(
            {"id": "x", "attempt": 1, "workdir": str(self.dir), "kind": "fold", "input": {}}, self.sent.append
        )

    def test_vectors(self):
        for v in vectors("paths.json"):
            with self.subTest(v["path"]):
                if v["ok"]:
                    (self.dir / v["path"]).write_text("data_x")
                    self.job.file("structure", v["path"])
                else:
                    with self.assertRaises((Failure, ValueError)):
                        self.job.file("structure", v["path"])

    def test_link_out_of_the_folder(self):
        (self.dir / "model.cif").symlink_to(self.dir.parent / "model.cif")
        with self.assertRaises(Failure) as e:
            self.job.file("structure", "model.cif")
        self.assertEqual(e.exception.code, "output_invalid")

    def test_hash(self):
        p = self.job.path("out/model.cif")
        p.write_text("abc")
        self.job.file("structure", p, rank=1)
        self.assertEqual(
            self.job._results,
            [
                {
                    "kind": "structure",
                    "path": "out/model.cif",
                    "bytes": 3,
                    "rank": 1,
                    "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                }
            ],
        )

    def test_progress_is_bounded(self):
        for i in range(1000):
            self.job.progress("diffusion", i, 1000)
        self.job.progress("diffusion", 1000, 1000)
        self.assertLess(len(self.sent), 50)
        self.assertEqual(self.sent[-1]["done"], 1000)


if __name__ == "__main__":
    unittest.main()
