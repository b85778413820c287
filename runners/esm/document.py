"""What the models take of a job. Standard library and foldrun only."""

from collections.abc import Mapping, Sequence
from typing import Any

from foldrun import invalid, unsupported
from foldrun.document import AMINO_ACIDS

LETTERS = AMINO_ACIDS + "X"  # those of ESMFold2
MIN_RESIDUES = 2  # of ESMFold2: of one residue the package drops a dimension, and fails


def the_chain(sequences: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The sequence and the name of the job's only chain for ESMFold; the service sends one chain at a time."""
    if len(sequences) != 1 or len(sequences[0]["chains"]) != 1 or sequences[0]["kind"] != "protein":
        raise unsupported("ESMFold folds one protein chain at a time")
    text = sequences[0]["sequence"]
    for i, c in enumerate(text):
        if c not in AMINO_ACIDS:
            raise invalid(f"residue {i + 1} is {c!r}; ESMFold takes the twenty amino acids {AMINO_ACIDS}")
    return text, sequences[0]["chains"][0]


def check(sequences: Sequence[Mapping[str, Any]]) -> None:
    """Refuses what transformers has no features of for ESMFold2."""
    for i, s in enumerate(sequences):
        if s["kind"] != "protein":
            raise unsupported(f"sequences[{i}] is a {s['kind']}; ESMFold2 in transformers folds proteins alone")
        if s.get("cyclic"):
            raise unsupported(f"sequences[{i}] is cyclic, which ESMFold2 does not know")
        if s.get("modifications"):
            raise unsupported(
                f"sequences[{i}] has modifications; ESMFold2 in transformers folds unmodified residues alone"
            )
        for k, c in enumerate(s["sequence"]):
            if c not in LETTERS:
                raise invalid(f"residue {k + 1} of sequences[{i}] is {c!r}; ESMFold2 takes {LETTERS}")
    if sum(len(s["sequence"]) * len(s["chains"]) for s in sequences) < MIN_RESIDUES:
        raise unsupported(f"ESMFold2 needs at least {MIN_RESIDUES} residues")
