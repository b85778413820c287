"""How a job becomes what OpenFold3 reads, and what is refused."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from document import build, chain_names  # noqa: E402
from foldrun import Failure  # noqa: E402


def polymer(kind, sequence, *chains, **more):
    return {"kind": kind, "sequence": sequence, "chains": list(chains), **more}


def protein(sequence, *chains, **more):
    return polymer("protein", sequence, *chains, **more)


def ligand(sequence, *chains, **more):
    return polymer("ligand", sequence, *chains, **more)


def written(*sequences, alignments=None, **constraints):
    return build({"sequences": list(sequences), "constraints": constraints}, alignments or {}, "/w")


SEP = [{"res_idx": 2, "ccd": "SEP"}]


class Chains(unittest.TestCase):
    def test_every_kind(self):
        doc = written(
            protein("GSHM", "H", "kinase", modifications=SEP),
            polymer("rna", "GACU", "R"),
            polymer("dna", "GACT", "D", cyclic=True),
            ligand("CCO", "L"),
            ligand("EDO", "E", is_ccd=True),
        )
        self.assertEqual(
            doc.query["chains"],
            [
                {
                    "molecule_type": "protein",
                    "chain_ids": ["A", "B"],
                    "sequence": "GSHM",
                    "non_canonical_residues": {"2": "SEP"},
                    "main_msa_file_paths": ["/w/alignments/main/s0/colabfold_main.a3m"],
                },
                {
                    "molecule_type": "rna",
                    "chain_ids": ["C"],
                    "sequence": "GACU",
                    "main_msa_file_paths": ["/w/alignments/main/s1/colabfold_main.a3m"],
                },
                {"molecule_type": "dna", "chain_ids": ["D"], "sequence": "GACT", "cyclic": True},
                {"molecule_type": "ligand", "chain_ids": ["E"], "smiles": "CCO"},
                {"molecule_type": "ligand", "chain_ids": ["F"], "ccd_codes": ["EDO"]},
            ],
        )
        self.assertEqual(doc.chain_map(), {"A": "H", "B": "kinase", "C": "R", "E": "L", "F": "E"})

    def test_names(self):
        names = list(chain_names([f"c{i}" for i in range(26 + 26 * 26)]).values())
        self.assertEqual((names[0], names[25], names[26], names[-1]), ("A", "Z", "AA", "ZZ"))
        self.assertEqual(len(set(names)), len(names))
        with self.assertRaisesRegex(Failure, "703 chains"):
            chain_names([f"c{i}" for i in range(703)])

    def test_copies(self):
        """The package takes what has one sequence for copies, whatever it is."""
        doc = written(
            protein("GACU", "A", "B"),
            polymer("rna", "GACU", "C"),
            protein("GACU", "D", modifications=SEP),
            protein("GACU", "E"),
            protein("GACU", "F", cyclic=True),
            ligand("MG", "G", is_ccd=True),
            ligand("MG", "H"),
        )
        self.assertEqual(doc.entities, {"A": 1, "B": 1, "C": 2, "D": 3, "E": 1, "F": 4, "G": 5, "H": 6})

    def test_refusals(self):
        for says, sequence in {
            "residues are 1 to 4": protein("GSHM", "A", modifications=[{"res_idx": 5, "ccd": "SEP"}]),
            "two modifications": protein("GSHM", "A", modifications=SEP + SEP),
            "component '../x'": protein("GSHM", "A", modifications=[{"res_idx": 1, "ccd": "../x"}]),
            "component 'edo'": ligand("edo", "A", is_ccd=True),
            "affinity": ligand("CCO", "A", property_type="affinity"),
        }.items():
            with self.subTest(says), self.assertRaisesRegex(Failure, rf"^sequences\[0\].*{says}"):
                written(sequence)


class Alignments(unittest.TestCase):
    def test_none(self):
        doc = written(protein("GSHM", "A"), polymer("rna", "GACU", "B"))
        self.assertEqual(list(doc.alignments.values()), [">query\nGSHM\n", ">query\nGACU\n"])
        self.assertEqual(len(doc.notes), 1)
        self.assertIn("single sequences", doc.notes[0])

    def test_copies_share_theirs(self):
        doc = written(
            protein("GSHM", "A"), protein("GSHM", "B", modifications=SEP), alignments={1: (["GSHM", "GaTHM"], [])}
        )
        self.assertEqual(doc.alignments, {"alignments/main/s0/colabfold_main.a3m": ">query\nGSHM\n>r1\nGaTHM\n"})
        paths = [c["main_msa_file_paths"] for c in doc.query["chains"]]
        self.assertEqual(paths[0], paths[1])
        self.assertEqual(doc.notes, [])

    def test_paired_rows_are_of_one_number(self):
        """The package refuses others."""
        doc = written(
            protein("GSHM", "A"),
            protein("MKT", "B"),
            protein("AAA", "C"),
            alignments={0: ([], ["GSHM", "GTHM"]), 1: (["MKT", "MRT"], ["MKT"])},
        )
        self.assertEqual(doc.alignments["alignments/main/s0/colabfold_main.a3m"], ">query\nGSHM\n")
        self.assertEqual(doc.alignments["alignments/paired/s0/colabfold_paired.a3m"], ">query\nGSHM\n>r1\nGTHM\n")
        self.assertEqual(doc.alignments["alignments/main/s1/colabfold_main.a3m"], ">query\nMKT\n>r1\nMRT\n")
        self.assertEqual(doc.alignments["alignments/paired/s1/colabfold_paired.a3m"], ">query\nMKT\n>r1\n---\n")
        self.assertNotIn("paired_msa_file_paths", doc.query["chains"][2])
        self.assertEqual(len(doc.notes), 1, "chain C has none")


class Constraints(unittest.TestCase):
    pocket = {
        "binder": {"chain_id": "L"},
        "contacts": [{"chain_id": "H", "res_idx": 3}, {"chain_id": "H", "res_idx": 4}],
    }

    def test_a_pocket(self):
        doc = written(protein("GSHM", "H"), ligand("CCO", "L"), pocket=[self.pocket])
        self.assertEqual(
            doc.query["pocket_constraint"], {"ligand_chain_id": "B", "pocket_residues": [["A", 3], ["A", 4]]}
        )

    def test_refusals(self):
        for says, given in {
            "bond is not taken": {"bond": [{}]},
            "contact is not taken": {"contact": [{}]},
            "2 entries": {"pocket": [self.pocket, self.pocket]},
            "binder is chain H, a protein": {
                "pocket": [{"binder": {"chain_id": "H"}, "contacts": self.pocket["contacts"]}]
            },
            "on chain L, a ligand": {
                "pocket": [{"binder": {"chain_id": "L"}, "contacts": [{"chain_id": "L", "res_idx": 1}]}]
            },
        }.items():
            with self.subTest(says), self.assertRaisesRegex(Failure, f"^constraints.*{says}"):
                written(protein("GSHM", "H"), ligand("CCO", "L"), **given)


if __name__ == "__main__":
    unittest.main()
