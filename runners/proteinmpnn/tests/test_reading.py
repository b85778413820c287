"""Positions and letters in structure files, against those of the service, whose tests read the same vectors."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2])]

try:
    import gemmi

    import backbone
    import reading
except ImportError:
    raise unittest.SkipTest("gemmi is not installed") from None

VECTORS = Path(__file__).resolve().parents[2] / "vectors/positions.json"


class ReadingTest(unittest.TestCase):
    def read(self, text, suffix=".pdb"):
        path = Path(self.enterContext(tempfile.TemporaryDirectory())) / f"x{suffix}"
        path.write_text(text)
        return reading.read(path)

    def test_vectors(self):
        for v in json.loads(VECTORS.read_text()):
            with self.subTest(v["name"]):
                got = [
                    {
                        "chain": m.name,
                        "residues": [[r.label_seq, r.name, backbone.letter(r.name)] for r in m.residues],
                    }
                    for m in self.read("\n".join(v["file"]) + "\n")
                    if m.polymer == gemmi.PolymerType.PeptideL
                ]
                self.assertCountEqual(got, v["proteins"])

    def test_label_seq_id(self):
        """Positions of an mmCIF file are its own, also without tables of entities; without them, the order."""
        items = "id type_symbol label_atom_id label_alt_id label_comp_id label_asym_id label_entity_id label_seq_id"
        items += " auth_seq_id Cartn_x Cartn_y Cartn_z occupancy B_iso_or_equiv auth_asym_id"
        header = "data_x\nloop_\n" + "".join(f"_atom_site.{item}\n" for item in items.split())
        for numbers, want in (((2, 3, 7), [2, 3, 7]), ((".", ".", "."), [1, 2, 3])):
            rows = [f"{i} C CA . ALA A 1 {n} {10 * i} {4 * i} 0 0 1 0 A\n" for i, n in enumerate(numbers, 1)]
            (chain,) = self.read(header + "".join(rows), ".cif")
            self.assertEqual([r.label_seq for r in chain.residues], want)
            self.assertEqual(len(chain.sequence), want[-1])

    def test_alternatives(self):
        """The alternative of the highest mean occupancy counts, with the atoms that only another one has."""
        (chain,) = self.read(
            "ATOM      1  CA AGLN A   2       1.000   0.000   0.000  0.30  0.00           C\n"
            "ATOM      2  CA BGLN A   2       2.000   0.000   0.000  0.70  0.00           C\n"
            "ATOM      3  CB AGLN A   2       3.000   0.000   0.000  0.30  0.00           C\n"
            "ATOM      4  C   GLN A   2       4.000   0.000   0.000  1.00  0.00           C\n"
        )
        atoms = {a.name: a.pos.x for a in chain.residues[0]}
        self.assertEqual(atoms, {"CA": 2, "CB": 3, "C": 4})
        self.assertFalse(any(a.has_altloc() for a in chain.residues[0]))


if __name__ == "__main__":
    unittest.main()
