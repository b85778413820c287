// Package calvados owns the embedded dynamics engine: Langevin dynamics of proteins with one bead per residue in
// implicit salt water (CALVADOS 2 and 3), either disordered or restrained to a predicted fold; the trajectory that
// it writes and reads, and the measures computed from it.
//
// Units inside are nm, kJ/mol, ps, u (g/mol) and elementary charges. Positions that enter or leave as
// structure.Vec, PDB or DCD are in Å.
//
// It must not know jobs, workflows or wire types, except the names of fields in its error messages. It reads no
// clock, and starts no goroutine that outlives the call that started it. It is not an all-atom engine:
// docs/dynamics.md describes what the model can and cannot show.
//
//	calvados.go      Params: presets, defaults, bounds and their checks
//	residue.go       the model's parameters per residue, charges, screening
//	molecule.go      Molecule: from a sequence or a predicted structure
//	system.go        System: beads, bonds, restraints and start positions
//	describe.go      Describe: a system in plain numbers
//	dynamics.go      Dynamics: the integrator, minimisation
//	noise.go         Gaussian random numbers
//	force.go         forces of all terms, computed in shards
//	energy.go        energies of all terms
//	list.go          neighbour lists
//	kernel.go        inner loops of the pair forces
//	kernel_amd64.go  the same loops with AVX2
//	kernel_other.go  no vector loops on other processors
//	crew.go          threads that compute the forces
//	run.go           Run: a whole simulation into a folder
//	checkpoint.go    checkpoints, Pack and Unpack
//	dcd.go           Trajectory: DCD files
//	analysis.go      Measure: RMSD, radius of gyration, RMSF
//	landscape.go     free-energy landscapes, principal components
//	selection.go     ParseSelection: atom selections
//	extract.go       ExtractFrame: one frame as PDB
//
// Sources: Tesei and Lindorff-Larsen, Open Research Europe 2, 94 (2022); Cao et al., Protein Science 33, e5172
// (2024); von Bülow et al. on restraints from predicted structures. Dynamics cites the integrator.
package calvados

import (
	"math"
	"runtime"

	"pleat"
)

// Preset selects what is simulated and how its fold is restrained.
type Preset string

// The presets of this engine.
const (
	SingleIDR Preset = "single_idr_fasta" // one disordered chain from its sequence, no restraints
	SingleGo  Preset = "single_af_go"     // a predicted structure, held where the prediction is sure
)

// Profile selects the set of stickiness parameters (λ).
type Profile string

// The profiles.
const (
	Calvados2 Profile = "calvados2"
	Calvados3 Profile = "calvados3"
)

// Termini selects which ends of each chain are charged.
type Termini string

// The selectable charges of chain ends.
const (
	TerminiBoth Termini = "both"
	TerminiN    Termini = "N"
	TerminiC    Termini = "C"
	TerminiNone Termini = "none"
)

// Bounds on a simulation, independent of the machine. Requests are checked against them before they are queued.
const (
	MaxBeads  = 5000        // residues of all chains together
	MaxSteps  = 100_000_000 // 1 µs at 10 fs
	MaxFrames = 100_000     // frames of a trajectory
	MaxBytes  = 1 << 30     // bytes of a trajectory

	MinBox, MaxBox   = 8.0, 500.0   // nm
	MinTemp, MaxTemp = 250.0, 400.0 // K
	MaxIonic         = 5.0          // mol/L
	DefaultStep      = 0.01         // ps

	maxFriction = 1000.0 // 1/ps
	maxStep     = 0.02   // ps
)

// Params are the parameters of a simulation. The zero value is invalid; start from Defaults.
type Params struct {
	Preset   Preset
	Residues Profile
	Termini  Termini // empty: both ends
	Temp     float64 // K
	Ionic    float64 // mol/L of a 1:1 salt
	PH       float64 // sets the charge of histidine
	Box      float64 // edge of the periodic cube in nm
	Friction float64 // 1/ps; 0: no thermostat at all, constant energy
	Step     float64 // ps
	SaveNs   float64 // time between saved frames in ns
	LengthNs float64 // simulated time in ns
	Seed     uint64  // fixes start velocities and noise, hence the run
	Workers  int     // threads; 0: all that Go may use. The trajectory does not depend on it
}

// Defaults returns the published settings: CALVADOS 2 at 293.15 K, 0.15 M, pH 7.5, a box of 20 nm, friction
// 0.01/ps, steps of 10 fs, 0.2 ns with a frame every 0.01 ns.
func Defaults() Params {
	return Params{
		Preset: SingleIDR, Residues: Calvados2, Termini: TerminiBoth, Temp: 293.15, Ionic: 0.15, PH: 7.5, Box: 20,
		Friction: 0.01, Step: DefaultStep, SaveNs: 0.01, LengthNs: 0.2,
	}
}

