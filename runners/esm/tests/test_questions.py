"""The runner refuses the same jobs as the service, by its manifest."""

import sys
import unittest
from pathlib import Path

FOLDER = Path(__file__).parent.parent
sys.path.insert(0, str(FOLDER))

from document import check, the_chain  # noqa: E402
from foldrun.tests.questions import differences  # noqa: E402


class Questions(unittest.TestCase):
    def test_as_the_service(self):
        def ask(model, job):
            (check if model == "esmfold2" else the_chain)(job["sequences"])

        self.assertEqual(differences(FOLDER, ask), [])
