"""What Boltz reads: a job of the service as the document that `boltz predict` takes. Pure: standard library only.

The document is written as JSON, which is YAML without its traps (a chain named NO, a sequence named ON).
"""

import re
from dataclasses import dataclass, field

# Boltz keeps names of chains in five characters and puts them into the file it writes.
CHAIN = re.compile(r"[A-Za-z0-9]{1,4}")
# A component's code becomes the name of a file that is unpickled: nothing else may reach that.
CCD = re.compile(r"[A-Z0-9]{1,5}")
# Å: the default of the package, and what its contact conditioning was trained on.
DISTANCE, NEAREST, FARTHEST = 6.0, 4.0, 20.0
# Letters for a modified residue, where a chain must be told from one with the same sequence; the modification replaces them.
PLACEHOLDERS = "XZBJOU"


class Refused(Exception):
    """A job that Boltz cannot take as it is."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code, self.message = code, message


def invalid(message: str) -> Refused:
    return Refused("invalid_input", message)


def unsupported(message: str) -> Refused:
    return Refused("unsupported", message)


@dataclass
class Entity:
    """Chains that Boltz reads as one entity."""

    kind: str
    sequence: str
    chains: list
    ccd: bool = False
    cyclic: bool = False
    modifications: tuple = ()  # (position from 1, CCD code)
    affinity: bool = False
    first: int = 0  # index of the first sequence of the job that it stands for
    msa: "str | None" = None  # path of the alignment; None: single sequence
    written: str = ""  # the sequence as the document has it


@dataclass
class Document:
    """The document, and what is needed to read the answer."""

    content: dict
    entities: list
    names: dict = field(default_factory=dict)  # chain of the job → chain in Boltz's files
    affinity: "str | None" = None  # the binder's chain in the job
    notes: list = field(default_factory=list)

    def chain_map(self) -> dict:
        """Chain in Boltz's files → chain of the job, where they differ."""
        return {boltz: job for job, boltz in self.names.items() if boltz != job}


def build(job: dict, model: str, alignments: dict) -> Document:
    """The document of a job. model is boltz-2 or boltz; alignments maps the index of a sequence to the path of its alignment.

    Raises Refused, its message naming the field."""
    entities = group(job["sequences"], alignments)
    separate(entities)
    names = chain_names([c for e in entities for c in e.chains])
    doc = Document({"version": 1, "sequences": [written(e, names) for e in entities]}, entities, names)
    kinds = {c: e.kind for e in entities for c in e.chains}
    constraints = constrain(job.get("constraints") or {}, model, kinds, names)
    if constraints:
        doc.content["constraints"] = constraints
    doc.affinity = binder(entities)
    if doc.affinity:
        doc.content["properties"] = [{"affinity": {"binder": names[doc.affinity]}}]
    if any(code == "MSE" for e in entities for _, code in e.modifications):
        doc.notes.append("Boltz folds selenomethionine (MSE) as methionine.")
    if any(e.kind == "protein" and e.msa is None for e in entities):
        doc.notes.append("Protein chains without an alignment were folded from their single sequences, which lowers the accuracy of this model.")
    return doc


def group(sequences: list, alignments: dict) -> list:
    """Sequences of a job as entities: what is the same in every respect is one entity with several chains."""
    found = {}
    for i, s in enumerate(sequences):
        entity = Entity(
            kind=s["kind"], sequence=s["sequence"], chains=list(s["chains"]), ccd=bool(s.get("is_ccd")), cyclic=bool(s.get("cyclic")),
            modifications=tuple(sorted((m["res_idx"], m["ccd"]) for m in s.get("modifications") or [])),
            affinity=s.get("property_type") == "affinity", first=i, msa=alignments.get(i),
        )  # fmt: skip
        check(entity, i)
        key = (entity.kind, entity.sequence, entity.ccd, entity.cyclic, entity.modifications)
        if key not in found:
            found[key] = entity
            continue
        same = found[key]
        if same.affinity or entity.affinity:
            raise unsupported(f"sequences[{i}] is the same ligand as sequences[{same.first}]; the affinity of a ligand is predicted for a single copy")
        same.chains += entity.chains
        same.msa = same.msa or entity.msa
    return list(found.values())


def check(entity: Entity, i: int):
    codes = [code for _, code in entity.modifications] + ([entity.sequence] if entity.ccd else [])
    for code in codes:
        if not CCD.fullmatch(code):
            raise invalid(f"sequences[{i}] names the chemical component {code[:20]!r}; a code has 1 to 5 capital letters and digits")
    for position, code in entity.modifications:
        if not 1 <= position <= len(entity.sequence):
            raise invalid(f"sequences[{i}] has the modification {code} at residue {position}; its residues are 1 to {len(entity.sequence)}")
    positions = [p for p, _ in entity.modifications]
    if len(positions) != len(set(positions)):
        raise invalid(f"sequences[{i}] has two modifications at one residue")
    if entity.affinity and entity.kind != "ligand":
        raise invalid(f"sequences[{i}] asks for an affinity and is a {entity.kind}; the affinity is a ligand's")
    if entity.affinity and len(entity.chains) != 1:
        raise unsupported(f"sequences[{i}] has {len(entity.chains)} copies; the affinity of a ligand is predicted for a single copy")