// Check returns an error for parameters that no system can be run with: one sentence that names the field as the
// API spells it. NewSystem checks what depends on the molecule (a box smaller than the chain, the size of the
// trajectory).
func (p *Params) Check() error {
	if p.Preset != SingleIDR && p.Preset != SingleGo {
		return pleat.Invalidf("preset is %q; this engine runs %q and %q", clip(string(p.Preset)), SingleIDR, SingleGo)
	}
	if p.Residues != Calvados2 && p.Residues != Calvados3 {
		return pleat.Invalidf("residue_profile is %q; it must be %q or %q", clip(string(p.Residues)), Calvados2,
			Calvados3)
	}
	switch p.Termini {
	case "", TerminiBoth, TerminiN, TerminiC, TerminiNone:
	default:
		return pleat.Invalidf("charge_termini is %q; it must be %q, %q, %q or %q", clip(string(p.Termini)), TerminiBoth,
			TerminiN, TerminiC, TerminiNone)
	}
	for _, f := range []struct {
		name   string
		v      float64
		lo, hi float64
		unit   string
	}{
		{"temp", p.Temp, MinTemp, MaxTemp, " K"},
		{"ionic", p.Ionic, 0, MaxIonic, " mol/L"},
		{"pH", p.PH, 0, 14, ""},
		{"box_length", p.Box, MinBox, MaxBox, " nm"},
		{"friction", p.Friction, 0, maxFriction, " 1/ps"},
	} {
		if !(f.v >= f.lo && f.v <= f.hi) {
			return pleat.Invalidf("%s is %v%s; it must be from %v to %v%s", f.name, f.v, f.unit, f.lo, f.hi, f.unit)
		}
	}
	if !(p.Step > 0 && p.Step <= maxStep) {
		return pleat.Invalidf("the integration step is %v ps; it must be above 0 and at most %v ps", p.Step, maxStep)
	}
	if p.Workers < 0 {
		return pleat.Invalidf("workers is %d; it must be 0 (all cores) or more", p.Workers)
	}
	return p.checkTimes()
}

// checkTimes checks the simulated time, the time between frames, and the numbers of steps and frames that follow.
func (p *Params) checkTimes() error {
	if !(p.SaveNs > 0) || math.IsInf(p.SaveNs, 0) {
		return pleat.Invalidf("step_size_ns is %v; the time between saved frames must be above 0 ns", p.SaveNs)
	}
	if !(p.LengthNs > 0) || math.IsInf(p.LengthNs, 0) {
		return pleat.Invalidf("sim_length_ns is %v; the simulated time must be above 0 ns", p.LengthNs)
	}
	if steps := p.LengthNs * 1000 / p.Step; steps > MaxSteps+0.5 {
		return pleat.Invalidf("sim_length_ns is %v, which is %.3g steps of %v ps; at most %d steps (%v ns) are taken",
			p.LengthNs, steps, p.Step, MaxSteps, MaxSteps*p.Step/1000)
	}
	every := p.SaveNs * 1000 / p.Step
	if every < 0.5 || math.Abs(every-math.Round(every)) > 1e-6*every {
		return pleat.Invalidf("step_size_ns is %v; it must be a whole number of integration steps of %v ns", p.SaveNs,
			p.Step/1000)
	}
	if p.Steps() < p.Every() {
		return pleat.Invalidf("sim_length_ns is %v, shorter than step_size_ns, %v; no frame would be saved", p.LengthNs,
			p.SaveNs)
	}
	if n := p.Frames(); n > MaxFrames {
		return pleat.Invalidf("sim_length_ns %v at step_size_ns %v makes %d frames; at most %d are saved", p.LengthNs,
			p.SaveNs, n, MaxFrames)
	}
	return nil
}

// Every returns the number of steps between saved frames.
func (p *Params) Every() int64 { return int64(math.Round(p.SaveNs * 1000 / p.Step)) }

// Steps returns the number of steps of the whole run.
func (p *Params) Steps() int64 { return int64(math.Round(p.LengthNs * 1000 / p.Step)) }

// Frames returns the number of frames that the whole run saves; the first is saved after SaveNs.
func (p *Params) Frames() int64 { return p.Steps() / p.Every() }

// workers returns the number of threads, by default all that Go may use.
func (p *Params) workers() int {
	if p.Workers > 0 {
		return p.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// clip shortens text from a request to 40 characters before it is quoted in an error.
func clip(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
