"""What SimpleFold reads: one chain of a protein as FASTA. Pure: standard library only."""

LETTERS = "ACDEFGHIKLMNPQRSTVWY"


class Refused(Exception):
    """A job that SimpleFold cannot take as it is."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code, self.message = code, message


def fasta(kind: str, sequences: list) -> tuple:
    """The job's one chain: FASTA, and the chain's name. The service sends one chain at a time."""
    if kind != "fold" or len(sequences) != 1 or len(sequences[0]["chains"]) != 1 or sequences[0]["kind"] != "protein":
        raise Refused("unsupported", "SimpleFold folds one protein chain at a time")
    s = sequences[0]
    for what, name in (("modifications", "modified residues"), ("cyclic", "cyclic chains")):
        if s.get(what):
            raise Refused("unsupported", f"SimpleFold knows no {name}")
    for i, c in enumerate(s["sequence"]):
        if c not in LETTERS:
            raise Refused("invalid_input", f"residue {i + 1} is {c!r}; SimpleFold takes the twenty amino acids {LETTERS}")
    return f">A\n{s['sequence']}\n", s["chains"][0]
