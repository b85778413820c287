"""The dictionary that is embedded in the service is that of biotite. It needs the package."""

import gzip
import json
import sys
import unittest
from importlib.util import find_spec
from pathlib import Path

FOLDER = Path(__file__).parent.parent
sys.path.insert(0, str(FOLDER / "testing"))

FILE = FOLDER.parent.parent / "internal" / "chem" / "components.gz"


@unittest.skipUnless(find_spec("biotite"), "the package is not installed")
class Components(unittest.TestCase):
    def test_file(self):
        import components

        self.assertTrue(
            gzip.decompress(FILE.read_bytes()).decode() == components.text(),
            "it is another dictionary; run scripts/components",
        )

    def test_manifest(self):
        import components

        limits = json.loads((FOLDER / "manifest.json").read_text())["limits"]
        self.assertEqual(limits["dictionary"], components.atoms()[2])


if __name__ == "__main__":
    unittest.main()
