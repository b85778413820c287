"""Structure files as the service reads them: which residues are a polymer, their positions, and one of alternative
locations. A selection names residues by these. gemmi counts otherwise where a file has no label_seq_id: it leaves
places for gaps in the numbers of the authors.

The rules are those of internal/structure: readpdb.go, readcif.go, build.go, member.go, continues.go, link.go and
whole.go."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import gemmi

# Names of amino acids and the letter of each, a modified one that of its parent, as the service has them.
PARENTS = {
    code: letter
    for letter, codes in {
        "A": "ALA AIB DAL",
        "B": "ASX",
        "C": "CYS CSO CSD CSX CSS CME OCS SCY CAS YCM SMC CYX CYM DCY",
        "D": "ASP ASH BHD PHD DAS",
        "E": "GLU CGU GLH DGL",
        "F": "PHE DPN",
        "G": "GLY",
        "H": "HIS HIC HSD HSE HSP HID HIE HIP NEP DHI",
        "I": "ILE DIL",
        "K": "LYS KCX MLY MLZ M3L ALY LLP LYN DLY",
        "L": "LEU MLE NLE DLE",
        "M": "MET MSE FME MHO MED",
        "N": "ASN MEN DSG",
        "O": "PYL",
        "P": "PRO HYP DPR",
        "Q": "GLN PCA DGN",
        "R": "ARG AGM CIR DAR",
        "S": "SER SEP SAC DSN",
        "T": "THR TPO DTH",
        "U": "SEC",
        "V": "VAL MVA DVA",
        "W": "TRP TRQ DTR",
        "X": "UNK",
        "Y": "TYR PTR TYS DTY",
        "Z": "GLX",
    }.items()
    for code in codes.split()
}
NUCLEIC = {gemmi.ResidueKind.RNA: gemmi.PolymerType.Rna, gemmi.ResidueKind.DNA: gemmi.PolymerType.Dna}
LIGAND = gemmi.PolymerType.Unknown


@dataclass
class Molecule:
    """A polymer with the components of its whole sequence, or another molecule, which has none."""

    name: str  # of the chain in the file
    polymer: gemmi.PolymerType
    residues: list[gemmi.Residue]  # label_seq has the positions
    sequence: list[str] = field(default_factory=list)


@dataclass
class Records:
    """The facts of a file that gemmi does not report."""

    text: str  # with a letter for every chain
    ends: Counter[str]  # TER records of a letter
    segment: dict[tuple[str, str, str], int]  # (letter, number with insertion code, name) → TER records before it
    sequences: dict[str, list[str]]  # SEQRES
    joints: list[tuple[str, str]] = field(default_factory=list)  # letters given to chains that only a TER separates
    numbered: bool = False  # label_seq_id has positions, and residues of polymers alone have one


def read(path: Path) -> list[Molecule]:
    """The molecules of the first model without water, by letter in a PDB file, else by label_asym_id. Raises what gemmi
    raises."""
    if path.suffix.lower() in (".pdb", ".ent"):
        found = records(path.read_text("utf-8", "replace"))
        structure = gemmi.read_pdb_string(found.text, ignore_ter=True)
    else:
        found = Records("", Counter(), {}, {})
        structure = gemmi.read_structure(str(path))
    found.numbered = numbers_polymers(structure)
    structure.remove_waters()
    named: dict[str, list[gemmi.Residue]] = {}
    for chain in structure[0] if len(structure) else ():
        for residue in chain:
            named.setdefault(residue.subchain or chain.name, []).append(residue)
    whole: dict[str, str] = {}  # letter of the molecule that a chain without a letter continues
    for before, name in found.joints:
        before = whole.get(before, before)
        if before in named and name in named and continues(named[before][-1], named[name][0], True):
            named[before] += named.pop(name)
            whole[name] = before
    out: list[Molecule] = []
    for name, residues in named.items():
        entity = entity_of(structure, name, residues[0])
        residues = settled(residues)
        if entity is None:
            out += split(name, residues, found)
        elif entity.entity_type == gemmi.EntityType.Polymer:
            out.append(polymer(name, residues, [gemmi.Entity.first_mon(item) for item in entity.full_sequence]))
        else:
            out.append(Molecule(name, LIGAND, residues))
    return out


def numbers_polymers(structure: gemmi.Structure) -> bool:
    """Whether a file gives positions to residues of polymers alone. Several programs number all residues of a chain."""
    residues = [residue for chain in structure[0] for residue in chain] if len(structure) else []
    others = [r for r in residues if kind(r) == LIGAND]
    if any(r.label_seq and (r.is_water() or len(r) == 1 and r[0].element.name != "C") for r in others):
        return False
    return any(not r.label_seq for r in others)


def entity_of(structure: gemmi.Structure, name: str, residue: gemmi.Residue) -> gemmi.Entity | None:
    """The entity of a chain by the tables of the file; None if they do not say what it is."""
    known = [e for e in structure.entities if e.entity_type != gemmi.EntityType.Unknown]
    by_chain = (e for e in known if name in e.subchains)
    return next(by_chain, next((e for e in known if e.name == residue.entity_id), None))


def records(text: str) -> Records:
    """Reads the records of the first model. Chains without a letter get the next free ones, one until each TER."""
    lines = text.splitlines()
    atoms = [line for line in lines if line.startswith(("ATOM", "HETATM"))]
    taken = {line[21:22].strip() for line in atoms}
    free = (c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" if c not in taken)
    out = Records("", Counter(), {}, {})
    kept: list[str] = []
    last = blank = ended = ""
    for line in lines:
        if line.startswith("SEQRES"):
            out.sequences.setdefault(line[11:12].strip(), []).extend(line[19:70].split())
            continue
        if line.startswith(("ATOM", "HETATM")):
            last = line[21:22].strip()
            if not last:
                if not blank:
                    blank = next(free, " ")
                    if ended:
                        out.joints.append((ended, blank))
                last = blank
                line = line[:21] + last + line[22:]
            ended = ""
            out.segment.setdefault((last, line[22:27].strip(), line[17:20].strip()), out.ends[last])
        elif line.startswith("TER"):
            out.ends[last] += 1
            if last == blank:
                ended, blank = blank, ""
            continue
        kept.append(line)
        if line.startswith("ENDMDL"):
            break
    out.text = "\n".join(kept) + "\n"
    return out


def settled(residues: Iterable[gemmi.Residue]) -> list[gemmi.Residue]:
    """The residues with one alternative location of each, that of the highest mean occupancy, the first of equals."""
    places: list[list[gemmi.Residue]] = []
    for residue in residues:
        before = places[-1][-1] if places else None
        if (
            before is not None
            and (before.seqid, before.label_seq) == (residue.seqid, residue.label_seq)
            and all(any(atom.has_altloc() for atom in one) for one in (before, residue))
        ):
            places[-1].append(residue)
        else:
            places.append([residue])
    return [settle(place) for place in places]


def settle(place: list[gemmi.Residue]) -> gemmi.Residue:
    """One residue of those at a place. Atoms that its alternative lacks come from another one of the component."""
    occupancies: dict[str, list[float]] = {}
    for atom in (atom for residue in place for atom in residue if atom.has_altloc()):
        occupancies.setdefault(atom.altloc, []).append(atom.occ)
    if not occupancies:
        return place[0]
    best = max(occupancies, key=lambda alt: sum(occupancies[alt]) / len(occupancies[alt]))
    residue = next(r for r in place if any(atom.altloc == best for atom in r))
    order = sorted(range(len(residue)), key=lambda i: (residue[i].altloc != best, -residue[i].occ))
    taken: set[str] = set()
    drop: list[int] = []
    for i in order:
        if residue[i].has_altloc():
            if residue[i].name in taken:
                drop.append(i)
            taken.add(residue[i].name)
            residue[i].altloc = "\0"
    for i in sorted(drop, reverse=True):
        del residue[i]
    return residue


def kind(residue: gemmi.Residue) -> gemmi.PolymerType:
    """The kind of polymer to which a residue can belong by its name or its atoms; LIGAND if to none."""
    if residue.name in PARENTS:
        return gemmi.PolymerType.PeptideL
    if tabulated := NUCLEIC.get(gemmi.find_tabulated_residue(residue.name).kind):
        return tabulated
    names = {atom.name for atom in residue}
    record = residue.het_flag != "H"
    if {"N", "CA", "C"} <= names or record and names == {"CA"} and position(residue, "CA"):
        return gemmi.PolymerType.PeptideL
    if {"C1'", "C3'", "O3'"} <= names or record and names == {"P"}:
        return gemmi.PolymerType.Rna if "O2'" in names else gemmi.PolymerType.Dna
    return LIGAND


def split(letter: str, residues: list[gemmi.Residue], found: Records) -> list[Molecule]:
    """The molecules of a letter."""
    segments = [found.segment.get((letter, str(r.seqid).strip(), r.name), 0) for r in residues]
    polymers: list[list[gemmi.Residue]] = []
    ligands: list[Molecule] = []
    last = 0  # segment of the last residue of a polymer
    for residue, segment, member in zip(residues, segments, Members(letter, residues, segments, found).all()):
        if member:
            if not polymers or not continues(polymers[-1][-1], residue, segment != last):
                polymers.append([])
            polymers[-1].append(residue)
            last = segment
        else:
            ligands.append(Molecule(letter, LIGAND, [residue]))
    names = [letter if i == 1 else f"{letter}-{i}" for i in range(1, len(polymers) + 1)]
    return [polymer(name, part, found.sequences.get(name, [])) for name, part in zip(names, polymers)] + ligands


class Members:
    """Which residues of a letter belong to polymers: those that a bond links to a neighbour, or that are alone at a gap
    of a polymer. A name does not decide, because nucleotides and amino acids are ligands too."""

    def __init__(self, letter: str, residues: list[gemmi.Residue], segments: list[int], found: Records) -> None:
        self.residues, self.segments = residues, segments
        self.kinds = [kind(residue) for residue in residues]
        self.numbered = found.numbered
        self.ends, self.sequence = found.ends[letter], found.sequences.get(letter, [])
        self.rooted = {s for r, one, s in zip(residues, self.kinds, segments) if one != LIGAND and r.het_flag != "H"}

    def all(self) -> list[bool]:
        out = [self.numbered and bool(residue.label_seq) for residue in self.residues]
        before: list[gemmi.Residue | None] = []
        last: gemmi.Residue | None = None
        for i, residue in enumerate(self.residues):
            if i + 1 < len(out) and self.joined(i):
                out[i] = out[i + 1] = True
            before.append(last)
            if out[i] or residue.het_flag != "H" and self.plain(i):
                last = residue
        after: gemmi.Residue | None = None
        for i in reversed(range(len(out))):
            if not out[i] and self.kinds[i] != LIGAND:
                out[i] = self.alone(i, before[i], after)
            if out[i]:
                after = self.residues[i]
        return out

    def plain(self, i: int) -> bool:
        """Whether a residue has the name of a residue of polymers, or is one bead of a polymer."""
        residue = self.residues[i]
        named = residue.name in PARENTS or gemmi.find_tabulated_residue(residue.name).kind in NUCLEIC
        return named or len(residue) == 1 and self.kinds[i] != LIGAND

    def joined(self, i: int) -> bool:
        """Whether a bond links a residue of a polymer to the one after it. One of them may be a cap."""
        a, b = self.residues[i : i + 2]
        known = next((one for one in self.kinds[i : i + 2] if one != LIGAND), None)
        if known is None:
            return False
        bond = between(a, "C", b, "N") if known == gemmi.PolymerType.PeptideL else between(a, "O3'", b, "P")
        if bond is not None:
            return 0.9 <= bond <= 2.5
        return self.part(i) and self.part(i + 1) and bool(links(a, b))

    def part(self, i: int) -> bool:
        """Whether the file has a residue as a part of a chain."""
        chained = self.segments[i] < self.ends or self.segments[i] in self.rooted
        return self.plain(i) and (self.residues[i].het_flag != "H" or chained)

    def alone(self, i: int, before: gemmi.Residue | None, after: gemmi.Residue | None) -> bool:
        """Whether a residue without a bond to those before and after it belongs to their polymer. A monomer that is
        free has both its ends."""
        residue, plain = self.residues[i], self.plain(i)
        if plain and residue.het_flag != "H":
            return not ended(residue) or before is not None and rises(before, residue)
        if after and reaches(residue, after) and (reaches(before, residue) if before else plain):
            return True
        untold = before is not None and links(before, residue) is None
        return self.segments[i] < self.ends and (residue.name in self.sequence or plain and untold)


def rises(a: gemmi.Residue, b: gemmi.Residue) -> bool:
    """Whether the number of residue b is above that of residue a, and neither has the atoms of an end there."""
    return b.seqid.num > a.seqid.num and not ended(a) and not begins(b)


def reaches(a: gemmi.Residue, b: gemmi.Residue) -> bool:
    """Whether residues that are missing between two, by their numbers, can link them."""
    missing = b.seqid.num - a.seqid.num - 1
    if missing < 1 or not rises(a, b):
        return False
    centre = "CA" if position(a, "CA") else "C1'"
    distance = between(a, centre, b, "CA" if position(b, "CA") else "C1'")
    return distance is not None and 2.5 <= distance <= (missing + 1) * (4.5 if centre == "CA" else 8.0)


def ended(a: gemmi.Residue) -> bool:
    """Whether a residue has the atom at the end of a whole protein, as the PDB and force fields name it."""
    return any(position(a, name) for name in ("OXT", "OT2", "OC2"))


def begins(b: gemmi.Residue) -> bool:
    """Whether a residue has the hydrogens at the start of a whole protein."""
    starts = any(all(position(b, n) for n in names) for names in (("H2", "H3"), ("HT2", "HT3"), ("2H", "3H")))
    return b.name in PARENTS and starts


def continues(a: gemmi.Residue, b: gemmi.Residue, ter: bool) -> bool:
    """Whether residue b belongs to the same polymer as a, before it under the same letter, perhaps before a TER."""
    linked = links(a, b)
    if linked or ter:
        return bool(linked) or reaches(a, b)
    return (b.seqid.num, b.seqid.icode) > (a.seqid.num, a.seqid.icode) or linked is None


def links(a: gemmi.Residue, b: gemmi.Residue) -> bool | None:
    """Whether two residues are linked; None if their atoms do not tell."""
    protein = position(a, "CA") is not None
    bond = between(a, "C", b, "N") if protein else between(a, "O3'", b, "P")
    if bond is not None:
        return 0.9 <= bond <= 2.5
    for name, linked, broken in PROTEIN_ANCHORS if protein else NUCLEIC_ANCHORS:
        distance = between(a, name, b, name)
        if distance is not None:
            return 2.5 <= distance if distance <= linked else False if distance > broken else None
    return None


def parted(a: gemmi.Residue, b: gemmi.Residue) -> bool:
    """Whether the atoms of two residues tell that no bond links them."""
    protein = position(a, "CA") is not None
    far = between(a, "C", b, "N") if protein else between(a, "O3'", b, "P")
    limit = 2.5
    for name, _, broken in PROTEIN_ANCHORS if protein else NUCLEIC_ANCHORS:
        if far is None:
            far, limit = between(a, name, b, name), broken
    if far is None or far <= limit:
        return False
    return all(p.pos.dist(q.pos) > 2.0 for p in a for q in b if not p.is_hydrogen() and not q.is_hydrogen())


# The atoms whose distance in neighbours tells whether they are linked, up to how many Å they are, and beyond how many
# they are not.
PROTEIN_ANCHORS = (("CA", 4.5, 4.5),)
NUCLEIC_ANCHORS = (("P", 8.0, 8.0), ("C4'", 8.0, 8.0), ("C1'", 8.5, 11.0))


def between(a: gemmi.Residue, name: str, b: gemmi.Residue, other: str) -> float | None:
    """The distance of two atoms, also by their old names (C1*); None if one is missing."""
    p, q = position(a, name), position(b, other)
    return p.dist(q) if p and q else None


def position(residue: gemmi.Residue, name: str) -> gemmi.Position | None:
    """Where the residue has an atom, also by its old name (C1*); None if it has none of that name. A calcium is no
    CA."""
    names = (name, name.replace("'", "*"))
    return next((a.pos for a in residue if a.name in names and (name != "CA" or a.element.name != "Ca")), None)


def polymer(letter: str, residues: list[gemmi.Residue], sequence: list[str]) -> Molecule:
    """A polymer with its positions: label_seq_id, or those in SEQRES where the residues fit to it, else their order."""
    count = Counter(kind(residue) for residue in residues)
    most = max((gemmi.PolymerType.PeptideL, gemmi.PolymerType.Rna, gemmi.PolymerType.Dna), key=lambda k: count[k])
    places = by_label(residues) or by_number(residues, sequence) or by_run(residues, sequence)
    if places is None:
        places = list(range(len(residues)))
        sequence = [residue.name for residue in residues]
    whole = sequence + ["UNK"] * (places[-1] + 1 - len(sequence))
    for residue, place in zip(residues, places):
        residue.label_seq, whole[place] = place + 1, residue.name
    return Molecule(letter, most, residues, whole)


def by_label(residues: list[gemmi.Residue]) -> list[int] | None:
    """Indices in the sequence by label_seq_id; None if these do not ascend from 1."""
    numbers = [0, *(residue.label_seq or 0 for residue in residues)]
    return [n - 1 for n in numbers[1:]] if all(a < b for a, b in zip(numbers, numbers[1:])) else None


def by_number(residues: list[gemmi.Residue], sequence: list[str]) -> list[int] | None:
    """Indices in the sequence by the numbers of the authors, at the first start where all fit; None if none does."""
    numbers = [residue.seqid.num - residues[0].seqid.num for residue in residues]
    if any(r.seqid.icode != " " for r in residues) or any(b <= a for a, b in zip(numbers, numbers[1:])):
        return None
    for start in range(len(sequence) - numbers[-1]):
        if all(sequence[start + n] == r.name for n, r in zip(numbers, residues)):
            return [start + n for n in numbers]
    return None


def by_run(residues: list[gemmi.Residue], sequence: list[str]) -> list[int] | None:
    """Indices in the sequence run by run of linked residues with consecutive numbers, each at the first place that it
    fits; None if one does not."""
    runs: list[list[gemmi.Residue]] = []
    for residue in residues:
        before = runs[-1][-1] if runs else None
        if before and 0 <= residue.seqid.num - before.seqid.num <= 1 and not parted(before, residue):
            runs[-1].append(residue)
        else:
            runs.append([residue])
    out: list[int] = []
    for run in runs:
        names = [residue.name for residue in run]
        first = out[-1] + 1 if out else 0
        starts = range(first, len(sequence) - len(names) + 1)
        at = next((k for k in starts if sequence[k : k + len(names)] == names), None)
        if at is None:
            return None
        out += range(at, at + len(names))
    return out
