"""A protein chain as Evolla reads it: the letter of each residue, and its state in the structural alphabet 3Di."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gemmi
import mini3di
import numpy as np

from foldrun import invalid

MAX_RESIDUES = 1022  # the processor cuts at 1,024 tokens, and two of them mark start and end
# The model was trained with unknown states where the predicted confidence is lower.
CONFIDENT = 70.0
UNKNOWN = "#"
AMINO_ACIDS = set("ACDEFGHIKLMNPQRSTVWY")


@dataclass
class Chain:
    """A protein chain as Evolla reads it. notes are for the owner of the job."""

    name: str
    sequence: str  # one letter per residue
    states: str  # one 3Di letter per residue
    notes: list[str] = field(default_factory=list)


def read(path: Path, predicted: bool) -> Chain:
    """The longest protein chain of a structure file. predicted: its B factors are pLDDT from 0 to 100.

    Raises Failure where there is none, or where it is too long."""
    try:
        structure = gemmi.read_structure(str(path))
        structure.setup_entities()
        model = structure[0]
    except (RuntimeError, ValueError, IndexError):
        raise invalid("the structure cannot be read") from None
    chains = [(c.name, residues) for c in model if (residues := amino_acids(c))]
    if not chains:
        raise invalid("the structure has no protein chain with a backbone")
    name, residues = max(chains, key=lambda c: len(c[1]))
    if len(residues) > MAX_RESIDUES:
        raise invalid(f"chain {name} has {len(residues)} residues; evolla takes {MAX_RESIDUES}")
    notes = [f"The answer is about chain {name}, the longest; evolla takes one chain."] if len(chains) > 1 else []
    letters = [gemmi.find_tabulated_residue(r.name).one_letter_code.upper() for r in residues]
    text = "".join(letter if letter in AMINO_ACIDS else UNKNOWN for letter in letters)
    return Chain(name, text, states(residues, predicted), notes)


def amino_acids(chain: Any) -> list[Any]:
    """The residues that have all atoms from which the alphabet is computed."""
    return [
        r
        for r in chain
        if gemmi.find_tabulated_residue(r.name).is_amino_acid() and all(r.find_atom(a, "*") for a in ("N", "CA", "C"))
    ]


def states(residues: list[Any], predicted: bool) -> str:
    """3Di states in lower case; unknown where a prediction is not confident, or where the chain is too short."""

    def atoms(name: str) -> np.ndarray:
        found = [r.find_atom(name, "*") for r in residues]
        return np.array([a.pos.tolist() if a else [np.nan] * 3 for a in found], dtype=float)

    if len(residues) < 4:
        return UNKNOWN * len(residues)
    encoder = mini3di.Encoder()
    text = encoder.build_sequence(encoder.encode_atoms(atoms("CA"), atoms("CB"), atoms("N"), atoms("C"))).lower()
    doubtful = [predicted and r.find_atom("CA", "*").b_iso < CONFIDENT for r in residues]
    return "".join(UNKNOWN if doubt else state for state, doubt in zip(text, doubtful))
