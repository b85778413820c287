"""How a job becomes what Boltz reads, and what is refused."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from document import build, parallel  # noqa: E402
from foldrun import Failure, Template  # noqa: E402


def protein(sequence, *chains, **more):
    return {"kind": "protein", "sequence": sequence, "chains": list(chains), **more}


def ligand(sequence, *chains, **more):
    return {"kind": "ligand", "sequence": sequence, "chains": list(chains), **more}


def job(*sequences, **constraints):
    return {"sequences": list(sequences), "constraints": constraints}


class Entities(unittest.TestCase):
    def test_what_is_alike_is_one_entity(self):
        doc = build(
            job(protein("GSHM", "A"), ligand("CCO", "L"), protein("GSHM", "C", "D")), "boltz-2", {0: "/w/a.csv"}
        )
        self.assertEqual(
            doc.content["sequences"],
            [
                {"protein": {"id": ["A", "C", "D"], "sequence": "GSHM", "msa": "/w/a.csv"}},
                {"ligand": {"id": ["L"], "smiles": "CCO"}},
            ],
        )
        self.assertEqual(doc.notes, [])

    def test_every_kind(self):
        doc = build(
            job(
                protein("GSHM", "A", cyclic=True),
                {"kind": "rna", "sequence": "GACU", "chains": ["R"]},
                {"kind": "dna", "sequence": "GACT", "chains": ["D"]},
                ligand("EDO", "L", is_ccd=True),
            ),
            "boltz-2",
            {},
        )
        self.assertEqual(
            doc.content["sequences"],
            [
                {"protein": {"id": ["A"], "sequence": "GSHM", "msa": "empty", "cyclic": True}},
                {"rna": {"id": ["R"], "sequence": "GACU"}},
                {"dna": {"id": ["D"], "sequence": "GACT"}},
                {"ligand": {"id": ["L"], "ccd": "EDO"}},
            ],
        )
        self.assertEqual(len(doc.notes), 1)
        self.assertIn("single sequences", doc.notes[0])

    def test_modifications_of_one_copy_stay_its_own(self):
        """Boltz groups by sequence and would give every copy the first one's modifications."""
        sep, hyp = [{"res_idx": 2, "ccd": "SEP"}], [{"res_idx": 2, "ccd": "TPO"}]
        doc = build(
            job(protein("GSHM", "B", modifications=sep), protein("GSHM", "A"), protein("GSHM", "C", modifications=hyp)),
            "boltz-2",
            {},
        )
        sequences = [s["protein"] for s in doc.content["sequences"]]
        self.assertEqual([s["id"] for s in sequences], [["B"], ["A"], ["C"]])
        self.assertEqual(sequences[1]["sequence"], "GSHM")
        self.assertEqual(len({s["sequence"] for s in sequences}), 3)
        for s, code in ((sequences[0], "SEP"), (sequences[2], "TPO")):
            self.assertEqual(s["modifications"], [{"position": 2, "ccd": code}])
            self.assertEqual(
                s["sequence"][0] + s["sequence"][2:], "GHM", "only the modified residue's letter may change"
            )

    def test_one_ring_of_two_is_refused(self):
        with self.assertRaisesRegex(Failure, r"sequences\[0\] and sequences\[1\] .* cyclic"):
            build(job(protein("GSHM", "A", cyclic=True), protein("GSHM", "B")), "boltz-2", {})

    def test_a_smiles_that_reads_like_a_code(self):
        with self.assertRaisesRegex(Failure, "written alike"):
            build(job(ligand("CO", "L"), ligand("CO", "M", is_ccd=True)), "boltz-2", {})

    def test_bad_components(self):
        for sequence in (
            ligand("../../etc/x", "L", is_ccd=True),
            protein("GSHM", "A", modifications=[{"res_idx": 1, "ccd": "a/b"}]),
        ):
            with self.assertRaisesRegex(Failure, "capital letters and digits"):
                build(job(sequence), "boltz-2", {})
        with self.assertRaisesRegex(Failure, "residues are 1 to 4"):
            build(job(protein("GSHM", "A", modifications=[{"res_idx": 5, "ccd": "SEP"}])), "boltz-2", {})

    def test_long_names_are_replaced_and_mapped_back(self):
        doc = build(job(protein("GSHM", "heavy", "x1"), ligand("CCO", "no-1")), "boltz-2", {})
        self.assertEqual(doc.names, {"heavy": "x2", "x1": "x1", "no-1": "x3"})
        self.assertEqual(doc.chain_map(), {"x2": "heavy", "x3": "no-1"})


class Affinity(unittest.TestCase):
    def test_the_binder(self):
        doc = build(job(protein("GSHM", "A"), ligand("CCO", "ligand", property_type="affinity")), "boltz-2", {})
        self.assertEqual(doc.affinity, "ligand")
        self.assertEqual(doc.content["properties"], [{"affinity": {"binder": "x1"}}])

    def test_refusals(self):
        for wrong, text in (
            (job(protein("GSHM", "A", property_type="affinity")), "is a protein"),
            (job(protein("GSHM", "A"), ligand("CCO", "L", "M", property_type="affinity")), "2 copies"),
            (
                job(protein("GSHM", "A"), ligand("CCO", "L", property_type="affinity"), ligand("CCO", "M")),
                "same ligand",
            ),
            (
                job(
                    protein("GSHM", "A"),
                    ligand("CCO", "L", property_type="affinity"),
                    ligand("CO", "M", property_type="affinity"),
                ),
                "one ligand of a job",
            ),
            (job(ligand("CCO", "L", property_type="affinity")), "no protein"),
        ):
            with self.subTest(text), self.assertRaisesRegex(Failure, text):
                build(wrong, "boltz-2", {})


