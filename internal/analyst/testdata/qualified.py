"""Computes what the questions of qualified.txt, heldout2.txt and heldout3.txt must be answered with, from the files themselves by the
definitions written here; mdtraj gives secondary structure and surfaces. Run it in this folder, it writes qualified.json.
A check is as in expected.py."""
import json
import math
import os
import mdtraj

NAMES = "1crn 1fme 1ubi 2jof cln025 dimer gapped ligand nucleic predicted".split()
ONE = dict(zip("ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL".split(), "ARNDCQEGHILKMFPSTWYV"))
FULL = dict(F=240, W=285, Y=263, R=274)  # Å², Tien et al. 2013
HYDROPHOBIC = dict(A=129, V=174, I=197, L=201, M=224, F=240, W=285, P=159)
MASS = dict(C=12.011, N=14.007, O=15.999, S=32.06)


class Residue:
    def __init__(self, chain, number, name, het):
        self.chain, self.number, self.name, self.het = chain, number, name, het
        self.letter, self.atoms, self.b, self.state, self.area = ONE.get(name, name), {}, 0.0, "?", 0.0

    def ref(self):
        return f"{self.chain}:{self.name}:{self.number}"


def path(name):
    return f"{name}.pdb" if os.path.exists(f"{name}.pdb") else f"../../structure/testdata/{name}.pdb"


def read(name):
    found = {}
    for line in open(path(name)):
        if line[:6] not in ("ATOM  ", "HETATM") or line[16] not in " A" or line[76:78].strip() in ("H", "D"):
            continue
        key = (line[21], int(line[22:26]), line[17:20].strip())
        r = found.setdefault(key, Residue(*key, line[:4] != "ATOM"))
        r.atoms[line[12:16].strip()] = tuple(float(line[i:i + 8]) for i in (30, 38, 46))
        if line[12:16].strip() == "CA":
            r.b = float(line[60:66])
    list_ = list(found.values())
    if name != "nucleic":
        t = mdtraj.load(path(name))
        t = t.atom_slice(t.topology.select("protein and element != H"))
        states = mdtraj.compute_dssp(t, simplified=False)[0]
        areas = mdtraj.shrake_rupley(t, probe_radius=0.14, n_sphere_points=960, mode="residue")[0] * 100
        for r, s, a in zip((r for r in list_ if r.name in ONE), states, areas):
            r.state, r.area = s, float(a)
    return list_


S = {n: read(n) for n in NAMES}
gap = lambda a, b: min(math.dist(x, y) for x in a.atoms.values() for y in b.atoms.values())
helix, strand = (lambda r: r.state in "HGI"), (lambda r: r.state in "EB")
charged, aromatic, hydrophobic = (lambda r: r.letter in "DEKR"), (lambda r: r.letter in "FWY"), (lambda r: r.letter in "AVILMFWP")


def poly(name, chain=None):
    return [r for r in S[name] if not r.het and r.name != "HOH" and chain in (None, r.chain)]


def at(name, number, chain=None):
    return next(r for r in poly(name, chain) if r.number == number)


def het(name, code):
    return next(r for r in S[name] if r.name == code)


def within(list_, other, cut):
    """those of the list near one of the others, without these and, for a single residue, without its neighbours in the chain"""
    others = other if isinstance(other, list) else [other]
    beside = lambda r: len(others) == 1 and not others[0].het and r.chain == others[0].chain and abs(r.number - others[0].number) == 1
    return [r for r in list_ if r not in others and not beside(r) and min(gap(r, o) for o in others) <= cut]


def these(list_, about=()):
    """the answer counts these residues and cites no others"""
    return {"n": [len(list_)], "tol": 0, "r": [r.ref() for r in [*list_, *about]], "exact": True}


def said(*text, n=(), tol=0.0):
    return {"n": list(n), "tol": tol, "t": list(text)}


def gyration(list_):
    atoms = [(MASS[n[0]], x) for r in list_ for n, x in r.atoms.items()]
    m = sum(w for w, _ in atoms)
    c = [sum(w * x[i] for w, x in atoms) / m for i in range(3)]
    return math.sqrt(sum(w * math.dist(x, c) ** 2 for w, x in atoms) / m)


def second_helix():
    runs, before = [], None
    for r in poly("1crn"):
        if r.state in "HGI" and r.state != before:
            runs.append([])
        if r.state in "HGI":
            runs[-1].append(r)
        before = r.state
    return runs[1]


