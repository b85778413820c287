"""Builds the structures that no database has, from entries of the PDB by plain arithmetic: run it in this folder."""
import math
import numpy as np
from scipy.spatial import cKDTree

SOURCES = {"1ubi": "../../structure/testdata/1ubi.pdb", "1crn": "../../structure/testdata/1crn.pdb", "2jof": "../../structure/testdata/2jof.pdb", "1fme": "1fme.pdb"}


def atoms(name):
    out = []
    for line in open(SOURCES[name]):
        if line.startswith("ATOM") and line[12:16].strip()[0] != "H" and line[76:78].strip() != "H":
            out.append([line[12:16].strip(), line[17:20].strip(), line[21], int(line[22:26]), np.array([float(line[30 + 8 * k:38 + 8 * k]) for k in range(3)]), float(line[60:66])])
    return out


def write(path, chains, title=None):
    serial = 0
    with open(path, "w") as f:
        if title:
            f.write(f"TITLE     {title}\n")
        for record, chain in chains:
            for name, res, cid, num, pos, b in chain:
                serial += 1
                el = name if res in ("ZN",) else name.lstrip("0123456789")[0]
                col = name if len(name) == 4 else (f"{name:<4}" if len(el) == 2 else f" {name:<3}")
                f.write(f"{record:<6}{serial:5d} {col:<4} {res:>3} {cid}{num:4d}    {pos[0]:8.3f}{pos[1]:8.3f}{pos[2]:8.3f}{1.0:6.2f}{b:6.2f}          {el:>2}\n")
            if record == "ATOM":
                f.write("TER\n")
        f.write("END\n")


def move(chain, rot, shift, cid):
    return [[n, r, cid, k, rot @ p + shift, b] for n, r, _, k, p, b in chain]


def turn(axis, degrees):
    t, (i, j) = math.radians(degrees), {"x": (1, 2), "y": (0, 2), "z": (0, 1)}[axis]
    m = np.eye(3)
    m[i, i] = m[j, j] = math.cos(t)
    m[i, j], m[j, i] = -math.sin(t), math.sin(t)
    return m


def slide(free):
    """The smallest distance from 60 Å inwards that is free, by ever finer steps."""
    d = 60.0
    for step in (4.0, 1.0, 0.2, 0.02):
        while free(d - step):
            d -= step
    return d


def dimer():
    """Ubiquitin (A) with 1fme (B) slid along x until their atoms are 2.8 Å apart, turned so that they touch most."""
    a, raw = atoms("1ubi"), atoms("1fme")
    pa, pb = np.array([x[4] for x in a]), np.array([x[4] for x in raw])
    tree, best = cKDTree(pa), None
    for i in range(0, 360, 40):
        for j in range(0, 360, 40):
            rot = turn("y", j) @ turn("z", i)
            at = lambda d: (pb - pb.mean(axis=0)) @ rot.T + pa.mean(axis=0) + np.array([d, 0, 0])
            d = slide(lambda d: tree.query(at(d))[0].min() > 2.8)
            q = at(d)
            dist = np.linalg.norm(pa[:, None] - q[None], axis=2)
            if best is None or (dist < 4.5).sum() > best[0]:
                best = ((dist < 4.5).sum(), q)
    write("dimer.pdb", [("ATOM", a), ("ATOM", [[n, r, "B", k, p, b] for (n, r, _, k, _, b), p in zip(raw, best[1])])])


def ligand():
    """Crambin with a flat six-ring (BNZ 201) 3.3 Å off where it touches most, and a zinc (ZN 202) 2.1 Å off GLU 23."""
    a = atoms("1crn")
    p = np.array([x[4] for x in a])
    tree, centre = cKDTree(p), p.mean(axis=0)

    def out(start, want, shape):
        u = (start - centre) / np.linalg.norm(start - centre)
        return start + u * slide(lambda d: tree.query(start + u * d + shape)[0].min() > want) + shape

    ring = np.array([[1.39 * math.cos(math.pi * k / 3), 1.39 * math.sin(math.pi * k / 3), 0] for k in range(6)])
    touched = lambda q: len({x[3] for x in a if np.linalg.norm(q - x[4], axis=1).min() < 4.5})
    places = [out(x[4], 3.3, ring @ turn(axis, 90).T) for x in a[::4] for axis in "xyz" if np.linalg.norm(x[4] - centre) > 4]
    best = max(places, key=touched)
    bnz = [[f"C{k+1}", "BNZ", "A", 201, q, 20.0] for k, q in enumerate(best)]
    glu = next(x[4] for x in a if x[3] == 23 and x[0] == "OE1")
    zn = [["ZN", "ZN", "A", 202, out(glu, 2.1, np.zeros((1, 3)))[0], 20.0]]
    write("ligand.pdb", [("ATOM", a), ("HETATM", bnz), ("HETATM", zn)])


def predicted():
    """Ubiquitin with made-up pLDDT: high in the middle, low at the end."""
    a = [[n, r, c, k, p, plddt(k)] for n, r, c, k, p, _ in atoms("1ubi")]
    write("predicted.pdb", [("ATOM", a)], "PREDICTION FOR A TEST, WITH MADE-UP CONFIDENCE")


