"""The simulation: a system, its run in small pieces, its files, and checkpoints from which another attempt can
continue."""

import io
import json
import math
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openmm
from foldrun import Failure, Job, invalid
from openmm import app, unit
from prepare import forcefield

STEP_PS = 0.002
FRICTION = 1.0  # 1/ps
TOLERANCE = 10.0  # kJ/mol/nm, of the minimisation
TOO_HIGH = 20.0  # kJ/mol per atom after the minimisation; a protein has less than 0
MAX_TRAJECTORY = 1 << 30  # bytes

TOPOLOGY, TRAJECTORY, ENERGIES = "topology.pdb", "trajectory.dcd", "energies.csv"
HEADER = "time_ns,potential_kj_mol,kinetic_kj_mol,temperature_k\n"


def steps(ns: float) -> int:
    """The number of steps in a time in ns."""
    return round(ns * 1000 / STEP_PS)


def kappa(ionic: float, temp: float, dielectric: float = 78.5) -> float:
    """Inverse Debye length in 1/nm of a salt solution (ionic in mol/L), times 0.73: Amber's factor for ions that cannot
    enter the solute."""
    e, eps0, kb, na = 1.602176634e-19, 8.8541878128e-12, 1.380649e-23, 6.02214076e23
    return 0.73e-9 * math.sqrt(2 * na * e * e * ionic * 1000 / (eps0 * dielectric * kb * temp))


