"""The package's reading of the runner's alignments and templates. It needs the package, not its weights."""

import os
import sys
import tempfile
import unittest
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

HERE = find_spec("ml_collections") is not None  # protenix is also the name of this folder
if HERE:
    os.environ["LAYERNORM_TYPE"] = "torch"
    import numpy as np
    from protenix.data.constants import ATOM37_ORDER
    from protenix.data.msa.msa_utils import MSAPairingEngine, RawMsa
    from protenix.data.template.template_parser import HHRParser
    from protenix.data.template.template_utils import TemplateFeatures

    import template
    from document import a3m

CIF = """data_t
loop_
_atom_site.label_seq_id
_atom_site.label_comp_id
_atom_site.label_atom_id
_atom_site.Cartn_x
_atom_site.Cartn_y
_atom_site.Cartn_z
2 GLY N 1.0 2.0 3.0
2 GLY CA 2.0 2.0 3.0
4 SER OG 5.0 6.0 7.0
"""


@unittest.skipUnless(HERE, "the package is not installed")
class Package(unittest.TestCase):
    def test_paired_rows_have_a_species(self):
        msa = RawMsa.from_a3m("GSH", "protein", a3m(["GSH", "G-H", "GAH"], True))
        self.assertEqual(list(MSAPairingEngine.get_species_ids(msa.descs)), ["", "1", "2"])
        unpaired = RawMsa.from_a3m("GSH", "protein", a3m(["GSH", "G-H"], False))
        self.assertEqual(list(MSAPairingEngine.get_species_ids(unpaired.descs)), ["", ""])

    def test_templates(self):
        self.assertEqual(list(HHRParser.parse(hhr_string="")), [])  # the file of hits that entries name
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "t.cif")
            path.write_text(CIF)
            given = template.Given([[str(path)] * 5, [str(path)]])
            first, _ = given.get_templates(query_sequence="AGAST", sequence_uid="", hits=[], max_template_date=None)
            second, _ = given.get_templates(query_sequence="AGASTT", sequence_uid="", hits=[], max_template_date=None)
        self.assertEqual([len(first.features), len(second.features)], [template.MAX, 1])
        f = first.features[0]
        self.assertEqual(f["template_sequence"], b"-G-S-")
        self.assertEqual(f["template_all_atom_masks"].sum(), 3)
        np.testing.assert_array_equal(f["template_all_atom_positions"][3, ATOM37_ORDER["OG"]], [5, 6, 7])
        fixed = TemplateFeatures.fix_template_features(
            template_features=TemplateFeatures.package_template_features(hit_features=first.features), num_res=5
        )
        self.assertEqual(fixed["template_aatype"].shape, (4, 5))
        self.assertEqual(fixed["template_atom_mask"][0, 1, :3].tolist(), [1, 1, 0])  # N, CA, C
        self.assertEqual(fixed["template_atom_positions"][0, 1, 1].tolist(), [2, 2, 3])


if __name__ == "__main__":
    unittest.main()
