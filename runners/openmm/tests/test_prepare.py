"""The atoms that are left out of a structure or added to it, the refusals, and a run that goes on from its checkpoint.
Needs the engine's packages."""

import json
import shutil
import sys
import tempfile
import unittest.mock
from pathlib import Path

HERE = Path(__file__).parent.parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import openmm  # noqa: E402

try:
    import prepare  # noqa: E402
except ImportError as e:
    raise unittest.SkipTest(f"needs the packages of this runner: {e}") from None
import runner  # noqa: E402
import simulate  # noqa: E402
from foldrun import Cancelled, Failure  # noqa: E402
from foldrun.job import Job, Load  # noqa: E402

PEPTIDE = (HERE / "testing" / "peptide.pdb").read_text()
CPU = openmm.Platform.getPlatformByName("CPU")


def prepared(text, ph=7.5):
    return prepare.prepare(text, ph, 1, CPU)


def without(*lines):
    """The peptide without the atoms (name, residue)."""
    return "".join(
        x
        for x in PEPTIDE.splitlines(True)
        if not x.startswith("ATOM") or (x[12:16].strip(), int(x[22:26])) not in lines
    )


def hetatm(name, comp, number, x):
    return f"HETATM  900 {name:^4} {comp} A{number:4d}    {x:8.3f}{30:8.3f}{30:8.3f}  1.00  0.00           {name[0]}\n"


class Prepare(unittest.TestCase):
    def test_what_is_missing_is_built_and_said(self):
        p = prepared(PEPTIDE)
        last = list(p.topology.residues())[-1]
        self.assertIn("OXT", {a.name for a in last.atoms()})
        self.assertEqual(p.notes, ["Heavy atoms that were missing and have been built: 1, in GLN 5 of chain A."])
        p = prepared(without(("CB", 2), ("OH", 3)))
        self.assertEqual(
            p.notes,
            [
                "Heavy atoms that were missing and have been built: 3, "
                "in ALA 2 of chain A, TYR 3 of chain A, GLN 5 of chain A."
            ],
        )

    def test_hydrogens_follow_the_ph(self):
        text = PEPTIDE.replace("ALA A   4", "ASP A   4")

        def side_chains(p):
            return [{a.name for a in r.atoms()} for r in p.topology.residues() if r.name == "ASP"]

        acid, neutral = prepared(text, 2.0), prepared(text, 7.5)
        first, fourth = zip(side_chains(acid), side_chains(neutral))
        self.assertEqual(fourth[0] - fourth[1], {"HD2"})
        self.assertEqual(first[0], first[1])
        self.assertIn(
            "ASP 1 of chain A keeps its usual form at pH 2: the force field has no other at the end of a chain.",
            acid.notes,
        )
        self.assertFalse([n for n in neutral.notes if "usual" in n])

    def test_heterogens_go(self):
        p = prepared(
            PEPTIDE.replace(
                "END", hetatm("ZN", "ZNX", 20, 30) + hetatm("O", "HOH", 21, 40) + hetatm("O", "HOH", 22, 50) + "END"
            )
        )
        self.assertEqual(len(list(p.topology.residues())), 5)
        self.assertEqual(p.notes[0], "Left out, since the force field has no parameters for it: 1 × ZNX, 2 × water.")

    def test_selenomethionine_becomes_methionine(self):
        text = without(("CG", 1), ("OD1", 1), ("OD2", 1)).replace("ASP A   1", "MSE A   1")
        p = prepared(text)
        self.assertEqual(next(p.topology.residues()).name, "MET")
        self.assertIn("MSE 1 of chain A was made MET.", p.notes)

    def test_refusals(self):
        for what, text, says in (
            (
                "gap",
                "".join(x for x in PEPTIDE.splitlines(True) if x[22:26] != "   3"),
                "the chain is broken between ALA 2 of chain A and ALA 4 of chain A",
            ),
            ("backbone", without(("CA", 2)), "ALA 2 of chain A has no atom CA"),
            ("stretched", PEPTIDE.replace("-1.210", "-9.210", 1), "Å apart"),
            ("modified", PEPTIDE.replace("TYR", "PTR"), "PTR 3 of chain A is a modified residue"),
            ("nucleic acid", PEPTIDE.replace("ALA A   4", " DA A   4"), "nucleic acid"),
            ("nothing", "END\n", "cannot be read"),
            ("noise", "no structure at all", "cannot be read"),
            ("ligand alone", hetatm("O", "HOH", 1, 0) + "END\n", "0 residues of protein"),
        ):
            with self.subTest(what), self.assertRaises(Failure) as caught:
                prepared(text)
            self.assertIn(says, caught.exception.message)
            self.assertIn(caught.exception.code, ("invalid_input", "unsupported"))


