"""Compares the atoms that Pleat reads from structure files (TestReaderFiles) with those of gemmi and biotite.

Every atom that Pleat has must be in the first model of the other program, with its name, component, chain, residue
number and coordinates; biotite says only which names are where. Every atom that Pleat lacks must be a copy of one that it
has, or another alternative location. EXPECTED names the files in which they differ, and why."""

import gzip
import io
import sys
import warnings
from collections import Counter
from pathlib import Path

import biotite.structure.io.pdb as pdb
import biotite.structure.io.pdbx as pdbx
import gemmi
import numpy

ENDINGS = (".pdb", ".ent", ".cif", ".mmcif", ".pdb1")
FOUR = "names of residues have four letters, which gemmi takes for three and a chain"
CALCIUM = "gemmi takes CA in column 13 for calcium, in amino acids too"
NUMBERS = "two residues have one number, and Pleat counts them"
GROMOS = "LYSH of chain A may be LYS of chain HA: Pleat refuses it"
STRICT = "gemmi refuses the file"
COLUMN = "an ion whose atom is in column 14 is the ion (NA, CL, NA+); gemmi reads the first letter as the element"
EXPECTED = {
    "MDAnalysisTests.data.5digitResid.pdb": FOUR,
    "MDAnalysisTests.data.RANDOM_WALK_TOPO.pdb": FOUR,
    "MDAnalysisTests.data.adk_closed.pdb": CALCIUM,
    "MDAnalysisTests.data.adk_open.pdb": CALCIUM,
    "MDAnalysisTests.data.adk_open_10res.pdb": CALCIUM,
    "MDAnalysisTests.data.analysis.1k5i_c36.pdb.gz": FOUR,
    "MDAnalysisTests.data.adk_oplsaa.pdb": COLUMN,
    "MDAnalysisTests.data.chainIDrepeat.pdb.gz": NUMBERS,
    "MDAnalysisTests.data.cobrotoxin.pdb": COLUMN,
    "MDAnalysisTests.data.coordinates.test_topology.pdb": CALCIUM,
    "MDAnalysisTests.data.cryst_then_model.pdb": FOUR,
    "MDAnalysisTests.data.fullerene.pdb.gz": "occupancies are infinite: Pleat refuses them",
    "MDAnalysisTests.data.gromos11.gromos11_traj_solv.pdb.gz": GROMOS,
    "MDAnalysisTests.data.gromos11.gromos11_traj_vac.pdb.gz": GROMOS,
    "MDAnalysisTests.data.elements.pdb": "a residue with small letters, Mg, is the ion MG",
    "MDAnalysisTests.data.incomplete.pdb": STRICT,
    "MDAnalysisTests.data.model_then_cryst.pdb": FOUR,
    "MDAnalysisTests.data.nucl_res.pdb": CALCIUM,
    "MDAnalysisTests.data.pdbqt_querypdb.pdb": COLUMN,
    "MDAnalysisTests.data.sameresid_diffresname.pdb": FOUR,
    "MDAnalysisTests.data.varying_occ_tmp.pdb": STRICT,
    "MDAnalysisTests.data.xl_serial.pdb": FOUR,
    "Tests.PDB.a_structure.pdb": "the first model has chain A only and what follows has B too: Pleat refuses it",
    "tests.pdb1gdr.ent": STRICT,
}


def collect(source, target):
    """Copies the structure files below a folder into one, named by their paths in their packages."""
    for path in sorted(Path(source).rglob("*")):
        if path.is_file() and path.name.lower().removesuffix(".gz").endswith(ENDINGS):
            name = ".".join(path.relative_to(source).parts[1:])
            (Path(target) / name).write_bytes(path.read_bytes())


def fixed(values):
    """Coordinates as text, in the precision of biotite and without a negative zero."""
    return tuple("%.3f" % (round(float(numpy.float32(v)), 3) + 0.0) for v in values)


def pleat(path):
    """The atoms that Pleat reads (chain, number, insertion code, component, name, element, place), or why it refuses."""
    rows = [line.split("\t") for line in Path(f"{path}.pleat").read_text().splitlines()]
    if rows and rows[0][0] == "refused":
        return [], rows[0][1]
    return [(*row[:6], fixed(row[6:])) for row in rows], ""


