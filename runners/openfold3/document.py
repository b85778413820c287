"""What OpenFold3 reads: a job of the service as a query of `run_openfold predict`. Pure: standard library only."""

import re
from dataclasses import dataclass, field

CCD = re.compile(r"[A-Z0-9]{1,5}")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_CHAINS = 26 + 26 * 26  # names of one letter and of two
# The package reads the name of an alignment's kind from its file, and which chains share one from its folder.
MAIN, PAIRED = "colabfold_main.a3m", "colabfold_paired.a3m"
ALIGNED = ("protein", "rna")


class Refused(Exception):
    """A job that OpenFold3 cannot take as it is."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code, self.message = code, message


def invalid(message: str) -> Refused:
    return Refused("invalid_input", message)


def unsupported(message: str) -> Refused:
    return Refused("unsupported", message)


@dataclass
class Document:
    """The query, and what is needed to read the answer."""

    query: dict
    names: dict  # chain of the job → chain in the package's files
    entities: dict  # chain in the package's files → number of its entity, from 1
    alignments: dict  # path below the folder of the work → A3M text
    notes: list = field(default_factory=list)

    def chain_map(self) -> dict:
        """Chain in the package's files → chain of the job, where they differ."""
        return {ours: job for job, ours in self.names.items() if ours != job}


def build(job: dict, alignments: dict, folder: str) -> Document:
    """The query of a job. alignments maps the index of a sequence to its rows, alone and paired, each a list that begins with the
    sequence itself, or empty; folder is where the alignments will lie.

    Raises Refused, its message naming the field."""
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


def check(i: int, s: dict):
    modifications = s.get("modifications") or []
    for code in [m["ccd"] for m in modifications] + ([s["sequence"]] if s.get("is_ccd") else []):
        if not CCD.fullmatch(code):
            raise invalid(f"sequences[{i}] names the chemical component {code[:20]!r}; a code has 1 to 5 capital letters and digits")
    for m in modifications:
        if not 1 <= m["res_idx"] <= len(s["sequence"]):
            raise invalid(f"sequences[{i}] has the modification {m['ccd']} at residue {m['res_idx']}; its residues are 1 to {len(s['sequence'])}")
    if len({m["res_idx"] for m in modifications}) != len(modifications):
        raise invalid(f"sequences[{i}] has two modifications at one residue")
    if s.get("property_type") == "affinity":
        raise unsupported(f"sequences[{i}] asks for an affinity, which OpenFold3 does not predict")


def chain_names(chains: list) -> dict:
    """Chain of the job → A, B, … Z, AA, AB …: the package cuts names after four characters without a word."""
    if len(chains) > MOST_CHAINS:
        raise Refused("too_large", f"the job has {len(chains)} chains; OpenFold3 takes {MOST_CHAINS} here")
    out = {}
    for n, c in enumerate(chains):
        out[c] = LETTERS[n] if n < 26 else LETTERS[n // 26 - 1] + LETTERS[n % 26]
    return out


def entities(sequences: list, names: dict) -> dict:
    """Which chains are copies of one another. The package looks at the sequence alone, so that an RNA and a protein of the same
    letters, or a chain and its modified copy, would be one entity."""
    numbers, out = {}, {}
    for s in sequences:
        changes = tuple(sorted((m["res_idx"], m["ccd"]) for m in s.get("modifications") or []))
        key = (s["kind"], s["sequence"], bool(s.get("is_ccd")), bool(s.get("cyclic")), changes)
        for c in s["chains"]:
            out[names[c]] = numbers.setdefault(key, len(numbers) + 1)
    return out


def align(doc: Document, sequences: list, alignments: dict) -> dict:
    """Lays out the files of alignments and returns where they are, by kind and sequence, which chains share.

    Every protein and RNA has at least itself: without, the package leaves its profile empty. Paired rows are of one organism across
    the chains, so all have the same number of them."""
    given, places = {}, {}
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
        doc.notes.append("Protein chains without an alignment were folded from their single sequences, which lowers the accuracy of this model.")
    return places


def a3m(rows: list) -> str:
    return "".join(f">{'query' if k == 0 else f'r{k}'}\n{row}\n" for k, row in enumerate(rows))


def chain(s: dict, names: dict, place: dict, folder: str) -> dict:
    """One entry of the query's chains: a sequence of the job with its copies."""
    out = {"molecule_type": s["kind"], "chain_ids": [names[c] for c in s["chains"]]}
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


def constrain(sequences: list, given: dict, names: dict) -> "dict | None":
    """The one constraint that the package keeps: residues that line the pocket of a ligand."""
    if given.get("bond"):
        raise unsupported("constraints.bond is not taken by OpenFold3: it reads covalent bonds and passes over them")
    if given.get("contact"):
        raise unsupported("constraints.contact is not taken by OpenFold3; constraints.pocket of a ligand is")
    pockets = given.get("pocket") or []
    if not pockets:
        return None
    if len(pockets) > 1:
        raise unsupported(f"constraints.pocket has {len(pockets)} entries; OpenFold3 takes one")
    kinds = {c: s["kind"] for s in sequences for c in s["chains"]}
    binder = pockets[0]["binder"]["chain_id"]
    if kinds[binder] != "ligand":
        raise unsupported(f"constraints.pocket[0].binder is chain {binder}, a {kinds[binder]}; OpenFold3 takes the pocket of a ligand")
    for k, c in enumerate(pockets[0]["contacts"]):
        if kinds[c["chain_id"]] == "ligand":
            raise unsupported(f"constraints.pocket[0].contacts[{k}] is on chain {c['chain_id']}, a ligand; OpenFold3 takes residues of polymers there")
    return {"ligand_chain_id": names[binder], "pocket_residues": [[names[c["chain_id"]], c["res_idx"]] for c in pockets[0]["contacts"]]}