class Physics(unittest.TestCase):
    def test_screening(self):
        # The Debye length of 0.15 M at 298 K is 0.79 nm (any textbook); Amber's factor takes 0.73 of its inverse.
        self.assertAlmostEqual(simulate.kappa(0.15, 298.15), 0.73 / 0.786, delta=0.01)
        self.assertEqual(simulate.kappa(0, 300), 0)


class Run(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.dir)
        self.said = []
        self.runner = runner.OpenMM()
        self.runner.load(Load("openmm", None, "cpu", 1))
        # A checkpoint after every piece, however long one takes on this machine.
        every = unittest.mock.patch.object(runner.Checkpoints, "interval", return_value=0)
        every.start()
        self.addCleanup(every.stop)

    def job(self, name, resume=None, text=PEPTIDE, **more):
        where = self.dir / name
        where.mkdir()
        (where / "in.pdb").write_text(text)
        given = {
            "preset": "all_atom",
            "temp": 300,
            "ionic": 0.15,
            "ph": 7,
            "step_ns": 0.0001,
            "length_ns": 0.0004,
            "box_nm": 20,
            "termini": "both",
            **more,
        }
        message = {
            "id": name,
            "attempt": 1,
            "workdir": str(where),
            "kind": "md",
            "input": given,
            "files": [{"kind": "structure", "path": "in.pdb"}],
            "seed": 3,
        }
        if resume:
            shutil.copy(resume, where / "last")
            message["resume"] = {"path": "last", "step": 0}
        return Job(message, self.said.append)

    def lines(self):
        return [m["line"] for m in self.said if m["type"] == "log"]

    def stopped(self):
        """A checkpoint of a run that was cancelled in its middle."""
        kept = self.dir / "kept"

        def send(m):
            if m["type"] == "checkpoint" and 100 <= m["step"] < 200:
                shutil.copy(self.dir / "first" / m["path"], kept)
                job.cancel()

        job = self.job("first", length_ns=0.0005)
        job._send = send
        with self.assertRaises(Cancelled):
            self.runner.predict(job)
        return kept

    def test_goes_on_from_a_checkpoint(self):
        kept = self.stopped()
        job = self.job("second", kept, length_ns=0.0005)
        result = self.runner.predict(job)
        self.assertGreaterEqual(result.metrics["resumed_from_step"], 100)
        self.assertEqual(result.metrics["steps"], 250)
        times = [float(line.split(",")[0]) for line in (job.workdir / "energies.csv").read_text().splitlines()[1:]]
        self.assertEqual(times, [0.0001, 0.0002, 0.0003, 0.0004, 0.0005])
        atoms = result.metrics["atoms"]
        self.assertEqual((job.workdir / "trajectory.dcd").stat().st_size, 92 + 172 + 12 + 5 * 3 * (4 * atoms + 8))
        self.assertTrue(any("does not give this trajectory again" in n for n in result.notes))
        self.assertIn("Heavy atoms that were missing and have been built: 1, in GLN 5 of chain A.", result.notes)

    def test_starts_over_from_a_checkpoint_that_does_not_fit(self):
        kept = self.stopped()
        self.assertEqual(self.runner.predict(self.job("warmer", kept, temp=310)).metrics["resumed_from_step"], 0)
        (self.dir / "torn").write_bytes(kept.read_bytes()[:500])
        self.assertEqual(self.runner.predict(self.job("torn again", self.dir / "torn")).metrics["resumed_from_step"], 0)
        self.assertIn("the last attempt's checkpoint is of another version; starting from the beginning", self.lines())
        self.assertTrue(any("cannot be read" in line for line in self.lines()))

    def test_same_seed_same_trajectory(self):
        files = []
        for name in ("one", "two"):
            job = self.job(name)
            self.runner.predict(job)
            files.append((job.workdir / "energies.csv").read_text())
        self.assertEqual(len(files[0].splitlines()), 5)
        first, second = (float(f.splitlines()[1].split(",")[1]) for f in files)
        self.assertAlmostEqual(first, second, delta=1e-3 * abs(first))

    def test_refuses_atoms_on_top_of_each_other(self):
        second = "".join(x[:21] + "B" + x[22:] for x in PEPTIDE.splitlines(True) if x.startswith("ATOM"))
        with self.assertRaises(Failure) as caught:
            self.runner.predict(self.job("twice", text=PEPTIDE.replace("END\n", second + "TER\nEND\n")))
        self.assertEqual(caught.exception.code, "invalid_input")
        self.assertIn("cannot be simulated", caught.exception.message)

    def test_refuses_what_it_does_not_do(self):
        for more, code in (
            ({"preset": "single_af_go"}, "unsupported"),
            ({"termini": "N"}, "unsupported"),
            ({"step_ns": 2e-8 * 1000, "length_ns": 1000}, "too_large"),
        ):
            with self.subTest(more), self.assertRaises(Failure) as caught:
                self.runner.predict(self.job(json.dumps(more)[:12].strip('{"'), **more))
            self.assertEqual(caught.exception.code, code)


if __name__ == "__main__":
    unittest.main()