def by_gemmi(path):
    """The atoms of the first model as above, each with its alternative location at the end."""
    structure = gemmi.read_structure(str(path), merge_chain_parts=False)
    return [
        (chain.name, str(r.seqid.num), r.seqid.icode.strip(), r.name, a.name, a.element.name.upper(),
         fixed(a.pos.tolist()), a.altloc if a.has_altloc() else "")
        for chain in (structure[0] if len(structure) else ())
        for r in chain
        for a in r
    ]  # fmt: skip


def by_biotite(path):
    """The names and places of the atoms of the first model, and its alternative location."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", errors="replace") as f:
        text = io.StringIO(f.read())
    if ".cif" in path.suffixes or ".mmcif" in path.suffixes:
        array = pdbx.get_structure(pdbx.CIFFile.read(text), model=1, altloc="all")
    else:
        array = pdb.PDBFile.read(text).get_structure(model=1, altloc="all")
    alts = array.altloc_id
    return [(n, fixed(xyz), "" if alt in " .?" else alt) for n, xyz, alt in zip(array.atom_name, array.coord, alts)]


def missing(own, other, alternatives):
    """What the two counters differ by: atoms that Pleat has alone, and those that it lacks and should have."""
    more = own - other
    less = [key for key in other - own if key not in alternatives and not own[key]]
    out = []
    if more:
        out.append(f"{more.total()} atoms are of Pleat alone, such as {next(iter(more))}")
    if less:
        out.append(f"{len(less)} atoms are missing, such as {less[0]}")
    return out


def compare(own, other):
    """The differences between what Pleat and gemmi read."""
    chains = {a[0] for a in other}
    unnamed = "" in chains  # Pleat names such a chain

    def key(a):
        base = a[0].rsplit("-", 1)[0]  # A-2 is the second molecule of the letter A
        chain = "" if unnamed else a[0] if a[0] in chains else base
        return (chain, *a[1:5], a[6])

    out = missing(Counter(map(key, own)), Counter(map(key, other)), {key(a) for a in other if a[7]})
    residues = {a[:3] for a in other}
    kept = {(a[0] if a[0] in chains else a[0].rsplit("-", 1)[0], *a[1:3]) for a in own}
    if not unnamed and not residues <= kept:
        out.append(f"residues are missing, such as {min(residues - kept)}")
    elements = {(a[4], a[6]): a[5] for a in other}
    odd = [a for a in own if elements.get((a[4], a[6]), a[5]) not in (a[5], "X")]
    if odd:
        out.append(f"{len(odd)} elements differ, such as {odd[0]}")
    return out


def check(path):
    """The differences of a file, as sentences."""
    own, refused = pleat(path)
    try:
        other, failed = by_gemmi(path), ""
    except (RuntimeError, ValueError) as e:
        other, failed = [], str(e)
    if refused:
        return [f"Pleat refuses it ({refused}); gemmi reads {len(other)} atoms"] if other else []
    if not other:
        return [f"Pleat reads {len(own)} atoms; gemmi does not ({failed})"]
    out = compare(own, other)
    try:
        second = by_biotite(path)
    except Exception:  # biotite refuses much that others read, with many kinds of errors
        return out
    names = Counter((a[4], a[6]) for a in own)
    alternatives = {a[:2] for a in second if a[2]} | {(a[4], a[6]) for a in other if a[7]}
    return out + [f"biotite: {text}" for text in missing(names, Counter(a[:2] for a in second), alternatives)]


def main(folder):
    """Compares all files, and fails for a difference without a reason and for a reason without a difference."""
    warnings.simplefilter("ignore")
    paths = sorted(p for p in Path(folder).iterdir() if p.suffix != ".pleat")
    read = failed = 0
    for path in paths:
        found = check(path)
        read += not pleat(path)[1]
        if bool(found) != (path.name in EXPECTED):
            failed += 1
            print(f"{path.name}: {'; '.join(found) or 'no difference, and the table gives a reason for one'}")
    print(f"{len(paths)} files, of which Pleat reads {read}; {len(EXPECTED)} differ for a reason; {failed} without")
    return failed > 0 or read < 180


if sys.argv[1] == "collect":
    collect(*sys.argv[2:])
else:
    sys.exit(main(sys.argv[2]))