def plddt(k):
    return round(96 - 0.1 * abs(k - 35) if k < 60 else max(40.0, 96 - 4.0 * (k - 59)), 2)


def gapped():
    """Ubiquitin as chain K without residues 20 to 25 and 50."""
    a = [[n, r, "K", k, p, b] for n, r, _, k, p, b in atoms("1ubi") if not (20 <= k <= 25 or k == 50)]
    write("gapped.pdb", [("ATOM", a)])


def nucleic():
    """A schematic strand of RNA (R) and one of DNA (D): atoms on helices of the right rise and twist, not real chemistry."""
    def strand(seq, cid, dna, shift):
        out = []
        for i, base in enumerate(seq):
            def at(name, r, part):
                t = math.radians(32.7) * (i + part)
                return [name, ("D" if dna else "") + base, cid, i + 1, np.array([r * math.cos(t), r * math.sin(t), 2.81 * (i + part)]) + shift, 30.0]
            for k, name in enumerate(["P", "O5'", "C5'", "C4'", "C3'", "O3'"]):
                out.append(at(name, 8.7, k / 6))
            out += [at("C2'", 7.0, 4 / 6), at("O4'", 7.2, 2 / 6), at("C1'", 5.8, 3 / 6)]
            if not dna:
                out.append(at("O2'", 7.6, 5 / 6))
            out.append(at("N9" if base in "AG" else "N1", 4.4, 3 / 6))
        return out
    write("nucleic.pdb", [("ATOM", strand("GGCUAACG", "R", False, np.zeros(3))), ("ATOM", strand("CGTTAG", "D", True, np.array([0, 0, 40.0])))])


def bound():
    """The dimer with a flat six-ring (BNZ 201) 3.3 Å off the tip of ARG 19 of chain B, as that sticks out of its helix."""
    lines = [l for l in open("dimer.pdb") if l.startswith(("ATOM", "TER"))]
    p = [[float(l[k:k + 8]) for k in (30, 38, 46)] for l in lines if l.startswith("ATOM")]
    centre = [sum(x) / len(p) for x in zip(*p)]
    tip = next([float(l[k:k + 8]) for k in (30, 38, 46)] for l in lines if l[12:26].split() == ["NH1", "ARG", "B", "19"])
    u = [(a - b) / math.dist(tip, centre) for a, b in zip(tip, centre)]
    ring = lambda d: [[tip[0] + u[0] * d + 1.39 * math.cos(math.pi * k / 3), tip[1] + u[1] * d + 1.39 * math.sin(math.pi * k / 3), tip[2] + u[2] * d] for k in range(6)]
    d = 0.0
    while min(math.dist(a, b) for a in ring(d) for b in p) < 3.3:
        d += 0.1
    with open("bound.pdb", "w") as f:
        f.writelines(lines)
        for k, q in enumerate(ring(d)):
            f.write(f"HETATM{len(p) + k + 1:5d}  C{k + 1}  BNZ B 201    {q[0]:8.3f}{q[1]:8.3f}{q[2]:8.3f}{1.0:6.2f}{20.0:6.2f}           C\n")
        f.write("END\n")


def cut():
    """Parts of 2jof and 1crn: without atoms, with other component codes, with gaps and with jumps of the numbers."""
    lines = {}
    for name in ("2jof", "1crn"):
        lines[name] = [l for l in open(SOURCES[name]) if l.startswith("ATOM") and l[76:78].strip() not in ("H", "D")]
    atom, number = lambda l: l[12:16].strip(), lambda l: int(l[22:26])
    numbered = lambda l, n: l[:22] + f"{n:4d}" + l[26:]
    cage, main = lines["2jof"], ("N", "CA", "C", "O")
    codes = {3: "PTR", 8: "ALY", 13: "SEP", 20: "CSO"}
    coded = lambda l: "HETATM" + l[6:17] + codes[number(l)] + l[20:] if number(l) in codes else l
    sequence = [l[17:20] for l in cage if atom(l) == "CA"]
    records = [f"SEQRES {k // 13 + 1:3d} A {len(sequence):4d}  {' '.join(sequence[k:k + 13])}" for k in range(0, len(sequence), 13)]
    files = {
        "alpha": [l for l in cage if atom(l) == "CA"],
        "backbone": [l for l in lines["1crn"] if atom(l) in main and number(l) <= 32],
        "partly": [l for l in cage if number(l) not in (6, 16) or atom(l) in main + ("CB",)],
        "modified": [coded(l) for l in cage],
        "seqres": records + [numbered(l, number(l) - 3 * (number(l) > 11)) for l in cage if not 9 <= number(l) <= 11],
        "jumps": [numbered(l, number(l) + 90 * (number(l) > 9)) for l in cage],
    }
    for name, text in files.items():
        with open(f"{name}.pdb", "w") as f:
            f.writelines(line.rstrip() + "\n" for line in text + ["END"])


dimer()
ligand()
predicted()
gapped()
nucleic()
bound()
cut()
