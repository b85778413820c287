"""The rows of alignment files, and their table."""

import unittest

from foldrun.alignment import Broken, rows, table


class Alignment(unittest.TestCase):
    def test_rows(self):
        self.assertEqual(rows("#4\t1\n>q\nGS\nHM\n\n>b x\nGaaTUM\n>c\n--HM\n\0", "GSHM"), ["GSHM", "GaaTXM", "--HM"])

    def test_an_unknown_residue_in_the_query(self):
        self.assertEqual(rows(">q\nGUHM\n", "GUHM"), ["GXHM"])
        self.assertEqual(rows(">q\nACGU\n>b\nATa-N\n", "ACGU", "rna"), ["ACGU", "ANa-N"])

    def test_broken(self):
        for text, reason in (
            ("", "empty"),
            ("GSHM\n", "header"),
            (">q\nGSHM\n>b\nGSH\n", "row 2 has 3 columns"),
            (">b\nGAHM\n>q\nGSHM\n", "first row"),
        ):
            with self.subTest(reason), self.assertRaisesRegex(Broken, reason):
                rows(text, "GSHM")

    def test_table(self):
        self.assertEqual(table(["GSHM", "GTHM"], []), "key,sequence\n-1,GSHM\n-1,GTHM\n")
        self.assertEqual(table(["GSHM", "GTHM"], ["GSHM", "----", "GAHM"]), "key,sequence\n0,GSHM\n2,GAHM\n-1,GTHM\n")


if __name__ == "__main__":
    unittest.main()
