"""The runner refuses the same jobs as the service, by its manifest."""

import importlib.util
import sys
import unittest
from pathlib import Path

FOLDER = Path(__file__).parent.parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "testing")]

from document import build  # noqa: E402
from foldrun.tests.questions import differences  # noqa: E402

PACKAGES = all(importlib.util.find_spec(name) for name in ("boltz", "rdkit", "gemmi"))


class Known:
    """The small dictionary of the tests."""

    def __init__(self):
        import dictionary

        self.mols = dictionary.dictionary(1)

    def has(self, code):
        return code in self.mols or code in ("MSE", "CO")

    def get(self, code):
        return self.mols[code]


class Questions(unittest.TestCase):
    def test_as_the_service(self):
        known = Known() if PACKAGES else None

        def ask(model, job):
            doc = build(job, model, {})
            if known:
                import chemistry

                chemistry.check(job["sequences"], doc, known)

        self.assertEqual(differences(FOLDER, ask, PACKAGES), [])
