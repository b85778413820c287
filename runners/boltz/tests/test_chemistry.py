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
            ("C(C)(C)(C)(C)C", "A B C D E F", "OWN", r"constraints.components\[0\].smiles is a SMILES of no possible"),
            ("C1#CC1", "A B C", "OWN", r"constraints.components\[0\] is a molecule for which RDKit finds no"),
            ("CCO", "A B C", "LIG1", r"constraints.components\[0\].code is LIG1, which Boltz calls"),
        ):
            with self.assertRaisesRegex(Failure, want):
                self.made(smiles, names, code=code)

    def test_the_shared_folder_stays_as_it_is(self):
        import chemistry
        from rdkit import Chem

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
            # What the package reads itself.
            mol = pickle.loads((found.mols / "SEP.pkl").read_bytes())
            self.assertEqual([a.GetProp("name") for a in mol.GetAtoms()], ["C1", "C2", "O1"])
            self.assertEqual(sorted(p.name for p in found.mols.iterdir()), ["ALA.pkl", "EDO.pkl", "SEP.pkl"])
            self.assertEqual(sorted(p.name for p in shared.iterdir()), ["ALA.pkl", "EDO.pkl", "SEP.pkl"])


if __name__ == "__main__":
    unittest.main()
