"""The input of ESMFold2 for several chains, with alignments.

The package makes the features of one chain; EsmFold2Model.forward documents what they mean for several. Here the
package makes those of every chain, and they are joined: what numbers tokens, atoms and conformers goes on from chain to
chain, asym_id numbers the chains, entity_id the different sequences, and sym_id the copies of one. For one chain
without an alignment they are the package's own.

Alignments are joined as in Biohub's package esm 3.4.1 (esm/models/esmfold2/paired_msa.py and prepare_input.py).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from transformers.models.esmfold2 import protein_utils as package

GAP = 1  # a row's gap, in Biohub's package; transformers has no constant of it
# Rows of an alignment. Biohub's package draws as many from it for each pass; here they are the first.
MAX_ROWS = 1024
# The package pads atoms to a multiple of this.
ATOMS = 32


@dataclass
class Chain:
    """A protein chain and the rows of its alignment, of which the first is the chain itself. Insertions are in lower
    case. Row k of the paired rows of every chain comes from one organism; it is all gaps where a chain has none."""

    sequence: str
    unpaired: list[str] = field(default_factory=list)
    paired: list[str] = field(default_factory=list)


def build(chains: Sequence[Chain]) -> dict[str, Tensor]:
    """The input of EsmFold2Model.fold, on the CPU."""
    parts = [package.prepare_protein_features(c.sequence) for c in chains]
    atoms = [int(p["atom_attention_mask"].sum()) for p in parts]
    entities: dict[str, int] = {}
    copies: dict[str, int] = {}
    tokens = before = 0
    for i, (c, p, n) in enumerate(zip(chains, parts, atoms)):
        p["asym_id"] += i
        p["entity_id"] += entities.setdefault(c.sequence, len(entities))
        p["sym_id"] += copies.setdefault(c.sequence, 0)
        copies[c.sequence] += 1
        for name in ("token_index", "ref_space_uid", "atom_to_token"):
            p[name] += tokens
        p["distogram_atom_idx"] += before
        for name in PER_ATOM:
            p[name] = p[name][:, :n]
        tokens, before = tokens + len(c.sequence), before + n
    out = {name: torch.cat([p[name] for p in parts], 1) for name in parts[0] if name not in JOINED_OTHERWISE}
    for name in PER_ATOM:
        out[name] = padded(out[name])
    out["token_bonds"] = torch.zeros(1, tokens, tokens, 1)  # chains of amino acids have no bond besides the usual ones
    return out | alignment(chains)


PER_ATOM = (
    "ref_pos",
    "ref_element",
    "ref_charge",
    "ref_atom_name_chars",
    "ref_space_uid",
    "atom_attention_mask",
    "atom_to_token",
)
JOINED_OTHERWISE = ("token_bonds", "msa", "msa_attention_mask", "has_deletion", "deletion_value", "deletion_mean")


def padded(values: Tensor) -> Tensor:
    """The values of the atoms, with zeros up to the next multiple of ATOMS."""
    more = math.ceil(values.shape[1] / ATOMS) * ATOMS - values.shape[1]
    return torch.cat([values, values.new_zeros(1, more, *values.shape[2:])], 1)


def alignment(chains: Sequence[Chain]) -> dict[str, Tensor]:
    """The rows of all chains. The first has the chains themselves, then come rows of organisms that several chains have
    in common, those of the most chains first, then all others, side by side. A chain without a row there has gaps."""
    others: list[list[str]] = [[] for _ in chains]  # the rows of each chain that are in no pair
    pairs: list[dict[int, str]] = []  # chain → its row
    for k in range(1, max(len(c.paired) for c in chains)):
        row = {i: c.paired[k] for i, c in enumerate(chains) if k < len(c.paired) and c.paired[k].strip("-")}
        if len(row) > 1:
            pairs.append(row)
        else:
            for i, text in row.items():
                others[i].append(text)
    for i, c in enumerate(chains):
        others[i] += c.unpaired[1:]
    rows = [[c.sequence for c in chains]]
    waiting = [iter(texts) for texts in others]
    for row in sorted(pairs, key=len, reverse=True):
        rows.append([row[i] if i in row else next(waiting[i], "") for i in range(len(chains))])
    for _ in range(max(len(texts) for texts in others)):
        rest = [next(texts, "") for texts in waiting]
        if not any(rest):
            break
        rows.append(rest)
    pairs_of_numbers = [numbers(row, chains) for row in rows[:MAX_ROWS]]
    msa = torch.tensor([r for r, _ in pairs_of_numbers])
    deletions = torch.tensor([d for _, d in pairs_of_numbers], dtype=torch.float32)
    value = (math.pi / 2) * torch.arctan(deletions / 3)  # as in Biohub's package; AlphaFold 3 divides by pi / 2
    out = {
        "msa": msa,
        "msa_attention_mask": torch.ones_like(msa, dtype=torch.bool),
        "has_deletion": deletions > 0,
        "deletion_value": value,
        "deletion_mean": value.mean(0),
    }
    return {name: values[None] for name, values in out.items()}


def numbers(row: Sequence[str], chains: Sequence[Chain]) -> tuple[list[int], list[int]]:
    """One row over all chains: the number of each residue, and how many insertions are before it."""
    residues: list[int] = []
    deletions: list[int] = []
    for text, chain in zip(row, chains):
        before = 0
        for c in text or "-" * len(chain.sequence):
            if c.islower():
                before += 1
                continue
            residues.append(GAP if c == "-" else number(c))
            deletions.append(before)
            before = 0
    return residues, deletions


def number(letter: str) -> int:
    """The package's number of a residue."""
    return package.PROTEIN_RESIDUE_TO_RES_TYPE.get(package.PROTEIN_1TO3[letter], package.PROTEIN_UNK_RES_TYPE)
