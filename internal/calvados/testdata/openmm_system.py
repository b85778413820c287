"""Builds in OpenMM, from the model's published formulas, the system that a JSON description gives
(calvados.Description), so that another implementation can be held against it.

    python openmm_system.py forces SYSTEM.json > answer.json   energies by term and forces, Reference platform
    python openmm_system.py speed SYSTEM.json THREADS SECONDS  steps per second on the CPU platform
    python openmm_system.py pdb CASE.json > answer.json        the same as forces, from a PDB text and a PAE

SYSTEM.json may hold "configurations", a list of positions, to be evaluated instead of "positions".
"""
import json
import math
import sys
import time

import openmm as mm
from openmm import unit

BOND, AH, DH, GO = range(4)
SLICE = 0.01  # s; the fastest slice counts, as in ../bench

AH_FORMULA = (
    "select(step(r-rmin), 4*eps*l*(s12-shift), 4*eps*(s12-l*shift)+eps*(1-l));"
    "shift=(s/rc)^12-(s/rc)^6; s12=(s/r)^12-(s/r)^6; rmin=2^(1/6)*s;"
)
DH_FORMULA = "qq*A*(exp(-kappa*r)/r-exp(-kappa*rcd)/rcd);"
GO_FORMULA = "k*(5*(d/r)^12-6*(d/r)^10)"


def pair_force(formula, cutoff, globals_, per_particle, mixing, beads, excluded):
    force = mm.CustomNonbondedForce(formula + mixing)
    for name, value in globals_:
        force.addGlobalParameter(name, value)
    for name in per_particle:
        force.addPerParticleParameter(name)
    for bead in beads:
        force.addParticle([bead[key] for key in per_particle.values()])
    for i, j in excluded:
        force.addExclusion(i, j)
    force.setNonbondedMethod(mm.CustomNonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(cutoff)
    return force


def build(d):
    system = mm.System()
    box = d["box"]
    system.setDefaultPeriodicBoxVectors([box, 0, 0], [0, box, 0], [0, 0, box])
    beads = d["beads"]
    for b in beads:
        system.addParticle(b["mass"])
    pairs = [(b["i"], b["j"]) for b in d["bonds"]] + [(r["i"], r["j"]) for r in d["restraints"]]

    bonds = mm.HarmonicBondForce()
    for b in d["bonds"]:
        bonds.addBond(b["i"], b["j"], b["r0"], d["bond_k"])
    bonds.setUsesPeriodicBoundaryConditions(True)

    ah_globals = [("eps", d["epsilon"]), ("rc", d["cutoff_ashbaugh_hatch"])]
    ah = pair_force(AH_FORMULA, d["cutoff_ashbaugh_hatch"], ah_globals, {"s": "sigma", "l": "lambda"},
                    "s=(s1+s2)/2; l=(l1+l2)/2", beads, pairs)
    dh_globals = [("A", d["coulomb_a"]), ("kappa", d["kappa"]), ("rcd", d["cutoff_debye_hueckel"])]
    dh = pair_force(DH_FORMULA, d["cutoff_debye_hueckel"], dh_globals, {"q": "charge"},
                    "qq=q1*q2", beads, pairs)

    go = mm.CustomBondForce(GO_FORMULA)
    go.addPerBondParameter("d")
    go.addPerBondParameter("k")
    for r in d["restraints"]:
        go.addBond(r["i"], r["j"], [r["d"], r["k"]])
    go.setUsesPeriodicBoundaryConditions(True)

    scaled_ah = mm.CustomBondForce("b*e; e=" + AH_FORMULA.rstrip(";"))
    scaled_dh = mm.CustomBondForce("b*" + DH_FORMULA.rstrip(";"))
    for f, parameters in ((scaled_ah, ["b", "s", "l"]), (scaled_dh, ["b", "qq"])):
        for name in parameters:
            f.addPerBondParameter(name)
        f.setUsesPeriodicBoundaryConditions(True)
    for name, value in ah_globals:
        scaled_ah.addGlobalParameter(name, value)
    for name, value in dh_globals:
        scaled_dh.addGlobalParameter(name, value)
    for p in d["scaled_pairs"]:
        a, b = beads[p["i"]], beads[p["j"]]
        scaled_ah.addBond(p["i"], p["j"], [p["b"], (a["sigma"] + b["sigma"]) / 2, (a["lambda"] + b["lambda"]) / 2])
        scaled_dh.addBond(p["i"], p["j"], [p["b"], a["charge"] * b["charge"]])

    for force, group in ((bonds, BOND), (ah, AH), (dh, DH), (go, GO), (scaled_ah, AH), (scaled_dh, DH)):
        if force in (scaled_ah, scaled_dh, go) and force.getNumBonds() == 0:
            continue
        force.setForceGroup(group)
        system.addForce(force)
    return system


def integrator(d):
    return mm.LangevinMiddleIntegrator(d["temp"], d["friction"], d["step"])


def evaluate(d):
    context = mm.Context(build(d), integrator(d), mm.Platform.getPlatformByName("Reference"))
    out = []
    for positions in d.get("configurations") or [d["positions"]]:
        context.setPositions(positions)
        terms = []
        for group in (BOND, AH, DH, GO):
            state = context.getState(getEnergy=True, groups={group})
            terms.append(state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole))
        forces = context.getState(getForces=True).getForces()
        out.append({"terms": terms, "forces": [list(f) for f in forces.value_in_unit(unit.kilojoule_per_mole / unit.nanometer)]})
    return out


