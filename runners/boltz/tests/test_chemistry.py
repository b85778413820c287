"""Components of a job's own become molecules as the package's dictionary has them. Needs the packages of the runner."""

import importlib.util
import pickle
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from foldrun import Component, Failure  # noqa: E402

PACKAGES = all(importlib.util.find_spec(name) for name in ("boltz", "rdkit"))


@unittest.skipUnless(PACKAGES, "needs Boltz and RDKit")
class Components(unittest.TestCase):
    def made(self, smiles, names, leaving=(), code="OWN", seed=1):
        import chemistry

        return chemistry.components([Component(code, smiles, names.split(), list(leaving))], seed)[code]

    def test_names_and_conformer(self):
        mol = self.made("N[C@@H](CF)C(=O)O", "N CA CB FG C O OXT", ["OXT"])
        self.assertEqual([a.GetProp("name") for a in mol.GetAtoms()], "N CA CB FG C O OXT".split())
        self.assertEqual([a.GetProp("leaving_atom") for a in mol.GetAtoms()], list("0000001"))
        self.assertEqual(mol.GetNumConformers(), 1)
        self.assertEqual(str(mol.GetAtomWithIdx(1).GetChiralTag()), "CHI_TETRAHEDRAL_CW")

    def test_hydrogens_of_the_string_have_names(self):
        mol = self.made("[H]OCC", "H1 O1 C1 C2")
        self.assertEqual([a.GetProp("name") for a in mol.GetAtoms()], ["O1", "C1", "C2"])

    def test_one_atom(self):
        self.assertEqual(self.made("[Zn+2]", "ZN1").GetAtomWithIdx(0).GetProp("name"), "ZN1")

    def test_the_seed_decides_the_conformer(self):
        def first(seed):
            return list(self.made("CCCCCC", "C1 C2 C3 C4 C5 C6", seed=seed).GetConformer().GetAtomPosition(0))

        self.assertEqual(first(1), first(1))
        self.assertNotEqual(first(1), first(2))

    def test_refusals(self):
        for smiles, names, code, want in (
            ("C(C)(C)(C)(C)C", "A B C D E F", "OWN", "the component OWN is a SMILES of no possible molecule"),
            ("C1#CC1", "A B C", "OWN", "the component OWN is a molecule for which RDKit finds no"),
            ("CCO", "A B C", "LIG1", "the component LIG1 has a code that Boltz gives"),
        ):
            with self.assertRaisesRegex(Failure, want):
                self.made(smiles, names, code=code)

    def file(self, atoms, bonds):
        import chemistry

        text = ["data_OWN", "loop_"]
        text += [f"_chem_comp_atom.{item}" for item in chemistry.ATOM] + [" ".join(map(str, row)) for row in atoms]
        text += ["loop_"] + [f"_chem_comp_bond.{item}" for item in ("atom_id_1", "atom_id_2", "value_order")]
        text += [" ".join(row) for row in bonds]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "own.cif"
            path.write_text("\n".join(text) + "\n")
            return chemistry.components([Component("OWN", path=path)], 1)["OWN"]

    def test_file(self):
        from rdkit import Chem

        # CHFClBr of either hand: the same atoms, in mirrored places.
        found = []
        for z in (1, -1):
            atoms = [
                ("C1", "C", 0, "N", 0, 0, 0),
                ("F'1", "F", 0, "N", 1, 0, -0.3 * z),
                ("CL1", "Cl", 0, "N", -0.5, 0.9, -0.3 * z),
                ("BR1", "Br", 0, "Y", -0.5, -0.9, -0.3 * z),
                ("HX", "H", 0, "N", 0, 0, z),
            ]
            atoms = [(f'"{a[0]}"', *a[1:]) for a in atoms]
            mol = self.file(atoms, [("C1", f'"{other}"', "SING") for other in ("F'1", "CL1", "BR1", "HX")])
            self.assertEqual([a.GetProp("name") for a in mol.GetAtoms()], ["C1", "F'1", "CL1", "BR1"])
            self.assertEqual([a.GetProp("leaving_atom") for a in mol.GetAtoms()], list("0001"))
            self.assertEqual(mol.GetNumConformers(), 1)
            found.append(Chem.MolToSmiles(mol))
        self.assertNotEqual(*found)
        self.assertTrue(all("@" in text for text in found))

    def test_affinity_counts_no_hydrogens(self):
        from boltz.data.parse.schema import parse_ccd_residue
        from rdkit import Chem
        from rdkit.Chem.Descriptors import MolWt

        import chemistry

        # The released dictionary has hydrogens: 60 atoms of C and 122 of H.
        full = Chem.AddHs(Chem.MolFromSmiles("C" * 60))
        full.AddConformer(Chem.Conformer(full.GetNumAtoms()))
        for n, atom in enumerate(full.GetAtoms()):
            atom.SetProp("name", f"X{n}")
        known = chemistry.Dictionary.__new__(chemistry.Dictionary)
        known.own = {"LONG": full}
        asked = {"kind": "ligand", "sequence": "LONG", "is_ccd": True, "property_type": "affinity"}
        bare = chemistry.without_hydrogens([asked], known)["LONG"]
        self.assertEqual((full.GetNumAtoms(), bare.GetNumAtoms()), (182, 60))
        self.assertAlmostEqual(MolWt(bare), MolWt(full))
        self.assertEqual(len(parse_ccd_residue("LONG", bare, 0).atoms), 60)
        self.assertEqual(chemistry.without_hydrogens([asked | {"property_type": ""}], known), {})

    def test_dative_file(self):
        from rdkit import Chem

        # Cisplatin: the nitrogens, with a fourth bond to the platinum, have three hydrogens and no charge.
        atoms = [
            ("N1", "N", 0, "N", 2.027, 0.128, -0.519),
            ("PT1", "Pt", 0, "N", -0.122, 0.036, 0.255),
            ("CL1", "Cl", 0, "N", -0.402, -0.146, -2.256),
            ("CL2", "Cl", 0, "N", -2.333, 1.065, 0.590),
            ("N2", "N", 0, "N", 0.801, 0.573, 2.082),
        ]
        bonds = [("N1", "PT1", "DATI"), ("PT1", "CL1", "SING"), ("PT1", "CL2", "SING"), ("N2", "PT1", "DATI")]
        mol = self.file(atoms, bonds)
        found = Chem.MolToSmiles(mol, isomericSmiles=False)
        self.assertEqual(found, Chem.CanonSmiles("[NH3]->[Pt](Cl)(Cl)<-[NH3]"))

    def test_aromatic_file(self):
        import math

        names = [f"C{i}" for i in range(6)]
        atoms = [
            (name, "C", 0, "N", 1.4 * math.cos(i * math.pi / 3), 1.4 * math.sin(i * math.pi / 3), 0)
            for i, name in enumerate(names)
        ]
        mol = self.file(atoms, [(names[i], names[(i + 1) % 6], "AROM") for i in range(6)])
        self.assertTrue(all(a.GetIsAromatic() for a in mol.GetAtoms()))
        with self.assertRaisesRegex(Failure, "the component OWN is no possible molecule"):
            self.file(atoms, [(names[0], other, "DOUB") for other in names[1:]])

    def test_the_shared_folder_stays_as_it_is(self):
        from rdkit import Chem

        import chemistry

        Chem.SetDefaultPickleProperties(Chem.PropertyPickleOptions.AllProps)
        with tempfile.TemporaryDirectory() as folder:
            shared = Path(folder) / "mols"
            shared.mkdir()
            for code in ("ALA", "SEP", "EDO"):
                (shared / f"{code}.pkl").write_bytes(pickle.dumps(code))
            given = chemistry.Dictionary(Path(folder), folder=True)
            own = {"SEP": self.made("CCO", "C1 C2 O1")}
            found = given.extended(own, ["SEP", "EDO", "QQQ"], Path(folder) / "job")
            self.assertEqual([found.has(c) for c in ("ALA", "SEP", "EDO", "QQQ")], [True, True, True, False])
            self.assertEqual((found.get("ALA"), found.get("EDO"), given.get("SEP")), ("ALA", "EDO", "SEP"))
            # The package's own reading.
            mol = pickle.loads((found.mols / "SEP.pkl").read_bytes())
            self.assertEqual([a.GetProp("name") for a in mol.GetAtoms()], ["C1", "C2", "O1"])
            self.assertEqual(sorted(p.name for p in found.mols.iterdir()), ["ALA.pkl", "EDO.pkl", "SEP.pkl"])
            self.assertEqual(sorted(p.name for p in shared.iterdir()), ["ALA.pkl", "EDO.pkl", "SEP.pkl"])


if __name__ == "__main__":
    unittest.main()
