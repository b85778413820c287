"""What a runner reads of a job."""

import tempfile
import unittest
from pathlib import Path

from foldrun import Template
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


if __name__ == "__main__":
    unittest.main()
