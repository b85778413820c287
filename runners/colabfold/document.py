"""A job of the service as the one A3M file that ColabFold reads. Standard library and foldrun only.

The package has its own format for the alignments of a complex: a first line with the lengths of its different chains
and the number of copies of each, then rows as long as all of them together. Rows with residues in several chains are
paired.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldrun import invalid, too_large, unsupported
from foldrun.document import AMINO_ACIDS

MAX_CHAINS = 62  # as many as the package can name in a PDB file, which it also writes


@dataclass
class Entity:
    """Chains of one sequence."""

    sequence: str
    chains: list[str]  # names in the job
    first: int  # index of its first sequence in the job
    unpaired: list[str] = field(default_factory=list)  # rows, the sequence itself first; empty: no alignment
    paired: list[str] = field(default_factory=list)  # rows that belong to the same rows of the other entities


def group(sequences: Iterable[Mapping[str, Any]]) -> list[Entity]:
    """The job's chains grouped by sequence, in the package's order."""
    found: dict[str, Entity] = {}
    for i, s in enumerate(sequences):
        check(i, s)
        entity = found.setdefault(s["sequence"], Entity(s["sequence"], [], i))
        entity.chains += s["chains"]
    entities = list(found.values())
    count = sum(len(e.chains) for e in entities)
    if count > MAX_CHAINS:
        raise too_large(f"the job has {count} chains; AlphaFold 2 takes {MAX_CHAINS} here")
    return entities


def check(i: int, s: Mapping[str, Any]) -> None:
    """Refuses what AlphaFold 2 cannot fold in sequences[i]."""
    if s["kind"] != "protein":
        raise unsupported(f"sequences[{i}] is a {s['kind']}; AlphaFold 2 folds proteins")
    if s.get("modifications"):
        raise unsupported(f"sequences[{i}] has modifications, which AlphaFold 2 does not know")
    if s.get("cyclic"):
        raise unsupported(f"sequences[{i}] is cyclic, which AlphaFold 2 does not know")
    for at, c in enumerate(s["sequence"], 1):
        if c not in AMINO_ACIDS:
            raise invalid(
                f"sequences[{i}] has {c!r} at residue {at}; AlphaFold 2 takes the twenty amino acids {AMINO_ACIDS}"
            )


def chain_map(entities: Sequence[Entity]) -> dict[str, str]:
    """Chain in the package's files → chain of the job, where they differ. The package names them A to Z, AA, BA, CA
    …"""
    chains = [c for e in entities for c in e.chains]
    letters = [chr(65 + i % 26) + (chr(64 + i // 26) if i > 25 else "") for i in range(len(chains))]
    return {file: job for file, job in zip(letters, chains) if file != job}


def a3m(entities: Sequence[Entity]) -> str:
    """The file. Without alignments it has the sequences only. Paired rows are used if every entity has equally many."""
    lengths, counts = [len(e.sequence) for e in entities], [len(e.chains) for e in entities]
    lines = [f"#{','.join(map(str, lengths))}\t{','.join(map(str, counts))}"]
    if len(entities) > 1:
        pairs = [tuple(e.sequence for e in entities)]
        if paired(entities):
            pairs = list(zip(*(e.paired for e in entities)))
        for i, parts in enumerate(pairs):
            if i == 0 or sum(any(c.isupper() for c in p) for p in parts) > 1:
                label = "\t".join(str(101 + k) if i == 0 else f"p{i}" for k in range(len(parts)))
                lines += [f">{label}", "".join(parts)]
    for k, e in enumerate(entities):
        before, after = "-" * sum(lengths[:k]), "-" * sum(lengths[k + 1 :])
        for i, row in enumerate(e.unpaired or [e.sequence]):
            if any(c.isupper() for c in row):
                lines += [f">{101 + k if i == 0 else f'u{k + 1}.{i}'}", before + row + after]
    return "\n".join(lines) + "\n"


def paired(entities: Iterable[Entity]) -> bool:
    """Whether all chains have the same number of paired rows, and any."""
    counts = {len(e.paired) for e in entities}
    return len(counts) == 1 and counts != {0}


def notes(entities: Iterable[Entity]) -> list[str]:
    """Notes on the alignments for the job's owner."""
    alone = [c for e in entities if not e.unpaired for c in e.chains]
    if not alone:
        return []
    which = f"chain {alone[0]} was" if len(alone) == 1 else f"chains {', '.join(alone)} were"
    return [
        f"Without an alignment {which} folded from the sequence alone, "
        "which lowers the accuracy of AlphaFold 2 considerably."
    ]


def bucket(n: int, most: int) -> int:
    """n rounded up to a power of two of at least 16, at most `most`. Jobs of one bucket share the compiled network."""
    return min(n if n == 1 else max(16, 1 << (n - 1).bit_length()), most)
