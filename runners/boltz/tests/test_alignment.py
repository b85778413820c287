"""Alignments as Boltz reads them."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from alignment import table  # noqa: E402


class Alignment(unittest.TestCase):
    def test_table(self):
        self.assertEqual(table(["GSHM", "GTHM"], []), "key,sequence\n-1,GSHM\n-1,GTHM\n")
        self.assertEqual(table(["GSHM", "GTHM"], ["GSHM", "----", "GAHM"]), "key,sequence\n0,GSHM\n2,GAHM\n-1,GTHM\n")


if __name__ == "__main__":
    unittest.main()
