"""Templates of one chain as the package's template features. The service has aligned them, so that the package's own
search and alignment (hhsearch, kalign) are not needed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from alphafold.common import residue_constants as constants
from Bio.PDB.MMCIF2Dict import MMCIF2Dict

GAP = "-"  # a position of the chain that the template does not have


def features(paths: Sequence[Path], length: int) -> dict[str, Any]:
    """The features of a chain of so many residues: arrays whose first axis is the template, as alphafold.data.templates
    makes them (Jumper et al. 2021, supplementary information 1.2.9, table 1)."""
    read = [atoms(p, length) for p in paths]
    letters = [sequence for sequence, _, _ in read]
    return {
        "template_aatype": np.array(
            [constants.sequence_to_onehot(s, constants.HHBLITS_AA_TO_ID) for s in letters], np.float32
        ),
        "template_all_atom_positions": np.array([positions for _, positions, _ in read], np.float32),
        "template_all_atom_masks": np.array([mask for _, _, mask in read], np.float32),
        "template_domain_names": np.array([p.stem.encode() for p in paths], object),
        "template_sequence": np.array([s.encode() for s in letters], object),
        # The score of a search, which the networks do not read.
        "template_sum_probs": np.zeros((len(paths), 1), np.float32),
        "template_confidence_scores": np.ones((len(paths), length), np.float32),
        "template_release_date": [b"none"] * len(paths),
    }


def atoms(path: Path, length: int) -> tuple[str, np.ndarray, np.ndarray]:
    """The letters (length, a gap where the template has no residue), the positions in Å (length × 37 × 3) and the mask
    (length × 37) of a file, whose residues have the positions of the chain, from 1."""
    cif = MMCIF2Dict(str(path))
    letters = [GAP] * length
    positions = np.zeros((length, constants.atom_type_num, 3), np.float32)
    mask = np.zeros((length, constants.atom_type_num), np.float32)
    columns = ("label_seq_id", "label_comp_id", "label_atom_id", "Cartn_x", "Cartn_y", "Cartn_z")
    for seq, comp, name, *xyz in zip(*(cif[f"_atom_site.{c}"] for c in columns), strict=True):
        at, atom = int(seq) - 1, constants.atom_order[name]
        letters[at] = constants.restype_3to1[comp]
        positions[at, atom] = [float(x) for x in xyz]
        mask[at, atom] = 1
    return "".join(letters), positions, mask
