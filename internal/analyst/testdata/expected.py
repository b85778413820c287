"""Computes what the analyst must answer with other programs (Biopython, mdtraj, numpy): run it in this folder, it writes
expected.json. A check is {"n": numbers the text must hold, "tol": how near, "r": residues that must be cited (no others, if
"exact"), "t": texts it must hold}."""
import json
import math
import os
import warnings
import mdtraj
import numpy as np
from Bio.PDB import PDBParser
from Bio.PDB.Polypeptide import protein_letters_3to1
from Bio.PDB.SASA import ShrakeRupley
from Bio.SeqUtils.ProtParam import ProteinAnalysis

warnings.filterwarnings("ignore")
NAMES = "1crn 1ubi 2jof 1fme cln025 dimer ligand predicted gapped nucleic".split()
FULL = dict(ALA=129, ARG=274, ASN=195, ASP=193, CYS=167, GLN=225, GLU=223, GLY=104, HIS=224, ILE=197, LEU=201, LYS=236, MET=224, PHE=240, PRO=159, SER=155, THR=172, TRP=285, TYR=263, VAL=174)
one = lambda name: protein_letters_3to1.get(name.capitalize(), protein_letters_3to1.get(name, "X"))


class Entry:
    def __init__(self, name):
        self.path = f"{name}.pdb" if os.path.exists(f"{name}.pdb") else f"../../structure/testdata/{name}.pdb"
        self.model = PDBParser(QUIET=True).get_structure(name, self.path)[0]
        self.all = [r for r in self.model.get_residues() if r.get_resname() != "HOH"]
        self.polymer = [r for r in self.all if r.id[0] == " "]
        self.het = [r for r in self.all if r.id[0] != " "]
        self.waters = sum(r.get_resname() == "HOH" for r in self.model.get_residues())
        self.seq = "".join(one(r.get_resname()) for r in self.polymer)

    def res(self, num, chain=None):
        return next(r for r in self.polymer if r.id[1] == num and (chain is None or r.get_parent().id == chain))

    def dssp(self):
        t = mdtraj.load_pdb(self.path)
        t = t.atom_slice(t.topology.select("protein"))
        return [c if c != " " else "-" for c in mdtraj.compute_dssp(t, simplified=False)[0]]


heavy = lambda r: [a for a in r if a.element not in ("H", "D")]
ref = lambda r: f"{r.get_parent().id}:{r.get_resname()}:{r.id[1]}"
gap = lambda a, b: min(float(np.linalg.norm(x.coord - y.coord)) for x in heavy(a) for y in heavy(b))
dist = lambda a, b: float(np.linalg.norm(np.array(a.coord, float) - np.array(b.coord, float)))
runs = lambda states, of: [(i, j) for i, j in spans(states) if states[i] in of]


def spans(states):
    i = 0
    while i < len(states):
        j = i
        while j + 1 < len(states) and states[j + 1] == states[i]:
            j += 1
        yield i, j
        i = j + 1


def touching(e, r, cut=4.5):
    k = e.polymer.index(r) if r in e.polymer else -9
    return [x for x in e.polymer if x is not r and gap(x, r) <= cut and not (k >= 0 and abs(e.polymer.index(x) - k) == 1 and x.get_parent() is r.get_parent())]


def gyration(residues):
    atoms = [a for r in residues for a in heavy(r)]
    m = np.array([a.mass for a in atoms])
    x = np.array([a.coord for a in atoms], float)
    c = (m[:, None] * x).sum(0) / m.sum()
    return math.sqrt((m * ((x - c) ** 2).sum(1)).sum() / m.sum())


def bridges(residues):
    acid = {"ASP": ("OD1", "OD2"), "GLU": ("OE1", "OE2")}
    base = {"LYS": ("NZ",), "ARG": ("NE", "NH1", "NH2")}
    atoms = lambda r, t: [r[n] for n in t.get(r.get_resname(), ()) if n in r]
    return [(a, b) for a in residues for b in residues if any(dist(p, q) <= 4.0 for p in atoms(a, acid) for q in atoms(b, base))]


