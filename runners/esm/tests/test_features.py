"""The input of ESMFold2 for several chains. It needs the package, not its weights."""

import math
import sys
import unittest
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

HERE = find_spec("transformers") is not None
if HERE:
    import torch
    from transformers.models.esmfold2 import protein_utils as package

    from features import GAP, MAX_ROWS, Chain, build, number

TRP = "NLYIQWLKDGGPSSGRPPPS"


@unittest.skipUnless(HERE, "the package is not installed")
class Features(unittest.TestCase):
    def test_one_chain_is_the_packages_own(self):
        for sequence in (TRP, "G", "".join(package.PROTEIN_1TO3), "MKTAYIAKQR" * 9):
            own, theirs = build([Chain(sequence)]), package.prepare_protein_features(sequence)
            self.assertEqual(own.keys(), theirs.keys())
            for name, values in theirs.items():
                self.assertEqual(own[name].dtype, values.dtype, name)
                self.assertTrue(torch.equal(own[name], values), name)

    def test_chains(self):
        f = build([Chain("GA"), Chain("WG"), Chain("GA")])
        for name, want in {
            "token_index": [0, 1, 2, 3, 4, 5],
            "residue_index": [0, 1, 0, 1, 0, 1],
            "asym_id": [0, 0, 1, 1, 2, 2],
            "entity_id": [1, 1, 2, 2, 1, 1],
            "sym_id": [0, 0, 0, 0, 1, 1],
            "mol_type": [0] * 6,
            "attention_mask": [True] * 6,
        }.items():
            self.assertEqual(f[name].tolist(), [want], name)
        # Atoms: G 4, A 5, W 14, G 4, G 4, A 5, which the package pads to 64.
        atoms = [4, 5, 14, 4, 4, 5]
        tokens = [t for t, n in enumerate(atoms) for _ in range(n)]
        self.assertEqual(f["atom_to_token"].tolist(), [tokens + [0] * (64 - len(tokens))])
        self.assertEqual(f["ref_space_uid"].tolist(), f["atom_to_token"].tolist())
        self.assertEqual(f["atom_attention_mask"].sum().item(), len(tokens))
        self.assertTrue(f["atom_attention_mask"][0, : len(tokens)].all())
        # The atom CB of each residue, or CA of glycine.
        self.assertEqual(f["distogram_atom_idx"].tolist(), [[1, 8, 13, 24, 28, 35]])
        self.assertEqual(f["token_bonds"].shape, (1, 6, 6, 1))
        self.assertFalse(f["token_bonds"].any())
        for position in (0, 27):  # the first atom of each glycine at the beginning of a copy
            self.assertTrue(torch.equal(f["ref_pos"][0, position], torch.tensor(package.PROTEIN_REF_POS["GLY"]["N"])))

    def test_alignment(self):
        f = build(
            [
                Chain("GAG", unpaired=["GAG", "-aaAC", "GGG"], paired=["GAG", "GCG", "---", "AAA"]),
                Chain("WW", unpaired=["WW", "XW"], paired=["WW", "WY", "YY", "--"]),
            ]
        )
        n = {c: number(c) for c in "GACWYX"} | {"-": GAP}
        rows = [[n[c] for c in text] for text in ("GAGWW", "GCGWY", "AAAYY", "-ACXW", "GGG--")]
        self.assertEqual(f["msa"].tolist(), [rows])
        self.assertEqual(f["has_deletion"].nonzero().tolist(), [[0, 3, 1]])
        self.assertAlmostEqual(f["deletion_value"][0, 3, 1].item(), math.pi / 2 * math.atan(2 / 3), places=6)
        self.assertAlmostEqual(f["deletion_mean"][0, 1].item(), math.pi / 2 * math.atan(2 / 3) / 5, places=6)
        self.assertTrue(f["msa_attention_mask"].all())

    def test_rows_are_bounded(self):
        f = build([Chain("GA", unpaired=["GA"] + ["GC"] * 2 * MAX_ROWS)])
        self.assertEqual(f["msa"].shape, (1, MAX_ROWS, 2))


if __name__ == "__main__":
    unittest.main()
