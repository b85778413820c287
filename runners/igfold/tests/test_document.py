"""What the runner takes of a job, and refuses as the service does."""

import sys
import unittest
from pathlib import Path

FOLDER = Path(__file__).parent.parent
sys.path.insert(0, str(FOLDER))

from document import chains  # noqa: E402
from foldrun import Failure  # noqa: E402
from foldrun.tests.questions import differences  # noqa: E402


def chain(**more):
    return {"kind": "protein", "sequence": "EVQL", "chains": ["H"]} | more


class Document(unittest.TestCase):
    def test_as_the_service(self):
        self.assertEqual(differences(FOLDER, lambda _, job: chains(job["sequences"])), [])

    def test_chains(self):
        self.assertEqual(chains([chain(), chain(sequence="DIQM", chains=["L"])]), {"H": "EVQL", "L": "DIQM"})

    def test_refused(self):
        for sequences, says in (
            ([chain(), chain(chains=["A", "B"])], "the job has 3 chains"),
            ([chain(kind="rna", sequence="ACGU")], "sequences[0] is a rna"),
            ([chain(sequence="EVXL")], "residue 3 of sequences[0] is 'X'"),
            ([chain(sequence="E" * 511)], "511 residues"),
            ([chain(cyclic=True)], "cyclic"),
        ):
            with self.assertRaises(Failure) as e:
                chains(sequences)
            self.assertIn(says, e.exception.message)
