"""The inputs of SimpleFold, and the refused ones."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from foldrun import Failure  # noqa: E402
from sequence import fasta  # noqa: E402


def chain(**more):
    return {"kind": "protein", "sequence": "GSHM", "chains": ["B"]} | more


class Sequence(unittest.TestCase):
    def test_one_chain(self):
        self.assertEqual(fasta([chain()]), (">A\nGSHM\n", "B"))

    def test_refused(self):
        for sequences, code, says in (
            ([chain(), chain(chains=["C"])], "unsupported", "one protein chain"),
            ([chain(chains=["B", "C"])], "unsupported", "one protein chain"),
            ([chain(kind="rna", sequence="GACU")], "unsupported", "one protein chain"),
            ([chain(cyclic=True)], "unsupported", "cyclic"),
            ([chain(modifications=[{"res_idx": 2, "ccd": "SEP"}])], "unsupported", "modified"),
            ([chain(sequence="GSXM")], "invalid_input", "residue 3 is 'X'"),
        ):
            with self.assertRaises(Failure) as caught:
                fasta(sequences)
            self.assertEqual(caught.exception.code, code)
            self.assertIn(says, caught.exception.message)


if __name__ == "__main__":
    unittest.main()
