"""The runner refuses the same jobs as the service, by its manifest."""

import sys
import unittest
from pathlib import Path

FOLDER = Path(__file__).parent.parent
sys.path.insert(0, str(FOLDER))

from document import fasta, restraints  # noqa: E402
from foldrun.tests.questions import differences  # noqa: E402


class Questions(unittest.TestCase):
    def test_as_the_service(self):
        def ask(_, job):
            fasta(job["sequences"])
            restraints(job["sequences"], job.get("constraints") or {})

        self.assertEqual(differences(FOLDER, ask), [])
