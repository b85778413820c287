"""The structure whose sequence is designed: what a spec selects of it, and how a design is written. gemmi and the
standard library only."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gemmi

import reading
from foldrun import invalid

BACKBONE = ("N", "CA", "C", "O")
LETTERS = "ACDEFGHIKLMNPQRSTVWY"
THREE = dict(zip(LETTERS, gemmi.expand_one_letter_sequence(LETTERS, gemmi.ResidueKind.AA)))
FREE_NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


@dataclass
class Chain:
    """A chain that is included. Residues are those with atoms; sequence has the components of the whole chain."""

    name: str  # in the spec
    residues: list[gemmi.Residue]
    sequence: list[str] = field(default_factory=list)  # of a polymer
    polymer: gemmi.PolymerType = gemmi.PolymerType.Unknown
    designed: set[int] = field(default_factory=set)  # positions, from 1

    @property
    def protein(self) -> bool:
        return self.polymer in (gemmi.PolymerType.PeptideL, gemmi.PolymerType.PeptideD)


def letter(component: str) -> str:
    """The letter that the service gives an amino acid, a modified one that of its parent; X where there is none."""
    return reading.PARENTS.get(component, "X")


def complete(residue: gemmi.Residue) -> bool:
    """Whether a residue has all atoms of its backbone."""
    return all(any(atom.name == name and observed(atom) for atom in residue) for name in BACKBONE)


def observed(atom: gemmi.Atom) -> bool:
    """Whether an atom is in the structure at all: files have atoms of no occupancy where they were only modelled."""
    return atom.occ > 0


def read(path: Path, spec: dict[str, Any]) -> list[Chain]:
    """The chains that the file entity of a spec includes, in the order of the file, with the residues that it designs.

    Chains go by label_asym_id and positions by label_seq_id; in PDB files by their letters and in SEQRES."""
    try:
        chains = [Chain(m.name, m.residues, m.sequence, m.polymer) for m in reading.read(path)]
    except (ValueError, RuntimeError) as e:
        raise invalid(f"the structure {path.name} cannot be read: {type(e).__name__}") from None
    if not chains:
        raise invalid(f"the structure {path.name} has no atoms")
    for chain in chains:
        if chain.protein and any(sum(atom.name == "CA" for atom in residue) > 1 for residue in chain.residues):
            raise invalid(f"the structure {path.name} has two residues of one number in its chain {chain.name}")
    chosen = selection(spec.get("include"), "include")
    if chosen is not None:
        chains = [c for c in chains if c.name in chosen]
    for name, positions in (selection(spec.get("design"), "design") or {}).items():
        chain = next((c for c in chains if c.name == name and c.protein), None)
        if chain is None:
            raise invalid(f"the spec designs the chain {name}, which is no protein of the structure")
        chain.designed |= set(spans(positions, len(chain.sequence)))
    rename(chains)
    return chains


def rename(chains: Iterable[Chain]) -> None:
    """Gives chains of the same name, such as the ligands of a letter, names of their own."""
    chains = list(chains)
    used, seen = {chain.name for chain in chains}, set[str]()
    free = (name for name in names() if name not in used)
    for chain in chains:
        if chain.name in seen:
            chain.name = next(free)
        seen.add(chain.name)


def names() -> Iterable[str]:
    """Names of chains: one character, then two, and so on."""
    rest = [""]
    while True:
        rest = [r + c for r in rest for c in FREE_NAMES]
        yield from rest


def selection(items: Any, field_name: str) -> dict[str, str] | None:
    """The chains of a list of a spec with their res_index, empty for all residues; None for all chains."""
    if items is None or items == "all":
        return None
    out: dict[str, str] = {}
    for item in items if isinstance(items, list) else [None]:
        chain = item.get("chain") if isinstance(item, dict) else None
        if not isinstance(chain, dict) or not isinstance(chain.get("id"), str):
            raise invalid(f"{field_name} in the spec is no list of chains")
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
    if extra := set(given) - {"path", "include", "design"}:
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