def sasa(e):
    for r in list(e.model.get_residues()):
        if r.get_resname() == "HOH" or r.id[0] != " " and r not in e.het:
            r.get_parent().detach_child(r.id)
        else:
            for a in list(r):
                if a.element in ("H", "D"):
                    r.detach_child(a.id)
    ShrakeRupley(n_points=960).compute(e.model, level="R")
    return {ref(r): r.sasa for r in e.polymer}


def common(e):
    out = {"residues": {"t": [f"{len(e.polymer)} residues"]}, "rg": {"n": [gyration(e.polymer)], "tol": 0.011}}
    proteins = [r for r in e.polymer if r.get_resname().capitalize() in protein_letters_3to1 or len(r.get_resname()) == 3]
    atoms = [a for r in e.model.get_residues() for a in r]
    out["atoms"] = {"n": [len(atoms), sum(a.element not in ("H", "D") for a in atoms)], "tol": 0}
    ca = [r["CA"] if "CA" in r else r["C1'"] for r in e.polymer]
    out["longest"] = {"n": [max(dist(a, b) for a in ca for b in ca)], "tol": 0.011}
    out["ends"] = {"n": [dist(ca[0], ca[-1])], "tol": 0.011, "r": [ref(e.polymer[0]), ref(e.polymer[-1])]}
    out["waters"] = {"t": [f"{e.waters} water molecule"]}
    out["sequence"] = {"t": [e.seq]}
    if not proteins or len({r.get_parent().id for r in proteins}) > 1:
        return out
    sg = [(a, b) for i, a in enumerate(e.polymer) for b in e.polymer[i + 1:] if a.get_resname() == b.get_resname() == "CYS" and 1.8 <= dist(a["SG"], b["SG"]) <= 2.5]
    p = ProteinAnalysis(e.seq)
    free = lambda pH: p.charge_at_pH(pH) + 2 * len(sg) / (1 + 10 ** (9.0 - pH))
    out["charge7"] = {"n": [free(7)], "tol": 0.011}
    out["charge5"] = {"n": [free(5)], "tol": 0.011}
    lo, hi = 0.0, 14.0
    while hi - lo > 1e-6:
        lo, hi = ((lo + hi) / 2, hi) if free((lo + hi) / 2) > 0 else (lo, (lo + hi) / 2)
    out["pi"] = {"n": [lo], "tol": 0.011}
    out["weight"] = {"n": [p.molecular_weight()], "tol": 0.6}
    states = e.dssp()
    share = lambda of: 100 * sum(s in of for s in states) / len(states)
    out["ss"] = {"n": [share("HGI"), share("EB")], "tol": 0.06}
    for key, of in (("helices", "HGI"), ("strands", "EB"), ("alpha", "H")):
        found = runs(states, of)
        out[key] = {"r": [ref(e.polymer[k]) for i, j in found for k in (i, j)], "exact": True}
    out["no_pi"] = {"t": ["no π-helices"] if "I" not in states else ["π-hel"]}
    found = max(runs(states, "HGI"), key=lambda s: s[1] - s[0], default=None)
    if found:
        out["longest_helix"] = {"t": [f"{found[1] - found[0] + 1} residues"], "r": [ref(e.polymer[k]) for k in found]}
    out["strand_count"] = {"t": [f"{len(runs(states, 'E'))} β-strand"]}
    out["alpha_count"] = {"t": [f"{len(runs(states, 'H'))} α-heli"]}
    found = bridges(e.polymer)
    out["bridges"] = {"t": [f"{len(found)} salt bridge" if found else "no salt bridges"], "r": [ref(r) for pair in found for r in pair], "exact": True}
    for name in ("CYS", "LYS", "ALA", "GLY", "TRP", "PRO"):
        found = [r for r in e.polymer if r.get_resname() == name]
        out["count_" + name] = {"t": [f"{len(found)} of {len(e.polymer)}"], "r": [ref(r) for r in found], "exact": True}
    for key, letters in (("hydrophobic", "AVILMFWP"), ("aromatic", "FWY"), ("positive", "KR"), ("negative", "DE")):
        found = [r for r in e.polymer if one(r.get_resname()) in letters]
        out[key] = {"t": [f"{len(found)} of {len(e.polymer)}"], "n": [100 * len(found) / len(e.polymer)], "tol": 0.06, "r": [ref(r) for r in found], "exact": True}
    top = max(e.seq.count(c) for c in e.seq)
    out["most_common"] = {"t": [f"{top} ("] + sorted({r.get_resname() for r in e.polymer if e.seq.count(one(r.get_resname())) == top})}
    out["disulfides"] = {"t": [f"{len(sg)} disulfide" if sg else "No disulfides"], "n": [dist(a["SG"], b["SG"]) for a, b in sg], "tol": 0.006, "r": [ref(r) for pair in sg for r in pair]}
    return out


