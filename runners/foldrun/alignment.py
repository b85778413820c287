"""The rows of an alignment file, and the table that packages of the Boltz family read."""

# The letters of a row by the kind of its sequence, and the letter that stands for all others.
LETTERS = {"protein": set("ACDEFGHIKLMNPQRSTVWYX-"), "rna": set("ACGUN-")}
UNKNOWN = {"protein": "X", "rna": "N"}
MAX_ROWS = 16_384  # no model here reads more


class Broken(Exception):
    """An alignment that does not belong to its sequence. The message says why, without naming the sequence."""


def rows(text: str, query: str, kind: str = "protein") -> list[str]:
    """The rows of an A3M file: insertions in lower case, unknown letters as X, of RNA as N. The first row is the query
    itself."""
    out: list[str] = []
    for line in text.replace("\0", "").splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith(">"):
            out.append("")
            continue
        if not out:
            raise Broken("it does not begin with a header line")
        out[-1] += line.replace(".", "")
    out = [clean(r, kind) for r in out[:MAX_ROWS]]
    if not out:
        raise Broken("it is empty")
    for i, row in enumerate(out):
        columns = sum(not c.islower() for c in row)
        if columns != len(query):
            raise Broken(f"row {i + 1} has {columns} columns; the sequence has {len(query)} residues")
    if out[0] != clean(query, kind):
        raise Broken("its first row is not the sequence itself")
    return out


def clean(row: str, kind: str) -> str:
    """The row with every letter that is not a residue or a gap replaced by the one for unknown residues. Insertions, in
    lower case, stay."""
    return "".join(c if c.islower() or c in LETTERS[kind] else UNKNOWN[kind] for c in row)


def table(unpaired: list[str], paired: list[str]) -> str:
    """The rows as CSV. Rows that have the same key in several chains come from one organism; the key -1 means unpaired.
    The query comes first, once."""
    lines = ["key,sequence"]
    for key, row in enumerate(paired):
        if any(c != "-" for c in row):
            lines.append(f"{key},{row}")
    lines += [f"-1,{row}" for row in (unpaired[1:] if paired else unpaired)]
    return "\n".join(lines) + "\n"
