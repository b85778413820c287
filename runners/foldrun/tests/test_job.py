"""The parts of a job that a runner reads."""

import tempfile
import unittest
from pathlib import Path

from foldrun import Template, without_folders
from foldrun.job import Job


class Files(unittest.TestCase):
    def test_templates(self):
        files = [
            {"kind": "msa", "path": "input/msa-0.a3m", "sequence": 0},
            {"kind": "template", "path": "input/template-1.cif", "sequence": 0, "chain": "A"},
            {
                "kind": "template",
                "path": "input/template-2.cif",
                "sequence": 1,
                "chain": "B",
                "force": True,
                "max_distance": 2.5,
            },
        ]
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        message = {"id": "x", "attempt": 1, "workdir": folder.name, "kind": "fold", "input": {}, "files": files}
        job = Job(message, print)
        at = Path(folder.name) / "input"
        self.assertEqual(
            job.templates(),
            [
                Template(at / "template-1.cif", 0, "A"),
                Template(at / "template-2.cif", 1, "B", True, 2.5),
            ],
        )
        self.assertEqual(job.input_file("template", 1), at / "template-2.cif")

    def test_folders_of_the_machine_are_left_out(self):
        with tempfile.TemporaryDirectory(prefix="a b(c)") as folder:
            job = Path(folder)
            for text, want in {
                f"no {folder}/input/x.cif here": "no input/x.cif here",
                f"no '{job.resolve()}/x.cif'": "no 'x.cif'",
                "in /opt/venv/lib/python3.11/site-packages/boltzgen/data/mol.py, line 3": "in mol.py, line 3",
                "[Errno 2] No such file: '/tmp/tmpab_1/a-b.cif'": "[Errno 2] No such file: 'a-b.cif'",
                '"~/weights/x.ckpt" or (/home/me/y)': '"x.ckpt" or (y)',
                "it moves 3 Å/ps/ns; see https://example.org/a/b": "it moves 3 Å/ps/ns; see https://example.org/a/b",
                "cannot read C(/F)=C/F and F/C=C/F": "cannot read C(/F)=C/F and F/C=C/F",
            }.items():
                self.assertEqual(without_folders(text, job), want)


if __name__ == "__main__":
    unittest.main()
