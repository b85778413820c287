"""Prepares a structure file for the force field: what is left out, added and refused, with a note about each."""

import io
import random
from collections import Counter
from contextlib import redirect_stdout
from typing import Any

from pdbfixer import PDBFixer

from foldrun import invalid, too_large, unsupported
from openmm import OpenMMException, app, unit

AMINO_ACIDS = frozenset("ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL".split())
NUCLEOTIDES = frozenset("A C G U I N DA DC DG DT DU DI DN".split())
WATER = frozenset("HOH DOD WAT".split())
# Selenomethionine replaces methionine for crystallography. Any other modified residue is another molecule, and is
# refused.
REPLACED = {"MSE": "MET"}
# The range of pH in which OpenMM gives the side chain the form that the force field also has at the ends of chains.
TITRATED = {"ASP": (4.4, 14), "GLU": (4.4, 14), "LYS": (0, 10.0), "CYS": (0, 8.5)}
SHORTEST, LONGEST = 0.9, 2.5  # Å between bonded heavy atoms; in proteins 1.2 (C=O) to 2.1 (S–S)
MAX_RESIDUES = 2000


class Prepared:
    """A protein with all its atoms, and notes about the changes."""

    def __init__(self, topology: Any, positions: Any, notes: list[str]) -> None:
        self.topology, self.positions, self.notes = topology, positions, notes


def prepare(text: str, ph: float, seed: int, platform: Any) -> Prepared:
    """Prepares the text of a PDB or mmCIF file. Heterogens and hydrogens are removed, missing heavy atoms of residues
    and of the ends of chains are built, and hydrogens are added for the pH."""
    fixer = read(text, platform)
    notes = []
    fixer.topology, fixer.positions, left = proteins(fixer)
    if left:
        names = ", ".join(f"{n} × {name}" for name, n in sorted(left.items()))
        notes.append(f"Left out, since the force field has no parameters for it: {names}.")
    check(fixer.topology, fixer.positions)
    fixer.missingResidues = {}  # a gap is refused, never filled with a guess
    fixer.nonstandardResidues = [(r, REPLACED[r.name]) for r in fixer.topology.residues() if r.name in REPLACED]
    for residue, name in fixer.nonstandardResidues:
        notes.append(f"{label(residue)} was made {name}.")
    random.seed(seed)  # for the positions of atoms before they are relaxed
    try:
        with redirect_stdout(io.StringIO()):
            fixer.replaceNonstandardResidues()
            fixer.findMissingAtoms()
            notes += built(fixer)
            fixer.addMissingAtoms(seed=seed & 0x7FFFFFFF)
        modeller = app.Modeller(fixer.topology, fixer.positions)
        modeller.topology.createDisulfideBonds(modeller.positions)
        variants, kept = ends(modeller.topology, ph)
        notes += kept
        modeller.addHydrogens(forcefield(), pH=ph, variants=variants, platform=platform)
    except OpenMMException:
        raise invalid(
            "the structure cannot be simulated: there is no space for its missing atoms; atoms overlap"
        ) from None
    except ValueError as e:
        reason = str(e).splitlines()[0]
        raise invalid(f"the force field has no parameters for the structure: {reason}") from None
    return Prepared(modeller.topology, modeller.positions, notes)


def built(fixer: PDBFixer) -> list[str]:
    """The note about the heavy atoms that will be built, if any."""
    lacking: dict[Any, int] = {}
    for missing in (fixer.missingAtoms, fixer.missingTerminals):
        for residue, atoms in missing.items():
            lacking[residue] = lacking.get(residue, 0) + len(atoms)
    if not lacking:
        return []
    where = [label(r) for r in sorted(lacking, key=lambda r: r.index)]
    names = ", ".join(where[:10]) + (" …" if len(where) > 10 else "")
    return [f"Heavy atoms that were missing and have been built: {sum(lacking.values())}, in {names}."]


