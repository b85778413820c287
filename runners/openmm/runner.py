"""The runner of OpenMM: all-atom dynamics of proteins, Amber ff14SB in the implicit solvent GBn2."""

import hashlib
import json
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import foldrun
import openmm
import prepare
import simulate
from foldrun import Failure, Job, invalid, too_large, unsupported
from openmm import app

VERSION = 1  # of the checkpoint format
MIN_INTERVAL, MAX_INTERVAL = 5, 60  # seconds between checkpoints


class OpenMM(foldrun.Runner):
    """All-atom molecular dynamics with OpenMM."""

    engine = "openmm"
    kinds = ("md",)

    def __init__(self) -> None:
        self.threads = 0
        self.platform: Any = None
        self.properties: dict[str, str] = {}
        self.helper: Any = None

    def load(self, request: foldrun.Load) -> foldrun.Ready:
        self.threads = max(request.threads, 0)
        self.platform, self.properties = self.choose(request.device)
        # Hydrogens and missing atoms are always added on the CPU.
        self.helper = openmm.Platform.getPlatformByName("CPU")
        name = self.platform.getName()
        return foldrun.Ready(
            engine_version=version("openmm"),
            device=name,
            detail={
                "pdbfixer": version("pdbfixer"),
                "platform": name,
                "force_field": "amber14/protein.ff14SB, implicit/gbn2",
            },
        )

    def choose(self, device: str) -> tuple[Any, dict[str, str]]:
        """OpenMM's platform for a device, and the platform's properties."""
        names = {openmm.Platform.getPlatform(i).getName() for i in range(openmm.Platform.getNumPlatforms())}
        if device.startswith("cuda"):
            for name in ("CUDA", "OpenCL"):
                if name in names:
                    properties = {"Precision": "mixed", "DeviceIndex": "0"}
                    return openmm.Platform.getPlatformByName(name), properties
            raise Failure(
                "load_failed",
                "OpenMM has no platform for the accelerator here; "
                "install openmm-cuda-12 into the engine's environment, or set devices to none",
            )
        properties = {"Threads": str(self.threads)} if self.threads else {}
        return openmm.Platform.getPlatformByName("CPU"), properties

    def predict(self, job: Job) -> foldrun.Result:
        i = job.input
        if i["preset"] != "all_atom":
            raise unsupported(f"preset {i['preset']} has one bead per residue; OpenMM runs all_atom")
        if i.get("termini", "both") != "both":
            raise unsupported(
                f"charge_termini is {i['termini']}; with all atoms both ends of a chain are charged as the pH has it"
            )
        path = job.input_file("structure")
        if path is None:
            raise invalid("there is no structure to start from")
        raw = path.read_bytes()
        settings = json.dumps([VERSION, openmm.__version__, job.seed, i], sort_keys=True)
        about = {"made_of": hashlib.sha256(raw + settings.encode()).hexdigest()}
        began = time.monotonic()
        sim = self.resume(job, about) or self.start(job, raw.decode("utf-8", "replace"))
        prepared = time.monotonic()
        total, every = simulate.steps(i["length_ns"]), simulate.steps(i["step_ns"])
        check_size(sim, total // every)
        job.log(
            f"{sim.atoms} atoms; {total} steps of 2 fs at {i['temp']} K on {self.platform.getName()}, "
            f"{total // every} frames"
        )
        sim.run(job, total, every, Checkpoints(job, about))
        return result(job, sim, prepared - began, time.monotonic() - prepared)

    def simulation(self, job: Job, pdb: Any) -> simulate.Simulation:
        """The simulation of a prepared structure, with temperature in K and ionic strength in mol/L."""
        i = job.input
        return simulate.Simulation(
            pdb.topology, pdb.positions, i["temp"], i["ionic"], job.seed, self.platform, self.properties
        )

    def start(self, job: Job, text: str) -> simulate.Simulation:
        """A new simulation of a structure file, minimised."""
        job.progress("prepare", 0, 1)
        ready = prepare.prepare(text, job.input["ph"], job.seed, self.helper)
        job.progress("prepare", 1, 1)
        top = job.path(simulate.TOPOLOGY)
        with open(top, "w", encoding="ascii") as f:
            app.PDBFile.writeFile(ready.topology, ready.positions, f, keepIds=True)
        for n in ready.notes:
            job.log(n)
        # Reads the file again, so that an attempt that continues from it has the same system.
        sim = self.simulation(job, app.PDBFile(str(top)))
        sim.notes = ready.notes
        sim.minimise(job)
        return sim

    def resume(self, job: Job, about: dict[str, str]) -> simulate.Simulation | None:
        """The simulation of an earlier attempt; None where there is none to continue."""
        if not job.resume:
            return None
        try:
            found = simulate.unpack(job.workdir / job.resume["path"], job, about)
        except Exception as e:
            job.log(f"the last attempt's checkpoint cannot be read ({type(e).__name__}); starting from the beginning")
            return None
        if found is None:
            job.log("the last attempt's checkpoint is of another version; starting from the beginning")
            return None
        sim = self.simulation(job, app.PDBFile(str(job.path(simulate.TOPOLOGY))))
        sim.load(*found)
        job.log(f"continued from step {sim.step} of an earlier attempt")
        return sim


def check_size(sim: simulate.Simulation, frames: int) -> None:
    """Refuses a simulation whose trajectory, at 12 bytes per atom and frame, would be too large."""
    if (size := frames * 12 * sim.atoms) > simulate.MAX_TRAJECTORY:
        raise too_large(
            f"{frames} frames of {sim.atoms} atoms make {size >> 20} MiB; "
            f"at most {simulate.MAX_TRAJECTORY >> 20} MiB are written: raise step_size_ns or lower sim_length_ns"
        )


def result(job: Job, sim: simulate.Simulation, preparing: float, simulating: float) -> foldrun.Result:
    """Adds the files of a finished simulation. preparing and simulating are in seconds."""
    job.progress("write", 0, 1)
    files = {"topology": simulate.TOPOLOGY, "trajectory": simulate.TRAJECTORY, "energies": simulate.ENERGIES}
    for kind, name in files.items():
        job.file(kind, job.path(name))
    notes = list(sim.notes)
    simulated_ns = round(sim.step * simulate.STEP_PS / 1000, 9)
    metrics = {
        "steps": sim.step,
        "atoms": sim.atoms,
        "simulated_ns": simulated_ns,
        "resumed_from_step": sim.resumed,
    }
    if simulating > 0:
        metrics["steps_per_second"] = round((sim.step - sim.resumed) / simulating)
    if simulated_ns < 100:
        notes.append(f"{simulated_ns:g} ns is short with all atoms: averages describe this run, not equilibrium.")
    if sim.resumed:
        notes.append(
            "An attempt was cut short and another went on from its checkpoint: "
            "the seed does not give this trajectory again."
        )
    return foldrun.Result(metrics=metrics, notes=notes, timings={"prepare": preparing, "simulate": simulating})


class Checkpoints:
    """Saves checkpoints: soon after the start, then less often, and never for more than a twentieth of the time."""

    def __init__(self, job: Job, about: dict[str, str]) -> None:
        self.job, self.about = job, about
        self.saved: list[Path] = []
        self.began = self.last = time.monotonic()
        self.cost = 0.0  # seconds that the last checkpoint took

    def __call__(self, sim: simulate.Simulation) -> None:
        now = time.monotonic()
        if now - self.last < self.interval(now):
            return
        self.saved.append(sim.save(self.job, self.about))
        self.last = time.monotonic()
        self.cost = self.last - now
        if len(self.saved) > 3:  # the service has copied it long ago
            self.saved.pop(0).unlink(missing_ok=True)

    def interval(self, now: float) -> float:
        """The seconds between the last checkpoint and the next."""
        return max(MIN_INTERVAL, min(MAX_INTERVAL, (now - self.began) / 10), 20 * self.cost)


if __name__ == "__main__":
    foldrun.serve(OpenMM())
