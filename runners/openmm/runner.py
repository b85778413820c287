"""The runner of OpenMM: dynamics of proteins with all atoms, Amber ff14SB in the implicit solvent GBn2."""

import hashlib
import json
import time
from importlib.metadata import version

import foldrun
import openmm
import prepare
import simulate
from foldrun import Failure
from openmm import app

VERSION = 1  # of what a checkpoint means
SOONEST, LATEST = 5, 60  # seconds between checkpoints


class OpenMM(foldrun.Runner):
    engine = "openmm"
    kinds = ("md",)

    def load(self, request):
        self.threads = max(request.threads, 0)
        self.platform, self.properties = self.choose(request.device)
        # Hydrogens and missing atoms are put on the processor whatever follows.
        self.helper = openmm.Platform.getPlatformByName("CPU")
        detail = {"pdbfixer": version("pdbfixer"), "platform": self.platform.getName(), "force_field": "amber14/protein.ff14SB, implicit/gbn2"}
        return foldrun.Ready(version("openmm"), device=self.platform.getName(), detail=detail)

    def choose(self, device):
        names = {openmm.Platform.getPlatform(i).getName() for i in range(openmm.Platform.getNumPlatforms())}
        if device.startswith("cuda"):
            for name in ("CUDA", "OpenCL"):
                if name in names:
                    return openmm.Platform.getPlatformByName(name), {"Precision": "mixed", "DeviceIndex": "0"}
            raise Failure("load_failed", "OpenMM has no platform for the accelerator here; install openmm-cuda-12 into the engine's environment, or set devices to none")
        return openmm.Platform.getPlatformByName("CPU"), {"Threads": str(self.threads)} if self.threads else {}

    def predict(self, job):
        i = job.input
        if i["preset"] != "all_atom":
            raise Failure("unsupported", f"preset {i['preset']} has one bead per residue; OpenMM runs all_atom")
        if i.get("termini", "both") != "both":
            raise Failure("unsupported", f"charge_termini is {i['termini']}; with all atoms both ends of a chain are charged as the pH has it")
        path = job.input_file("structure")
        if path is None:
            raise Failure("invalid_input", "there is no structure to start from")
        raw = path.read_bytes()
        about = {"made_of": hashlib.sha256(raw + json.dumps([VERSION, openmm.__version__, job.seed, i], sort_keys=True).encode()).hexdigest()}
        began = time.monotonic()
        sim = self.resume(job, about) or self.start(job, raw.decode("utf-8", "replace"))
        prepared = time.monotonic()
        total, every = simulate.steps(i["length_ns"]), simulate.steps(i["step_ns"])
        self.bounded(sim, total // every)
        job.log(f"{sim.atoms} atoms; {total} steps of 2 fs at {i['temp']} K on {self.platform.getName()}, {total // every} frames")
        sim.run(job, total, every, Keeper(job, about))
        return self.hand_in(job, sim, prepared - began, time.monotonic() - prepared)

    def simulation(self, job, pdb):
        i = job.input
        return simulate.Simulation(pdb.topology, pdb.positions, i["temp"], i["ionic"], job.seed, self.platform, self.properties)

    def start(self, job, text):
        job.progress("prepare", 0, 1)
        ready = prepare.prepare(text, job.input["ph"], job.seed, self.helper)
        job.progress("prepare", 1, 1)
        top = job.path(simulate.TOPOLOGY)
        with open(top, "w", encoding="ascii") as f:
            app.PDBFile.writeFile(ready.topology, ready.positions, f, keepIds=True)
        for n in ready.notes:
            job.log(n)
        sim = self.simulation(job, app.PDBFile(str(top)))  # the file again, so that an attempt that goes on from it has the same system
        sim.notes = ready.notes
        sim.minimise(job)
        return sim

    def resume(self, job, about):
        """The simulation of an earlier attempt, or None where there is none to go on from."""
        if not job.resume:
            return None
        try:
            found = simulate.unpack(job.workdir / job.resume["path"], job, about)
        except Exception as e:
            job.log(f"the last attempt's checkpoint cannot be read ({type(e).__name__}); starting anew")
            return None
        if found is None:
            job.log("the last attempt's checkpoint is of another version; starting anew")
            return None
        sim = self.simulation(job, app.PDBFile(str(job.path(simulate.TOPOLOGY))))
        sim.load(*found)
        job.log(f"continued from step {sim.step} of an earlier attempt")
        return sim

    def bounded(self, sim, frames):
        if (size := frames * 12 * sim.atoms) > simulate.MAX_TRAJECTORY:
            raise Failure("too_large", f"{frames} frames of {sim.atoms} atoms make {size >> 20} MiB; at most {simulate.MAX_TRAJECTORY >> 20} MiB are written: raise step_size_ns or lower sim_length_ns")

    def hand_in(self, job, sim, preparing, simulating):
        job.progress("write", 0, 1)
        for kind, name in (("topology", simulate.TOPOLOGY), ("trajectory", simulate.TRAJECTORY), ("energies", simulate.ENERGIES)):
            job.file(kind, job.path(name))
        done, notes = sim.step - sim.resumed, list(sim.notes)
        metrics = {"steps": sim.step, "atoms": sim.atoms, "simulated_ns": round(sim.step * simulate.STEP_PS / 1000, 9), "resumed_from_step": sim.resumed}
        if simulating > 0:
            metrics["steps_per_second"] = round(done / simulating)
        if sim.step * simulate.STEP_PS < 100_000:
            notes.append(f"{metrics['simulated_ns']:g} ns is short with all atoms: averages describe this run, not equilibrium.")
        if sim.resumed:
            notes.append("An attempt was cut short and another went on from its checkpoint: the seed does not give this trajectory again.")
        return foldrun.Result(metrics=metrics, notes=notes, timings={"prepare": preparing, "simulate": simulating})


class Keeper:
    """Keeps checkpoints: soon at first, then more rarely, and never so often that they take more than a twentieth of the time."""

    def __init__(self, job, about):
        self.job, self.about, self.kept = job, about, []
        self.began = self.last = time.monotonic()
        self.cost = 0.0

    def __call__(self, sim):
        now = time.monotonic()
        if now - self.last < max(SOONEST, min(LATEST, (now - self.began) / 10), 20 * self.cost):
            return
        self.kept.append(sim.save(self.job, self.about))
        self.last = time.monotonic()
        self.cost = self.last - now
        if len(self.kept) > 3:  # the service has long copied it
            self.kept.pop(0).unlink(missing_ok=True)


if __name__ == "__main__":
    foldrun.serve(OpenMM())
