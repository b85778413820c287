"""How a job becomes what ColabFold reads, and that the package reads it so where it is installed."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from document import Entity, a3m, bucket, chain_map, group, notes  # noqa: E402
from foldrun import Failure  # noqa: E402

SEQUENCES = [
    {"kind": "protein", "sequence": "GSHM", "chains": ["H"]},
    {"kind": "protein", "sequence": "MKT", "chains": ["B"]},
    {"kind": "protein", "sequence": "GSHM", "chains": ["A"]},
]


def aligned():
    first, second = group(SEQUENCES)
    first.unpaired, first.paired = ["GSHM", "GaTHM", "----"], ["GSHM", "GTHM", "GAHM", "GCHM"]
    second.unpaired, second.paired = ["MKT", "MRT"], ["MKT", "MrRT", "---", "M-T"]
    return [first, second]


class Document(unittest.TestCase):
    def test_chains_of_one_sequence_come_together(self):
        entities = group(SEQUENCES)
        self.assertEqual(
            [(e.sequence, e.chains, e.first) for e in entities], [("GSHM", ["H", "A"], 0), ("MKT", ["B"], 1)]
        )
        self.assertEqual(chain_map(entities), {"A": "H", "B": "A", "C": "B"})
        many = chain_map([Entity("G", [f"x{i}" for i in range(54)], 0)])
        self.assertEqual([list(many)[i] for i in (0, 25, 26, 27, 52)], ["A", "Z", "AA", "BA", "AB"])

    def test_without_alignments(self):
        self.assertEqual(a3m(group(SEQUENCES[:1])), "#4\t1\n>101\nGSHM\n")
        self.assertEqual(a3m(group([SEQUENCES[0], SEQUENCES[2]])), "#4\t2\n>101\nGSHM\n")
        self.assertEqual(a3m(group(SEQUENCES)), "#4,3\t2,1\n>101\t102\nGSHMMKT\n>101\nGSHM---\n>102\n----MKT\n")

    def test_with_alignments(self):
        want = "#4,3\t2,1\n>101\t102\nGSHMMKT\n>p1\tp1\nGTHMMrRT\n>p3\tp3\nGCHMM-T\n"
        want += ">101\nGSHM---\n>u1.1\nGaTHM---\n>102\n----MKT\n>u2.1\n----MRT\n"
        self.assertEqual(a3m(aligned()), want)

    def test_pairs_that_are_none(self):
        first, second = aligned()
        second.paired.pop()  # rows that cannot belong to each other
        self.assertNotIn("p1", a3m([first, second]))

    def test_refusals(self):
        for change, text in (
            ({"kind": "rna"}, "sequences\\[0\\] is a rna"),
            ({"sequence": "GSXM"}, "'X' at residue 3"),
            ({"cyclic": True}, "cyclic"),
            ({"modifications": [{"res_idx": 1, "ccd": "SEP"}]}, "modifications"),
            ({"chains": [str(i) for i in range(63)]}, "63 chains"),
        ):
            with self.subTest(text), self.assertRaisesRegex(Failure, text):
                group([{**SEQUENCES[0], **change}])

    def test_notes(self):
        self.assertIn("chains H, A, B were", notes(group(SEQUENCES))[0])
        self.assertEqual(notes(aligned()), [])

    def test_buckets(self):
        self.assertEqual([bucket(n, 508) for n in (1, 2, 16, 17, 300, 2000)], [1, 16, 16, 32, 508, 508])


class Weights(unittest.TestCase):
    """Without the package: the runner looks before it imports anything."""

    def setUp(self):
        import runner

        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.runner, self.folder = runner, Path(folder.name)

    def test_missing(self):
        import foldrun

        with self.assertRaises(foldrun.Failure) as caught:
            self.runner.ColabFold().load(foldrun.Load("multimer", self.folder, "cpu"))
        self.assertEqual(caught.exception.code, "weights_missing")
        self.assertIn("params/params_model_5_multimer_v3.npz", caught.exception.message)


try:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from colabfold import batch
except ImportError:
    batch = None


@unittest.skipUnless(batch, "colabfold is not installed")
class Package(unittest.TestCase):
    def test_it_reads_what_is_written(self):
        unpaired, paired, sequences, counts, _ = batch.unserialize_msa([a3m(aligned())], ["GSHM", "MKT"])
        self.assertEqual((sequences, counts), (["GSHM", "MKT"], [2, 1]))
        self.assertEqual([u.split()[1::2] for u in unpaired], [["GSHM", "GaTHM"], ["MKT", "MRT"]])
        self.assertEqual([p.split()[1::2] for p in paired], [["GSHM", "GTHM", "GCHM"], ["MKT", "MrRT", "M-T"]])

    def test_it_makes_the_models_input_of_it(self):
        unpaired, paired, sequences, counts, templates = batch.unserialize_msa([a3m(aligned())], ["GSHM", "MKT"])
        made, _ = batch.generate_input_feature(
            sequences, counts, unpaired, paired, templates, True, "alphafold2_multimer_v3", max_seq=508
        )
        self.assertEqual(made["asym_id"].astype(int).tolist(), [1] * 4 + [2] * 4 + [3] * 3)
        self.assertEqual(made["entity_id"].astype(int).tolist(), [1] * 8 + [2] * 3)
        self.assertEqual(
            int((made["msa_mask"].max(-1) == 1).sum()), 7
        )  # three paired rows, then the two of each sequence

    def test_the_package_itself_misses_the_weights(self):
        from colabfold.alphafold.models import load_models_and_params

        with (
            tempfile.TemporaryDirectory() as folder,
            self.assertRaisesRegex(FileNotFoundError, "params_model_3_multimer_v3.npz"),
        ):
            load_models_and_params(5, False, model_type="alphafold2_multimer_v3", data_dir=folder)


if __name__ == "__main__":
    unittest.main()
