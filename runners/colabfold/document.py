"""What ColabFold reads: a job of the service as one A3M file. Pure: standard library only.

The package has a form of its own for the alignments of a complex: a first line with the lengths of its different chains and how
often each occurs, then rows as long as all of them together. Rows with residues in several chains are paired.
"""

from dataclasses import dataclass, field

LETTERS = "ACDEFGHIKLMNPQRSTVWY"
MOST_CHAINS = 62  # as many as the package can name in a PDB file, which it writes along the way


class Refused(Exception):
    """A job that AlphaFold 2 cannot take as it is."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code, self.message = code, message


@dataclass
class Entity:
    """Chains of one sequence."""

    sequence: str
    chains: list  # names in the job
    first: int  # index of the first sequence of the job that it stands for
    unpaired: list = field(default_factory=list)  # rows, the sequence itself first; empty: no alignment
    paired: list = field(default_factory=list)  # rows that belong to the same rows of the others


def group(sequences: list) -> list:
    """The job's chains by sequence, which is the order in which the package puts them."""
    found = {}
    for i, s in enumerate(sequences):
        check(i, s)
        entity = found.setdefault(s["sequence"], Entity(s["sequence"], [], i))
        entity.chains += s["chains"]
    entities = list(found.values())
    count = sum(len(e.chains) for e in entities)
    if count > MOST_CHAINS:
        raise Refused("too_large", f"the job has {count} chains; AlphaFold 2 takes {MOST_CHAINS} here")
    return entities


def check(i: int, s: dict):
    if s["kind"] != "protein":
        raise Refused("unsupported", f"sequences[{i}] is a {s['kind']}; AlphaFold 2 folds proteins")
    if s.get("modifications"):
        raise Refused("unsupported", f"sequences[{i}] has modifications, which AlphaFold 2 does not know")
    if s.get("cyclic"):
        raise Refused("unsupported", f"sequences[{i}] is cyclic, which AlphaFold 2 does not know")
    for at, c in enumerate(s["sequence"], 1):
        if c not in LETTERS:
            raise Refused("invalid_input", f"sequences[{i}] has {c!r} at residue {at}; AlphaFold 2 takes the twenty amino acids {LETTERS}")


def names(entities: list) -> dict:
    """Chain in the package's files → chain of the job, where they differ. The package counts A to Z, AA, BA, CA …"""
    chains = [c for e in entities for c in e.chains]
    letters = [chr(65 + i % 26) + (chr(64 + i // 26) if i > 25 else "") for i in range(len(chains))]
    return {file: job for file, job in zip(letters, chains) if file != job}


def a3m(entities: list) -> str:
    """The file. Without alignments it has the sequences alone. Pairing counts where every sequence has as many paired rows."""
    lengths, counts = [len(e.sequence) for e in entities], [len(e.chains) for e in entities]
    lines = [f"#{','.join(map(str, lengths))}\t{','.join(map(str, counts))}"]
    if len(entities) > 1:
        pairs = list(zip(*(e.paired or [e.sequence] for e in entities))) if paired(entities) else [tuple(e.sequence for e in entities)]
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


def paired(entities: list) -> bool:
    counts = {len(e.paired) for e in entities}
    return len(counts) == 1 and counts != {0}


def notes(entities: list) -> list:
    """What the owner should know of the alignments."""
    alone = [c for e in entities if not e.unpaired for c in e.chains]
    if not alone:
        return []
    which = f"chain {alone[0]} was" if len(alone) == 1 else f"chains {', '.join(alone)} were"
    return [f"Without an alignment {which} folded from the sequence alone, which lowers the accuracy of AlphaFold 2 much."]


def bucket(n: int, most: int) -> int:
    """n rounded up to a power of two from 16 on, at most most: jobs of one bucket share what is compiled."""
    return min(n if n == 1 else max(16, 1 << (n - 1).bit_length()), most)
