"""The rows of an alignment file, and the table that some packages read."""

LETTERS = set("ACDEFGHIKLMNPQRSTVWYX-")
MOST_ROWS = 16_384  # no model here looks at more


class Broken(Exception):
    """An alignment that does not belong to its sequence."""


def rows(text: str, query: str) -> list:
    """The rows of an A3M file: insertions in lower case, unknown letters as X. The first is the query itself."""
    out, header = [], False
    for line in text.replace("\0", "").splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith(">"):
            header = True
            out.append("")
            continue
        if not header:
            raise Broken("it does not begin with a header line")
        out[-1] += line.replace(".", "")
    out = [clean(r) for r in out[:MOST_ROWS]]
    if not out:
        raise Broken("it is empty")
    for i, row in enumerate(out):
        columns = sum(not c.islower() for c in row)
        if columns != len(query):
            raise Broken(f"row {i + 1} has {columns} columns; the sequence has {len(query)} residues")
    if out[0] != clean(query):
        raise Broken("its first row is not the sequence itself")
    return out


def clean(row: str) -> str:
    return "".join(c if c.islower() or c in LETTERS else "X" for c in row)


def table(unpaired: list, paired: list) -> str:
    """The rows as CSV, which Boltz and the packages that come from it read: rows with one key in several chains are of one organism;
    -1 is unpaired. The query comes first, once."""
    lines = ["key,sequence"]
    for key, row in enumerate(paired):
        if any(c not in "-" for c in row):
            lines.append(f"{key},{row}")
    lines += [f"-1,{row}" for row in (unpaired[1:] if paired else unpaired)]
    return "\n".join(lines) + "\n"
