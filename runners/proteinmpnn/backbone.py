"""The structure whose sequence is designed: what a spec selects of it, and how a design is written. gemmi and the
standard library only."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gemmi

from foldrun import invalid

BACKBONE = ("N", "CA", "C", "O")
LETTERS = "ACDEFGHIKLMNPQRSTVWY"
THREE = dict(zip(LETTERS, gemmi.expand_one_letter_sequence(LETTERS, gemmi.ResidueKind.AA)))


@dataclass
class Chain:
    """A chain of the structure. Residues are those with atoms; sequence has the components of the whole chain, and
    letters theirs, a modified amino acid that of its parent."""

    name: str  # in the spec
    residues: list[gemmi.Residue]  # label_seq has the positions
    sequence: list[str] = field(default_factory=list)  # of a polymer
    letters: str = ""
    polymer: gemmi.PolymerType = gemmi.PolymerType.Unknown
    designed: set[int] = field(default_factory=set)  # positions, from 1

    @property
    def protein(self) -> bool:
        return self.polymer == gemmi.PolymerType.PeptideL

    def letter(self, residue: gemmi.Residue) -> str:
        """The letter of a residue; X where there is none."""
        return self.letters[(residue.label_seq or 0) - 1]


def complete(residue: gemmi.Residue) -> bool:
    """Whether a residue has all atoms of its backbone."""
    return all(any(atom.name == name and observed(atom) for atom in residue) for name in BACKBONE)


def observed(atom: gemmi.Atom) -> bool:
    """Whether an atom is in the structure at all: files have atoms of no occupancy where they were only modelled."""
    return atom.occ > 0


def read(path: Path, spec: dict[str, Any]) -> list[Chain]:
    """The chains of the file entity of a spec without water, in the order of the file, with the residues that the spec
    designs."""
    try:
        chains = chains_of(gemmi.cif.read(str(path)).sole_block())
    except (ValueError, RuntimeError, IndexError) as e:
        raise invalid(f"the structure {path.name} cannot be read: {type(e).__name__}") from None
    if not chains:
        raise invalid(f"the structure {path.name} has no atoms")
    for name, positions in selection(spec.get("design")).items():
        chain = next((c for c in chains if c.name == name and c.protein), None)
        if chain is None:
            raise invalid(f"the spec designs the chain {name}, which is no protein of the structure")
        chain.designed |= set(spans(positions, len(chain.sequence)))
    return chains


def chains_of(block: gemmi.cif.Block) -> list[Chain]:
    """The chains of an mmCIF file that the service wrote, without water. The author id of a chain is its label there,
    and the numbers of a polymer's residues are their positions; _pdbx_poly_seq_scheme has those without atoms too."""
    structure = gemmi.make_structure_from_block(block)
    entities = {entity.name: entity for entity in structure.entities}
    components: dict[str, dict[int, str]] = {}
    for row in block.find("_pdbx_poly_seq_scheme.", ["asym_id", "seq_id", "mon_id"]):
        components.setdefault(row.str(0), {})[int(row[1])] = row.str(2)
    letters = letters_of(block)
    out: list[Chain] = []
    for chain in structure[0] if len(structure) else ():
        entity, known = entities[chain[0].entity_id], components.get(chain.name, {})
        if entity.entity_type != gemmi.EntityType.Water:
            sequence = [known.get(n, "UNK") for n in range(1, max(known, default=0) + 1)]
            codes = "".join(letters.get(component, "X") for component in sequence)
            out.append(Chain(chain.name, list(chain), sequence, codes, entity.polymer_type))
    return out


def letters_of(block: gemmi.cif.Block) -> dict[str, str]:
    """The letters of the components of proteins, which the service knows: a modified one has that of its parent."""
    sequences: dict[str, list[str]] = {}
    for row in block.find("_entity_poly_seq.", ["entity_id", "mon_id"]):
        sequences.setdefault(row.str(0), []).append(row.str(1))
    out: dict[str, str] = {}
    for row in block.find("_entity_poly.", ["entity_id", "type", "pdbx_seq_one_letter_code_can"]):
        if row.str(1) == "polypeptide(L)":
            out |= zip(sequences[row.str(0)], row.str(2), strict=True)
    return out


