"""A job of the service as the document that `boltz predict` reads. Standard library and foldrun only.

The document is written as JSON, which avoids YAML's traps (a chain named NO, a sequence named ON).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldrun import Template, invalid, unsupported
from foldrun.document import (
    SINGLE_SEQUENCE_NOTE,
    bonds,
    chain_kinds,
    chain_map,
    check_bonds,
    check_components,
    modifications,
    selenomethionine_note,
    short_chain_names,
)

# Å: the default of the package, and the range that its contact conditioning was trained on.
DISTANCE, NEAREST, FARTHEST = 6.0, 4.0, 20.0
# The chain in every file of a template, by its label.
TEMPLATE_CHAIN = "A"
# Letters that replace a modified residue's where two chains have the same sequence; the modification replaces them.
PLACEHOLDERS = "XZBJOU"


@dataclass
class Entity:
    """Chains that Boltz reads as one entity."""

    kind: str
    sequence: str
    chains: list[str]
    ccd: bool = False
    cyclic: bool = False
    modifications: tuple[tuple[int, str], ...] = ()  # (position from 1, CCD code)
    affinity: bool = False
    first: int = 0  # index of its first sequence in the job
    msa: str | None = None  # path of the alignment; None: single sequence
    written: str = ""  # the sequence in the document


@dataclass
class Document:
    """The document, and what is needed to read the result."""

    content: dict[str, Any]
    entities: list[Entity]
    names: dict[str, str] = field(default_factory=dict)  # chain of the job → chain in Boltz's files
    affinity: str | None = None  # the binder's chain in the job
    notes: list[str] = field(default_factory=list)

    def chain_map(self) -> dict[str, str]:
        """Chain in Boltz's files → chain of the job, where they differ."""
        return chain_map(self.names)


def build(
    job: Mapping[str, Any], model: str, alignments: Mapping[int, str], templates: Sequence[Template] = ()
) -> Document:
    """The document of a job. model is boltz-2 or boltz; alignments maps the index of a sequence to the path of its
    alignment; templates are in the order of the job.

    Raises Failure with a message that names the field."""
    check_bonds(job["sequences"], job.get("constraints") or {})
    entities = group(job["sequences"], alignments)
    separate(entities)
    names = short_chain_names([c for e in entities for c in e.chains])
    doc = Document({"version": 1, "sequences": [written(e, names) for e in entities]}, entities, names)
    kinds = chain_kinds(job["sequences"])
    constraints = constrain(job.get("constraints") or {}, model, kinds, names)
    if constraints:
        doc.content["constraints"] = constraints
    if templates:
        doc.content["templates"] = template_entries(templates, model, names)
    doc.affinity = binder(entities)
    if doc.affinity:
        doc.content["properties"] = [{"affinity": {"binder": names[doc.affinity]}}]
    if any(code == "MSE" for e in entities for _, code in e.modifications):
        doc.notes.append(selenomethionine_note("Boltz"))
    if any(e.kind == "protein" and e.msa is None for e in entities):
        doc.notes.append(SINGLE_SEQUENCE_NOTE)
    return doc


def group(sequences: Sequence[Mapping[str, Any]], alignments: Mapping[int, str]) -> list[Entity]:
    """The sequences of a job as entities. Sequences that are equal in every respect are one entity with several
    chains."""
    found: dict[tuple[object, ...], Entity] = {}
    for i, s in enumerate(sequences):
        entity = Entity(
            kind=s["kind"],
            sequence=s["sequence"],
            chains=list(s["chains"]),
            ccd=bool(s.get("is_ccd")),
            cyclic=bool(s.get("cyclic")),
            modifications=tuple(modifications(s)),
            affinity=s.get("property_type") == "affinity",
            first=i,
            msa=alignments.get(i),
        )
        check_components(i, s)
        check_affinity(i, entity)
        key = (entity.kind, entity.sequence, entity.ccd, entity.cyclic, entity.modifications)
        if key not in found:
            found[key] = entity
            continue
        same = found[key]
        if same.affinity or entity.affinity:
            raise unsupported(
                f"sequences[{i}] is the same ligand as sequences[{same.first}]; "
                "the affinity of a ligand is predicted for a single copy"
            )
        same.chains += entity.chains
        same.msa = same.msa or entity.msa
    return list(found.values())


def check_affinity(i: int, entity: Entity) -> None:
    """Refuses an affinity of anything but a ligand of one copy."""
    if entity.affinity and entity.kind != "ligand":
        raise invalid(f"sequences[{i}] asks for an affinity and is a {entity.kind}; the affinity is a ligand's")
    if entity.affinity and not entity.ccd and "." in entity.sequence:
        raise invalid(
            f"sequences[{i}] asks for an affinity and is a SMILES of several molecules, of which Boltz would take one"
        )
    if entity.affinity and len(entity.chains) != 1:
        raise unsupported(
            f"sequences[{i}] has {len(entity.chains)} copies; the affinity of a ligand is predicted for a single copy"
        )


