"""Reads a run's files with MDTraj and MDAnalysis and prints what they measure, as JSON.

    python read_trajectory.py FOLDER REQUEST.json    REQUEST: {"masses": [...], "reference": [[x, y, z], ...] in nm,
                                                     "selections": ["resid 1:5", ...]}
"""
import json
import os
import sys
import warnings

import MDAnalysis
import mdtraj
import numpy as np
from MDAnalysis.analysis import rms

warnings.simplefilter("ignore")
answer = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # MDTraj's reader chats on the standard output
folder, request = sys.argv[1], json.load(open(sys.argv[2]))
topology, trajectory = folder + "/topology.pdb", folder + "/trajectory.dcd"
masses = np.array(request["masses"])

t = mdtraj.load(trajectory, top=topology)
last = t.xyz[-1].tolist()  # before rmsd, which centres in place
reference = mdtraj.Trajectory(np.array([request["reference"]]), t.topology)
u = MDAnalysis.Universe(topology, trajectory)
u.atoms.masses = masses
target = np.array(request["reference"]) * 10
rmsd, rg, times = [], [], []
for step in u.trajectory:
    rmsd.append(float(rms.rmsd(u.atoms.positions, target, superposition=True)) / 10)
    rg.append(float(u.atoms.radius_of_gyration()) / 10)
    times.append(float(step.time))
u.trajectory[0]
json.dump({
    "mdtraj": {
        "frames": t.n_frames, "atoms": t.n_atoms, "cell_nm": [float(v) for v in t.unitcell_lengths[0]],
        "rmsd_nm": [float(v) for v in mdtraj.rmsd(t, reference)],
        "end_to_end_nm": [float(v) for v in mdtraj.compute_distances(t, [[0, t.n_atoms - 1]], periodic=False)[:, 0]],
        "last": last,
    },
    "mdanalysis": {
        "frames": len(u.trajectory), "atoms": len(u.atoms), "rg_nm": rg, "rmsd_nm": rmsd,
        "dt_ps": float(u.trajectory.dt), "times_ps": times,
        "selections": [[int(i) for i in u.select_atoms(s).indices] for s in request["selections"]],
    },
}, answer)
