"""The runner refuses the same jobs as the service, by its manifest."""

import importlib.util
import sys
import unittest
from pathlib import Path

FOLDER = Path(__file__).parent.parent
sys.path.insert(0, str(FOLDER))

from document import build  # noqa: E402
from foldrun.tests.questions import differences  # noqa: E402

PACKAGES = all(importlib.util.find_spec(name) for name in ("rdkit", "biotite"))


class Questions(unittest.TestCase):
    def test_as_the_service(self):
        def ask(_, job):
            build(job, {}, "/w")
            if PACKAGES:
                import chemistry

                chemistry.check(job["sequences"])

        self.assertEqual(differences(FOLDER, ask, PACKAGES), [])
