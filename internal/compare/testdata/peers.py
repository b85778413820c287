"""Computes RMSD with gemmi, TM-score with tmtools, lDDT with biotite and DockQ with DockQ for pairs of structures.

It compares them with what package compare computed for the same files, which are in a folder.
"""

import json
import sys
from pathlib import Path

import biotite.structure as bs
import biotite.structure.io.pdb as pdb
import gemmi
import numpy as np
from DockQ.DockQ import load_PDB, run_on_all_native_interfaces
from tmtools import tm_align

# Largest differences. Files have three decimals, which both sides read.
RMSD = 1e-3  # Å
TM = 0.01  # both search for the superposition
LDDT = 1e-4
DOCKQ = 1e-3
# TM-align searches for an alignment too: of dissimilar folds it finds a better one than that of the sequence.
SIMILAR = 0.5

folder = Path(sys.argv[1])
counts: dict[str, int] = {}


def check(pair: str, what: str, ours: float, theirs: float, tolerance: float) -> None:
    """Compare two values."""
    counts[what] = counts.get(what, 0) + 1
    print(f"{pair:18} {what:28} {ours:9.4f} {theirs:9.4f}")
    assert abs(ours - theirs) <= tolerance, (pair, what, ours, theirs)


def aligned(detail: dict, models: list) -> list[np.ndarray]:
    """Return the CA of the aligned residues of both structures."""
    out = []
    for side, model in zip("AB", models, strict=True):
        points = []
        for segment in detail["segments"]:
            by_number = {r.seqid.num: r for r in model[segment["chain" + side]]}
            points += [by_number[n]["CA"][0].pos.tolist() for n in segment["residues" + side]]
        out.append(np.array(points))
    return out


def rmsd_by_gemmi(a: np.ndarray, b: np.ndarray) -> float:
    """Superpose two lists of points with gemmi."""
    return gemmi.superpose_positions([gemmi.Position(*v) for v in a], [gemmi.Position(*v) for v in b]).rmsd


def lddt_by_biotite(paths: list[Path], pair: dict) -> dict[str, float] | None:
    """Compute lDDT with biotite, where both structures have the same atoms."""
    arrays = []
    for side, path in zip("ab", paths, strict=True):
        atoms = pdb.PDBFile.read(path).get_structure(model=1, extra_fields=["atom_id"])
        atoms = atoms[(atoms.element != "H") & ~atoms.hetero]
        arrays.append(bs.concatenate([atoms[atoms.chain_id == c[side]] for c in pair["chains"]]))
    reference, subject = arrays
    if len(reference) != len(subject) or (reference.atom_name != subject.atom_name).any():
        return None
    out = {"lddtAllAtom": bs.lddt(reference, subject)}
    ca = reference.atom_name == "CA"
    out["lddtCA"] = bs.lddt(reference[ca], subject[ca])
    return out


for file in sorted(folder.glob("*.json")):
    name, document = file.stem, json.loads(file.read_text())
    pair, detail = document["pairs"][0], document["details"][0]
    paths = [folder / f"{name}-{side}.pdb" for side in "ab"]
    models = [gemmi.read_structure(str(p))[0] for p in paths]
    a, b = aligned(detail, models)
    assert len(a) == pair["alignedResidues"], name

    check(name, "RMSD by gemmi", pair["rmsd"], rmsd_by_gemmi(a, b), RMSD)
    transform = document["structures"][1]["transform"]
    moved = b @ np.array(transform["rotation"]).T + transform["translation"]
    distances = np.linalg.norm(moved - a, axis=1)
    check(name, "RMSD by the transform", pair["rmsd"], float(np.sqrt((distances**2).mean())), RMSD)
    ours = [d for s in detail["segments"] for d in s["distance"]]
    assert np.abs(distances - ours).max() <= RMSD, name
    if len(pair["chains"]) == 1:  # gemmi aligns the sequences itself
        sides = [m[pair["chains"][0][s]].get_polymer() for s, m in zip("ab", models, strict=True)]
        theirs = gemmi.calculate_superposition(*sides, gemmi.PolymerType.PeptideL, gemmi.SupSelect.CaP)
        assert theirs.count == pair["alignedResidues"], (name, theirs.count)
        check(name, "RMSD by gemmi's alignment", pair["rmsd"], theirs.rmsd, RMSD)

    whole = []
    for side, model in zip("ab", models, strict=True):
        names = [c[side] for c in pair["chains"]] + [
            c.name for c in model if c.name not in [x[side] for x in pair["chains"]]
        ]
        residues = [r for n in names for r in model[n] if "CA" in r]
        points = np.array([r["CA"][0].pos.tolist() for r in residues])
        whole.append((points, gemmi.one_letter_code([r.name for r in residues])))
    tm = tm_align(whole[1][0], whole[0][0], whole[1][1], whole[0][1])
    if tm.tm_norm_chain2 >= SIMILAR:
        check(name, "TM-score by a", pair["tmScoreA"], tm.tm_norm_chain2, TM)
        check(name, "TM-score by b", pair["tmScoreB"], tm.tm_norm_chain1, TM)
    else:
        assert pair["tmScoreA"] <= tm.tm_norm_chain2 + TM, (name, pair["tmScoreA"], tm.tm_norm_chain2)

    scores = lddt_by_biotite(paths, pair)
    if scores:
        check(name, "lDDT of CA by biotite", pair["lddtCA"], scores["lddtCA"], LDDT)
        # Ours is better where two atoms are the same by nature, and their names may be exchanged.
        assert pair["lddtAllAtom"] >= scores["lddtAllAtom"] - LDDT, name
        check(name, "lDDT of all atoms by biotite", pair["lddtAllAtom"], scores["lddtAllAtom"], 0.01)

    if pair["interfaces"]:
        mapping = {c["a"]: c["b"] for c in pair["chains"]}
        native, model = load_PDB(str(paths[0])), load_PDB(str(paths[1]))
        theirs, total = run_on_all_native_interfaces(model, native, chain_map=mapping)
        assert len(theirs) == len(pair["interfaces"]), name
        for interface in pair["interfaces"]:
            other = theirs["".join(interface["chains"])]
            for value, key in (
                ("dockq", "DockQ"),
                ("fnat", "fnat"),
                ("fnonnat", "fnonnat"),
                ("iRMSD", "iRMSD"),
                ("LRMSD", "LRMSD"),
            ):
                check(name, key + " by DockQ", interface[value], other[key], DOCKQ)
        check(name, "mean DockQ", pair["dockq"], total / len(theirs), DOCKQ)

wanted = {"RMSD by gemmi": 10, "TM-score by a": 7, "lDDT of CA by biotite": 7, "DockQ by DockQ": 5}
for what, least in wanted.items():
    assert counts.get(what, 0) >= least, (what, counts)
print("gemmi, tmtools, biotite and DockQ compute the same")
