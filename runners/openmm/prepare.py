"""From a structure file to one that the force field takes: what is left out, added and refused, and said so."""

import io
import random
from collections import Counter
from contextlib import redirect_stdout

from foldrun import Failure
from openmm import OpenMMException, app, unit
from pdbfixer import PDBFixer

AMINO_ACIDS = frozenset("ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL".split())
NUCLEOTIDES = frozenset("A C G U I N DA DC DG DT DU DI DN".split())
WATER = frozenset("HOH DOD WAT".split())
# Selenomethionine is methionine for crystallographers. Any other modified residue is another molecule, and refused.
REPLACED = {"MSE": "MET"}
# The pH at which OpenMM gives the side chain the form that the force field has at the ends of chains too: from, to.
TITRATED = {"ASP": (4.4, 14), "GLU": (4.4, 14), "LYS": (0, 10.0), "CYS": (0, 8.5)}
SHORTEST, LONGEST = 0.9, 2.5  # Å between bonded heavy atoms; in proteins 1.2 (C=O) to 2.1 (S–S)
MAX_RESIDUES = 2000


class Prepared:
    """A protein with all of its atoms, and sentences about what was done to it."""

    def __init__(self, topology, positions, notes):
        self.topology, self.positions, self.notes = topology, positions, notes


def prepare(text: str, ph: float, seed: int, platform) -> Prepared:
    """text: a PDB or mmCIF file. Heterogens and hydrogens go, missing heavy atoms of residues and of the ends of chains are built,
    hydrogens are put where the pH wants them."""
    fixer = read(text, platform)
    notes = []
    fixer.topology, fixer.positions, left = proteins(fixer)
    if left:
        notes.append("Left out, since the force field has no parameters for it: " + ", ".join(f"{n} × {name}" for name, n in sorted(left.items())) + ".")
    check(fixer.topology, fixer.positions)
    fixer.missingResidues = {}  # a gap is refused, never filled with a guess
    fixer.nonstandardResidues = [(r, REPLACED[r.name]) for r in fixer.topology.residues() if r.name in REPLACED]
    for residue, name in fixer.nonstandardResidues:
        notes.append(f"{place(residue)} was made {name}.")
    random.seed(seed)  # where atoms are put before they are relaxed
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
        raise Failure("invalid_input", "the structure cannot be simulated: the atoms that it lacks find no place; atoms overlap") from None
    except ValueError as e:
        raise Failure("invalid_input", f"the force field has no parameters for the structure: {str(e).splitlines()[0]}") from None
    return Prepared(modeller.topology, modeller.positions, notes)


def built(fixer) -> list:
    """What is said of the heavy atoms that will be built."""
    lacking = {}
    for missing in (fixer.missingAtoms, fixer.missingTerminals):
        for residue, atoms in missing.items():
            lacking[residue] = lacking.get(residue, 0) + len(atoms)
    if not lacking:
        return []
    where = [place(r) for r in sorted(lacking, key=lambda r: r.index)]
    return [f"Heavy atoms that were missing and have been built: {sum(lacking.values())}, in {', '.join(where[:10])}{' …' if len(where) > 10 else ''}."]


def ends(topology, ph: float):
    """How residues are protonated where the pH must not decide: at the ends of a chain the force field has one form of ASP,
    GLU, LYS and free CYS. And what is said of it."""
    variants, notes = [None] * topology.getNumResidues(), []
    bridged = {a.residue.index for bond in topology.bonds() if bond[0].name == bond[1].name == "SG" for a in bond}
    for chain in topology.chains():
        residues = list(chain.residues())
        for r in {residues[0].index: residues[0], residues[-1].index: residues[-1]}.values():
            if r.name in TITRATED and r.index not in bridged:
                variants[r.index] = r.name
                below, above = TITRATED[r.name]
                if not below <= ph <= above:
                    notes.append(f"{place(r)} keeps its usual form at pH {ph:g}: the force field has no other at the end of a chain.")
    return variants, notes


def forcefield():
    """Amber ff14SB with the generalised Born model GBn2."""
    return app.ForceField("amber14/protein.ff14SB.xml", "implicit/gbn2.xml")


def read(text: str, platform) -> PDBFixer:
    try:
        # A PDB file may begin with anything; an mmCIF file has a block and a loop of atoms.
        if "_atom_site." in text:
            return PDBFixer(pdbxfile=io.StringIO(text), platform=platform)
        return PDBFixer(pdbfile=io.StringIO(text), platform=platform)
    except Exception as e:
        raise Failure("invalid_input", f"the structure cannot be read: {type(e).__name__}: {e}") from None


def proteins(fixer):
    """Topology and positions of the heavy atoms of protein residues, and how many residues of which name were left out."""
    left, away, count = Counter(), [], 0
    for residue in fixer.topology.residues():
        names = {a.name for a in residue.atoms()}
        if residue.name in AMINO_ACIDS or residue.name in REPLACED:
            count += 1
            away += [a for a in residue.atoms() if a.element is not None and a.element.symbol in ("H", "D")]
        elif residue.name in NUCLEOTIDES:
            raise Failure("unsupported", f"{place(residue)} is of a nucleic acid; all_atom simulates proteins")
        elif {"N", "CA", "C"} <= names:
            raise Failure("unsupported", f"{place(residue)} is a modified residue; the force field has the twenty amino acids, and takes MSE for MET")
        else:
            left["water" if residue.name in WATER else residue.name] += 1
            away.append(residue)
    if count < 2:
        raise Failure("invalid_input", f"the structure has {count} residues of protein; a simulation needs at least 2")
    if count > MAX_RESIDUES:
        raise Failure("too_large", f"the structure has {count} residues; at most {MAX_RESIDUES} are simulated with all atoms")
    modeller = app.Modeller(fixer.topology, fixer.positions)
    modeller.delete(away)
    return modeller.topology, modeller.positions, left


def check(topology, positions):
    """Refuses chains with gaps and geometry that no minimisation mends: it would be torn or knotted into some other molecule."""
    x = positions.value_in_unit(unit.angstrom)
    for residue in topology.residues():
        names = {a.name for a in residue.atoms()}
        if missing := {"N", "CA", "C"} - names:
            raise Failure("invalid_input", f"{place(residue)} has no atom {sorted(missing)[0]}; a simulation needs the whole backbone")
    for a, b in topology.bonds():
        r = sum((p - q) ** 2 for p, q in zip(x[a.index], x[b.index])) ** 0.5
        if SHORTEST <= r <= LONGEST:
            continue
        if a.residue.index != b.residue.index and r > LONGEST and {a.name, b.name} == {"C", "N"}:
            raise Failure(
                "invalid_input",
                f"the chain is broken between {place(a.residue)} and {place(b.residue)}: {r:.1f} Å lie between C and N, where a peptide bond has 1.3; a simulation needs whole chains",
            )
        raise Failure("invalid_input", f"{a.name} of {place(a.residue)} and {b.name} of {place(b.residue)} are bonded and {r:.2f} Å apart; a simulation needs them {SHORTEST} to {LONGEST} Å apart")


def place(residue) -> str:
    return f"{residue.name} {residue.id}{residue.insertionCode.strip()} of chain {residue.chain.id}"
