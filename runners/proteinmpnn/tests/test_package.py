"""The inputs of the networks, compared with the package's own pipeline, and a job from its message to its files."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2])]

try:
    import gemmi
    import torch
    from atomworks.io import parse
    from mpnn.collate.feature_collator import FeatureCollator
    from mpnn.pipelines.mpnn import build_mpnn_transform_pipeline

    import backbone
    import network
    import runner
except ImportError:
    raise unittest.SkipTest("the packages of ProteinMPNN are not installed") from None

from foldrun import Failure, Load  # noqa: E402
from foldrun.job import Cancelled, Job  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
UBIQUITIN = ROOT / "internal/structure/testdata/1ubi.pdb"
LIGAND = ROOT / "internal/analyst/testdata/ligand.pdb"
GAPPED = ROOT / "internal/analyst/testdata/gapped.pdb"


def spec(design, path="structure-1.pdb", **more):
    """A spec of one file that designs chains, by name their res_index."""
    chains = [{"chain": {"id": k} | ({"res_index": v} if v else {})} for k, v in design.items()]
    return {"entities": [{"file": {"path": path, "design": chains} | more}]}


class PackageTest(unittest.TestCase):
    def pipeline(self, path, model):
        """The input of a network by the package's pipeline."""
        made = build_mpnn_transform_pipeline(model_type=model, is_inference=True, minimal_return=True, device="cpu")
        data = {
            "atom_array": parse(str(path))["assemblies"]["1"][0],
            "structure_noise": 0.0,
            "decode_type": "auto_regressive",
            "causality_pattern": "auto_regressive",
            "initialize_sequence_embedding_with_ground_truth": False,
            "atomize_side_chains": False,
            "repeat_sample_num": None,
            "features_to_return": None,
        }
        return FeatureCollator()([made(data)])["input_features"]

    def test_features_are_the_packages(self):
        for path in (UBIQUITIN, LIGAND):
            want = self.pipeline(path, "ligand_mpnn")
            chains = backbone.read(path, spec({"A": ""})["entities"][0]["file"])
            got = network.features(chains, network.tokens(chains), 0.1, "")
            for name in ("X", "X_m", "S", "R_idx", "chain_labels", "residue_mask", "Y", "Y_t", "Y_m", "temperature"):
                with self.subTest(path=path.name, name=name):
                    self.assertEqual(got[name].dtype, want[name].dtype)
                    self.assertEqual(got[name].shape, want[name].shape)
                    self.assertTrue(torch.equal(got[name], want[name]))
            self.assertEqual(set(got) | {"repeat_sample_num"}, set(want))


class RunTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.set_grad_enabled(False)
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        script = Path(__file__).resolve().parents[1] / "testing/make_random_weights.py"
        subprocess.run([sys.executable, script, cls.folder / "weights"], check=True, capture_output=True)
        cls.runners = {}
        for model in network.MODELS:
            cls.runners[model] = runner.ProteinMPNN()
            cls.runners[model].load(Load(model, cls.folder / "weights", "cpu", 1))

    def run_job(self, model="proteinmpnn", structure=UBIQUITIN, given=None, seed=1, **params):
        """The rows, the notes, the metrics and the folder of a job."""
        work = Path(self.enterContext(tempfile.TemporaryDirectory()))
        given = given or spec({"A": "3..9,12"})
        (work / "input").mkdir()
        (work / "input/spec.yaml").write_text(json.dumps(given))
        (work / f"input/structure-1{structure.suffix}").write_bytes(structure.read_bytes())
        message = {
            "id": "x",
            "attempt": 1,
            "workdir": str(work),
            "kind": "design",
            "input": {"name": "x", "stem": "x", "spec": "input/spec.yaml"},
            "params": {"protocolName": "sequence_only", "numDesigns": 6, "budget": 2} | params,
            "seed": seed,
        }
        self.sent = []
        job = Job(message, self.sent.append)
        result = self.runners[model].predict(job)
        rows = [json.loads(line) for line in (work / "designs.jsonl").read_text().splitlines()]
        return rows, result, work

    def test_ubiquitin(self):
        rows, result, work = self.run_job()
        given = "MQIFVKTLTGKTITLEVEPSDTIENVKAKIQDKEGIPPDQQRLIFAGKQLEDGRTLSDYNIQKESTLHLVLRLRGG"
        self.assertEqual(len(rows) + result.metrics["duplicates"], 6)
        self.assertEqual([r["final_rank"] for r in rows], sorted(r["final_rank"] for r in rows))
        self.assertEqual(rows, sorted(rows, key=lambda r: r["sequence_score"]))
        for row in rows:
            whole = row["designed_chain_sequence"]
            self.assertEqual(row["num_design"], 8)
            self.assertEqual(whole[:2] + whole[9:11] + whole[12:], given[:2] + given[9:11] + given[12:])
            self.assertEqual(row["designed_sequence"], whole[2:9] + whole[11])
            kept = sum(a == b for a, b in zip(row["designed_sequence"], given[2:9] + given[11]))
            self.assertAlmostEqual(row["sequence_recovery"], kept / 8, 6)
            self.assertGreater(row["sequence_score"], 0)
        block = gemmi.read_structure(str(work / f"{rows[0]['id']}.cif"))
        chain = block[0]["A"]
        self.assertEqual(gemmi.one_letter_code([r.name for r in chain]), rows[0]["designed_chain_sequence"])
        changed = [r for r, old in zip(chain, given) if gemmi.find_tabulated_residue(r.name).one_letter_code != old]
        self.assertTrue(changed)
        for residue in changed:
            self.assertLessEqual({a.name for a in residue}, {"N", "CA", "C", "O", "CB"})
        self.assertEqual({a.name for a in chain[0]}, {"N", "CA", "C", "O", "CB", "CG", "SD", "CE"})

    def test_equal_seeds_give_equal_rows(self):
        self.assertEqual(self.run_job(seed=5)[0], self.run_job(seed=5)[0])
        self.assertNotEqual(self.run_job(seed=5)[0], self.run_job(seed=6)[0])

    def test_what_is_avoided_is_never_drawn(self):
        rows, _, _ = self.run_job(given=spec({"A": ""}), temperature=2.0, inverseFoldAvoid="CGP")
        self.assertFalse(set("CGP") & set("".join(r["designed_sequence"] for r in rows)))

    def test_temperature(self):
        """A low temperature draws likely sequences."""
        cold = self.run_job(given=spec({"A": ""}), temperature=0.01)[0]
        hot = self.run_job(given=spec({"A": ""}), temperature=2.0)[0]
        self.assertLess(max(r["sequence_score"] for r in cold), min(r["sequence_score"] for r in hot))

    def test_certainty(self):
        """A temperature near 0 draws the most likely amino acids, also where the network prefers none at all."""
        rows, result, _ = self.run_job(temperature=1e-300)
        self.assertEqual(len(rows) + result.metrics["duplicates"], 6)
        bias = self.runners["proteinmpnn"].net.W_out.bias
        unknown = network.TOKENS.index(network.UNKNOWN)
        before = float(bias[unknown])
        try:
            bias[unknown] = 1000
            self.assertEqual(self.run_job(temperature=0.1)[0][0]["num_design"], 8)
        finally:
            bias[unknown] = before

    def test_ligands(self):
        """LigandMPNN sees the ligand, ProteinMPNN says that it does not; both keep it in the structure."""
        for model in network.MODELS:
            with self.subTest(model=model):
                rows, result, work = self.run_job(model, LIGAND, spec({"A": ""}))
                self.assertEqual("LigandMPNN does" in " ".join(result.notes), model == "proteinmpnn")
                names = [c.name for c in gemmi.read_structure(str(work / f"{rows[0]['id']}.cif"))[0]]
                self.assertGreater(len(names), 1)
                self.assertEqual(len(names), len(set(names)))
        whole = gemmi.read_structure(str(LIGAND))
        whole.setup_entities()
        cif = Path(self.enterContext(tempfile.TemporaryDirectory())) / "ligand.cif"
        whole.make_mmcif_document().write_file(str(cif))
        name = whole[0][0][0].subchain
        only = {"include": [{"chain": {"id": name}}]}
        given = [spec({name: ""}, "structure-1.cif"), spec({name: ""}, "structure-1.cif", **only)]
        both, alone = [self.run_job("ligandmpnn", cif, g) for g in given]
        self.assertNotEqual(both[0], alone[0])
        self.assertEqual(len(gemmi.read_structure(str(alone[2] / f"{alone[0][0]['id']}.cif"))[0]), 1)

    def test_gaps(self):
        """Residues without atoms stay in the sequence, and are not designed."""
        text = "SEQRES   1 A    5  MET GLN ILE PHE VAL\n"
        atoms = [line for line in UBIQUITIN.read_text().splitlines(True) if line.startswith("ATOM")]
        keep = [line for line in atoms if line[22:26].strip() in ("1", "2", "4", "5")]
        keep = [line for line in keep if not (line[22:26].strip() == "5" and line[12:16].strip() == "O")]
        gapped = Path(self.enterContext(tempfile.TemporaryDirectory())) / "gapped.pdb"
        gapped.write_text(text + "".join(keep) + "TER\n")
        rows, result, work = self.run_job(structure=gapped, given=spec({"A": ""}))
        self.assertEqual(rows[0]["num_design"], 3)
        whole = rows[0]["designed_chain_sequence"]
        self.assertEqual((len(whole), whole[2], whole[4]), (5, "I", "V"))
        self.assertIn("2 of 5 residues to redesign lack", " ".join(result.notes))
        entity = gemmi.read_structure(str(work / f"{rows[0]['id']}.cif")).entities[0]
        self.assertEqual(gemmi.one_letter_code(entity.full_sequence), whole)

    def written(self, lines, name="made.pdb"):
        """A structure of these lines."""
        path = Path(self.enterContext(tempfile.TemporaryDirectory())) / name
        path.write_text("".join(lines))
        return path

    def test_positions_of_a_file_without_seqres(self):
        """A gap in the numbers of the authors takes no position."""
        atoms = [line for line in UBIQUITIN.read_text().splitlines(True) if line.startswith("ATOM")]
        gapped = self.written(line for line in atoms if not 10 <= int(line[22:26]) <= 13)
        rows, _, _ = self.run_job(structure=gapped, given=spec({"A": "10"}), temperature=2.0)
        whole = rows[0]["designed_chain_sequence"]
        self.assertEqual((len(whole), whole[:9], whole[10:16]), (72, "MQIFVKTLT", "LEVEPS"))
        self.assertEqual(rows[0]["designed_sequence"], whole[9])

    def test_occupancies(self):
        """A backbone with alternatives of half the occupancy is seen; one without occupancy is not."""
        atoms = [line for line in UBIQUITIN.read_text().splitlines(True) if line.startswith("ATOM")]

        def file(occupancy):
            return self.written(
                line[:54] + f"{occupancy:6.2f}" + line[60:] if int(line[22:26]) == 5 else line for line in atoms
            )

        read = (backbone.read(file(x), spec({"A": "5"})["entities"][0]["file"]) for x in (1, 0.5, 0))
        whole, half, none = (network.features(c, network.tokens(c), 0.1, "")["X"][0] for c in read)
        self.assertTrue(torch.equal(whole, half))
        self.assertEqual(len(none), len(whole) - 1)
        with self.assertRaises(Failure):
            self.run_job(structure=file(0), given=spec({"A": "5"}))

    def test_names_of_programs(self):
        """A histidine by the name of its protonation keeps its letter and its atoms, and the row is the structure's."""
        text = UBIQUITIN.read_text().replace(" HIS A", " HIE A")
        hydrogen = "ATOM   9001  H   MET A   1      27.000  24.000   3.000  1.00  0.00           H\n"
        rows, _, work = self.run_job(structure=self.written([text.replace("TER", hydrogen + "TER", 1)]))
        self.assertEqual(rows[0]["designed_chain_sequence"][67], "H")
        chain = gemmi.read_structure(str(work / f"{rows[0]['id']}.cif"))[0]["A"]
        self.assertEqual((chain[67].name, len(chain[67])), ("HIE", 10))

    def test_names_of_chains(self):
        """Molecules of one letter get names that no other chain has."""
        atoms = [line for line in UBIQUITIN.read_text().splitlines(True) if line.startswith("ATOM")]
        ligand = "HETATM 9001  C1  GOL B 201      30.000  30.000  30.000  1.00  0.00           C\n"
        lines = [line[:21] + "B" + line[22:] for line in atoms] + ["TER\n", ligand] + atoms + ["TER\n"]
        chains = backbone.read(self.written(lines), spec({"A": ""})["entities"][0]["file"])
        self.assertEqual([(c.name, bool(c.designed)) for c in chains], [("B", False), ("C", False), ("A", True)])

    def test_a_chain_named_twice(self):
        """A chain that is named as a whole and by residues is designed as a whole."""
        for order in (("3", None), (None, "3")):
            chains = [{"chain": {"id": "A"} | ({"res_index": i} if i else {})} for i in order]
            given = {"path": "x.pdb", "design": chains}
            self.assertEqual(len(backbone.read(UBIQUITIN, given)[0].designed), 76)

    def test_cancel_within_a_batch(self):
        """The layers of the network look at a cancel too."""
        work = Path(self.enterContext(tempfile.TemporaryDirectory()))
        message = {"id": "x", "attempt": 1, "workdir": str(work), "kind": "design", "input": {}}
        job = Job(message, lambda _: None)
        one = self.runners["proteinmpnn"]
        chains = backbone.read(UBIQUITIN, spec({"A": ""})["entities"][0]["file"])
        seen = network.tokens(chains)
        made = network.features(chains, seen, 0.1, "")
        with one.watch.follow(job):
            network.draw(one.net, made, seen, 1)
            job.cancel()
            with self.assertRaises(Cancelled):
                network.draw(one.net, made, seen, 1)

    def test_refusals(self):
        for given, params, want in (
            (spec({"B": ""}), {}, "designs the chain B"),
            (spec({"A": "70..90"}), {}, "outside of 1 to 76"),
            (spec({"A": ""}, path="../../x.pdb"), {}, "x.pdb, which the job does not have"),
            (spec({"A": ""}, fuse="A"), {}, "no use for fuse"),
            (spec({"A": "3", "B": ""}, include=[{"chain": {"id": "A"}}]), {}, "designs the chain B"),
            (spec({}), {}, "names no residue"),
            (spec({"A": "3-9"}), {}, "no selection of residues"),
            (spec({"A": "99999999999999999999"}), {}, "no selection of residues"),
            (spec({"A": ""}, include=1), {}, "include in the spec is no list"),
            ({"entities": []}, {}, "a spec of one file"),
            (None, {"protocolName": "protein-anything"}, "sequence_only alone"),
            (None, {"temperature": 0}, "temperature is 0"),
            (None, {"budget": 7}, "budget is 7"),
            (None, {"inverseFoldAvoid": "B"}, "inverseFoldAvoid"),
        ):
            with self.subTest(want=want), self.assertRaises(Failure) as caught:
                self.run_job(given=given, **params)
            self.assertIn(want, caught.exception.message)

    def test_weights(self):
        """Missing weights and files that are none are refused, also those that would run code."""
        empty = self.folder / "empty"
        empty.mkdir(exist_ok=True)
        with self.assertRaises(Failure):
            runner.ProteinMPNN().load(Load("proteinmpnn", empty, "cpu"))
        torch.save({"model_state_dict": unittest.TestCase}, empty / "proteinmpnn_v_48_020.pt")
        with self.assertRaises(Failure) as caught:
            runner.ProteinMPNN().load(Load("proteinmpnn", empty, "cpu"))
        self.assertIn("is no checkpoint", caught.exception.message)


if __name__ == "__main__":
    unittest.main()