def ends(topology: Any, ph: float) -> tuple[list[str | None], list[str]]:
    """The protonation of the residues for which the pH must not decide, and notes about them: at the ends of a chain
    the force field has only one form of ASP, GLU, LYS and free CYS."""
    variants: list[str | None] = [None] * topology.getNumResidues()
    notes = []
    bridged = {a.residue.index for bond in topology.bonds() if bond[0].name == bond[1].name == "SG" for a in bond}
    for chain in topology.chains():
        residues = list(chain.residues())
        for r in {residues[0].index: residues[0], residues[-1].index: residues[-1]}.values():
            if r.name in TITRATED and r.index not in bridged:
                variants[r.index] = r.name
                below, above = TITRATED[r.name]
                if not below <= ph <= above:
                    notes.append(
                        f"{label(r)} keeps its usual form at pH {ph:g}: "
                        "the force field has no other at the end of a chain."
                    )
    return variants, notes


def forcefield() -> Any:
    """Amber ff14SB with the generalised Born model GBn2."""
    return app.ForceField("amber14/protein.ff14SB.xml", "implicit/gbn2.xml")


def read(text: str, platform: Any) -> PDBFixer:
    """The structure of a PDB or mmCIF text. Raises invalid_input if it cannot be read."""
    try:
        # Only an mmCIF file has this table; a PDB file may begin with anything.
        if "_atom_site." in text:
            return PDBFixer(pdbxfile=io.StringIO(text), platform=platform)
        return PDBFixer(pdbfile=io.StringIO(text), platform=platform)
    except Exception as e:
        raise invalid(f"the structure cannot be read: {type(e).__name__}: {e}") from None


def proteins(fixer: PDBFixer) -> tuple[Any, Any, Counter[str]]:
    """Topology and positions of the heavy atoms of protein residues, and the number of residues left out, by name."""
    left: Counter[str] = Counter()
    away: list[Any] = []
    count = 0
    for residue in fixer.topology.residues():
        names = {a.name for a in residue.atoms()}
        if residue.name in AMINO_ACIDS or residue.name in REPLACED:
            count += 1
            away += [a for a in residue.atoms() if a.element is not None and a.element.symbol in ("H", "D")]
        elif residue.name in NUCLEOTIDES:
            raise unsupported(f"{label(residue)} is of a nucleic acid; all_atom simulates proteins")
        elif {"N", "CA", "C"} <= names:
            raise unsupported(
                f"{label(residue)} is a modified residue; "
                "the force field has the twenty amino acids, and takes MSE for MET"
            )
        else:
            left["water" if residue.name in WATER else residue.name] += 1
            away.append(residue)
    if count < 2:
        raise invalid(f"the structure has {count} residues of protein; a simulation needs at least 2")
    if count > MAX_RESIDUES:
        raise too_large(f"the structure has {count} residues; at most {MAX_RESIDUES} are simulated with all atoms")
    modeller = app.Modeller(fixer.topology, fixer.positions)
    modeller.delete(away)
    return modeller.topology, modeller.positions, left


def check(topology: Any, positions: Any) -> None:
    """Refuses chains with gaps, and geometry that a minimisation would not repair but turn into another molecule."""
    x = positions.value_in_unit(unit.angstrom)
    for residue in topology.residues():
        names = {a.name for a in residue.atoms()}
        if missing := {"N", "CA", "C"} - names:
            raise invalid(f"{label(residue)} has no atom {sorted(missing)[0]}; a simulation needs the whole backbone")
    for a, b in topology.bonds():
        r = sum((p - q) ** 2 for p, q in zip(x[a.index], x[b.index])) ** 0.5
        if SHORTEST <= r <= LONGEST:
            continue
        if a.residue.index != b.residue.index and r > LONGEST and {a.name, b.name} == {"C", "N"}:
            raise invalid(
                f"the chain is broken between {label(a.residue)} and {label(b.residue)}: {r:.1f} Å lie between "
                "C and N, where a peptide bond has 1.3; a simulation needs whole chains"
            )
        raise invalid(
            f"{a.name} of {label(a.residue)} and {b.name} of {label(b.residue)} are bonded and {r:.2f} Å apart; "
            f"a simulation needs them {SHORTEST} to {LONGEST} Å apart"
        )


def label(residue: Any) -> str:
    """A residue for a message, such as «ALA 2 of chain A»."""
    return f"{residue.name} {residue.id}{residue.insertionCode.strip()} of chain {residue.chain.id}"