def speed(d, threads, seconds):
    platform = mm.Platform.getPlatformByName("CPU")
    context = mm.Context(build(d), integrator(d), platform, {"Threads": str(threads)})
    context.setPositions(d["positions"])
    context.setVelocitiesToTemperature(d["temp"], 1)
    engine = context.getIntegrator()
    engine.step(500)
    best, begun = 0.0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        done, start, spent = 0, time.perf_counter(), 0.0
        while spent < SLICE:
            engine.step(10)
            done += 10
            spent = time.perf_counter() - start
        best = max(best, done / spent)
    return best


TABLE = """
R 156.19 0.730762476752 0.7407902764839954 0.656 1
D 115.09 0.041604048061 0.092587557536158 0.558 -1
N 114.10 0.425585900979 0.3706962163690402 0.568 0
E 129.11 0.000693546096 0.000249590539426 0.592 -1
K 128.17 0.179021173899 0.1380602542039267 0.636 1
H 137.14 0.466366729056 0.4087176216525476 0.608 1
Q 128.13 0.393431855106 0.3143449791669133 0.602 0
S 87.08 0.462541681161 0.4473142572693176 0.518 0
C 103.14 0.561543509914 0.5922529084601322 0.548 0
G 57.05 0.705884373367 0.7538308115197386 0.450 0
T 101.11 0.371316297627 0.2672387936544146 0.562 0
A 71.07 0.274329796904 0.3377244362031627 0.504 0
M 131.20 0.530848113434 0.5170874160398543 0.618 0
Y 163.18 0.977461144934 0.950628687301107 0.646 0
V 99.13 0.208376960817 0.2936174211771383 0.586 0
W 186.22 0.989376474037 1.033450123574512 0.678 0
L 113.16 0.644000500778 0.5548615312993875 0.618 0
I 113.16 0.542362361067 0.5130398874425708 0.618 0
P 97.12 0.359312657636 0.3469777523519372 0.556 0
F 147.18 0.867235898206 0.8906449355499866 0.636 0
"""
THREE = dict(zip("ARNDCQEGHILKMFPSTWYV",
                 "ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL".split()))
MASS = {"H": 1.008, "C": 12.011, "N": 14.007, "O": 15.999, "S": 32.06}