def special(name, e, out):
    near = lambda key, num, chain=None: out.__setitem__(key, {"r": [ref(e.res(num, chain))] + [ref(r) for r in touching(e, e.res(num, chain))], "exact": True, "t": [f"{len(touching(e, e.res(num, chain)))} residue"]})
    if name == "1crn":
        near("near_29", 29)
        near("near_10", 10)
        out["cys3_40"] = {"n": [dist(e.res(3)["CA"], e.res(40)["CA"])], "tol": 0.006, "r": ["A:CYS:3", "A:CYS:40"]}
        s = e.dssp()
        out["state_20"] = {"t": [{"H": "α-helix", "-": "coil", "T": "turn", "G": "3-10", "E": "β-strand", "S": "bend"}[s[19]]], "r": ["A:GLY:20"]}
    if name == "1ubi":
        near("near_48", 48)
        out["k48_m1"] = {"n": [gap(e.res(48), e.res(1)), dist(e.res(48)["CA"], e.res(1)["CA"])], "tol": 0.006, "r": ["A:LYS:48", "A:MET:1"]}
        out["ca_3_15_nm"] = {"n": [dist(e.res(3)["CA"], e.res(15)["CA"]) / 10], "tol": 0.0006, "r": ["A:ILE:3", "A:LEU:15"]}
        out["nz_atoms"] = {"n": [dist(e.res(27)["NZ"], e.res(52)["OD1"])], "tol": 0.006, "r": ["A:LYS:27", "A:ASP:52"]}
        out["res_48"] = {"r": ["A:LYS:48"], "t": ["LYS 48 (chain A)"], "exact": True}
        out["first10"] = {"t": [e.seq[:10]]}
        areas = sasa(e)
        out["area"] = {"n": [sum(areas.values())], "tol": 0.02 * sum(areas.values())}
        out["clearly_buried"] = {"r": [ref(r) for r in e.polymer if areas[ref(r)] / FULL[r.get_resname()] < 0.15]}
        out["cterm"] = {"r": [ref(e.polymer[-1])], "exact": True}
    if name == "2jof":
        out["trp"] = {"r": ["A:TRP:6"], "t": ["TRP 6"]}
        near("near_6", 6)
        out["within6_of_19"] = {"r": ["A:PRO:19"] + [ref(r) for r in touching(e, e.res(19), 6.0)], "exact": True}
    if name == "dimer":
        a, b = ([r for r in e.polymer if r.get_parent().id == c] for c in "AB")
        pairs = [(x, y) for x in a for y in b if gap(x, y) <= 4.5]
        sides = [sorted({ref(p[k]) for p in pairs}) for k in (0, 1)]
        best = min(pairs, key=lambda p: gap(*p))
        out["interface"] = {"r": sides[0] + sides[1], "exact": True, "t": [f"{len(pairs)} residue pair", f"{len(sides[0])} and {len(sides[1])} residues"], "n": [gap(*best)], "tol": 0.006}
        out["a_length"], out["b_length"] = {"t": [f"Chain A has {len(a)} residues"]}, {"t": [f"Chain B has {len(b)} residues"]}
        out["chains"] = {"t": ["2 chains", f"A ({len(a)} residues)", f"B ({len(b)} residues)"]}
        out["b_seq"] = {"t": ["".join(one(r.get_resname()) for r in b)]}
        out["b_charge"] = {"n": [ProteinAnalysis("".join(one(r.get_resname()) for r in b)).charge_at_pH(7)], "tol": 0.011}
        out["across"] = {"n": [dist(e.res(48, "A")["CA"], e.res(7, "B")["CA"])], "tol": 0.006, "r": ["A:LYS:48", "B:TYR:7"]}
        out["b_rg"] = {"n": [gyration(b)], "tol": 0.011}
        # buried area, each alone less both together
        total = sasa(e)
        alone = 0.0
        for keep in "AB":
            other = Entry(name)
            other.model.detach_child("B" if keep == "A" else "A")
            other.polymer = [r for r in other.polymer if r.get_parent().id == keep]
            alone += sum(sasa(other).values())
        out["buried_area"] = {"n": [alone - sum(total.values())], "tol": 0.05 * (alone - sum(total.values()))}
    if name == "ligand":
        for lig in e.het:
            found = sorted(((gap(r, lig), r) for r in e.polymer if gap(r, lig) <= 4.5), key=lambda x: x[0])
            out["around_" + lig.get_resname()] = {"r": [ref(lig)] + [ref(r) for _, r in found], "exact": True, "n": [found[0][0]], "tol": 0.006}
            out["closest_" + lig.get_resname()] = {"t": [f"Closest: {found[0][1].get_resname()} {found[0][1].id[1]}"], "n": [found[0][0]], "tol": 0.006}
            wide = [r for r in e.polymer if gap(r, lig) <= 6]
            out["within6_" + lig.get_resname()] = {"r": [ref(lig)] + [ref(r) for r in wide], "exact": True}
        out["ligands"] = {"r": [ref(l) for l in e.het], "exact": True, "t": ["1 ligand", "1 ion"]}
        bnz = e.het[0]
        out["bnz_29"] = {"n": [gap(bnz, e.res(29))], "tol": 0.006}
    if name == "predicted":
        b = {r: float(np.mean([a.bfactor for a in r])) for r in e.polymer}
        low = [r for r in e.polymer if b[r] < 70]
        out["mean"] = {"n": [np.mean(list(b.values()))], "tol": 0.06}
        out["doubtful"] = {"r": [ref(low[0]), ref(low[-1])], "t": [f"{len(low)} of {len(b)}"]}
        out["mean_60_76"] = {"n": [np.mean([b[e.res(k)] for k in range(60, 77)])], "tol": 0.06, "r": [ref(e.res(60)), ref(e.res(76))]}
        out["at_70"] = {"n": [b[e.res(70)]], "tol": 0.06, "r": [ref(e.res(70))]}
        high = [r for r in e.polymer if b[r] >= 95]
        out["above_95"] = {"t": [f"{len(high)} of {len(b)}"], "r": [ref(high[0]), ref(high[-1])]}
        lowest = min(b, key=lambda r: round(b[r], 3))
        out["lowest"] = {"n": [b[lowest]], "tol": 0.06}
    if name == "gapped":
        nums = [r.id[1] for r in e.polymer]
        jumps = [(i, nums[i + 1] - nums[i] - 1) for i in range(len(nums) - 1) if nums[i + 1] - nums[i] > 1]
        out["gaps"] = {"r": [ref(e.polymer[k]) for i, _ in jumps for k in (i, i + 1)], "exact": True, "t": [f"{n} residue" for _, n in jumps]}
    if name == "nucleic":
        for chain in "RD":
            seq = "".join(r.get_resname()[-1] for r in e.polymer if r.get_parent().id == chain)
            out["seq_" + chain] = {"t": [seq]}
        out["guanines"] = {"t": [f"{sum(r.get_resname().endswith('G') for r in e.polymer)} of {len(e.polymer)}"]}
        out["chains"] = {"t": ["(8 residues): RNA", "(6 residues): DNA"]}


result = {}
for name in NAMES:
    e = Entry(name)
    out = common(e)
    special(name, Entry(name), out)
    for v in out.values():
        v["n"] = [round(float(x), 4) for x in v.get("n", [])]
        v["r"] = list(dict.fromkeys(v.get("r", [])))
    result[name] = out
json.dump(result, open("expected.json", "w"), indent=1, sort_keys=True, ensure_ascii=False)