class Simulation:
    """One protein in implicit solvent. topology and positions (nm) have every atom that the force field needs."""

    def __init__(
        self,
        topology: Any,
        positions: Any,
        temp: float,
        ionic: float,
        seed: int,
        platform: Any,
        properties: dict[str, str],
    ) -> None:
        self.topology, self.positions, self.temp, self.seed = topology, positions, temp, seed
        try:
            self.system = forcefield().createSystem(
                topology,
                nonbondedMethod=app.NoCutoff,
                constraints=app.HBonds,
                implicitSolventKappa=kappa(ionic, temp) / unit.nanometer,
            )
        except ValueError as e:
            reason = str(e).splitlines()[0]
            raise invalid(f"the force field has no parameters for the structure: {reason}") from None
        self.integrator = openmm.LangevinMiddleIntegrator(
            temp * unit.kelvin, FRICTION / unit.picosecond, STEP_PS * unit.picosecond
        )
        self.integrator.setRandomNumberSeed(noise(seed, 0))
        self.context = openmm.Context(self.system, self.integrator, platform, properties)
        self.atoms = self.system.getNumParticles()
        # The system removes the three of the centre of mass itself.
        self.freedom = 3 * self.atoms - self.system.getNumConstraints() - 3
        self.step = self.frames = self.resumed = 0
        self.notes: list[str] = []  # for the owner, kept across attempts

    def minimise(self, job: Job) -> float:
        """Relaxes the structure, gives the atoms velocities, and returns the energy in kJ/mol. Raises Failure where the
        structure cannot be relaxed."""

        class Reporter(openmm.MinimizationReporter):
            def report(self, iteration: int, x: Any, grad: Any, args: Any) -> bool:
                try:
                    job.progress("minimise", iteration, 0)
                except BaseException:  # Cancelled must not pass through the C++ code
                    return True
                return False

        self.context.setPositions(self.positions)
        job.check()
        try:
            openmm.LocalEnergyMinimizer.minimize(self.context, TOLERANCE, 0, Reporter())
            energy = self.energy()
        except openmm.OpenMMException as e:
            raise unstable("while it was relaxed", e) from None
        job.check()
        if not energy < TOO_HIGH * self.atoms:
            raise invalid(
                f"the structure cannot be simulated: relaxed, its energy is still {energy / self.atoms:.3g} kJ/mol "
                f"an atom, above {TOO_HIGH:g}; atoms overlap or chains pass through each other"
            )
        self.context.setVelocitiesToTemperature(self.temp * unit.kelvin, noise(self.seed, 1))
        return energy

    def energy(self) -> float:
        """The potential energy in kJ/mol."""
        return self.context.getState(energy=True).getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)

    def run(self, job: Job, total: int, every: int, checkpoint: Callable[["Simulation"], None]) -> None:
        """Simulates until the step total and writes a frame every so many steps. Calls checkpoint(self) after each
        piece."""
        chunk = 5
        mode = "r+b" if self.frames else "w+b"
        with open(job.path(TRAJECTORY), mode) as file, open(job.path(ENERGIES), "a", encoding="ascii") as table:
            dcd = app.DCDFile(
                file,
                self.topology,
                STEP_PS * unit.picosecond,
                firstStep=every,
                interval=every,
                append=self.frames > 0,
            )
            if not self.frames:
                table.write(HEADER)
            job.progress("simulate", self.step, total)
            while self.step < total:
                n = min(chunk, every - self.step % every, total - self.step)
                began = time.monotonic()
                try:
                    self.integrator.step(n)
                    self.step += n
                    if self.step % every == 0:
                        self.frame(dcd, table)
                except (openmm.OpenMMException, ValueError) as e:
                    raise unstable(f"near step {self.step}", e) from None
                job.progress("simulate", self.step, total)
                took = time.monotonic() - began
                if n == chunk:  # about a tenth of a second between checks for a cancel
                    chunk = max(1, min(math.ceil(chunk * min(2.0, 0.1 / max(took, 1e-4))), 5000))
                file.flush()
                table.flush()
                if self.step < total:
                    checkpoint(self)

    def frame(self, dcd: Any, table: Any) -> None:
        """Appends the positions to the trajectory, and to the table the time in ns, the energies in kJ/mol and the
        temperature in K."""
        state = self.context.getState(positions=True, energy=True)
        kinetic = state.getKineticEnergy().value_in_unit(unit.kilojoule_per_mole)
        potential = state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
        if not (math.isfinite(kinetic) and math.isfinite(potential)):
            raise ValueError("the energy is not a number")
        temperature = 2 * kinetic / (self.freedom * 0.00831446261815324)
        dcd.writeModel(state.getPositions(asNumpy=True))
        ns = round(self.step * STEP_PS * 1e6) / 1e9
        table.write(f"{ns:.9g},{potential:.9g},{kinetic:.9g},{temperature:.9g}\n")
        self.frames += 1

    def save(self, job: Job, about: dict[str, str]) -> Path:
        """Writes a checkpoint with everything that an attempt on any machine and platform needs. The name is new each
        time, because the service copies the file while the run continues."""
        state = self.context.getState(positions=True, velocities=True, parameters=True)
        path = job.path(f"checkpoint-{self.step}.tar.gz")
        part = path.with_suffix(".part")
        with tarfile.open(part, "w:gz", compresslevel=1) as tar:
            progress = {**about, "step": self.step, "frames": self.frames, "notes": self.notes}
            entries = {"state.xml": openmm.XmlSerializer.serialize(state), "about.json": json.dumps(progress)}
            for name, text in entries.items():
                raw = text.encode()
                entry = tarfile.TarInfo(name)
                entry.size = len(raw)
                tar.addfile(entry, io.BytesIO(raw))
            for name in (TOPOLOGY, TRAJECTORY, ENERGIES):
                if job.path(name).exists():
                    tar.add(job.path(name), name)
        part.rename(path)
        job.checkpoint(path, self.step)
        return path

    def load(self, state: str, step: int, frames: int, notes: list[str]) -> None:
        """Continues from a checkpoint's state, with noise that no earlier attempt has drawn."""
        self.context.setState(openmm.XmlSerializer.deserialize(state))
        self.integrator.setRandomNumberSeed(noise(self.seed, step + 2))
        self.context.reinitialize(preserveState=True)  # the seed is read when a context is made
        self.step, self.frames, self.resumed, self.notes = step, frames, step, notes


def unpack(path: Path, job: Job, about: dict[str, str]) -> tuple[str, int, int, list[str]] | None:
    """The arguments of Simulation.load in a checkpoint, whose files are copied into the job's folder. None where it
    belongs to another job or version. Raises where it cannot be read."""
    with tarfile.open(path, "r:gz") as tar:

        def content(name: str) -> bytes:
            file = tar.extractfile(name)
            if file is None:
                raise ValueError(f"{name} is not a file")
            return file.read()

        found = json.loads(content("about.json"))
        if {k: found.get(k) for k in about} != about:
            return None
        for name in (TOPOLOGY, TRAJECTORY, ENERGIES):
            if name in tar.getnames():
                job.path(name).write_bytes(content(name))
        return content("state.xml").decode(), int(found["step"]), int(found["frames"]), list(found["notes"])


def noise(seed: int, what: int) -> int:
    """A seed for OpenMM, which replaces 0 by its own choice."""
    return (seed * 1_000_003 + what * 7919) % 2147483629 + 1


def unstable(when: str, e: Exception) -> Failure:
    """The failure of an unstable simulation. Any other exception of OpenMM is raised again."""
    if not any(word in str(e).lower() for word in ("nan", "infinite", "not a number")):
        raise e
    return invalid(
        f"the structure cannot be simulated: the atoms flew apart {when}; atoms overlap, or the temperature is too high"
    )
