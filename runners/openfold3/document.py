"""A job of the service as a query of `run_openfold predict`. Standard library and foldrun only."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldrun import too_large, unsupported
from foldrun.document import SINGLE_SEQUENCE_NOTE, chain_kinds, chain_map, check_components, modifications

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MAX_CHAINS = 26 + 26 * 26  # names of one letter and of two
# The package reads the kind of an alignment from its file name, and which chains share one from its folder.
MAIN, PAIRED = "colabfold_main.a3m", "colabfold_paired.a3m"
ALIGNED = ("protein", "rna")

Alignments = Mapping[int, tuple[list[str], list[str]]]  # index of a sequence → its unpaired and paired rows


@dataclass
class Document:
    """The query, and what is needed to read the result."""

    query: dict[str, Any]
    names: dict[str, str]  # chain of the job → chain in the package's files
    entities: dict[str, int]  # chain in the package's files → number of its entity, from 1
    alignments: dict[str, str]  # path below the folder of the alignments → A3M text
    notes: list[str] = field(default_factory=list)

    def chain_map(self) -> dict[str, str]:
        """Chain in the package's files → chain of the job, where they differ."""
        return chain_map(self.names)


def build(job: Mapping[str, Any], alignments: Alignments, folder: str) -> Document:
    """The query of a job. Each list of an alignment's rows begins with the sequence itself, or is empty; folder is
    where the alignments will be written.

    Raises Failure with a message that names the field."""
    sequences = job["sequences"]
    for i, s in enumerate(sequences):
        check(i, s)
    names = chain_names([c for s in sequences for c in s["chains"]])
    doc = Document({}, names, entities(sequences, names), {})
    places = align(doc, sequences, alignments)
    doc.query = {"chains": [chain(s, names, places.get((s["kind"], s["sequence"]), {}), folder) for s in sequences]}
    pocket = constrain(sequences, job.get("constraints") or {}, names)
    if pocket:
        doc.query["pocket_constraint"] = pocket
    return doc


def check(i: int, s: Mapping[str, Any]) -> None:
    """Refuses malformed components in sequences[i], and an affinity."""
    check_components(i, s)
    if s.get("property_type") == "affinity":
        raise unsupported(f"sequences[{i}] asks for an affinity, which OpenFold3 does not predict")


def chain_names(chains: Sequence[str]) -> dict[str, str]:
    """Chain of the job → A, B, … Z, AA, AB …: the package silently cuts names after four characters."""
    if len(chains) > MAX_CHAINS:
        raise too_large(f"the job has {len(chains)} chains; OpenFold3 takes {MAX_CHAINS} here")
    out = {}
    for n, c in enumerate(chains):
        out[c] = LETTERS[n] if n < 26 else LETTERS[n // 26 - 1] + LETTERS[n % 26]
    return out


def entities(sequences: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> dict[str, int]:
    """Which chains are copies of one another. The package compares the sequence alone, so that an RNA and a protein of
    the same letters, or a chain and its modified copy, would be one entity."""
    numbers: dict[tuple[object, ...], int] = {}
    out = {}
    for s in sequences:
        changes = tuple(modifications(s))
        key = (s["kind"], s["sequence"], bool(s.get("is_ccd")), bool(s.get("cyclic")), changes)
        for c in s["chains"]:
            out[names[c]] = numbers.setdefault(key, len(numbers) + 1)
    return out


def align(
    doc: Document, sequences: Sequence[Mapping[str, Any]], alignments: Alignments
) -> dict[tuple[str, str], dict[str, str]]:
    """Adds the alignment files to doc. Returns their paths (main, paired) by kind and sequence; equal chains share
    them.

    Every protein and RNA has at least its own row: without it the package leaves the profile empty. Paired rows belong
    to one organism across the chains, so all chains have the same number of them."""
    given: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    places = {}
    for i, s in enumerate(sequences):
        if s["kind"] in ALIGNED and not any(given.setdefault((s["kind"], s["sequence"]), ([], []))):
            given[s["kind"], s["sequence"]] = alignments.get(i, ([], []))
    depth = max((len(paired) for _, paired in given.values()), default=0)
    for n, (key, (alone, paired)) in enumerate(given.items()):
        place = places[key] = {"main": f"alignments/main/s{n}/{MAIN}"}
        doc.alignments[place["main"]] = a3m(alone or [key[1]])
        if paired:
            place["paired"] = f"alignments/paired/s{n}/{PAIRED}"
            doc.alignments[place["paired"]] = a3m(paired + ["-" * len(key[1])] * (depth - len(paired)))
    if any(key[0] == "protein" and not any(rows) for key, rows in given.items()):
        doc.notes.append(SINGLE_SEQUENCE_NOTE)
    return places


def a3m(rows: Iterable[str]) -> str:
    """Rows as an A3M file, whose first row is named query."""
    return "".join(f">{'query' if k == 0 else f'r{k}'}\n{row}\n" for k, row in enumerate(rows))


def chain(s: Mapping[str, Any], names: Mapping[str, str], place: Mapping[str, str], folder: str) -> dict[str, Any]:
    """One entry of the query's chains: a sequence of the job with its copies."""
    out: dict[str, Any] = {"molecule_type": s["kind"], "chain_ids": [names[c] for c in s["chains"]]}
    if s["kind"] == "ligand":
        return out | ({"ccd_codes": [s["sequence"]]} if s.get("is_ccd") else {"smiles": s["sequence"]})
    out["sequence"] = s["sequence"]
    if s.get("modifications"):
        out["non_canonical_residues"] = {str(m["res_idx"]): m["ccd"] for m in s["modifications"]}
    if s.get("cyclic"):
        out["cyclic"] = True
    if place:
        out["main_msa_file_paths"] = [f"{folder}/{place['main']}"]
    if "paired" in place:
        out["paired_msa_file_paths"] = [f"{folder}/{place['paired']}"]
    return out


def constrain(
    sequences: Iterable[Mapping[str, Any]], given: Mapping[str, Any], names: Mapping[str, str]
) -> dict[str, Any] | None:
    """The only constraint that the package uses: residues that line the pocket of a ligand."""
    if given.get("bond"):
        raise unsupported("constraints.bond is not taken by OpenFold3: it reads covalent bonds and ignores them")
    if given.get("contact"):
        raise unsupported("constraints.contact is not taken by OpenFold3; constraints.pocket of a ligand is")
    pockets = given.get("pocket") or []
    if not pockets:
        return None
    if len(pockets) > 1:
        raise unsupported(f"constraints.pocket has {len(pockets)} entries; OpenFold3 takes one")
    kinds = chain_kinds(sequences)
    binder = pockets[0]["binder"]["chain_id"]
    if kinds[binder] != "ligand":
        raise unsupported(
            f"constraints.pocket[0].binder is chain {binder}, a {kinds[binder]}; OpenFold3 takes the pocket of a ligand"
        )
    for k, c in enumerate(pockets[0]["contacts"]):
        if kinds[c["chain_id"]] == "ligand":
            raise unsupported(
                f"constraints.pocket[0].contacts[{k}] is on chain {c['chain_id']}, a ligand; "
                "OpenFold3 takes residues of polymers there"
            )
    residues = [[names[c["chain_id"]], c["res_idx"]] for c in pockets[0]["contacts"]]
    return {"ligand_chain_id": names[binder], "pocket_residues": residues}
