"""Templates in the package's own features. It needs the package, not its weights."""

import sys
import tempfile
import unittest
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

HERE = find_spec("alphafold") is not None  # colabfold is also the name of this folder
if HERE:
    from alphafold.common import residue_constants as constants

    import template
    from colabfold import batch
    from foldrun.job import Job
    from runner import KINDS, ColabFold, Prediction

SEQUENCE = "GASKW"
COLUMNS = "group_PDB label_atom_id label_comp_id label_asym_id label_seq_id Cartn_x Cartn_y Cartn_z"


def cif(folder, name, *residues):
    """A file whose residues, (position, component, atoms), are on a line: atom k of residue i at (i, k, 0)."""
    rows = "".join(
        f"ATOM {atom} {comp} A {seq} {seq} {k} 0.0\n"
        for seq, comp, atoms in residues
        for k, atom in enumerate(atoms.split())
    )
    head = "".join(f"_atom_site.{c}\n" for c in COLUMNS.split())
    path = Path(folder) / name
    path.write_text(f"data_t\nloop_\n{head}{rows}#\n")
    return path


@unittest.skipUnless(HERE, "the package is not installed")
class Package(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def read(self, sequences, files, msa=None):
        """The package's features of a job of multimer: files are (chain, file of a template), msa the rows of
        sequences[0]."""
        listed = [
            {"kind": "template", "path": p.name, "sequence": i, "chain": c}
            for c, p in files
            for i, s in enumerate(sequences)
            if c in s["chains"]
        ]
        if msa:
            (Path(self.folder) / "0.a3m").write_text("".join(f">{i}\n{row}\n" for i, row in enumerate(msa)))
            listed.append({"kind": "msa", "path": "0.a3m", "sequence": 0})
        message = {"id": "x", "attempt": 1, "workdir": self.folder, "kind": "fold", "files": listed}
        runner = ColabFold()
        runner.batch, runner.name, runner.kind = batch, "multimer", KINDS["multimer"]
        p = Prediction(runner, Job({**message, "input": {"sequences": sequences}}, lambda _: None))
        inputs = p.inputs(msa is None, p.templates())
        return batch.generate_input_feature(*inputs, True, p.kind.type, max_seq=p.kind.rows)[0]

    def test_features(self):
        path = cif(self.folder, "a.cif", (2, "ALA", "N CA C O CB"), (5, "TRP", "CA CZ3"))
        got = template.features([path, path], len(SEQUENCE))
        mock = batch.mk_mock_template(SEQUENCE, num_temp=2)
        self.assertEqual(set(got), set(mock))
        for name in ("template_aatype", "template_all_atom_positions", "template_all_atom_masks"):
            self.assertEqual(got[name].shape, mock[name].shape)
        letters = "".join(constants.ID_TO_HHBLITS_AA[int(k)] for k in got["template_aatype"][1].argmax(-1))
        self.assertEqual(letters, "-A--W")
        mask = got["template_all_atom_masks"][0]
        self.assertEqual(mask.sum(-1).tolist(), [0, 5, 0, 0, 2])
        self.assertEqual(mask[4, constants.atom_order["CZ3"]], 1)
        self.assertEqual(got["template_all_atom_positions"][0, 4, constants.atom_order["CZ3"]].tolist(), [5, 1, 0])

    def test_one_copy_of_several_with_an_alignment(self):
        path = cif(self.folder, "a.cif", (2, "ALA", "N CA C O CB"))
        two = [{"kind": "protein", "sequence": SEQUENCE, "chains": ["A", "B"]}]
        rows = [SEQUENCE, "GASRW", "GTSK-"]
        plain, got = self.read(two, [], rows), self.read(two, [("B", path)], rows)
        for name in ("msa", "msa_mask", "asym_id", "entity_id", "sym_id", "deletion_matrix"):
            self.assertEqual(plain[name].tolist(), got[name].tolist(), name)
        self.assertEqual(plain["template_all_atom_mask"].sum(), 0)
        self.assertEqual(got["template_all_atom_mask"].sum((0, 2)).tolist(), [0] * 6 + [5] + [0] * 3)

    def test_chains_with_different_numbers(self):
        paths = [cif(self.folder, f"{i}.cif", (i, "ALA", "N CA C")) for i in range(1, 5)]
        sequences = [
            {"kind": "protein", "sequence": SEQUENCE, "chains": ["A"]},
            {"kind": "protein", "sequence": "AAAA", "chains": ["B", "C"]},
        ]
        got = self.read(sequences, [("A", paths[0]), ("A", paths[1]), *(("C", p) for p in paths)])
        found = got["template_all_atom_mask"].sum(-1)
        self.assertEqual(found.shape, (4, 13))
        self.assertEqual(found[0].tolist(), [3, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0])
        self.assertEqual(found[1].tolist(), [0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0])
        self.assertEqual(found[3].tolist(), [0] * 12 + [3])


if __name__ == "__main__":
    unittest.main()
