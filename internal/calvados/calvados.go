// Package calvados owns the embedded dynamics engine: proteins of one bead per
// residue in implicit salt water (CALVADOS 2 and 3), disordered or held to a
// predicted fold, moved by Langevin dynamics on the processor's cores; the
// trajectory it writes, the reading of it, and what is measured on it.
//
// Units inside are nm, kJ/mol, ps, u (g/mol) and elementary charges; positions
// that enter or leave as structure.Vec, PDB or DCD are in Å.
//
// It knows nothing of jobs, workflows or the wire beyond the names of the fields
// its refusals speak of, reads no clock, and starts no goroutine that outlives the
// call that started it. It is not an all-atom engine: see docs/dynamics.md for
// what the model can and cannot say.
//
// Sources: Tesei and Lindorff-Larsen, Open Research Europe 2, 94 (2022); Cao et
// al., Protein Science 33, e5172 (2024); von Bülow et al. on restraints from
// predicted structures; the integrator is cited at Dynamics.
package calvados

import (
	"math"
	"runtime"

	"pleat"
)

// Preset says what is simulated and what holds it together.
type Preset string

// The presets of this engine.
const (
	SingleIDR Preset = "single_idr_fasta" // one disordered chain from its sequence, no restraints
	SingleGo  Preset = "single_af_go"     // a predicted structure, held where the prediction is sure
)

// Profile is the set of stickiness parameters (λ) in use.
type Profile string

// The profiles.
const (
	Calvados2 Profile = "calvados2"
	Calvados3 Profile = "calvados3"
)

// Termini says which ends of each chain carry a charge.
type Termini string

// The ends that may be charged.
const (
	TerminiBoth Termini = "both"
	TerminiN    Termini = "N"
	TerminiC    Termini = "C"
	TerminiNone Termini = "none"
)

// Bounds on a simulation, whatever the machine. Requests are checked against them before they are queued.
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

// Params is what may be chosen about a simulation. The zero value is refused;
// start from Defaults.
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

// Defaults are the published settings: CALVADOS 2 at 293.15 K, 0.15 M, pH 7.5, a
// box of 20 nm, friction 0.01/ps, steps of 10 fs, 0.2 ns with a frame every 0.01 ns.
func Defaults() Params {
	return Params{
		Preset: SingleIDR, Residues: Calvados2, Termini: TerminiBoth, Temp: 293.15, Ionic: 0.15, PH: 7.5, Box: 20,
		Friction: 0.01, Step: DefaultStep, SaveNs: 0.01, LengthNs: 0.2,
	}
}

// Check refuses parameters that no system could be run with, in one sentence that
// names the field as the interface spells it. What depends on the molecule (a box
// smaller than the chain, the size of the trajectory) is refused by NewSystem.
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

// Every is the number of steps between saved frames.
func (p *Params) Every() int64 { return int64(math.Round(p.SaveNs * 1000 / p.Step)) }

// Steps is the number of steps of the whole run.
func (p *Params) Steps() int64 { return int64(math.Round(p.LengthNs * 1000 / p.Step)) }

// Frames is the number of frames the whole run saves; the first comes after SaveNs.
func (p *Params) Frames() int64 { return p.Steps() / p.Every() }

func (p *Params) workers() int {
	if p.Workers > 0 {
		return p.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// clip shortens what a stranger wrote before it is quoted.
func clip(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
