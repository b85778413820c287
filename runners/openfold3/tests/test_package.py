"""The runner's corrections to the package's own reading of a job. It needs the package, not its weights."""

import json
import os
import sys
import tempfile
import unittest
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent.parent))

from document import build  # noqa: E402
from foldrun import Failure  # noqa: E402

HERE = find_spec("biotite") is not None  # openfold3 is also the name of this folder
if HERE:
    import torch
    from openfold3.projects.of3_all_atom.config.inference_query_format import Query
    from pytorch_lightning import seed_everything

    import chemistry
    import outcome
    import template
    from features import Dataset, InferenceDataset
    from foldrun import Load
    from foldrun.job import Job
    from runner import CHECKPOINT, NAME, OpenFold3, Parts, Prediction


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
        self.assertEqual(
            {c: int(layout.atoms.entity_id[layout.atoms.chain_id == c][0]) for c in layout.chains}, doc.entities
        )
        self.assertEqual(len(set(doc.entities.values())), 5)
        self.assertEqual(layout.tokens, [1, 1, 1, 1, 1, 1, 1, 1, 1, 10, 1, 1, 3, 1])
        self.assertEqual(layout.count, sum(layout.tokens))
        outcome.check(layout, sequences, doc)
        sequences[2]["modifications"][0]["ccd"] = "TPO"
        with self.assertRaisesRegex(Exception, "other residues of chain M"):
            outcome.check(layout, sequences, doc)

    def test_template(self):
        sequences = [
            {"kind": "protein", "sequence": "GACU", "chains": ["P"]},
            {"kind": "protein", "sequence": "GACW", "chains": ["M"], "modifications": [{"res_idx": 2, "ccd": "SEP"}]},
        ]
        _, layout = self.layout(sequences)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.cif"
            rows = [(1, "GLY", "N CA C"), (2, "ALA", "N CA C CB"), (3, "CYS", "N CA C"), (4, "TRP", "N CA C CB")]
            site = "".join(
                f"ATOM {a} {comp} A {seq} {seq} {k} 0.0\n"
                for seq, comp, names in rows
                for k, a in enumerate(names.split())
            )
            columns = "group_PDB label_atom_id label_comp_id label_asym_id label_seq_id Cartn_x Cartn_y Cartn_z"
            head = "".join(f"_atom_site.{c}\n" for c in columns.split())
            path.write_text(f"data_t\nloop_\n{head}{site}#\n")
            atoms, incomplete = template.residues(path)
        found = template.collection(layout.atoms, {"B": [atoms]}).template_slices["B"][0]
        self.assertEqual(incomplete, 1)
        self.assertEqual(sorted(set(found.atom_array.res_id.tolist())), [1, 2, 4])  # the third has no CB
        self.assertEqual(found.template_residue_repeats.tolist(), [1, 10, 1])  # the modified residue has 10 tokens
        self.assertEqual(found.query_token_positions.tolist(), [4, *range(5, 15), 16])

    def test_a_template_without_backbone(self):
        with tempfile.TemporaryDirectory() as folder:
            columns = "label_atom_id label_comp_id label_seq_id Cartn_x Cartn_y Cartn_z"
            rows = "".join(f"CA GLY {i} {i}.0 0.0 0.0\n" for i in (1, 2, 3))
            head = "".join(f"_atom_site.{c}\n" for c in columns.split())
            (Path(folder) / "t.cif").write_text(f"data_t\nloop_\n{head}{rows}#\n")
            message = {
                "id": "x",
                "attempt": 1,
                "workdir": folder,
                "kind": "fold",
                "input": {"sequences": [{"kind": "protein", "sequence": "GGG", "chains": ["P"]}]},
                "files": [{"kind": "template", "path": "t.cif", "sequence": 0, "chain": "P"}],
            }
            with self.assertRaisesRegex(Failure, "^a template of chain P has no residue with N, CA, C and CB"):
                Prediction(OpenFold3(), Job(message, lambda _: None))

    def test_chemistry(self):
        good = {"kind": "protein", "sequence": "GSHM", "chains": ["A"], "modifications": [{"res_idx": 2, "ccd": "SEP"}]}
        chemistry.check(
            [
                good,
                {"kind": "ligand", "sequence": "ATP", "chains": ["B"], "is_ccd": True},
                {"kind": "ligand", "sequence": "c1ccccc1", "chains": ["C"]},
            ]
        )
        for says, s in {
            "not a SMILES": {"kind": "ligand", "sequence": "C1CC("},
            "Explicit valence": {"kind": "ligand", "sequence": "C(C)(C)(C)(C)C"},
            "without a heavy atom": {"kind": "ligand", "sequence": "[H][H]"},
            "of no element": {"kind": "ligand", "sequence": "C*"},
            "QQQQQ, which is not": {"kind": "ligand", "sequence": "QQQQQ", "is_ccd": True},
            "modification QQQQQ at residue 1": {
                "kind": "protein",
                "sequence": "G",
                "modifications": [{"res_idx": 1, "ccd": "QQQQQ"}],
            },
            "lacks the atoms C, CA, N, O of a protein": {
                "kind": "protein",
                "sequence": "G",
                "modifications": [{"res_idx": 1, "ccd": "ATP"}],
            },
        }.items():
            with self.subTest(says), self.assertRaisesRegex(Failure, rf"^sequences\[1\].*{says}"):
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

    @unittest.skipUnless(os.environ.get("PLEAT_WEIGHTS"), "there are no weights")
    def test_the_package_itself_gives_the_same(self):
        """The runner's way beside that of `run_openfold predict`, from one state of every generator: its loaders seed
        them otherwise."""
        runner, original = OpenFold3(), InferenceDataset.create_all_features

        def seeded(self, query):
            seed_everything(7, verbose=False)
            return original(self, query)

        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(InferenceDataset, "create_all_features", seeded),
        ):
            runner.load(Load("openfold3", Path(os.environ["PLEAT_WEIGHTS"]) / "openfold3", "cpu", 1))
            sequences = [
                {
                    "kind": "protein",
                    "sequence": "GSHMKTAYIAKQ",
                    "chains": ["A", "B"],
                    "modifications": [{"res_idx": 2, "ccd": "SEP"}],
                },
                {"kind": "rna", "sequence": "GACU", "chains": ["C"]},
                {"kind": "ligand", "sequence": "CC(=O)Oc1ccccc1C(=O)O", "chains": ["D"]},
            ]
            pocket = {"pocket": [{"binder": {"chain_id": "D"}, "contacts": [{"chain_id": "A", "res_idx": 3}]}]}
            Path(folder, "msa.a3m").write_text(">q\nGSHMKTAYIAKQ\n>b\nGSHaaMKTAYIA-Q\n>c\nGTHMRTAYIAKQ\n")
            job = Job(
                {
                    "id": "1",
                    "attempt": 1,
                    "workdir": folder,
                    "kind": "fold",
                    "input": {"sequences": sequences, "constraints": pocket},
                    "seed": 7,
                    "files": [{"kind": "msa", "path": "msa.a3m", "sequence": 0}],
                    "params": {"recyclingSteps": 1, "samplingSteps": 4, "diffusionSample": 1},
                },
                lambda message: None,
            )
            ours = runner.predict(job)
            theirs, values = self.own(runner.experiment, Path(folder, "own"))
            pae = torch.frombuffer(bytearray(Path(folder, "pae.f32").read_bytes()), dtype=torch.float32)
            positions = coordinates(Path(folder, "openfold3", "model_0.cif"))
            self.assertEqual(positions, coordinates(next(Path(folder, "own").rglob("*_model.cif"))))
            runner.close()
        self.assertGreater(len(positions), 250)
        # The package writes six decimals.
        self.assertLess((pae - torch.tensor(values["pae"]).flatten()).abs().max(), 1e-5)
        for name in ("ptm", "iptm"):
            self.assertAlmostEqual(ours.scores[name], theirs[name], 5)
        self.assertEqual(
            {f"({p['chain_a']}, {p['chain_b']})" for p in ours.scores["pairs"]}, set(theirs["chain_pair_iptm"])
        )
        for p in ours.scores["pairs"]:
            self.assertAlmostEqual(p["iptm"], theirs["chain_pair_iptm"][f"({p['chain_a']}, {p['chain_b']})"], 5)
        self.assertAlmostEqual(ours.metrics["samples"][0]["sample_ranking_score"], theirs["sample_ranking_score"], 4)

    def own(self, experiment, out: Path):
        """The files that the package's experiment writes for its last query."""
        experiment.experiment_config.experiment_settings.output_dir = out
        experiment.data_module_args.num_workers, experiment.data_module_args.multiprocessing_context = 0, None
        for kept in ("output_dir", "log_dir", "callbacks", "trainer", "data_module_config", "lightning_data_module"):
            experiment.__dict__.pop(kept, None)
        experiment.run(experiment.inference_query_set)
        (aggregated,) = out.glob(f"{NAME}/*/*_confidences_aggregated.json")
        (full,) = out.glob(f"{NAME}/*/*_confidences.json")
        return json.loads(aggregated.read_text()), json.loads(full.read_text())


def coordinates(path: Path) -> list:
    """Atoms of a structure file: name, residue, chain, number, confidence and place, as they are written."""
    rows = [line.split() for line in path.read_text().splitlines() if line.startswith(("ATOM", "HETATM"))]
    return [[r[2], r[4], r[5], r[7], r[13], *r[15:18]] for r in rows]


if __name__ == "__main__":
    unittest.main()