def sig(x):
    return 1 / (1 + math.exp(-x))


def from_pdb(case):
    """The description of the restrained system, from the PDB text, the PAE and the settings alone."""
    table = {}
    for line in TABLE.split("\n"):
        if f := line.split():
            table[THREE[f[0]]] = [float(v) for v in f[1:]] + [f[0]]
    found = {}
    for line in case["pdb"].split("\n"):
        if line.startswith("ATOM"):
            key = (line[21], int(line[22:26]), line[17:20])
            found.setdefault(key, []).append(
                (MASS[line[76:78].strip()], [float(line[30 + 8 * k:38 + 8 * k]) for k in range(3)], float(line[60:66])))
    column = 2 if case["profile"] == "calvados3" else 1
    t = case["temp"]
    epsw = 5321 / t + 233.76 - 0.9297 * t + 1.417e-3 * t**2 - 8.292e-7 * t**3
    a = 1.6021766**2 * 6.02214076 * 1000 / (4 * math.pi * 8.854188) / epsw
    kappa = math.sqrt(8 * math.pi * a / (8.3145e-3 * t) * 0.602214076 * case["ionic"])
    beads, where, trust = [], [], []
    for (chain, _, name), atoms in found.items():
        mass, sigma, charge, letter = table[name][0], table[name][3], table[name][4], table[name][5]
        if letter == "H":
            charge = 1 / (1 + 10 ** (case["pH"] - 6))
        beads.append({"chain": chain, "mass": mass, "charge": charge, "sigma": sigma, "lambda": table[name][column]})
        total = sum(m for m, _, _ in atoms)
        where.append([sum(m * p[k] for m, p, _ in atoms) / total / 10 for k in range(3)])
        trust.append(sum(b for _, _, b in atoms) / len(atoms) / 100)
    n = len(beads)
    for i in range(n):
        if i == 0 or beads[i - 1]["chain"] != beads[i]["chain"]:
            beads[i]["charge"] += 1
            beads[i]["mass"] += 2
        if i == n - 1 or beads[i + 1]["chain"] != beads[i]["chain"]:
            beads[i]["charge"] -= 1
            beads[i]["mass"] += 16
    bonds, restraints, scaled = [], [], []
    for i in range(n):
        for j in range(i + 1, n):
            d = math.dist(where[i], where[j])
            e = (case["pae"][i][j] + case["pae"][j][i]) / 2 / 10
            s = sig(50 * (min(trust[i], trust[j]) - 0.8)) * sig(-15 * (e - 0.3))
            b = sig(-80 * (s - 0.1))
            if j == i + 1 and beads[i]["chain"] == beads[j]["chain"]:
                bonds.append({"i": i, "j": j, "r0": 0.38 if s < 0.05 else d if s > 0.15 else b * 0.38 + (1 - b) * d})
            elif s >= 0.05 and d <= 0.9:
                restraints.append({"i": i, "j": j, "d": d, "k": 15 * s})
                if s < 0.15:
                    scaled.append({"i": i, "j": j, "b": b})
    return {"box": case["box"], "temp": t, "friction": 0.01, "step": 0.01, "epsilon": 0.8368, "cutoff_ashbaugh_hatch": 2.0,
            "cutoff_debye_hueckel": 4.0, "coulomb_a": a, "kappa": kappa, "bond_k": 8033.0, "beads": beads, "bonds": bonds,
            "restraints": restraints, "scaled_pairs": scaled, "configurations": case["configurations"]}


if __name__ == "__main__":
    with open(sys.argv[2]) as file:
        given = json.load(file)
    if sys.argv[1] == "forces":
        json.dump(evaluate(given), sys.stdout)
    elif sys.argv[1] == "pdb":
        json.dump(evaluate(from_pdb(given)), sys.stdout)
    else:
        print(speed(given, int(sys.argv[3]), float(sys.argv[4])))
