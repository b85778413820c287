"""The dictionary that is embedded in the service is that of biotite. It needs the package."""

import gzip
import json
import re
import sys
import unittest
from importlib.util import find_spec
from pathlib import Path

FOLDER = Path(__file__).parent.parent
sys.path.insert(0, str(FOLDER / "testing"))

CHEM = FOLDER.parent.parent / "internal" / "chem"
FILE = CHEM / "components.gz"

# What the dictionary calls the sugars of internal/chem/sugars.go; the anomer stands in the place of %s.
NAMES = {
    "Glc": "%s-D-glucopyranose",
    "Gal": "%s-D-galactopyranose",
    "Man": "%s-D-mannopyranose",
    "GlcNAc": "2-acetamido-2-deoxy-%s-D-glucopyranose",
    "GalNAc": "2-acetamido-2-deoxy-%s-D-galactopyranose",
    "ManNAc": "2-acetamido-2-deoxy-%s-D-mannopyranose",
    "GlcN": "2-amino-2-deoxy-%s-D-glucopyranose",
    "GalN": "2-amino-2-deoxy-%s-D-galactopyranose",
    "GlcA": "%s-D-glucopyranuronic acid",
    "GalA": "%s-D-galactopyranuronic acid",
    "IdoA": "%s-L-idopyranuronic acid",
    "Fuc": "%s-L-fucopyranose",
    "Rha": "%s-L-rhamnopyranose",
    "Xyl": "%s-D-xylopyranose",
    "Neu5Ac": "N-acetyl-%s-neuraminic acid",
    "Neu5Gc": "N-glycolyl-%s-neuraminic acid",
    "Kdn": "deamino-%s-neuraminic acid",
    "Kdo": "3-deoxy-%s-D-manno-oct-2-ulopyranosonic acid",
}


@unittest.skipUnless(find_spec("biotite"), "the package is not installed")
class Components(unittest.TestCase):
    def test_file(self):
        import components

        self.assertTrue(
            gzip.decompress(FILE.read_bytes()).decode() == components.text(),
            "it is another dictionary; run scripts/components",
        )

    def test_sugars(self):
        """Names, anomers, anomeric carbons and hydroxyl groups of the sugars are those of the dictionary."""
        from biotite.structure.info.ccd import get_ccd

        ccd = get_ccd()
        component, atom = ccd["chem_comp"], ccd["chem_comp_atom"]
        about = {
            code: (name, kind)
            for code, name, kind in zip(*(component[c].as_array(str).tolist() for c in ("id", "name", "type")))
        }
        rows = re.findall(r'{"(\w+)", "(\w+)", \'([ab])\', (\d), "(\d+)"}', (CHEM / "sugars.go").read_text())
        self.assertGreater(len(rows), 30)
        leaving = {code: set() for code, *_ in rows}
        columns = ("comp_id", "atom_id", "pdbx_leaving_atom_flag")
        for code, name, leaves in zip(*(atom[c].as_array(str).tolist() for c in columns)):
            if code in leaving and leaves == "Y":
                leaving[code].add(name)
        for code, name, anomer, carbon, hydroxyls in rows:
            with self.subTest(code):
                greek = {"a": "alpha", "b": "beta"}[anomer]
                self.assertEqual(about[code][0], NAMES[name] % greek)
                self.assertIn(f"saccharide, {greek} linking", about[code][1])
                wanted = {f"O{carbon}", f"HO{carbon}"} | {f"HO{n}" for n in hydroxyls}
                self.assertEqual({n for n in leaving[code] if n[0] in "OH" and "N" not in n}, wanted)

    def test_manifest(self):
        import components

        limits = json.loads((FOLDER / "manifest.json").read_text())["limits"]
        self.assertEqual(limits["dictionary"], components.atoms()[2])


if __name__ == "__main__":
    unittest.main()
