"""What the runner puts right in the package's own reading of a job. It needs the package, not its weights."""

import sys
import tempfile
import unittest
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from document import Refused, build  # noqa: E402

HERE = find_spec("biotite") is not None  # openfold3 is also the name of this folder
if HERE:
    import chemistry
    import outcome
    import torch
    from features import Dataset
    from openfold3.projects.of3_all_atom.config.inference_query_format import Query
    from foldrun import Failure, Load
    from runner import CHECKPOINT, OpenFold3, Parts


@unittest.skipUnless(HERE, "the package is not installed")
class Package(unittest.TestCase):
    def layout(self, sequences):
        doc = build({"sequences": sequences}, {}, "/w")
        for c in doc.query["chains"]:
            c.pop("main_msa_file_paths", None)  # they are not read here, and not there
        dataset = object.__new__(Dataset)
        dataset.entities = doc.entities
        return doc, outcome.Layout(dataset.get_structure_with_ref_mols(Query.model_validate(doc.query)).atom_array)

    def test_entities_and_tokens(self):
        sequences = [
            {"kind": "protein", "sequence": "GACU", "chains": ["P"]},
            {"kind": "rna", "sequence": "GACU", "chains": ["R"]},
            {"kind": "protein", "sequence": "GACU", "chains": ["M"], "modifications": [{"res_idx": 2, "ccd": "SEP"}]},
            {"kind": "ligand", "sequence": "CCO", "chains": ["L"]},
            {"kind": "ligand", "sequence": "MG", "chains": ["I"], "is_ccd": True},
        ]
        doc, layout = self.layout(sequences)
        self.assertEqual({c: int(layout.atoms.entity_id[layout.atoms.chain_id == c][0]) for c in layout.chains}, doc.entities)
        self.assertEqual(len(set(doc.entities.values())), 5)
        self.assertEqual(layout.tokens, [1, 1, 1, 1, 1, 1, 1, 1, 1, 10, 1, 1, 3, 1])
        self.assertEqual(layout.count, sum(layout.tokens))
        outcome.check(layout, sequences, doc)
        sequences[2]["modifications"][0]["ccd"] = "TPO"
        with self.assertRaisesRegex(Exception, "other residues of chain M"):
            outcome.check(layout, sequences, doc)

    def test_chemistry(self):
        good = {"kind": "protein", "sequence": "GSHM", "chains": ["A"], "modifications": [{"res_idx": 2, "ccd": "SEP"}]}
        chemistry.check([good, {"kind": "ligand", "sequence": "ATP", "chains": ["B"], "is_ccd": True}, {"kind": "ligand", "sequence": "c1ccccc1", "chains": ["C"]}])
        for says, s in {
            "not a SMILES": {"kind": "ligand", "sequence": "C1CC("},
            "Explicit valence": {"kind": "ligand", "sequence": "C(C)(C)(C)(C)C"},
            "without a heavy atom": {"kind": "ligand", "sequence": "[H][H]"},
            "of no element": {"kind": "ligand", "sequence": "C*"},
            "QQQQQ, which is not": {"kind": "ligand", "sequence": "QQQQQ", "is_ccd": True},
            "modification QQQQQ at residue 1": {"kind": "protein", "sequence": "G", "modifications": [{"res_idx": 1, "ccd": "QQQQQ"}]},
            "lacks the atoms C, CA, N, O of a protein": {"kind": "protein", "sequence": "G", "modifications": [{"res_idx": 1, "ccd": "ATP"}]},
        }.items():
            with self.subTest(says), self.assertRaisesRegex(Refused, rf"^sequences\[1\].*{says}"):
                chemistry.check([good, s])

    def test_weights_that_are_not_there_or_none(self):
        with tempfile.TemporaryDirectory() as folder:
            for code in ("weights_missing", "load_failed"):
                with self.assertRaisesRegex(Failure, CHECKPOINT) as e:
                    OpenFold3().load(Load("openfold3", Path(folder), "cpu"))
                self.assertEqual(e.exception.code, code)
                (Path(folder) / CHECKPOINT).write_bytes(b"no weights")

    def test_parts(self):
        class Sampler:
            def forward(self, batch, no_rollout_samples):
                drawn.append(no_rollout_samples)
                return torch.zeros(1, no_rollout_samples, 4, 3)

        sampler = Sampler()
        parts = Parts(sampler)
        for most, expected in ((0, [5]), (2, [2, 2, 1]), (7, [5])):
            drawn, parts.most = [], most
            self.assertEqual(sampler.forward(batch=None, no_rollout_samples=5).shape, (1, 5, 4, 3))
            self.assertEqual(drawn, expected)


if __name__ == "__main__":
    unittest.main()
