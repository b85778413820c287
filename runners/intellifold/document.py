"""What IntelliFold reads: a job of the service as the document that `intellifold predict` takes. Pure: standard library only.

The document is written as JSON, which is YAML without its traps (a chain named NO, a sequence named ON).
"""

import re
from dataclasses import dataclass, field

# The package keeps names of chains in five characters.
CHAIN = re.compile(r"[A-Za-z0-9]{1,4}")
CCD = re.compile(r"[A-Z0-9]{1,5}")


class Refused(Exception):
    """A job that IntelliFold cannot take as it is."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code, self.message = code, message


@dataclass
class Document:
    """The document, and what is needed to read the answer."""

    content: dict
    names: dict  # chain of the job → chain in the package's files
    notes: list = field(default_factory=list)

    def chain_map(self) -> dict:
        """Chain in the package's files → chain of the job, where they differ."""
        return {theirs: job for job, theirs in self.names.items() if theirs != job}


def build(job: dict, alignments: dict) -> Document:
    """The document of a job; alignments maps the index of a sequence to the path of its alignment.

    Raises Refused, its message naming the field."""
    sequences = job["sequences"]
    for i, s in enumerate(sequences):
        check(i, s)
    alike(sequences)
    names = chain_names([c for s in sequences for c in s["chains"]])
    shared = {}  # one sequence, one alignment: the package refuses two
    for i, s in enumerate(sequences):
        if i in alignments:
            shared.setdefault(s["sequence"], alignments[i])
    doc = Document({"version": 1, "sequences": [written(s, names, shared) for s in sequences]}, names)
    bonds = constrain(job.get("constraints") or {}, names)
    if bonds:
        doc.content["constraints"] = bonds
    if any(m["ccd"] == "MSE" for s in sequences for m in s.get("modifications") or []):
        doc.notes.append("IntelliFold folds selenomethionine (MSE) as methionine.")
    if any(s["kind"] == "protein" and s["sequence"] not in shared for s in sequences):
        doc.notes.append("Protein chains without an alignment were folded from their single sequences, which lowers the accuracy of this model.")
    return doc


def check(i: int, s: dict):
    """What of one sequence the package does not know, or drops without a word."""
    if s.get("cyclic"):
        raise Refused("unsupported", f"sequences[{i}] is cyclic, which IntelliFold does not know")
    if s.get("property_type") == "affinity":
        raise Refused("unsupported", f"sequences[{i}] asks for an affinity, which IntelliFold does not predict")
    modifications = s.get("modifications") or []
    for code in [m["ccd"] for m in modifications] + ([s["sequence"]] if s.get("is_ccd") else []):
        if not CCD.fullmatch(code):
            raise Refused("invalid_input", f"sequences[{i}] names the chemical component {code[:20]!r}; a code has 1 to 5 capital letters and digits")
    for m in modifications:
        if not 1 <= m["res_idx"] <= len(s["sequence"]):
            raise Refused("invalid_input", f"sequences[{i}] has the modification {m['ccd']} at residue {m['res_idx']}; its residues are 1 to {len(s['sequence'])}")
    if len({m["res_idx"] for m in modifications}) != len(modifications):
        raise Refused("invalid_input", f"sequences[{i}] has two modifications at one residue")


def alike(sequences: list):
    """Refuses two sequences that the package would take for one: it groups what has the same kind and letters, and gives every copy
    the modifications of the first."""
    found = {}
    for i, s in enumerate(sequences):
        first = found.setdefault((s["kind"], s["sequence"]), i)
        other = sequences[first]
        if bool(s.get("is_ccd")) != bool(other.get("is_ccd")):
            raise Refused("unsupported", f"sequences[{first}] and sequences[{i}] are a SMILES and a component's code written alike; write the SMILES in another way")
        if changes(s) != changes(other):
            raise Refused("unsupported", f"sequences[{first}] and sequences[{i}] have one sequence and differ in their modifications, which IntelliFold cannot tell apart")


def changes(s: dict) -> set:
    return {(m["res_idx"], m["ccd"]) for m in s.get("modifications") or []}


def chain_names(chains: list) -> dict:
    """Chain of the job → a name that the package can hold: the same where it fits."""
    names = {c: c for c in chains if CHAIN.fullmatch(c)}
    number = 0
    for c in chains:
        while c not in names:
            number += 1
            if f"x{number}" not in names.values():
                names[c] = f"x{number}"
    return names


def written(s: dict, names: dict, alignments: dict) -> dict:
    """One entry of the document's sequences."""
    out = {"id": [names[c] for c in s["chains"]]}
    if s["kind"] == "ligand":
        out["ccd" if s.get("is_ccd") else "smiles"] = s["sequence"]
        return {"ligand": out}
    out["sequence"] = s["sequence"]
    if s["kind"] == "protein":
        out["msa"] = alignments.get(s["sequence"], "empty")
    if s.get("modifications"):
        out["modifications"] = [{"position": m["res_idx"], "ccd": m["ccd"]} for m in s["modifications"]]
    return {s["kind"]: out}


def constrain(given: dict, names: dict) -> list:
    """Bonds in the package's form. It reads pockets too and leaves them out of the model's input, so they are refused."""
    for kind in ("pocket", "contact"):
        if given.get(kind):
            raise Refused("unsupported", f"constraints.{kind} has no effect on IntelliFold; it takes constraints.bond alone")
    return [{"bond": {n: [names[b[n]["chain_id"]], b[n]["res_idx"], b[n]["atom_name"]] for n in ("atom1", "atom2")}} for b in given.get("bond") or []]
