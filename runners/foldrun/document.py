"""Helpers of runners that turn a job's input into the input of a model's package. Standard library only.

The "sequences" of a job are dictionaries with kind, sequence, chains and the optional is_ccd, cyclic, modifications and
property_type; docs/runner-protocol.md describes them. Messages name the field by its path in the job.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .alignment import Broken, rows, table
from .job import Job, invalid, unsupported

# A code of the chemical component dictionary. Some packages make a file name of it.
CCD = re.compile(r"[A-Z0-9]{1,5}")
# A chain name that packages of the Boltz family keep whole: they have five characters and the file format uses one.
SHORT_CHAIN = re.compile(r"[A-Za-z0-9]{1,4}")
AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"

SINGLE_SEQUENCE_NOTE = (
    "Protein chains without an alignment were folded from their single sequences, "
    "which lowers the accuracy of this model."
)


def selenomethionine_note(model: str) -> str:
    """The note of a job with selenomethionine for a model that folds methionine instead."""
    return f"{model} folds selenomethionine (MSE) as methionine."


def modifications(sequence: Mapping[str, Any]) -> list[tuple[int, str]]:
    """The modified residues of a sequence: (position from 1, CCD code), sorted."""
    return sorted((m["res_idx"], m["ccd"]) for m in sequence.get("modifications") or [])


def check_components(i: int, sequence: Mapping[str, Any]) -> None:
    """Refuses malformed CCD codes and impossible positions in sequences[i]. Whether a code exists is
    check_dictionary's."""
    changes = modifications(sequence)
    for code in [code for _, code in changes] + ([sequence["sequence"]] if sequence.get("is_ccd") else []):
        check_code(i, code)
    length = len(sequence["sequence"])
    for position, code in changes:
        if not 1 <= position <= length:
            raise invalid(
                f"sequences[{i}] has the modification {code} at residue {position}; its residues are 1 to {length}"
            )
    if len({position for position, _ in changes}) != len(changes):
        raise invalid(f"sequences[{i}] has two modifications at one residue")


def check_code(i: int, code: str) -> None:
    """Refuses a code of sequences[i] that has not the form of a CCD code."""
    if not CCD.fullmatch(code):
        raise invalid(
            f"sequences[{i}] names the chemical component {code[:20]!r}; a code has 1 to 5 capital letters and digits"
        )


def check_dictionary(sequences: Iterable[Mapping[str, Any]], has: Callable[[str], bool]) -> None:
    """Refuses the components that the package's chemical dictionary does not have."""
    for i, s in enumerate(sequences):
        for position, code in modifications(s):
            if not has(code):
                raise invalid(
                    f"sequences[{i}] has the modification {code} at residue {position}, "
                    "which is not in the chemical dictionary"
                )
        if s.get("is_ccd") and not has(s["sequence"]):
            raise invalid(
                f"sequences[{i}] is the chemical component {s['sequence']}, which is not in the chemical dictionary"
            )


def short_chain_names(chains: Iterable[str]) -> dict[str, str]:
    """Chain of the job → a name of at most four letters and digits: the same name where it fits, else x1, x2, …"""
    chains = list(chains)
    names = {c: c for c in chains if SHORT_CHAIN.fullmatch(c)}
    number = 0
    for c in chains:
        while c not in names:
            number += 1
            if f"x{number}" not in names.values():
                names[c] = f"x{number}"
    return names


def chain_map(names: Mapping[str, str]) -> dict[str, str]:
    """Chain in the package's files → chain of the job, where they differ. names maps the other way."""
    return {theirs: job for job, theirs in names.items() if theirs != job}


def chain_kinds(sequences: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Chain of the job → protein, rna, dna or ligand."""
    return {c: s["kind"] for s in sequences for c in s["chains"]}


def check_bonds(sequences: Iterable[Mapping[str, Any]], constraints: Mapping[str, Any]) -> None:
    """Refuses bonds to a ligand of a SMILES: packages invent names for its atoms, which nobody can know beforehand."""
    unnamed = {c for s in sequences if s["kind"] == "ligand" and not s.get("is_ccd") for c in s["chains"]}
    for i, bond in enumerate(constraints.get("bond") or []):
        for end in ("atom1", "atom2"):
            if bond[end]["chain_id"] in unnamed:
                raise unsupported(
                    f"constraints.bond[{i}].{end} is on chain {bond[end]['chain_id']}, a SMILES, "
                    "whose atoms have no names"
                )


def bonds(constraints: Mapping[str, Any], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Covalent bonds as documents of the Boltz family have them."""
    return [
        {
            "bond": {
                end: [names[bond[end]["chain_id"]], bond[end]["res_idx"], bond[end]["atom_name"]]
                for end in ("atom1", "atom2")
            }
        }
        for bond in constraints.get("bond") or []
    ]


def aligned_rows(job: Job, i: int) -> tuple[list[str], list[str]] | None:
    """The rows of sequences[i]'s alignment, unpaired and paired; None where the job has none.

    Each list begins with the sequence itself, or is empty. Raises Failure where an alignment does not fit the
    sequence."""
    sequence, kind = job.input["sequences"][i]["sequence"], job.input["sequences"][i]["kind"]
    unpaired, paired = job.input_file("msa", i), job.input_file("msa_paired", i)
    if unpaired is None and paired is None:
        return None
    try:
        return (
            rows(unpaired.read_text("utf-8", "replace"), sequence, kind) if unpaired else [],
            rows(paired.read_text("utf-8", "replace"), sequence, kind) if paired else [],
        )
    except Broken as e:
        raise invalid(f"the alignment of sequences[{i}] cannot be used: {e}") from None


def alignment_tables(job: Job, folder: str) -> dict[int, str]:
    """Writes the proteins' alignments as CSV files below the folder of the work: index of a sequence → path of its
    file."""
    out = {}
    for i, s in enumerate(job.input["sequences"]):
        found = aligned_rows(job, i) if s["kind"] == "protein" else None
        if found is not None:
            path = job.path(f"{folder}/alignment-{i}.csv")
            path.write_text(table(*found))
            out[i] = str(path)
    return out