crn, fme, ubi, cage, cln, pred = (poly(n) for n in ("1crn", "1fme", "1ubi", "2jof", "cln025", "predicted"))
A, B, gapped, lig = poly("dimer", "A"), poly("dimer", "B"), poly("gapped"), poly("ligand")
bnz, zn, trp, lys27, asp52 = het("ligand", "BNZ"), het("ligand", "ZN"), at("2jof", 6), at("1ubi", 27), at("1ubi", 52)
seven = [r for r in crn if 7 <= r.number <= 19]
missing = [n for n in range(1, 77) if n not in {r.number for r in gapped}]
assert missing == [20, 21, 22, 23, 24, 25, 50] and sum(r.name == "HOH" for r in S["cln025"]) == 12
dna = "".join(r.name[1] for r in poly("nucleic", "D"))
longest = max((len(list(0 for _ in g)) for g in [[r for r in ubi if 23 <= r.number <= 34 and r.state == "H"]]), default=0)

OUT = {
    "1crn": {
        "d01": {"n": [4, 1], "tol": 0, "r": [r.ref() for r in crn if charged(r)], "exact": True},
        "d02": {"r": [r.ref() for r in crn if hydrophobic(r) and r.area / HYDROPHOBIC[r.letter] >= 0.22]},  # ILE 35 is on the bound
        "d03": these([r for r in crn if 7 <= r.number <= 17]),
        "d04": these([r for r in crn if r.letter == "P" and not helix(r)]),
        "d05": these([r for r in crn[1:-1] if r.letter == "T"]),
        "d06": these([r for r in within(crn, at("1crn", 44), 4) if r.letter in "STNQHYC"], [at("1crn", 44)]),
        "b01": these([r for r in crn[:20] if r.letter == "C"]),
        "b02": {**these([r for r in crn if r.letter == "P" and r.number != 5])},
        "b03": {"r": [r.ref() for r in crn if r.number in (16, 26)], "exact": True, "n": [math.dist(at("1crn", 16).atoms["SG"], at("1crn", 26).atoms["SG"])], "tol": 0.006},
        "b04": these([r for r in second_helix() if charged(r)]),
        "b05": {**these([r for r in seven if helix(r)]), "n": [100 * sum(map(helix, seven)) / 13], "tol": 0.06},
        "b06": these([r for r in crn if not helix(r) and not strand(r)]),
        "b07": these([r for r in crn if aromatic(r) and 10 <= r.number <= 40]),
        "b08": said("TYR 44"),
        "b09": said("0 of 46"),
        "b10": said(n=[math.dist(crn[0].atoms["CA"], crn[-1].atoms["CA"])], tol=0.006),
        "c01": these([r for r in crn[:23] if r.letter == "T"]),
        "c02": {**these([r for r in crn if r.letter == "C" and helix(r)]), "n": [100 / 3], "tol": 0.06},
        "c03": these([r for r in crn if 35 <= r.number <= 42 and r.letter not in "GA"]),
        "c04": these([r for r in crn if r.letter == "R" and r.area / FULL["R"] < 0.2]),
    },
    "1fme": {
        "d07": these([r for r in fme[14:] if r.letter in "KR"]),
        "d08": said("Yes"),
        "d09": these([r for r in fme if r.letter == "E" and helix(r)]),
        "b11": these([r for r in fme if r.letter in "KR" and 10 <= r.number <= 20]),
        "b12": these([r for r in fme if r.letter in "DE" and r.number > 16]),
        "b13": said("net charge of %+d" % sum((r.letter in "KR") - (r.letter in "DE") for r in fme[:14])),
        "b14": said("1 more LYS than ARG", n=[sum(r.letter == k for r in fme) for k in "KR"]),
    },
    "1ubi": {
        "d10": these([r for r in ubi if r.letter == "L" and 50 <= r.number <= 76]),
        "d11": these([r for r in ubi if r.letter == "T" and strand(r)]),
        "d12": these([r for r in within(ubi, at("1ubi", 68), 6) if r.letter in "AVIL"], [at("1ubi", 68)]),
        "d13": these([r for r in ubi[:34] if r.letter in "DE"]),
        "d14": said("0 of 76"),
        "d15": these([r for r in ubi if r.letter == "G" and r.number > 40]),
        "b15": these([r for r in ubi[1:] if r.letter == "M"]),
        "b16": these([r for r in ubi if r.letter == "K" and helix(r)]),
        "b17": said("".join(r.letter for r in ubi[40:50])),
        "b18": said("2 more LEU than ILE", n=[sum(r.letter == k for r in ubi) for k in "LI"]),
        "b19": said(n=[gyration(ubi)], tol=0.011),
        "b20": these(within(ubi, lys27, 4), [lys27]),
        "b21": these([r for r in ubi[38:] if strand(r)]),
        "b22": said("α-helix ILE 23 to GLU 34 (chain A) with %d residues" % longest),
        "b23": said("Yes: HIS 68 (chain A) is in a β-strand" if at("1ubi", 68).state == "E" else "not a strand"),
        "c05": {"r": [min((r for r in ubi if r.letter == "K"), key=lambda r: gap(r, asp52)).ref(), asp52.ref()], "exact": True},
        "c06": these([r for r in ubi[:20] if strand(r)]),
        "c07": {"n": [sum(r.letter in "DE" for r in ubi), sum(r.letter == "D" for r in ubi)], "tol": 0, "r": [r.ref() for r in ubi if r.letter in "DE"], "exact": True},
        "c08": {"r": [at("1ubi", 49).ref()], "exact": True},
        "c09": said(n=[37 - 19 - 1]),
        "c10": these([r for r in ubi if aromatic(r) and r.area / FULL[r.letter] >= 0.2]),
    },
    "2jof": {
        "d16": these(within(cage, trp, 3.5), [trp]),
        "b24": these([r for r in cage[-5:] if r.letter == "P"]),
        "b25": these([r for r in cage[-10:] if r.letter not in "PG"]),
        "b26": these([r for r in cage if aromatic(r) and r.state == "H"]),
        "b27": these([r for r in within(cage, trp, 5) if r.letter == "P"], [trp]),
        "c11": these([r for r in within(cage, trp, 4) if r.letter != "P"], [trp]),
        "c12": said(n=[len(trp.atoms)]),
    },
    "cln025": {
        "b28": said("12 water molecules"),
        "b29": said("TYR 10"),
        "b30": these([r for r in cln if r.letter in "DE"]),
        "c13": these([r for r in cln if r.letter == "Y"]),
        "c14": said(n=[gap(cln[0], cln[-1])], tol=0.006),
    },
    "dimer": {
        "d17": these([r for r in B if r.letter in "FW"]),
        "d18": these([r for r in within(B, A, 4.5) if r.letter == "K"]),
        "b31": these([r for r in B if charged(r) and helix(r)]),
        "b32": said("the longest is chain A" if len(A) > len(B) else "chain B"),
        "b33": said("a difference of %d" % abs(sum(r.letter == "K" for r in A) - sum(r.letter == "K" for r in B))),
        "b34": {"r": [r.ref() for r in within(A, B, 5)], "exact": True},
        "b35": these([r for r in within(B, A, 5) if charged(r)]),
        "c15": these([r for r in within(A, B, 8) if r.letter == "K"]),
        "c16": said("and %d residues" % len(within(B, A, 4.5)), "LYS 6, TYR 7, LYS 8, GLY 9, PHE 25 (chain B)"),
        "c17": said(n=[100 * sum(map(charged, x)) / len(x) for x in (A, B)], tol=0.06),
    },
    "gapped": {
        "d19": said(gapped[0].name + " 1", gapped[-1].name + " 76"),
        "b36": {**said("1 residue is missing"), "r": [at("gapped", 49).ref(), at("gapped", 51).ref()], "exact": True},
        "b37": said("%d residues" % len(gapped)),
        "c18": said("Together %d" % len(missing)),
        "c19": these([r for r in gapped if r.letter == "Q"]),
    },
    "ligand": {
        "d20": these([r for r in within(lig, zn, 8) if r.letter == "R"], [zn]),
        "b38": these([r for r in within(lig, bnz, 4) if hydrophobic(r)], [bnz]),
        "b39": said("1 ion (ZN 202"),
        "b40": {"r": [min(lig, key=lambda r: gap(r, zn)).ref(), zn.ref()], "exact": True},
        "c20": {"r": [min((r for r in lig if charged(r)), key=lambda r: gap(r, bnz)).ref(), bnz.ref()], "exact": True},
    },
    "nucleic": {
        "b41": these([r for r in poly("nucleic", "R") if r.name == "A"]),
        "b42": said(dna),
    },
    "predicted": {
        "d21": these([r for r in pred[:40] if r.b >= 95]),
        "d22": said(n=[sum(r.b for r in pred[-10:]) / 10], tol=0.051),
        "b43": said(n=[sum(r.b for r in pred[4:12]) / 8], tol=0.051),
        "b44": these([r for r in pred if r.letter == "K" and r.b < 90]),
        "b45": these([r for r in pred if r.b < 50]),
        "c21": these([r for r in pred if r.letter == "L" and 50 <= r.b <= 70]),
        "c22": {"n": [sum(r.b < 70 for r in pred)], "tol": 0, "r": [next(r for r in pred if r.b < 70).ref()]},
    },
}

with open("qualified.json", "w") as f:
    json.dump({s: {k: {"n": [], "r": [], **c} for k, c in keys.items()} for s, keys in OUT.items()}, f, indent=1, sort_keys=True)
    f.write("\n")