class Constraints(unittest.TestCase):
    chains = (protein("GSHM", "A"), protein("MKTA", "longname"), ligand("CCO", "L"), ligand("CO", "M"))

    def one(self, model="boltz-2", **constraints):
        return build(job(*self.chains, **constraints), model, {}).content["constraints"]

    def test_forms(self):
        pocket = {
            "binder": {"chain_id": "L"},
            "contacts": [{"chain_id": "A", "res_idx": 3}, {"chain_id": "longname", "res_idx": 1}],
        }
        bond = {
            "atom1": {"chain_id": "A", "res_idx": 4, "atom_name": "SD"},
            "atom2": {"chain_id": "longname", "res_idx": 1, "atom_name": "CE"},
        }
        near = {"chainA": "A", "res_idxA": 1, "chainB": "longname", "res_idxB": 2, "distance": 8}
        self.assertEqual(
            self.one(pocket=[pocket], bond=[bond], contact=[near]),
            [
                {"pocket": {"binder": "L", "contacts": [["A", 3], ["x1", 1]], "max_distance": 6.0}},
                {"bond": {"atom1": ["A", 4, "SD"], "atom2": ["x1", 1, "CE"]}},
                {"contact": {"token1": ["A", 1], "token2": ["x1", 2], "max_distance": 8}},
            ],
        )

    def test_a_contact_with_a_ligand_is_a_pocket_of_one_residue(self):
        want = [{"pocket": {"binder": "L", "contacts": [["A", 3]], "max_distance": 6.0}}]
        self.assertEqual(self.one(contact=[{"chainA": "A", "res_idxA": 3, "chainB": "L", "res_idxB": 1}]), want)
        self.assertEqual(self.one(contact=[{"chainA": "L", "res_idxA": 1, "chainB": "A", "res_idxB": 3}]), want)

    def test_refusals(self):
        pocket = {"binder": {"chain_id": "L"}, "contacts": [{"chain_id": "M", "res_idx": 1}]}
        for given, model, text in (
            ({"pocket": [pocket]}, "boltz-2", r"pocket\[0\].contacts\[0\] is on chain M, a ligand"),
            ({"pocket": [pocket, pocket]}, "boltz", "takes one"),
            ({"contact": [{"chainA": "A", "res_idxA": 1, "chainB": "A", "res_idxB": 3}]}, "boltz", "boltz-2 does"),
            ({"contact": [{"chainA": "L", "res_idxA": 1, "chainB": "M", "res_idxB": 1}]}, "boltz-2", "two ligands"),
            (
                {"contact": [{"chainA": "A", "res_idxA": 1, "chainB": "L", "res_idxB": 1, "distance": 25}]},
                "boltz-2",
                "4 to 20 Å",
            ),
        ):
            with self.subTest(text), self.assertRaisesRegex(Failure, text):
                self.one(model, **given)


class Templates(unittest.TestCase):
    def test_each_chain_has_an_entry_and_a_file_of_its_own(self):
        given = [
            Template(Path("/w/input/template-1.cif"), 0, "heavy"),
            Template(Path("/w/input/template-2.cif"), 0, "B", True, 2.5),
        ]
        doc = build(job(protein("GSHM", "heavy", "B")), "boltz-2", {}, given)
        self.assertEqual(
            doc.content["templates"],
            [
                {"cif": "/w/input/template-1.cif", "chain_id": "x1", "template_id": "A"},
                {
                    "cif": "/w/input/template-2.cif",
                    "chain_id": doc.names["B"],
                    "template_id": "A",
                    "force": True,
                    "threshold": 2.5,
                },
            ],
        )
        self.assertEqual(doc.names["heavy"], "x1")

    def test_none(self):
        self.assertNotIn("templates", build(job(protein("GSHM", "A")), "boltz-2", {}).content)

    def test_boltz_1_takes_none(self):
        with self.assertRaisesRegex(Failure, "constraints.templates is not taken by the model boltz; boltz-2 does"):
            build(job(protein("GSHM", "A")), "boltz", {}, [Template(Path("t.cif"), 0, "A")])


class Parallel(unittest.TestCase):
    def test_never_more_at_once_than_allowed(self):
        """The package computes ceil(samples / (samples mod value + 1)) samples at once."""
        for samples in range(1, 26):
            for most in range(1, 26):
                value = parallel(samples, most)
                self.assertGreaterEqual(value, 1)
                self.assertLessEqual(-(-samples // (samples % value + 1)), most, (samples, most))
            self.assertEqual(samples % parallel(samples, samples), 0, "all at once where all are allowed")


if __name__ == "__main__":
    unittest.main()
