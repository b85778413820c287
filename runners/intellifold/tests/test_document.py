"""The document that IntelliFold reads."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from document import build  # noqa: E402
from foldrun import Failure  # noqa: E402


def protein(sequence="GSHM", chains=("A",), **more):
    return {"kind": "protein", "sequence": sequence, "chains": list(chains)} | more


def ligand(sequence="CCO", chains=("L",), **more):
    return {"kind": "ligand", "sequence": sequence, "chains": list(chains)} | more


SEP = [{"res_idx": 2, "ccd": "SEP"}]


class Document(unittest.TestCase):
    def test_every_entity(self):
        doc = build(
            {
                "sequences": [
                    protein(chains=["A", "longer"], modifications=SEP),
                    ligand(),
                    ligand("MG", ["M"], is_ccd=True),
                    {"kind": "rna", "sequence": "GACU", "chains": ["R"]},
                ],
                "constraints": {
                    "bond": [
                        {
                            "atom1": {"chain_id": "longer", "res_idx": 2, "atom_name": "OG"},
                            "atom2": {"chain_id": "M", "res_idx": 1, "atom_name": "MG"},
                        }
                    ]
                },
            },
            {0: "/a.csv"},
        )
        self.assertEqual(
            doc.content["sequences"],
            [
                {
                    "protein": {
                        "id": ["A", "x1"],
                        "sequence": "GSHM",
                        "msa": "/a.csv",
                        "modifications": [{"position": 2, "ccd": "SEP"}],
                    }
                },
                {"ligand": {"id": ["L"], "smiles": "CCO"}},
                {"ligand": {"id": ["M"], "ccd": "MG"}},
                {"rna": {"id": ["R"], "sequence": "GACU"}},
            ],
        )
        self.assertEqual(doc.content["constraints"], [{"bond": {"atom1": ["x1", 2, "OG"], "atom2": ["M", 1, "MG"]}}])
        self.assertEqual(doc.chain_map(), {"x1": "longer"})
        self.assertEqual(doc.notes, [])

    def test_one_alignment_for_one_sequence(self):
        doc = build({"sequences": [protein(), protein(chains=["B"]), protein("MKTAY", ["C"])]}, {1: "/b.csv"})
        self.assertEqual([s["protein"]["msa"] for s in doc.content["sequences"]], ["/b.csv", "/b.csv", "empty"])
        self.assertIn("single sequences", doc.notes[0])

    def test_refused(self):
        pocket = {"pocket": [{"binder": {"chain_id": "L"}, "contacts": [{"chain_id": "A", "res_idx": 1}]}]}
        for sequences, constraints, code, says in (
            ([protein(cyclic=True)], None, "unsupported", "cyclic"),
            ([protein(), ligand(property_type="affinity")], None, "unsupported", "sequences[1] asks for an affinity"),
            (
                [protein(), protein(chains=["B"], modifications=SEP)],
                None,
                "unsupported",
                "sequences[0] and sequences[1]",
            ),
            ([ligand("CO"), ligand("CO", ["M"], is_ccd=True)], None, "unsupported", "written alike"),
            ([protein(modifications=[{"res_idx": 5, "ccd": "SEP"}])], None, "invalid_input", "1 to 4"),
            ([protein(modifications=SEP + SEP)], None, "invalid_input", "two modifications"),
            ([protein(modifications=[{"res_idx": 2, "ccd": "../x"}])], None, "invalid_input", "'../x'"),
            ([ligand("toolong", is_ccd=True)], None, "invalid_input", "'toolong'"),
            ([protein(), ligand()], pocket, "unsupported", "constraints.pocket has no effect"),
            ([protein(), ligand()], {"contact": [{}]}, "unsupported", "constraints.contact has no effect"),
        ):
            with self.subTest(says), self.assertRaises(Failure) as caught:
                build({"sequences": sequences, "constraints": constraints}, {})
            self.assertEqual(caught.exception.code, code)
            self.assertIn(says, caught.exception.message)


if __name__ == "__main__":
    unittest.main()
