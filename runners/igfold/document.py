"""What IgFold takes of a job. Standard library and foldrun only."""

from collections.abc import Mapping, Sequence
from typing import Any

from foldrun import invalid, unsupported
from foldrun.document import AMINO_ACIDS

MAX_CHAINS = 2
MAX_RESIDUES = 510  # of a chain: the positions of AntiBERTy, without its start and end


def chains(sequences: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The name of each chain → its residues, in the order of the job. The service has found the variable domains, cut
    the chains to them, and put the heavy one first; the package folds whatever it is given."""
    out: dict[str, str] = {}
    for i, s in enumerate(sequences):
        if s["kind"] != "protein":
            raise unsupported(f"sequences[{i}] is a {s['kind']}; IgFold folds proteins only")
        if s.get("cyclic") or s.get("modifications"):
            raise unsupported(f"sequences[{i}] is cyclic or modified; IgFold folds unmodified chains only")
        text = s["sequence"]
        for k, c in enumerate(text):
            if c not in AMINO_ACIDS:
                raise invalid(f"residue {k + 1} of sequences[{i}] is {c!r}; IgFold takes {AMINO_ACIDS}")
        if not 0 < len(text) <= MAX_RESIDUES:
            raise unsupported(f"sequences[{i}] has {len(text)} residues; IgFold takes 1 to {MAX_RESIDUES}")
        out.update(dict.fromkeys(s["chains"], text))
    if len(out) > MAX_CHAINS:
        raise unsupported(f"the job has {len(out)} chains; IgFold folds one domain, or a heavy and a light one")
    return out
