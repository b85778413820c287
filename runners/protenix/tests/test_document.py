"""The document of Protenix: entries, copies, bonds, alignments, and what is refused."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from document import a3m, build  # noqa: E402
from foldrun import Failure  # noqa: E402


def protein(sequence, *chains, **more):
    return {"kind": "protein", "sequence": sequence, "chains": list(chains), **more}


class Document(unittest.TestCase):
    def test_entries(self):
        sep = [{"res_idx": 2, "ccd": "SEP"}]
        doc = build(
            {
                "sequences": [
                    protein("GSHM", "H", modifications=sep),
                    {"kind": "ligand", "sequence": "MG", "is_ccd": True, "chains": ["M"]},
                    protein("GSHM", "light chain"),
                    protein("GSHM", "C", modifications=sep),
                    {"kind": "rna", "sequence": "GACU", "chains": ["R"], "modifications": [{"res_idx": 1, "ccd": "G"}]},
                    {"kind": "ligand", "sequence": "CCO", "chains": ["L", "K"]},
                ],
                "constraints": {
                    "bond": [
                        {
                            "atom1": {"chain_id": "C", "res_idx": 3, "atom_name": "ND1"},
                            "atom2": {"chain_id": "M", "res_idx": 1, "atom_name": "MG"},
                        }
                    ]
                },
            },
            {0: {"unpairedMsaPath": "/w/0.a3m"}, 3: {"unpairedMsaPath": "/w/3.a3m"}},
            {},
        )
        self.assertEqual(
            doc.content["sequences"],
            [
                {
                    "proteinChain": {
                        "sequence": "GSHM",
                        "unpairedMsaPath": "/w/0.a3m",
                        "modifications": [{"ptmPosition": 2, "ptmType": "CCD_SEP"}],
                        "count": 2,
                        "id": ["H", "C"],
                    }
                },
                {"ligand": {"ligand": "CCD_MG", "count": 1, "id": ["M"]}},
                {"proteinChain": {"sequence": "GSHM", "count": 1, "id": ["x1"]}},
                {
                    "rnaSequence": {
                        "sequence": "GACU",
                        "modifications": [{"basePosition": 1, "modificationType": "CCD_G"}],
                        "count": 1,
                        "id": ["R"],
                    }
                },
                {"ligand": {"ligand": "CCO", "count": 2, "id": ["L", "K"]}},
            ],
        )
        self.assertEqual(
            doc.content["covalent_bonds"],
            [
                {
                    "entity1": 1,
                    "copy1": 2,
                    "position1": 3,
                    "atom1": "ND1",
                    "entity2": 2,
                    "copy2": 1,
                    "position2": 1,
                    "atom2": "MG",
                }
            ],
        )
        self.assertEqual(doc.chain_map(), {"x1": "light chain"})
        self.assertEqual(len(doc.notes), 1)  # a chain without an alignment

    def test_templates_belong_to_entries(self):
        doc = build({"sequences": [protein("GSHMK", "A", "B", "C")]}, {}, {"A": ["t"], "C": ["t"]}, "/w/none.hhr")
        self.assertEqual(
            [e["proteinChain"] for e in doc.content["sequences"]],
            [
                {"sequence": "GSHMK", "count": 2, "id": ["A", "C"], "templatesPath": "/w/none.hhr"},
                {"sequence": "GSHMK", "count": 1, "id": ["B"]},
            ],
        )
        self.assertEqual(doc.templates, [["t"]])

    def test_refusals(self):
        for sequences, constraints, code, message in (
            ([protein("GSHM", "A", cyclic=True)], {}, "unsupported", "cyclic"),
            ([protein("GSBM", "A")], {}, "invalid_input", "residue 3 of sequences[0]"),
            ([{"kind": "ligand", "sequence": "FILE_/etc/x.sdf", "chains": ["L"]}], {}, "invalid_input", "SMILES"),
            ([protein("GSHM", "A")], {"contact": [{}]}, "unsupported", "constraints.contact"),
            ([protein("GSHM", "A")], {"pocket": [{}]}, "unsupported", "constraints.pocket"),
            (
                [{"kind": "ligand", "sequence": "CCO", "chains": ["L"], "property_type": "affinity"}],
                {},
                "unsupported",
                "affinity",
            ),
        ):
            with self.assertRaises(Failure) as e:
                build({"sequences": sequences, "constraints": constraints}, {}, {})
            self.assertEqual(e.exception.code, code)
            self.assertIn(message, e.exception.message)

    def test_alignment(self):
        rows = ["GSH", "G-aaH", "---", "GAH"]
        self.assertEqual(a3m(rows, False), ">query\nGSH\n>1\nG-aaH\n>3\nGAH\n")
        self.assertEqual(a3m(rows, True), ">query\nGSH\n>UniRef100_1_1\nG-aaH\n>UniRef100_3_3\nGAH\n")


if __name__ == "__main__":
    unittest.main()
