"""How a job becomes what Chai-1 reads; where the package is installed, that it reads it, and that it then misses its
weights."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from document import fasta, letters, restraints  # noqa: E402
from foldrun import Failure  # noqa: E402

SEQUENCES = [
    {"kind": "protein", "sequence": "GSHM", "chains": ["A", "B"], "modifications": [{"res_idx": 2, "ccd": "SEP"}]},
    {"kind": "ligand", "sequence": "CCO", "chains": ["L"]},
    {"kind": "rna", "sequence": "GACU", "chains": ["R"]},
    {"kind": "ligand", "sequence": "CO", "chains": ["M"]},
]
CONSTRAINTS = {
    "pocket": [{"binder": {"chain_id": "L"}, "contacts": [{"chain_id": "A", "res_idx": 3}]}],
    "contact": [
        {"chainA": "A", "res_idxA": 1, "chainB": "B", "res_idxB": 4, "distance": 8},
        {"chainA": "A", "res_idxA": 1, "chainB": "L", "res_idxB": 1},
    ],
    "bond": [
        {
            "atom1": {"chain_id": "A", "res_idx": 4, "atom_name": "SD"},
            "atom2": {"chain_id": "B", "res_idx": 4, "atom_name": "SD"},
        }
    ],
}


class Document(unittest.TestCase):
    def test_fasta(self):
        want = ">protein|name=A\nG(SEP)HM\n>protein|name=B\nG(SEP)HM\n>ligand|name=L\nCCO\n"
        want += ">rna|name=R\nGACU\n>ligand|name=M\nCO\n"
        self.assertEqual(fasta(SEQUENCES), want)

    def test_restraints(self):
        rows = restraints(SEQUENCES, CONSTRAINTS).splitlines()[1:]
        self.assertEqual(
            rows,
            [
                "C,,A,H3,pocket,1.0,0.0,6.0,-,r1",
                "A,G1,B,M4,contact,1.0,0.0,8,-,r2",
                "C,,A,G1,pocket,1.0,0.0,6.0,-,r3",
                "A,M4@SD,B,M4@SD,covalent,1.0,0.0,0.0,-,r4",
            ],
        )
        self.assertIsNone(restraints(SEQUENCES, {}))
        self.assertEqual(letters(SEQUENCES), {"A": "A", "B": "B", "L": "C", "R": "D", "M": "E"})

    def test_refusals(self):
        for change, text in (
            ({"is_ccd": True}, "SMILES"),
            ({"property_type": "affinity"}, "affinity"),
            ({"chains": ["a|b"]}, "letters and digits"),
        ):
            with self.subTest(text), self.assertRaisesRegex(Failure, text):
                fasta([{**SEQUENCES[1], **change}])
        between = {"chainA": "L", "res_idxA": 1, "chainB": "M", "res_idxB": 1}
        with self.assertRaisesRegex(Failure, "two ligands"):
            restraints(SEQUENCES, {"contact": [between]})


try:
    os.environ.setdefault("CHAI_DOWNLOADS_DIR", tempfile.mkdtemp())
    import chai_lab
except ImportError:
    chai_lab = None


@unittest.skipUnless(chai_lab, "chai_lab is not installed")
class Package(unittest.TestCase):
    def test_it_reads_what_is_written(self):
        from chai_lab.data.dataset.inference_dataset import read_inputs
        from chai_lab.data.parsing.restraints import parse_pairwise_table

        with tempfile.TemporaryDirectory() as folder:
            source, table = Path(folder, "job.fasta"), Path(folder, "job.restraints")
            source.write_text(fasta(SEQUENCES))
            table.write_text(restraints(SEQUENCES, CONSTRAINTS))
            inputs, pairs = read_inputs(source), parse_pairwise_table(table)
        self.assertEqual(
            [(i.entity_name, i.sequence) for i in inputs],
            [("A", "G(SEP)HM"), ("B", "G(SEP)HM"), ("L", "CCO"), ("R", "GACU"), ("M", "CO")],
        )
        self.assertEqual([p.connection_type.value for p in pairs], ["pocket", "contact", "pocket", "covalent"])
        self.assertEqual((pairs[3].chainA, pairs[3].atom_nameA, pairs[3].atom_nameB), ("A", "SD", "SD"))

    def test_without_weights(self):
        import foldrun
        from runner import Chai

        with tempfile.TemporaryDirectory() as folder, self.assertRaises(foldrun.Failure) as caught:
            Chai().load(foldrun.Load("chai1", Path(folder), "cuda:0"))
        self.assertEqual(caught.exception.code, "weights_missing")
        self.assertIn("models_v2/trunk.pt", caught.exception.message)

    def test_the_package_itself_misses_them(self):
        """The package goes as far as it can: to the first file that it would fetch, from a network that is not
        there."""
        import requests
        from chai_lab import chai1

        os.environ["HTTPS_PROXY"] = "http://127.0.0.1:9"
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "job.fasta")
            source.write_text(fasta(SEQUENCES))
            with self.assertRaisesRegex(requests.ConnectionError, "conformers_v1"):
                chai1.run_inference(source, output_dir=Path(folder, "out"), device="cpu")


if __name__ == "__main__":
    unittest.main()
