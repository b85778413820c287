"""The simulation itself: a system, its run in small pieces, its files, and checkpoints from which another attempt goes on."""

import io
import json
import math
import tarfile
import time

import openmm
from foldrun import Failure
from openmm import app, unit
from prepare import forcefield

STEP_PS = 0.002
FRICTION = 1.0  # 1/ps
TOLERANCE = 10.0  # kJ/mol/nm, of the minimisation
TOO_HIGH = 20.0  # kJ/mol an atom after the minimisation; a protein has less than 0
MAX_TRAJECTORY = 1 << 30  # bytes

TOPOLOGY, TRAJECTORY, ENERGIES = "topology.pdb", "trajectory.dcd", "energies.csv"
HEADER = "time_ns,potential_kj_mol,kinetic_kj_mol,temperature_k\n"


def steps(ns: float) -> int:
    return round(ns * 1000 / STEP_PS)


def kappa(ionic: float, temp: float, dielectric: float = 78.5) -> float:
    """Inverse Debye length in 1/nm of a salt solution (mol/L), times the 0.73 with which Amber lets ions keep away from the solute."""
    e, eps0, kb, na = 1.602176634e-19, 8.8541878128e-12, 1.380649e-23, 6.02214076e23
    return 0.73e-9 * math.sqrt(2 * na * e * e * ionic * 1000 / (eps0 * dielectric * kb * temp))


class Simulation:
    """One protein in implicit solvent. topology and positions (nm) are whole: every atom that the force field wants."""

    def __init__(self, topology, positions, temp, ionic, seed, platform, properties):
        self.topology, self.positions, self.temp, self.seed = topology, positions, temp, seed
        try:
            self.system = forcefield().createSystem(
                topology, nonbondedMethod=app.NoCutoff, constraints=app.HBonds, implicitSolventKappa=kappa(ionic, temp) / unit.nanometer
            )
        except ValueError as e:
            raise Failure("invalid_input", f"the force field has no parameters for the structure: {str(e).splitlines()[0]}") from None
        self.integrator = openmm.LangevinMiddleIntegrator(temp * unit.kelvin, FRICTION / unit.picosecond, STEP_PS * unit.picosecond)
        self.integrator.setRandomNumberSeed(noise(seed, 0))
        self.context = openmm.Context(self.system, self.integrator, platform, properties)
        self.atoms = self.system.getNumParticles()
        # The three of the centre of mass are taken away by the system itself.
        self.freedom = 3 * self.atoms - self.system.getNumConstraints() - 3
        self.step = self.frames = self.resumed = 0
        self.notes = []  # sentences for the owner, kept over attempts

    def minimise(self, job):
        """Relaxes the structure and gives the atoms velocities. Refuses what cannot be relaxed."""

        class Reporter(openmm.MinimizationReporter):
            def report(self, iteration, x, grad, args):
                try:
                    job.progress("minimise", iteration, 0)
                except BaseException:  # Cancelled must not cross the C++ in between
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
            raise Failure(
                "invalid_input",
                f"the structure cannot be simulated: relaxed, its energy is still {energy / self.atoms:.3g} kJ/mol an atom, above {TOO_HIGH:g}; atoms overlap or chains pass through each other",
            )
        self.context.setVelocitiesToTemperature(self.temp * unit.kelvin, noise(self.seed, 1))
        return energy

    def energy(self) -> float:
        return self.context.getState(energy=True).getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)

    def run(self, job, total: int, every: int, keep):
        """Moves on to the step total and writes a frame at every so manieth. keep(self) is told after each piece."""
        chunk = 5
        with open(job.path(TRAJECTORY), "r+b" if self.frames else "w+b") as file, open(job.path(ENERGIES), "a", encoding="ascii") as table:
            dcd = app.DCDFile(file, self.topology, STEP_PS * unit.picosecond, firstStep=every, interval=every, append=self.frames > 0)
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
                if n == chunk:  # about a tenth of a second between looks at the flag of cancel
                    chunk = max(1, min(math.ceil(chunk * min(2.0, 0.1 / max(took, 1e-4))), 5000))
                file.flush()
                table.flush()
                if self.step < total:
                    keep(self)

    def frame(self, dcd, table):
        state = self.context.getState(positions=True, energy=True)
        kinetic = state.getKineticEnergy().value_in_unit(unit.kilojoule_per_mole)
        potential = state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
        if not (math.isfinite(kinetic) and math.isfinite(potential)):
            raise ValueError("the energy is not a number")
        temperature = 2 * kinetic / (self.freedom * 0.00831446261815324)
        dcd.writeModel(state.getPositions(asNumpy=True))
        table.write(f"{round(self.step * STEP_PS * 1e6) / 1e9:.9g},{potential:.9g},{kinetic:.9g},{temperature:.9g}\n")
        self.frames += 1

    # A checkpoint holds everything that the next attempt, on any machine and platform, needs.

    def save(self, job, about: dict):
        """Packs the state and the files so far; the name is new each time, since the service copies it while the run goes on."""
        state = self.context.getState(positions=True, velocities=True, parameters=True)
        path = job.path(f"checkpoint-{self.step}.tar.gz")
        part = path.with_suffix(".part")
        with tarfile.open(part, "w:gz", compresslevel=1) as tar:
            for name, text in (("state.xml", openmm.XmlSerializer.serialize(state)), ("about.json", json.dumps({**about, "step": self.step, "frames": self.frames, "notes": self.notes}))):
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

    def load(self, state: str, step: int, frames: int, notes: list):
        """Goes on from a checkpoint's state, with noise that no earlier attempt has drawn."""
        self.context.setState(openmm.XmlSerializer.deserialize(state))
        self.integrator.setRandomNumberSeed(noise(self.seed, step + 2))
        self.context.reinitialize(preserveState=True)  # the seed is read when a context is made
        self.step, self.frames, self.resumed, self.notes = step, frames, step, notes


def unpack(path, job, about: dict):
    """The arguments of Simulation.load that a checkpoint holds, its files put into the job's folder; None where it is of another job or version.
    Raises where it cannot be read."""
    with tarfile.open(path, "r:gz") as tar:

        def content(name):
            return tar.extractfile(name).read()

        found = json.loads(content("about.json"))
        if {k: found.get(k) for k in about} != about:
            return None
        for name in (TOPOLOGY, TRAJECTORY, ENERGIES):
            if name in tar.getnames():
                job.path(name).write_bytes(content(name))
        return content("state.xml").decode(), int(found["step"]), int(found["frames"]), list(found["notes"])


def noise(seed: int, what: int) -> int:
    """A seed for OpenMM, which takes 0 for one of its own choice."""
    return (seed * 1_000_003 + what * 7919) % 2147483629 + 1


def unstable(when: str, e: Exception) -> Failure:
    """The failure of atoms that flew apart; anything else that OpenMM says stays what it is."""
    if not any(word in str(e).lower() for word in ("nan", "infinite", "not a number")):
        raise e
    return Failure("invalid_input", f"the structure cannot be simulated: the atoms flew apart {when}; atoms overlap, or the temperature is too high")