def separate(entities: list):
    """Writes every entity's sequence so that no two of a kind are alike.

    Boltz groups what has the same kind and sequence, takes the modifications and the ring of the first and drops the others'
    without a word. A modification replaces its residue whatever the letter was, so another letter there keeps two apart.
    """
    taken = {}
    for e in sorted(entities, key=lambda e: len(e.modifications)):
        e.written = next((text for text in spellings(e) if (e.kind, text) not in taken), "")
        if e.written:
            taken[e.kind, e.written] = e
            continue
        other = taken[e.kind, e.sequence]
        a, b = sorted((other.first, e.first))
        if e.kind == "ligand":
            raise unsupported(f"sequences[{a}] and sequences[{b}] are a SMILES and a component's code written alike ({e.sequence}); write the SMILES in another way")
        raise unsupported(f"sequences[{a}] and sequences[{b}] have one sequence and differ in being cyclic, which Boltz cannot tell apart")


def spellings(e: Entity):
    """The sequence, then with other letters at a modified residue."""
    yield e.sequence
    if e.kind == "ligand":
        return
    for position, _ in e.modifications:
        for letter in PLACEHOLDERS:
            yield e.sequence[: position - 1] + letter + e.sequence[position:]


def chain_names(chains: list) -> dict:
    """Chain of the job → a name that Boltz can hold: the same where it fits."""
    names = {c: c for c in chains if CHAIN.fullmatch(c)}
    number = 0
    for c in chains:
        while c not in names:
            number += 1
            if f"x{number}" not in names.values():
                names[c] = f"x{number}"
    return names


def written(e: Entity, names: dict) -> dict:
    """One entry of the document's sequences."""
    out = {"id": [names[c] for c in e.chains]}
    if e.kind == "ligand":
        out["ccd" if e.ccd else "smiles"] = e.written
        return {"ligand": out}
    out["sequence"] = e.written
    if e.kind == "protein":
        out["msa"] = e.msa or "empty"
    if e.modifications:
        out["modifications"] = [{"position": p, "ccd": code} for p, code in e.modifications]
    if e.cyclic:
        out["cyclic"] = True
    return {e.kind: out}


def binder(entities: list) -> "str | None":
    """The chain whose affinity is asked for."""
    asked = [e for e in entities if e.affinity]
    if not asked:
        return None
    if len(asked) > 1:
        raise unsupported(f"sequences[{asked[1].first}] asks for an affinity as sequences[{asked[0].first}] does; one ligand of a job can")
    if not any(e.kind == "protein" for e in entities):
        raise invalid(f"sequences[{asked[0].first}] asks for an affinity and no protein is there to bind")
    return asked[0].chains[0]


def constrain(given: dict, model: str, kinds: dict, names: dict) -> list:
    """The constraints in Boltz's form."""
    out = []
    pockets = given.get("pocket") or []
    if model == "boltz" and len(pockets) > 1:
        raise unsupported(f"constraints.pocket has {len(pockets)} entries; the model boltz takes one")
    if model == "boltz" and given.get("contact"):
        raise unsupported("constraints.contact is not taken by the model boltz; boltz-2 does")
    for i, p in enumerate(pockets):
        contacts = []
        for k, c in enumerate(p["contacts"]):
            if kinds[c["chain_id"]] == "ligand":
                raise unsupported(f"constraints.pocket[{i}].contacts[{k}] is on chain {c['chain_id']}, a ligand; Boltz takes residues of polymers there")
            contacts.append([names[c["chain_id"]], c["res_idx"]])
        out.append({"pocket": {"binder": names[p["binder"]["chain_id"]], "contacts": contacts, "max_distance": DISTANCE}})
    for b in given.get("bond") or []:
        out.append({"bond": {n: [names[b[n]["chain_id"]], b[n]["res_idx"], b[n]["atom_name"]] for n in ("atom1", "atom2")}})
    for i, c in enumerate(given.get("contact") or []):
        out.append(contact(i, c, kinds, names))
    return out


def contact(i: int, c: dict, kinds: dict, names: dict) -> dict:
    """A contact of two residues. With a ligand it becomes a pocket of one residue, which means the same: some atom of the ligand
    within the distance."""
    distance = c.get("distance") or DISTANCE
    if not NEAREST <= distance <= FARTHEST:
        raise invalid(f"constraints.contact[{i}].distance is {distance:g}; Boltz takes {NEAREST:g} to {FARTHEST:g} Å")
    a, b = [c["chainA"], c["res_idxA"]], [c["chainB"], c["res_idxB"]]
    ligands = [kinds[a[0]] == "ligand", kinds[b[0]] == "ligand"]
    if all(ligands):
        raise unsupported(f"constraints.contact[{i}] is between two ligands; Boltz takes contacts in which a polymer has part")
    if ligands[0]:
        a, b = b, a
    first, second = [names[a[0]], a[1]], [names[b[0]], b[1]]
    if any(ligands):
        return {"pocket": {"binder": second[0], "contacts": [first], "max_distance": distance}}
    return {"contact": {"token1": first, "token2": second, "max_distance": distance}}


def parallel(samples: int, most: int) -> int:
    """The value of max_parallel_samples for at most so many samples at once.

    The package splits the samples into (samples mod value) + 1 parts, so the value is not the number that its name says."""

    def size(value):
        parts = samples % value + 1
        return -(-samples // parts)

    fitting = [v for v in range(1, samples + 2) if size(v) <= max(1, most)]
    return max(fitting, key=lambda v: (size(v), -v))