def separate(entities: Sequence[Entity]) -> None:
    """Sets each entity's written sequence so that no two of a kind are equal.

    Boltz groups chains of the same kind and sequence, uses the modifications and the cyclic flag of the first, and
    silently drops those of the others. A modification replaces its residue whatever the letter is, so another letter
    there keeps two entities apart.
    """
    taken: dict[tuple[str, str], Entity] = {}
    for e in sorted(entities, key=lambda e: len(e.modifications)):
        e.written = next((text for text in spellings(e) if (e.kind, text) not in taken), "")
        if e.written:
            taken[e.kind, e.written] = e
            continue
        other = taken[e.kind, e.sequence]
        a, b = sorted((other.first, e.first))
        if e.kind == "ligand":
            raise unsupported(
                f"sequences[{a}] and sequences[{b}] are a SMILES and a component's code written alike "
                f"({e.sequence}); write the SMILES in another way"
            )
        raise unsupported(
            f"sequences[{a}] and sequences[{b}] have the same sequence and only one is cyclic, "
            "which Boltz cannot tell apart"
        )


def spellings(e: Entity) -> Iterator[str]:
    """The sequence, then the sequence with other letters at one modified residue."""
    yield e.sequence
    if e.kind == "ligand":
        return
    for position, _ in e.modifications:
        for letter in PLACEHOLDERS:
            yield e.sequence[: position - 1] + letter + e.sequence[position:]


def written(e: Entity, names: Mapping[str, str]) -> dict[str, Any]:
    """One entry of the document's sequences."""
    out: dict[str, Any] = {"id": [names[c] for c in e.chains]}
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


def binder(entities: Sequence[Entity]) -> str | None:
    """The chain whose affinity the job asks for."""
    asked = [e for e in entities if e.affinity]
    if not asked:
        return None
    if len(asked) > 1:
        raise unsupported(
            f"sequences[{asked[1].first}] asks for an affinity as sequences[{asked[0].first}] does; "
            "one ligand of a job can"
        )
    if not any(e.kind == "protein" for e in entities):
        raise invalid(f"sequences[{asked[0].first}] asks for an affinity and no protein is there to bind")
    return asked[0].chains[0]


def constrain(
    given: Mapping[str, Any], model: str, kinds: Mapping[str, str], names: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The constraints in Boltz's form. kinds maps a chain of the job to its kind."""
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
                raise unsupported(
                    f"constraints.pocket[{i}].contacts[{k}] is on chain {c['chain_id']}, a ligand; "
                    "Boltz takes residues of polymers there"
                )
            contacts.append([names[c["chain_id"]], c["res_idx"]])
        out.append(pocket(names[p["binder"]["chain_id"]], contacts, DISTANCE))
    out += bonds(given, names)
    for i, c in enumerate(given.get("contact") or []):
        out.append(contact(i, c, kinds, names))
    return out


def template_entries(templates: Sequence[Template], model: str, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """The templates in Boltz's form, one entry for each chain. The package names a template by its file, and reads
    entries of one name as one template, in which the chains have their places to each other: so each has its own."""
    if model != "boltz-2":
        raise unsupported(f"constraints.templates is not taken by the model {model}; boltz-2 does")
    out: list[dict[str, Any]] = []
    for t in templates:
        entry: dict[str, Any] = {"cif": str(t.path), "chain_id": names[t.chain], "template_id": TEMPLATE_CHAIN}
        if t.force:
            entry |= {"force": True, "threshold": t.max_distance}
        out.append(entry)
    return out


def pocket(binder: str, contacts: list[list[Any]], distance: float) -> dict[str, Any]:
    """A pocket as the document has it: contacts are [chain, residue from 1 or atom name], the distance is in Å."""
    return {"pocket": {"binder": binder, "contacts": contacts, "max_distance": distance}}


def contact(i: int, c: Mapping[str, Any], kinds: Mapping[str, str], names: Mapping[str, str]) -> dict[str, Any]:
    """A contact of two residues. With a ligand it becomes a pocket of one residue, which means the same: some atom of
    the ligand within the distance."""
    distance = c.get("distance") or DISTANCE
    if not NEAREST <= distance <= FARTHEST:
        raise invalid(f"constraints.contact[{i}].distance is {distance:g}; Boltz takes {NEAREST:g} to {FARTHEST:g} Å")
    a, b = [c["chainA"], c["res_idxA"]], [c["chainB"], c["res_idxB"]]
    ligands = [kinds[a[0]] == "ligand", kinds[b[0]] == "ligand"]
    if all(ligands):
        raise unsupported(
            f"constraints.contact[{i}] is between two ligands; Boltz takes contacts in which a polymer has part"
        )
    if ligands[0]:
        a, b = b, a
    first, second = [names[a[0]], a[1]], [names[b[0]], b[1]]
    if any(ligands):
        return pocket(second[0], [first], distance)
    return {"contact": {"token1": first, "token2": second, "max_distance": distance}}


def parallel(samples: int, most: int) -> int:
    """The value of max_parallel_samples that runs at most `most` samples at once.

    The package splits the samples into (samples mod value) + 1 parts, so the value is not the number of its name."""

    def size(value: int) -> int:
        parts = samples % value + 1
        return -(-samples // parts)

    fitting = [v for v in range(1, samples + 2) if size(v) <= max(1, most)]
    return max(fitting, key=lambda v: (size(v), -v))
