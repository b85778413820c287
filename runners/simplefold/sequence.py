"""A job of the service as the FASTA file of SimpleFold: one protein chain. Standard library and foldrun only."""

from collections.abc import Mapping, Sequence
from typing import Any

from foldrun import invalid, unsupported
from foldrun.document import AMINO_ACIDS


def fasta(sequences: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The FASTA text of the job's only chain, and its name; the service sends one chain at a time."""
    if len(sequences) != 1 or len(sequences[0]["chains"]) != 1 or sequences[0]["kind"] != "protein":
        raise unsupported("SimpleFold folds one protein chain at a time")
    s = sequences[0]
    for field, name in (("modifications", "modified residues"), ("cyclic", "cyclic chains")):
        if s.get(field):
            raise unsupported(f"SimpleFold does not support {name}")
    for i, c in enumerate(s["sequence"]):
        if c not in AMINO_ACIDS:
            raise invalid(f"residue {i + 1} is {c!r}; SimpleFold takes the twenty amino acids {AMINO_ACIDS}")
    return f">A\n{s['sequence']}\n", s["chains"][0]
