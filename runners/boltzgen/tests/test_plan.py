"""The arguments of the package, and the jobs and specs that are refused."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).parent.parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import plan  # noqa: E402
from foldrun import Failure  # noqa: E402
from foldrun.job import Job  # noqa: E402


def job(folder="/w", spec="input/binder.yaml", stem="binder", parallel=0, **params):
    message = {
        "id": "1",
        "attempt": 1,
        "workdir": str(folder),
        "kind": "design",
        "input": {"name": "n", "stem": stem, "spec": spec},
        "params": {"protocolName": "peptide-anything", "numDesigns": 4, "budget": 2, **params},
        "parallel": parallel,
    }
    return Job(message, lambda _: None)


def after(arguments, option, step=None):
    """The values of an option; of --config, those of one step."""
    for i, word in enumerate(arguments):
        if word == option and (step is None or arguments[i + 1] == step):
            rest = arguments[i + 1 :]
            end = next((n for n, w in enumerate(rest) if w.startswith("--")), len(rest))
            return rest[1 if step else 0 : end]
    return None


class Arguments(unittest.TestCase):
    def arguments(self, device="cpu", **params):
        return plan.read(job(**params)).arguments(Path("/weights"), device, device != "cpu", 3)

    def test_what_is_given(self):
        args = self.arguments(alpha=0.25, refoldingRmsdThreshold=3, filterBiased=False, inverseFoldAvoid="")
        self.assertEqual(args[:2], ["configure", "input/binder.yaml"])
        self.assertEqual(after(args, "--num_designs"), ["4"])
        self.assertEqual(after(args, "--budget"), ["2"])
        self.assertEqual(after(args, "--filter_biased"), ["false"])
        self.assertIn("--inverse_fold_avoid=", args)
        # As overrides: the protocol's own values win over the package's options.
        self.assertEqual(after(args, "--config", "filtering"), ["alpha=0.25", "refolding_rmsd_threshold=3.0"])
        self.assertEqual(after(args, "--config", "analysis")[0], "num_processes=3")

    def test_what_is_not_given_is_the_protocols(self):
        args = self.arguments()
        self.assertIsNone(after(args, "--config", "filtering"))
        self.assertIsNone(after(args, "--filter_biased"))
        self.assertFalse([a for a in args if a.startswith("--inverse_fold_avoid")])

    def test_the_device(self):
        self.assertIn("trainer.accelerator=cpu", after(self.arguments(), "--config", "folding"))
        self.assertNotIn("trainer.accelerator=cpu", after(self.arguments("cuda"), "--config", "folding"))
        self.assertEqual(after(self.arguments(), "--use_kernels"), ["false"])
        self.assertEqual(after(self.arguments("cuda"), "--use_kernels"), ["auto"])

    def test_random_weights_take_few_steps(self):
        p = plan.read(job())
        for few in (False, True):
            args = p.arguments(Path("/weights"), "cpu", False, 1, few)
            self.assertEqual("sampling_steps=20" in after(args, "--config", "design"), few)

    def test_every_design_comes_out(self):
        for designs, parallel, want in ((99, 0, 1), (100, 0, 10), (105, 0, 7), (101, 0, 1), (1000, 4, 4), (100, 1, 1)):
            self.assertEqual(plan.batch(designs, parallel), want)


class Refused(unittest.TestCase):
    def refused(self, sentence, **more):
        with self.assertRaises(Failure) as caught:
            plan.read(job(**more))
        self.assertEqual(caught.exception.message, sentence)
        return caught.exception.code

    def test_parameters(self):
        names = ", ".join(plan.PROTOCOLS)
        code = self.refused(f"protocolName is 'sequence_only'; BoltzGen has {names}", protocolName="sequence_only")
        self.assertEqual(code, "unsupported")
        self.refused("numDesigns is 0; it must be a whole number from 1 to 10000", numDesigns=0)
        self.refused("budget is 5; it must be a whole number from 1 to 4", budget=5)
        self.refused("alpha is 2; it must be a number from 0 to 1", alpha=2)
        self.refused("inverseFoldAvoid is 'B'; it must be letters of the 20 amino acids", inverseFoldAvoid="B")
        self.refused("inverseFoldAvoid has all 20 amino acids; it must leave one", inverseFoldAvoid=plan.LETTERS)

    def test_stems(self):
        self.refused("the stem 'a_1' of the spec must be 1 to 64 letters, digits and hyphens", stem="a_1")
        # pandas would read these as something else than text.
        for text in ("7", "007", "1e5", "NaN", "inf", "NA", "null", "True"):
            self.assertEqual(plan.stem(text), f"design-{text}")
        for text in ("binder", "a7", "7a", "nano"):
            self.assertEqual(plan.stem(text), text)


class Specs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "input").mkdir()
        (self.folder / "input/target.cif").write_text("data_x\n")

    def write(self, name, content):
        (self.folder / "input" / name).write_text(content if isinstance(content, str) else json.dumps(content))

    def check(self, content):
        self.write("binder.yaml", content)
        plan.check_spec(self.folder, "input/binder.yaml")

    def file(self, path):
        return {"entities": [{"protein": {"id": "B", "sequence": "10"}}, {"file": {"path": path}}]}

    def refused(self, content, sentence):
        with self.assertRaises(Failure) as caught:
            self.check(content)
        self.assertEqual(caught.exception.message, sentence)

    def test_taken(self):
        self.check(self.file("target.cif"))
        self.write("part.yaml", {"path": "target.cif"})
        self.check(self.file(["part.yaml", "part.yaml"]))

    def test_other_files(self):
        for path in ("/etc/passwd", "../../etc/passwd", "missing.cif", "."):
            name = Path(path).name
            self.refused(self.file(path), f"the spec binder.yaml names the file {name}, which the job does not have")
        self.write("part.yaml", {"path": "/etc/passwd"})
        self.refused(self.file("part.yaml"), "the spec part.yaml names the file passwd, which the job does not have")
        self.refused(self.file([{"path": "x"}]), "a path in the spec is not text")

    def test_a_circle_ends(self):
        self.write("part.yaml", {"path": "part.yaml"})
        self.check(self.file("part.yaml"))

    def test_not_json(self):
        self.refused("entities: []", "the spec binder.yaml cannot be read as JSON")

    def test_smiles(self):
        ligands = [{"ligand": {"id": "L", "ccd": "ATP"}}, {"ligand": {"id": ["M", "N"], "smiles": "CCO"}}]
        self.write("binder.yaml", {"entities": [*self.file("target.cif")["entities"], *ligands]})
        self.assertEqual(list(plan.smiles(self.folder, "input/binder.yaml")), [("['M', 'N']", "CCO")])

    def test_a_component_that_is_missing(self):
        try:
            try:
                raise KeyError("There is no item named 'Q9Q.pkl' in the archive")
            except KeyError as e:
                raise ValueError("cannot parse") from e
        except ValueError as e:
            failure = plan.missing_component(e)
        self.assertEqual(failure.code, "invalid_input")
        self.assertTrue(failure.message.startswith("BoltzGen does not know the component Q9Q of the Chemical"))
        self.assertIsNone(plan.missing_component(KeyError("Q9Q")))

    def test_its_name_becomes_the_ids(self):
        self.write("spec.yaml", self.file("target.cif"))
        j = job(self.folder, spec="input/spec.yaml", stem="7")
        p = plan.read(j)
        plan.place_spec(j, p)
        self.assertEqual(p.spec, "input/design-7.yaml")
        self.assertEqual(json.loads((self.folder / p.spec).read_text()), self.file("target.cif"))


if __name__ == "__main__":
    unittest.main()
