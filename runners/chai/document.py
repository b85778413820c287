"""What Chai-1 reads: a job of the service as FASTA and a table of restraints. Pure: standard library only."""

import csv
import io
import re

# Names of chains go into header lines and the table.
CHAIN = re.compile(r"[A-Za-z0-9]{1,4}")
CCD = re.compile(r"[A-Z0-9]{1,5}")
# The package's names of chains, as far as they have one letter.
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Å, where the job names no distance.
DISTANCE = 6.0
COLUMNS = ["chainA", "res_idxA", "chainB", "res_idxB", "connection_type", "confidence", "min_distance_angstrom", "max_distance_angstrom", "comment", "restraint_id"]


class Refused(Exception):
    """A job that Chai-1 cannot take as it is."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code, self.message = code, message


def fasta(sequences: list) -> str:
    """One entry per chain, named as the chain; a modified residue stands in brackets."""
    lines = []
    for i, s in enumerate(sequences):
        if s.get("is_ccd"):
            raise Refused("unsupported", f"sequences[{i}] is a component's code; Chai-1 takes ligands as SMILES")
        if s.get("cyclic"):
            raise Refused("unsupported", f"sequences[{i}] is cyclic, which Chai-1 does not know")
        if s.get("property_type") == "affinity":
            raise Refused("unsupported", f"sequences[{i}] asks for an affinity, which Chai-1 does not predict")
        text = s["sequence"] if s["kind"] == "ligand" else residues(i, s)
        for chain in s["chains"]:
            if not CHAIN.fullmatch(chain):
                raise Refused("invalid_input", f"sequences[{i}] has the chain {chain[:20]!r}; a chain's name has 1 to 4 letters and digits")
            lines += [f">{s['kind']}|name={chain}", text]
    return "\n".join(lines) + "\n"


def residues(i: int, s: dict) -> str:
    """A polymer's letters, codes of modified residues in brackets."""
    out = list(s["sequence"])
    for m in s.get("modifications") or []:
        if not CCD.fullmatch(m["ccd"]):
            raise Refused("invalid_input", f"sequences[{i}] names the chemical component {m['ccd'][:20]!r}; a code has 1 to 5 capital letters and digits")
        out[m["res_idx"] - 1] = f"({m['ccd']})"
    return "".join(out)


def letters(sequences: list) -> dict:
    """Chain of the job → the letter that the package gives it: A, B, C in the order of the file, whatever its name."""
    chains = [c for s in sequences for c in s["chains"]]
    if len(chains) > len(ALPHABET):
        raise Refused("too_large", f"the job has {len(chains)} chains; Chai-1 takes {len(ALPHABET)} here")
    return dict(zip(chains, ALPHABET))


def restraints(sequences: list, given: dict) -> "str | None":
    """The table of restraints, or None where the job has none."""
    by_chain, letter_of = {c: s for s in sequences for c in s["chains"]}, letters(sequences)

    def place(chain: str, residue: int, atom: str = "") -> str:
        s = by_chain[chain]
        letter = "" if s["kind"] == "ligand" else f"{s['sequence'][residue - 1]}{residue}"
        return letter + (f"@{atom}" if atom else "")

    rows = []

    def add(kind, a, at_a, b, at_b, distance):
        # The package takes no row without a comment.
        rows.append([letter_of[a], at_a, letter_of[b], at_b, kind, 1.0, 0.0, distance, "-", f"r{len(rows) + 1}"])

    for i, p in enumerate(given.get("pocket") or []):
        for k, c in enumerate(p["contacts"]):
            if by_chain[c["chain_id"]]["kind"] == "ligand":
                raise Refused("unsupported", f"constraints.pocket[{i}].contacts[{k}] is on chain {c['chain_id']}, a ligand; Chai-1 takes residues of polymers there")
            add("pocket", p["binder"]["chain_id"], "", c["chain_id"], place(c["chain_id"], c["res_idx"]), DISTANCE)
    for i, c in enumerate(given.get("contact") or []):
        a, b = (c["chainA"], c["res_idxA"]), (c["chainB"], c["res_idxB"])
        ligands = [by_chain[x[0]]["kind"] == "ligand" for x in (a, b)]
        distance = c.get("distance") or DISTANCE
        if all(ligands):
            raise Refused("unsupported", f"constraints.contact[{i}] is between two ligands; Chai-1 takes contacts in which a polymer has part")
        if any(ligands):  # some atom of the ligand near the residue: a pocket of one
            binder, near = (a, b) if ligands[0] else (b, a)
            add("pocket", binder[0], "", near[0], place(*near), distance)
        else:
            add("contact", a[0], place(*a), b[0], place(*b), distance)
    for b in given.get("bond") or []:
        ends = [(e["chain_id"], place(e["chain_id"], e["res_idx"], e["atom_name"])) for e in (b["atom1"], b["atom2"])]
        add("covalent", ends[0][0], ends[0][1], ends[1][0], ends[1][1], 0.0)
    if not rows:
        return None
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    table.writerows(rows)
    return out.getvalue()
