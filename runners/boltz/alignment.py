"""Alignments as Boltz reads them. Pure: standard library only."""


def table(unpaired: list, paired: list) -> str:
    """Boltz's CSV: rows with one key in several chains are of one organism; -1 is unpaired. The query comes first, once."""
    lines = ["key,sequence"]
    for key, row in enumerate(paired):
        if any(c not in "-" for c in row):
            lines.append(f"{key},{row}")
    lines += [f"-1,{row}" for row in (unpaired[1:] if paired else unpaired)]
    return "\n".join(lines) + "\n"
