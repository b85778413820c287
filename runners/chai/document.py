"""A job of the service as FASTA and the restraints table of Chai-1. Standard library and foldrun only."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from foldrun import invalid, too_large, unsupported
from foldrun.document import SHORT_CHAIN, check_bonds, check_code, modifications

# The package's chain names, as far as they have one letter.
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Å, where the job gives no distance.
DISTANCE = 6.0
COLUMNS = [
    "chainA",
    "res_idxA",
    "chainB",
    "res_idxB",
    "connection_type",
    "confidence",
    "min_distance_angstrom",
    "max_distance_angstrom",
    "comment",
    "restraint_id",
]


def fasta(sequences: Sequence[Mapping[str, Any]]) -> str:
    """One entry per chain, with the chain's name. Modified residues are codes in parentheses."""
    lines: list[str] = []
    for i, s in enumerate(sequences):
        if s.get("is_ccd"):
            raise unsupported(f"sequences[{i}] is a component's code; Chai-1 takes ligands as SMILES")
        if s.get("cyclic"):
            raise unsupported(f"sequences[{i}] is cyclic, which Chai-1 does not know")
        if s.get("property_type") == "affinity":
            raise unsupported(f"sequences[{i}] asks for an affinity, which Chai-1 does not predict")
        text = s["sequence"] if s["kind"] == "ligand" else residues(i, s)
        for chain in s["chains"]:
            if not SHORT_CHAIN.fullmatch(chain):
                raise invalid(
                    f"sequences[{i}] has the chain {chain[:20]!r}; a chain's name has 1 to 4 letters and digits"
                )
            lines += [f">{s['kind']}|name={chain}", text]
    return "\n".join(lines) + "\n"


def residues(i: int, s: Mapping[str, Any]) -> str:
    """A polymer's letters with the codes of modified residues in parentheses."""
    out = list(s["sequence"])
    for position, code in modifications(s):
        check_code(i, code)
        out[position - 1] = f"({code})"
    return "".join(out)


def letters(sequences: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Chain of the job → the package's letter for it: A, B, C in the order of the file, whatever its name."""
    chains = [c for s in sequences for c in s["chains"]]
    if len(chains) > len(ALPHABET):
        raise too_large(f"the job has {len(chains)} chains; Chai-1 takes {len(ALPHABET)} here")
    return dict(zip(chains, ALPHABET))


def restraints(sequences: Sequence[Mapping[str, Any]], given: Mapping[str, Any]) -> str | None:
    """The table of restraints as CSV; None where the job has none."""
    rows = restraint_rows(sequences, given)
    if not rows:
        return None
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    table.writerows(rows)
    return out.getvalue()


def check_residue(field: str, s: Mapping[str, Any], at: tuple[str, int]) -> None:
    """Refuses a residue that the package cannot find by the letter of an amino acid: it knows those of proteins, and a
    modified residue is several tokens for it."""
    if s["kind"] != "protein":
        raise unsupported(f"{field} is on chain {at[0]}, a {s['kind']}; Chai-1 takes residues of proteins there")
    if any(position == at[1] for position, _ in modifications(s)):
        raise unsupported(
            f"{field} is the modified residue {at[1]} of chain {at[0]}; Chai-1 takes unmodified ones there"
        )


def restraint_rows(sequences: Sequence[Mapping[str, Any]], given: Mapping[str, Any]) -> list[list[Any]]:
    """The restraints of a job as rows of the package's table: contacts, pockets and bonds, with distances in Å."""
    check_bonds(sequences, given)
    by_chain = {c: s for s in sequences for c in s["chains"]}
    letter_of = letters(sequences)
    rows: list[list[Any]] = []

    def position(chain: str, residue: int, atom: str = "") -> str:
        s = by_chain[chain]
        letter = "" if s["kind"] == "ligand" else f"{s['sequence'][residue - 1]}{residue}"
        return letter + (f"@{atom}" if atom else "")

    def add(kind: str, a: str, at_a: str, b: str, at_b: str, distance: float) -> None:
        # The package refuses a row without a comment.
        rows.append([letter_of[a], at_a, letter_of[b], at_b, kind, 1.0, 0.0, distance, "-", f"r{len(rows) + 1}"])

    for i, p in enumerate(given.get("pocket") or []):
        for k, c in enumerate(p["contacts"]):
            near = (c["chain_id"], c["res_idx"])
            check_residue(f"constraints.pocket[{i}].contacts[{k}]", by_chain[near[0]], near)
            add("pocket", p["binder"]["chain_id"], "", near[0], position(*near), DISTANCE)
    for i, c in enumerate(given.get("contact") or []):
        a, b = (c["chainA"], c["res_idxA"]), (c["chainB"], c["res_idxB"])
        ligands = [by_chain[x[0]]["kind"] == "ligand" for x in (a, b)]
        distance = c.get("distance") or DISTANCE
        for end, ligand in zip((a, b), ligands):
            if not ligand:
                check_residue(f"constraints.contact[{i}]", by_chain[end[0]], end)
        if all(ligands):
            raise unsupported(
                f"constraints.contact[{i}] is between two ligands; Chai-1 takes contacts in which a polymer has part"
            )
        if any(ligands):  # some atom of the ligand near the residue: a pocket of one residue
            binder, near = (a, b) if ligands[0] else (b, a)
            add("pocket", binder[0], "", near[0], position(*near), distance)
        else:
            add("contact", a[0], position(*a), b[0], position(*b), distance)
    for bond in given.get("bond") or []:
        (a, at_a), (b, at_b) = (
            (end["chain_id"], position(end["chain_id"], end["res_idx"], end["atom_name"]))
            for end in (bond["atom1"], bond["atom2"])
        )
        add("covalent", a, at_a, b, at_b, 0.0)
    return rows
