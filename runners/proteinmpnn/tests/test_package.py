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
PDB = ROOT / "internal/analyst/testdata/ligand.pdb"  # crambin with a benzene and a zinc ion
CRAMBIN = ROOT / "runners/vectors/backbones/ligand.cif"  # the same as the service writes it
SEQUENCE = "TTCCPSIVARSNFNVCRLPGTPEAICATYTGCIIIPGATCPGDYAN"


def spec(design, path="structure-1.cif", **more):
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
        want = self.pipeline(PDB, "ligand_mpnn")
        chains = backbone.read(CRAMBIN, spec({"A": ""})["entities"][0]["file"])
        got = network.features(chains, network.tokens(chains), 0.1, "")
        for name in ("X", "X_m", "S", "R_idx", "chain_labels", "residue_mask", "Y", "Y_t", "Y_m", "temperature"):
            with self.subTest(name=name):
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

    def run_job(self, model="proteinmpnn", structure=CRAMBIN, given=None, seed=1, **params):
        """The rows, the notes, the metrics and the folder of a job."""
        work = Path(self.enterContext(tempfile.TemporaryDirectory()))
        given = given or spec({"A": "3..9,12"})
        (work / "input").mkdir()
        (work / "input/spec.yaml").write_text(json.dumps(given))
        (work / "input/structure-1.cif").write_bytes(structure.read_bytes())
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

    def test_crambin(self):
        rows, result, work = self.run_job()
        given = SEQUENCE
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
        self.assertEqual({a.name for a in chain[0]}, {"N", "CA", "C", "O", "CB", "OG1", "CG2"})

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
        seen = {}
        for model in network.MODELS:
            with self.subTest(model=model):
                rows, result, work = self.run_job(model, given=spec({"A": ""}))
                self.assertEqual("LigandMPNN does" in " ".join(result.notes), model != "ligandmpnn")
                names = [c.name for c in gemmi.read_structure(str(work / f"{rows[0]['id']}.cif"))[0]]
                self.assertEqual(names, ["A", "B", "C"])
                seen[model] = rows
        alone = self.edited(lambda atom: atom if atom[6] == "A" else None)
        rows, _, work = self.run_job("ligandmpnn", alone, spec({"A": ""}))
        self.assertNotEqual(rows, seen["ligandmpnn"])
        self.assertEqual(len(gemmi.read_structure(str(work / f"{rows[0]['id']}.cif"))[0]), 1)

    def edited(self, change, old="", new=""):
        """The structure with the fields of each atom as a function returns them, without those of which it returns
        None, and with another text."""
        lines = []
        for line in CRAMBIN.read_text().replace(old, new).splitlines():
            fields = line.split()
            if line.startswith(("ATOM", "HETATM")):
                fields = change(fields)
                line = " ".join(fields or ())
            if fields is not None:
                lines.append(line + "\n")
        path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "structure-1.cif"
        path.write_text("".join(lines))
        return path

    def test_gaps(self):
        """Residues without atoms stay in the sequence, and are not designed."""
        drop = (["3"], ["5", "O"])
        gapped = self.edited(lambda atom: None if [atom[8]] in drop or [atom[8], atom[3]] in drop else atom)
        rows, result, work = self.run_job(structure=gapped, given=spec({"A": "1..5"}))
        self.assertEqual(rows[0]["num_design"], 3)
        whole = rows[0]["designed_chain_sequence"]
        self.assertEqual((len(whole), whole[2], whole[4:]), (46, "C", SEQUENCE[4:]))
        self.assertIn("2 of 5 residues to redesign lack", " ".join(result.notes))
        entity = gemmi.read_structure(str(work / f"{rows[0]['id']}.cif")).entities[0]
        self.assertEqual(gemmi.one_letter_code(entity.full_sequence), whole)

    def test_occupancies(self):
        """A backbone of half the occupancy is seen; one without occupancy is not."""

        def file(occupancy):
            return self.edited(lambda a: [*a[:13], occupancy, *a[14:]] if a[8] == "5" else a)

        read = (backbone.read(file(x), spec({"A": "5"})["entities"][0]["file"]) for x in ("1.00", "0.50", "0.00"))
        whole, half, none = (network.features(c, network.tokens(c), 0.1, "")["X"][0] for c in read)
        self.assertTrue(torch.equal(whole, half))
        self.assertEqual(len(none), len(whole) - 1)
        with self.assertRaises(Failure):
            self.run_job(structure=file("0.00"), given=spec({"A": "5"}))

    def test_modified_residues(self):
        """A residue by another name than its parent keeps its letter and its atoms, and the row is the structure's."""
        modified = self.edited(lambda atom: atom, "ARG", "AGM")
        rows, _, work = self.run_job(structure=modified)
        self.assertEqual(rows[0]["designed_chain_sequence"][9], "R")
        chain = gemmi.read_structure(str(work / f"{rows[0]['id']}.cif"))[0]["A"]
        self.assertEqual((chain[9].name, len(chain[9])), ("AGM", 11))

    def test_a_chain_named_twice(self):
        """A chain that is named as a whole and by residues is designed as a whole."""
        for order in (("3", None), (None, "3")):
            chains = [{"chain": {"id": "A"} | ({"res_index": i} if i else {})} for i in order]
            given = {"path": "x.cif", "design": chains}
            self.assertEqual(len(backbone.read(CRAMBIN, given)[0].designed), 46)

    def test_cancel_within_a_batch(self):
        """The layers of the network look at a cancel too."""
        work = Path(self.enterContext(tempfile.TemporaryDirectory()))
        message = {"id": "x", "attempt": 1, "workdir": str(work), "kind": "design", "input": {}}
        job = Job(message, lambda _: None)
        one = self.runners["proteinmpnn"]
        chains = backbone.read(CRAMBIN, spec({"A": ""})["entities"][0]["file"])
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
            (spec({"A": "40..90"}), {}, "outside of 1 to 46"),
            (spec({"A": ""}, path="../../x.cif"), {}, "x.cif, which the job does not have"),
            (spec({"A": ""}, fuse="A"), {}, "no use for fuse"),
            (spec({}), {}, "names no residue"),
            (spec({"A": "3-9"}), {}, "no selection of residues"),
            (spec({"A": "99999999999999999999"}), {}, "no selection of residues"),
            (spec({"A": ""}, include="all"), {}, "no use for include"),
            ({"entities": [{"file": {"path": "structure-1.cif"}}]}, {}, "design in the spec is no list"),
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
