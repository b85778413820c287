"""Protein chains as mmCIF. Standard library only."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

COLUMNS = (
    "group_PDB id type_symbol label_atom_id label_alt_id label_comp_id label_asym_id label_entity_id label_seq_id "
    "pdbx_PDB_ins_code Cartn_x Cartn_y Cartn_z occupancy B_iso_or_equiv auth_seq_id auth_asym_id pdbx_PDB_model_num"
).split()


@dataclass
class Atom:
    """One atom of a chain."""

    residue: int  # its index in the chain, from 0
    name: str  # in amino acids the first letter is the element
    position: Sequence[float]  # x, y, z in Å
    b: float  # for the column of B factors: pLDDT from 0 to 100, or a predicted RMSD in Å


@dataclass
class Chain:
    """One chain, its atoms in the order of its residues."""

    name: str
    residues: list[str]  # names of three letters
    atoms: Iterable[Atom]


def write(chains: Sequence[Chain], rmsd: Iterable[float] = ()) -> str:
    """The mmCIF text of the chains, of which equal ones are copies of one entity. rmsd is the predicted RMSD in Å of
    each residue, where the B factors are that and no pLDDT."""
    entities: dict[tuple[str, ...], int] = {}
    for chain in chains:
        entities.setdefault(tuple(chain.residues), len(entities) + 1)
    lines = ["data_model", "loop_", "_entity.id", "_entity.type"]
    lines += [f"{number} polymer" for number in entities.values()]
    lines += ["loop_", "_entity_poly.entity_id", "_entity_poly.type"]
    lines += [f"{number} 'polypeptide(L)'" for number in entities.values()]
    lines += ["loop_"] + [f"_entity_poly_seq.{c}" for c in ("entity_id", "num", "mon_id")]
    lines += [f"{number} {i} {name}" for names, number in entities.items() for i, name in enumerate(names, 1)]
    lines += ["loop_", "_struct_asym.id", "_struct_asym.entity_id"]
    lines += [f"{chain.name} {entities[tuple(chain.residues)]}" for chain in chains]
    lines += ["loop_"] + [f"_atom_site.{c}" for c in COLUMNS]
    rmsd = list(rmsd)
    serial = 0
    for chain in chains:
        entity = entities[tuple(chain.residues)]
        for atom in chain.atoms:
            serial += 1
            x, y, z = atom.position
            number, name = atom.residue + 1, chain.residues[atom.residue]
            lines.append(
                f"ATOM {serial} {atom.name[0]} {atom.name} . {name} {chain.name} {entity} {number} ? "
                f"{x:.3f} {y:.3f} {z:.3f} 1.00 {atom.b:.2f} {number} {chain.name} 1"
            )
    if rmsd:
        places = [(chain.name, i) for chain in chains for i in range(1, len(chain.residues) + 1)]
        lines += ["loop_"] + [f"_ma_qa_metric.{c}" for c in ("id", "mode", "type", "name")]
        lines += ["1 local distance 'predicted RMSD'", "loop_"]
        lines += [
            f"_ma_qa_metric_local.{c}"
            for c in ("model_id", "label_asym_id", "label_seq_id", "metric_id", "metric_value")
        ]
        lines += [f"1 {name} {i} 1 {value:.3f}" for (name, i), value in zip(places, rmsd)]
    return "\n".join(lines) + "\n#\n"
