"""The runner refuses the same jobs as the service, by its manifest."""

import sys
import unittest
from pathlib import Path

FOLDER = Path(__file__).parent.parent
sys.path.insert(0, str(FOLDER))

from foldrun.tests.questions import differences  # noqa: E402
from sequence import fasta  # noqa: E402


class Questions(unittest.TestCase):
    def test_as_the_service(self):
        self.assertEqual(differences(FOLDER, lambda _, job: fasta(job["sequences"])), [])