def selection(items: Any) -> dict[str, str]:
    """The chains that a spec designs with their res_index, empty for all residues."""
    out: dict[str, str] = {}
    for item in items if isinstance(items, list) else [None]:
        chain = item.get("chain") if isinstance(item, dict) else None
        if not isinstance(chain, dict) or not isinstance(chain.get("id"), str):
            raise invalid("design in the spec is no list of chains")
        index = str(chain.get("res_index") or "")
        before = out.get(chain["id"])
        if before is not None:  # either may be the whole chain
            index = f"{before},{index}" if before and index else ""
        out[chain["id"]] = index
    return out


def spans(text: str, length: int) -> list[int]:
    """The positions of a res_index such as 3..9,12 or 5.. in a chain; all of them if it is empty."""
    if not text:
        return list(range(1, length + 1))
    out: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{0,9})(\.\.)?(\d{0,9})", part.strip())
        if not match or not match[0] or not match[2] and match[3]:
            raise invalid(f"res_index {text[:40]!r} in the spec is no selection of residues")
        first = int(match[1] or 1)
        last = int(match[3] or length) if match[2] else first
        if not 1 <= first <= last <= length:
            raise invalid(f"res_index {text[:40]!r} in the spec selects residues outside of 1 to {length}")
        out += range(first, last + 1)
    return out


def file_of(spec: Any) -> dict[str, Any]:
    """The entity of the spec, which must be one file."""
    entities = spec.get("entities") if isinstance(spec, dict) else None
    entity = entities[0] if isinstance(entities, list) and len(entities) == 1 else None
    given = entity.get("file") if isinstance(entity, dict) else None
    if not isinstance(given, dict) or not isinstance(given.get("path"), str) or set(spec) != {"entities"}:
        raise invalid("the protocol sequence_only takes a spec of one file")
    if extra := set(given) - {"path", "design"}:
        raise invalid(f"the protocol sequence_only has no use for {', '.join(sorted(extra))} in the spec")
    return given


def write(chains: list[Chain], letters: dict[tuple[str, int], str], path: Path) -> None:
    """Writes the structure with other amino acids at (chain, position). If a residue changes, its side chain is left
    out but for CB. B-factors are 0: there is no confidence."""
    structure = gemmi.Structure()
    structure.name = "design"
    model = gemmi.Model(1)
    for number, chain in enumerate(chains, 1):
        out = gemmi.Chain(chain.name)
        sequence = list(chain.sequence)
        for (name, position), code in letters.items():
            if name == chain.name:
                sequence[position - 1] = THREE[code]
        for residue in chain.residues:
            copy = residue.clone()
            code = letters.get((chain.name, residue.label_seq or 0)) if chain.designed else None
            if code is not None and THREE[code] != residue.name:
                keep = BACKBONE if code == "G" else (*BACKBONE, "CB")
                for i in reversed(range(len(copy))):
                    if copy[i].name not in keep:
                        del copy[i]
                copy.name, copy.het_flag = THREE[code], "A"
            copy.subchain, copy.entity_id = chain.name, str(number)
            if chain.sequence:
                copy.seqid = gemmi.SeqId(residue.label_seq, " ")
            for atom in copy:
                atom.b_iso = 0.0
            out.add_residue(copy)
        model.add_chain(out)
        entity = gemmi.Entity(str(number))
        entity.subchains = [chain.name]
        entity.entity_type = gemmi.EntityType.Polymer if chain.sequence else gemmi.EntityType.NonPolymer
        entity.polymer_type, entity.full_sequence = chain.polymer, sequence
        structure.entities.append(entity)
    structure.add_model(model)
    structure.make_mmcif_document().write_file(str(path))
