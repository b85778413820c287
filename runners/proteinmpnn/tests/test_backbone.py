"""The structure of a job, as the service writes it: its tests compare the same files."""

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2])]

try:
    import gemmi

    import backbone
except ImportError:
    raise unittest.SkipTest("gemmi is not installed") from None

BACKBONES = Path(__file__).resolve().parents[2] / "vectors/backbones"


class BackboneTest(unittest.TestCase):
    def test_gaps(self):
        """A chain with a modified residue and residues without atoms, DNA, a ligand and an ion; water is left out."""
        chains = backbone.read(BACKBONES / "gaps.cif", {"design": [{"chain": {"id": "A", "res_index": "3.."}}]})
        self.assertEqual([c.name for c in chains], ["A", "B", "D", "E"])
        self.assertEqual([c.protein for c in chains], [True, False, False, False])
        protein, dna, ligand, ion = chains
        self.assertEqual([r.label_seq for r in protein.residues], [1, 2, 3, 5, 6])
        self.assertEqual(protein.sequence, ["MSE", "GLN", "ILE", "PHE", "VAL", "LYS", "THR", "LEU"])
        self.assertEqual(protein.letters, "MQIFVKTL")
        self.assertEqual([protein.letter(r) for r in protein.residues], list("MQIVK"))
        self.assertEqual(protein.designed, {3, 4, 5, 6, 7, 8})
        self.assertEqual([backbone.complete(r) for r in protein.residues], [True, True, False, True, True])
        self.assertEqual((dna.polymer, dna.sequence), (gemmi.PolymerType.Dna, ["DA", "DT"]))
        self.assertEqual([(r.name, r.seqid.num, len(r)) for r in ligand.residues], [("GOL", 201, 2)])
        self.assertEqual([(r.name, r.seqid.num, len(r)) for r in ion.residues], [("ZN", 202, 1)])
        self.assertEqual(ion.residues[0][0].element.name, "Zn")

    def test_unknown_positions(self):
        """A position that no table has a component for is unknown."""
        text = (BACKBONES / "gaps.cif").read_text()
        block = gemmi.cif.read_string(text.replace("A 1 4 PHE 4 4 4 PHE PHE A . n\n", "")).sole_block()
        chain = backbone.chains_of(block)[0]
        self.assertEqual((chain.sequence[3], chain.letters), ("UNK", "MQIXVKTL"))


if __name__ == "__main__":
    unittest.main()
