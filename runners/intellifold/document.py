"""A job of the service as the document that `intellifold predict` reads. Standard library and foldrun only.

The document is written as JSON, which avoids YAML's traps (a chain named NO, a sequence named ON).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldrun import unsupported
from foldrun.document import (
    SINGLE_SEQUENCE_NOTE,
    bonds,
    chain_map,
    check_bonds,
    check_components,
    modifications,
    selenomethionine_note,
    short_chain_names,
)


@dataclass
class Document:
    """The document, and what is needed to read the result."""

    content: dict[str, Any]
    names: dict[str, str]  # chain of the job → chain in the package's files
    notes: list[str] = field(default_factory=list)

    def chain_map(self) -> dict[str, str]:
        """Chain in the package's files → chain of the job, where they differ."""
        return chain_map(self.names)


def build(job: Mapping[str, Any], alignments: Mapping[int, str]) -> Document:
    """The document of a job; alignments maps the index of a sequence to the path of its alignment.

    Raises Failure with a message that names the field."""
    sequences = job["sequences"]
    for i, s in enumerate(sequences):
        check(i, s)
    check_bonds(sequences, job.get("constraints") or {})
    check_distinct(sequences)
    names = short_chain_names([c for s in sequences for c in s["chains"]])
    shared: dict[str, str] = {}  # one alignment per sequence: the package refuses two
    for i, s in enumerate(sequences):
        if i in alignments:
            shared.setdefault(s["sequence"], alignments[i])
    doc = Document({"version": 1, "sequences": [written(s, names, shared) for s in sequences]}, names)
    constraints = constrain(job.get("constraints") or {}, names)
    if constraints:
        doc.content["constraints"] = constraints
    if any(code == "MSE" for s in sequences for _, code in modifications(s)):
        doc.notes.append(selenomethionine_note("IntelliFold"))
    if any(s["kind"] == "protein" and s["sequence"] not in shared for s in sequences):
        doc.notes.append(SINGLE_SEQUENCE_NOTE)
    return doc


def check(i: int, s: Mapping[str, Any]) -> None:
    """Refuses what the package does not support or silently drops in sequences[i]."""
    if s.get("cyclic"):
        raise unsupported(f"sequences[{i}] is cyclic, which IntelliFold does not know")
    if s.get("property_type") == "affinity":
        raise unsupported(f"sequences[{i}] asks for an affinity, which IntelliFold does not predict")
    check_components(i, s)


def check_distinct(sequences: Sequence[Mapping[str, Any]]) -> None:
    """Refuses two sequences that the package would confuse: it groups by kind and letters, and gives every copy the
    modifications of the first."""
    found: dict[tuple[str, str], int] = {}
    for i, s in enumerate(sequences):
        first = found.setdefault((s["kind"], s["sequence"]), i)
        other = sequences[first]
        if bool(s.get("is_ccd")) != bool(other.get("is_ccd")):
            raise unsupported(
                f"sequences[{first}] and sequences[{i}] are a SMILES and a component's code written alike; "
                "write the SMILES in another way"
            )
        if modifications(s) != modifications(other):
            raise unsupported(
                f"sequences[{first}] and sequences[{i}] have one sequence and differ in their modifications, "
                "which IntelliFold cannot tell apart"
            )


def written(s: Mapping[str, Any], names: Mapping[str, str], alignments: Mapping[str, str]) -> dict[str, Any]:
    """One entry of the document's sequences; alignments maps a sequence to the path of its alignment."""
    out: dict[str, Any] = {"id": [names[c] for c in s["chains"]]}
    if s["kind"] == "ligand":
        out["ccd" if s.get("is_ccd") else "smiles"] = s["sequence"]
        return {"ligand": out}
    out["sequence"] = s["sequence"]
    if s["kind"] == "protein":
        out["msa"] = alignments.get(s["sequence"], "empty")
    if s.get("modifications"):
        out["modifications"] = [{"position": m["res_idx"], "ccd": m["ccd"]} for m in s["modifications"]]
    return {s["kind"]: out}


def constrain(given: Mapping[str, Any], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Bonds in the package's form. It reads pockets too, but leaves them out of the model's input, so they are
    refused."""
    for kind in ("pocket", "contact"):
        if given.get(kind):
            raise unsupported(f"constraints.{kind} has no effect on IntelliFold; it takes constraints.bond alone")
    return bonds(given, names)
