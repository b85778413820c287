"""A job of the service as the document that `protenix pred` reads. Standard library and foldrun only.

Copies of one entity are one entry with a count, as the package expects: two entries are two entities for the model,
even if their sequences are equal. Ions are written as ligands, because the package forgets an entry "ion" when it
numbers the chains of alignments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldrun import invalid, unsupported
from foldrun.document import (
    SINGLE_SEQUENCE_NOTE,
    chain_map,
    check_bonds,
    check_components,
    modifications,
    selenomethionine_note,
    short_chain_names,
)

NAME = "job"
KINDS = {"protein": "proteinChain", "rna": "rnaSequence", "dna": "dnaSequence", "ligand": "ligand"}
# Letters that the package has a residue for; any other letter ends it with a KeyError.
LETTERS = {"protein": set("ARNDCQEGHILKMFPSTWYVX"), "rna": set("AGCUXIN"), "dna": set("AGCTXINU")}
# The package gives up at more.
MAX_SMILES = 99


@dataclass
class Document:
    """The document, and what is needed to read the result."""

    content: dict[str, Any]
    names: dict[str, str]  # chain of the job → chain in the package's files
    templates: list[list[str]]  # of each entry with templates, in the order of the entries: their paths
    notes: list[str] = field(default_factory=list)

    def chain_map(self) -> dict[str, str]:
        """Chain in the package's files → chain of the job, where they differ."""
        return chain_map(self.names)


def build(
    job: Mapping[str, Any],
    alignments: Mapping[int, Mapping[str, str]],
    templates: Mapping[str, Sequence[str]],
    placeholder: str = "",
) -> Document:
    """The document of a job. alignments has the paths of a sequence's alignments by the package's name of them, and
    templates those of a chain's templates. placeholder is the path that entries with templates name.

    Raises Failure with a message that names the field."""
    sequences = job["sequences"]
    for i, s in enumerate(sequences):
        check(i, s)
    check_bonds(sequences, job.get("constraints") or {})
    if sum(s["kind"] == "ligand" and not s.get("is_ccd") for s in sequences) > MAX_SMILES:
        raise unsupported(f"Protenix takes at most {MAX_SMILES} ligands by SMILES")
    names = short_chain_names([c for s in sequences for c in s["chains"]])
    entries: dict[tuple[Any, ...], dict[str, Any]] = {}
    places: dict[str, tuple[int, int]] = {}  # chain of the job → its entry and copy, from 1
    with_templates: dict[tuple[Any, ...], list[str]] = {}
    for i, s in enumerate(sequences):
        for chain in s["chains"]:
            given = list(templates.get(chain, []))
            key = (s["kind"], s["sequence"], bool(s.get("is_ccd")), tuple(modifications(s)), tuple(given))
            if key not in entries:
                entries[key] = written(s, alignments.get(i, {})) | {"count": 0, "id": []}
                if given:
                    entries[key]["templatesPath"] = placeholder
                    with_templates[key] = given
            entries[key]["count"] += 1
            entries[key]["id"].append(names[chain])
            places[chain] = (list(entries).index(key) + 1, entries[key]["count"])
    content: dict[str, Any] = {"name": NAME, "sequences": [{KINDS[k[0]]: e} for k, e in entries.items()]}
    bonds = constrain(job.get("constraints") or {}, places)
    if bonds:
        content["covalent_bonds"] = bonds
    doc = Document(content, names, list(with_templates.values()))
    if any(code == "MSE" for s in sequences for _, code in modifications(s)):
        doc.notes.append(selenomethionine_note("Protenix"))
    if any(s["kind"] == "protein" and i not in alignments for i, s in enumerate(sequences)):
        doc.notes.append(SINGLE_SEQUENCE_NOTE)
    return doc


def check(i: int, s: Mapping[str, Any]) -> None:
    """Refuses what the package does not know or cannot read in sequences[i]."""
    if s.get("cyclic"):
        raise unsupported(f"sequences[{i}] is cyclic, which Protenix does not know")
    if s.get("property_type") == "affinity":
        raise unsupported(f"sequences[{i}] asks for an affinity, which Protenix does not predict")
    check_components(i, s)
    for k, c in enumerate(s["sequence"] if s["kind"] != "ligand" else ""):
        if c not in LETTERS[s["kind"]]:
            raise invalid(f"residue {k + 1} of sequences[{i}] is {c!r}, which Protenix does not know")
    if s["kind"] == "ligand" and not s.get("is_ccd") and s["sequence"].startswith(("CCD_", "FILE_")):
        raise invalid(f"sequences[{i}] is not a SMILES")  # to the package these are codes and files


def written(s: Mapping[str, Any], alignments: Mapping[str, str]) -> dict[str, Any]:
    """One entry of the document's sequences, without its chains."""
    if s["kind"] == "ligand":
        return {"ligand": f"CCD_{s['sequence']}" if s.get("is_ccd") else s["sequence"]}
    out: dict[str, Any] = {"sequence": s["sequence"], **alignments}
    changes = modifications(s)
    if changes and s["kind"] == "protein":
        out["modifications"] = [{"ptmPosition": at, "ptmType": f"CCD_{code}"} for at, code in changes]
    elif changes:
        out["modifications"] = [{"basePosition": at, "modificationType": f"CCD_{code}"} for at, code in changes]
    return out


def constrain(given: Mapping[str, Any], places: Mapping[str, tuple[int, int]]) -> list[dict[str, Any]]:
    """Bonds in the package's form. These models were trained without its pockets and contacts."""
    for kind in ("pocket", "contact"):
        if given.get(kind):
            raise unsupported(f"constraints.{kind} has no effect on this model; it takes constraints.bond alone")
    out = []
    for bond in given.get("bond") or []:
        entry: dict[str, Any] = {}
        for n, end in ((1, bond["atom1"]), (2, bond["atom2"])):
            number, copy = places[end["chain_id"]]
            entry |= {
                f"entity{n}": number,
                f"copy{n}": copy,
                f"position{n}": end["res_idx"],
                f"atom{n}": end["atom_name"],
            }
        out.append(entry)
    return out


def a3m(rows: Sequence[str], paired: bool) -> str:
    """Rows as the package's A3M. It pairs rows of several chains that have the same species in the name."""
    out = [f">query\n{rows[0]}"]
    for k, row in enumerate(rows[1:], 1):
        if row.strip("-"):
            out.append(f">UniRef100_{k}_{k}\n{row}" if paired else f">{k}\n{row}")
    return "\n".join(out) + "\n"
