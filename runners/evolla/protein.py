"""A protein chain as Evolla reads it: one letter per residue, and its state in the structural alphabet 3Di."""

from dataclasses import dataclass, field

import gemmi
import mini3di
import numpy as np

MOST = 1022  # residues: the processor cuts at 1,024 tokens, two of which are marks
# Where the predicted confidence is lower, the model was trained with the state unknown.
CONFIDENT = 70.0
UNKNOWN = "#"
AMINO_ACIDS = set("ACDEFGHIKLMNPQRSTVWY")


class Unreadable(Exception):
    """A structure that the model cannot take, in a sentence for the owner."""


@dataclass
class Chain:
    name: str
    sequence: str
    states: str
    notes: list = field(default_factory=list)


def read(path, predicted: bool) -> Chain:
    """The longest protein chain of a structure file. predicted: its B factors are pLDDT, from 0 to 100."""
    try:
        structure = gemmi.read_structure(str(path))
        structure.setup_entities()
        model = structure[0]
    except (RuntimeError, ValueError, IndexError):
        raise Unreadable("the structure cannot be read") from None
    chains = [(c.name, residues) for c in model if (residues := amino_acids(c))]
    if not chains:
        raise Unreadable("the structure has no protein chain with a backbone")
    name, residues = max(chains, key=lambda c: len(c[1]))
    if len(residues) > MOST:
        raise Unreadable(f"chain {name} has {len(residues)} residues; evolla takes {MOST}")
    notes = [f"The answer is about chain {name}, the longest; evolla takes one chain."] if len(chains) > 1 else []
    letters = "".join(letter if (letter := gemmi.find_tabulated_residue(r.name).one_letter_code.upper()) in AMINO_ACIDS else UNKNOWN for r in residues)
    return Chain(name, letters, states(residues, predicted), notes)


def amino_acids(chain) -> list:
    """Residues with all that the alphabet is computed from."""
    return [r for r in chain if gemmi.find_tabulated_residue(r.name).is_amino_acid() and all(r.find_atom(a, "*") for a in ("N", "CA", "C"))]


def states(residues, predicted: bool) -> str:
    """3Di states in lower case, unknown where a prediction is not confident or a chain is too short to have any."""

    def atoms(name):
        found = [r.find_atom(name, "*") for r in residues]
        return np.array([a.pos.tolist() if a else [np.nan] * 3 for a in found], dtype=float)

    if len(residues) < 4:
        return UNKNOWN * len(residues)
    encoder = mini3di.Encoder()
    text = encoder.build_sequence(encoder.encode_atoms(atoms("CA"), atoms("CB"), atoms("N"), atoms("C"))).lower()
    doubtful = [predicted and r.find_atom("CA", "*").b_iso < CONFIDENT for r in residues]
    return "".join(UNKNOWN if doubt else state for state, doubt in zip(text, doubtful))
