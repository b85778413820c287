"""The rows of a result, from cells as the package writes them."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).parent.parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import rows  # noqa: E402
from rows import Chain  # noqa: E402

CELLS = {
    "id": "binder_0",
    "final_rank": "1",
    "secondary_rank": "1",
    "max_rank": "2.0",
    "quality_score": "1.0",
    "pass_filters": "False",
    "num_filters_passed": "1",
    "pass_has_x_filter": "True",
    "pass_filter_rmsd_filter": "False",
    "pass_designfolding-filter_rmsd_filter": "False",
    "designed_sequence": "GAVLIMFWPS",
    "designed_chain_sequence": "GAVLIMFWPS",
    "num_design": "10",
    "ptm": "0.21",
    "iptm": "0.5",
    "protein_iptm": "0.5",
    "ligand_iptm": "0.0",
    "design_to_target_iptm": "0.25",
    "target_ptm": "0.3",
    "min_interaction_pae": "12.5",
    "min_design_to_target_pae": "100012.5",
    "complex_plddt": "0.51234",
    "complex_iplddt": "0.4",
    "helix": "0.2",
    "plip_hbonds_refolded": "3.0",
    "designfolding-filter_rmsd": "8.25",
    "design_hydrophobicity": "0.5",
    "design_chain_hydrophobicity": "0.5",
    "liability_violations_summary": "",
    "liability_score": "nan",
    "delta_sasa_refolded": "inf",
    "sequence": "GAV",
}
PAIR = [Chain("B", "PROTEIN", True), Chain("A", "PROTEIN", False)]


def row(chains=PAIR, **cells):
    return rows.row({**CELLS, **cells}, chains)


class Values(unittest.TestCase):
    def test_values(self):
        r = row()
        want = {
            "id": "binder_0",
            "final_rank": 1,
            "max_rank": 2.0,
            "pass_filters": False,
            "failed_filters": ["filter_rmsd", "designfolding-filter_rmsd"],
            "plddt": 51.234,
            "iplddt": 40.0,
            "plip_hbonds_refolded": 3,
            "designfolding_filter_rmsd": 8.25,
            "iptm": 0.5,
            "notes": [],
        }
        self.assertEqual({k: r[k] for k in want}, want)
        self.assertIsInstance(r["plip_hbonds_refolded"], int)
        self.assertNotIn("sequence", r)
        json.dumps(r, allow_nan=False)

    def test_no_value_is_null(self):
        r = row()
        for name in ("liability_score", "delta_sasa_refolded", "liability_violations_summary", "sheet", "filter_rmsd"):
            self.assertIsNone(r[name], name)

    def test_no_ligand(self):
        self.assertIsNone(row()["ligand_iptm"])
        ligand = [PAIR[0], Chain("L", "NONPOLYMER", False)]
        r = row(ligand, ligand_iptm="0.7", protein_iptm="0.0")
        self.assertEqual((r["ligand_iptm"], r["protein_iptm"]), (0.7, None))

    def test_no_pair(self):
        self.assertIsNone(row()["min_design_to_target_pae"])
        self.assertEqual(row()["min_interaction_pae"], 12.5)
        self.assertIsNone(row(min_interaction_pae="0.0")["min_interaction_pae"])

    def test_no_second_chain(self):
        r = row(PAIR[:1], iptm="0.0", design_to_target_iptm="0.0", target_ptm="0.0")
        for name in ("iptm", "protein_iptm", "design_to_target_iptm", "target_ptm"):
            self.assertIsNone(r[name], name)
        self.assertEqual(r["ptm"], 0.21)

    def test_short_and_unknown(self):
        self.assertIsNone(row(num_design="5")["helix"])
        self.assertEqual(row()["helix"], 0.2)
        r = row(designed_sequence="GX")
        self.assertIsNone(r["design_hydrophobicity"])
        self.assertEqual(r["design_chain_hydrophobicity"], 0.5)

    def test_one_design(self):
        self.assertIsNone(row(quality_score="")["quality_score"])
        self.assertIsNone(row(quality_score="-inf")["quality_score"])

    def test_optional_columns(self):
        r = row(bindsite_under_4rmsd="0.5", affinity_probability_binary1="0.25", bindsite_under_2rmsd="1")
        self.assertEqual((r["bindsite_under_4rmsd"], r["affinity_probability_binary1"]), (0.5, 0.25))
        self.assertNotIn("bindsite_under_2rmsd", r)
        self.assertNotIn("bindsite_under_4rmsd", row())


class Tables(unittest.TestCase):
    def test_cells_with_commas_and_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.csv"
            path.write_text('id,liability_details\na,"x, y\nz"\n')
            self.assertEqual(rows.read(path), [{"id": "a", "liability_details": "x, y\nz"}])


if __name__ == "__main__":
    unittest.main()
