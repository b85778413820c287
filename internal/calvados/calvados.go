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

// Params are the parameters of a simulation. The zero value is invalid; start from [Defaults].
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

// Check returns an error for parameters that no system can be run with: Faults as an error, nil if there are none.
func (p *Params) Check() error { return p.Faults().Err() }

// Faults returns what is wrong with the parameters, in the order of the fields; a valid set has none. The Field of each
// fault is the field's name as the API spells it, and its message is one sentence that starts with that name.
// [NewSystem] checks what depends on the molecule: the box, see [Params.CheckBox], and the size of the trajectory.
func (p *Params) Faults() pleat.Errors {
	var all pleat.Errors
	fail := func(field, format string, args ...any) {
		all = append(all, pleat.InvalidField(field, format, args...))
	}
	if p.Preset != SingleIDR && p.Preset != SingleGo {
		fail("preset", " is %q; this engine runs %q and %q", pleat.Clip(string(p.Preset)), SingleIDR, SingleGo)
	}
	if p.Residues != Calvados2 && p.Residues != Calvados3 {
		fail("residue_profile", " is %q; it must be %q or %q", pleat.Clip(string(p.Residues)), Calvados2, Calvados3)
	}
	switch p.Termini {
	case "", TerminiBoth, TerminiN, TerminiC, TerminiNone:
	default:
		fail("charge_termini", " is %q; it must be %q, %q, %q or %q", pleat.Clip(string(p.Termini)), TerminiBoth,
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
		if !(f.v >= f.lo && f.v <= f.hi) { // true for NaN too
			fail(f.name, " is %v%s; it must be from %v to %v%s", f.v, f.unit, f.lo, f.hi, f.unit)
		}
	}
	if p.Workers < 0 {
		fail("workers", " is %d; it must be 0 (all cores) or more", p.Workers)
	}
	return append(all, p.timeFaults()...)
}

// timeFaults checks the integration step, the simulated time and the time between frames. Only if each is valid, it
// checks the numbers of steps and frames that follow from them.
func (p *Params) timeFaults() pleat.Errors {
	var all pleat.Errors
	fail := func(field, format string, args ...any) {
		all = append(all, pleat.InvalidField(field, format, args...))
	}
	if !(p.Step > 0 && p.Step <= maxStep) {
		all = append(all, pleat.Invalidf("the integration step is %v ps; it must be above 0 and at most %v ps", p.Step,
			maxStep))
	}
	if !(p.SaveNs > 0) || math.IsInf(p.SaveNs, 0) {
		fail("step_size_ns", " is %v; the time between saved frames must be above 0 ns", p.SaveNs)
	}
	if !(p.LengthNs > 0) || math.IsInf(p.LengthNs, 0) {
		fail("sim_length_ns", " is %v; the simulated time must be above 0 ns", p.LengthNs)
	}
	if len(all) > 0 {
		return all
	}
	every := p.SaveNs * 1000 / p.Step
	switch steps := p.LengthNs * 1000 / p.Step; {
	case steps > MaxSteps+0.5:
		fail("sim_length_ns", " is %v ns, which is %.3g steps of %v fs; at most %d steps (%v ns) are allowed",
			p.LengthNs, steps, p.Step*1000, MaxSteps, math.Round(MaxSteps*p.Step/1000))
	case every < 0.5 || math.Abs(every-math.Round(every)) > 1e-6*every:
		fail("step_size_ns", " is %v; it must be a whole number of steps of %v ns", p.SaveNs, p.Step/1000)
	case p.Steps() < p.Every():
		fail("sim_length_ns", " is %v, shorter than step_size_ns, %v; no frame would be saved", p.LengthNs, p.SaveNs)
	case p.Frames() > MaxFrames:
		fail("sim_length_ns", " %v at step_size_ns %v makes %d frames; at most %d are saved", p.LengthNs, p.SaveNs,
			p.Frames(), MaxFrames)
	}
	return all
}

// CheckBox returns an error if a molecule of n residues that spans the given length in nm does not fit into the box.
func (p *Params) CheckBox(n int, span float64) error {
	if span <= p.Box {
		return nil
	}
	return pleat.InvalidField("box_length",
		" is %v nm, smaller than the chain of %d residues; it must be at least %v nm",
		p.Box, n, math.Ceil(span))
}

// CheckTrajectory returns an error if the trajectory of n residues would have more than [MaxBytes].
func (p *Params) CheckTrajectory(n int) error {
	bytes := p.Frames() * frameBytes(n)
	if bytes <= MaxBytes {
		return nil
	}
	return pleat.Invalidf("%d frames of %d residues make a trajectory of %d MiB; at most %d MiB are "+
		"written: raise step_size_ns or lower sim_length_ns", p.Frames(), n, bytes>>20, MaxBytes>>20).At("step_size_ns")
}

// DisorderedSpan estimates the size in nm of a disordered chain of n residues: the larger of the end-to-end distance of
// a self-avoiding walk (0.55 nm · n^0.6) and the diameter of the spiral from which the simulation starts.
func DisorderedSpan(n int) float64 {
	if n == 0 {
		return 0
	}
	return max(0.55*math.Pow(float64(n), 0.6), 2*(1.2+math.Sqrt(bondLength*0.7*float64(n)/math.Pi)))
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
