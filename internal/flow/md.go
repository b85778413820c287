package flow

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"pleat"
	"pleat/internal/calvados"
)

// The presets of dynamics.
const (
	PresetIDR     = "single_idr_fasta" // one disordered chain from its sequence
	PresetGo      = "single_af_go"     // a predicted structure, held where the prediction is sure
	PresetAllAtom = "all_atom"
)

var presets = []string{PresetGo, PresetIDR, PresetAllAtom}

// stepNs is the integration step of dynamics in ns.
const stepNs = calvados.DefaultStep / 1000

const aminoAcids = "ACDEFGHIKLMNPQRSTVWY"

// meant are names that others give to the fields of md. What they ask for would be ignored, so they are refused.
var meant = map[string]string{
	"temperature": "temp", "temp_k": "temp", "ionic_strength": "ionic", "salt": "ionic", "ph_value": "pH",
	"length_ns": "sim_length_ns", "simulation_length_ns": "sim_length_ns", "simulation_time_ns": "sim_length_ns",
	"sim_time_ns": "sim_length_ns", "n_steps": "sim_length_ns", "steps": "sim_length_ns",
	"step_ns": "step_size_ns", "save_interval_ns": "step_size_ns", "frame_interval_ns": "step_size_ns",
	"box": "box_length", "box_size": "box_length", "charge_termini": "component_defaults.charge_termini",
	"box_eq": "config.box_eq", "pressure": "config.pressure", "force_field": "force_field_family",
	"forcefield": "force_field_family",
}

// readMD reads what to simulate.
func readMD(f *fields, p *Plan) {
	m := &pleat.MDInput{
		Temp:     f.number("temp", 293.15),
		Ionic:    f.number("ionic", 0.15),
		PH:       f.number("pH", 7.5),
		StepNs:   f.number("step_size_ns", 0.01),
		LengthNs: f.number("sim_length_ns", 0.2),
		BoxNm:    f.number("box_length", 20),
	}
	p.MD = m
	m.Profile = f.word("residue_profile", "calvados2", []string{"calvados2", "calvados3"})
	m.Sequence = readSequence(f)
	f.text("name", 4*pleat.MaxName)
	f.text("sourceUserId", 64)
	p.Seed = readSeed(f)
	m.Seed, _ = strconv.ParseUint(p.Seed, 10, 64)
	readMDSource(f, p)
	def := PresetGo
	if p.Source.Kind == SourceNone && m.Sequence != "" {
		def = PresetIDR
	}
	m.Preset = f.word("preset", def, presets)
	family := "calvados"
	if m.Preset == PresetAllAtom {
		family = "amber"
	}
	if got := f.word("force_field_family", family, []string{"calvados", "amber"}); got != family {
		f.fail(f.where("force_field_family"), " is %q, but preset %s uses %s", got, m.Preset, family)
	}
	checkSource(f, p)
	readEngine(f, p)
	checkPhysics(f, m)
	for _, name := range f.unknown() {
		if hint := firstOf(meant[strings.ToLower(name)], misspells(name, f.known)); hint != "" {
			f.refuse(pleat.Invalidf("unknown field %q in %s; did you mean %q?", pleat.Clip(name), f.path, hint).
				At(f.where(name)))
		}
	}
	m.Parameters = map[string]any{"preset": m.Preset, "force_field_family": family, "residue_profile": m.Profile,
		"temp": m.Temp, "ionic": m.Ionic, "pH": m.PH,
		"step_size_ns": m.StepNs, "sim_length_ns": m.LengthNs, "box_length": m.BoxNm, "charge_termini": m.Termini,
		"source": p.Source.Reference()}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// readSequence reads a protein's letters.
func readSequence(f *fields) string {
	s := strings.ToUpper(strings.Join(strings.Fields(f.text("sequence", 100_000)), ""))
	for i := range len(s) {
		if strings.IndexByte(aminoAcids, s[i]) < 0 {
			f.fail(f.where("sequence"), ": %q at position %d; dynamics knows the letters %s", s[i:i+1], i+1, aminoAcids)
			break
		}
	}
	if s != "" && (len(s) < 2 || len(s) > calvados.MaxBeads) {
		f.fail(f.where("sequence"), " has %d residues; dynamics takes 2 to %d", len(s), calvados.MaxBeads)
	}
	return s
}

// readSeed reads a whole number, as a number or a string of one.
func readSeed(f *fields) string {
	raw := f.raw("seed")
	if raw == nil {
		return ""
	}
	s := strings.Trim(string(raw), `"`)
	if _, err := strconv.ParseUint(s, 10, 64); err != nil {
		f.fail(f.where("seed"), " is %s; it must be a whole number from 0", clip(raw))
		return ""
	}
	return s
}

var mdSources = []string{"fold_job", "upload", "library"}

func readMDSource(f *fields, p *Plan) {
	s := &p.Source
	s.Fold = readFold(f)
	item := FileRef{Item: f.uuid("libraryItemId")}
	if files := f.object("files"); files != nil {
		s.Structure, s.PAE = readFile(files, "pdb"), readFile(files, "pae")
	}
	if s.Structure.Item == "" {
		s.Structure = item
	}
	def := SourceNone
	switch {
	case s.Fold.Job != "" && s.Structure.Item != "":
		f.fail(f.path, " names a fold job and files; it must name one of them")
	case s.Fold.Job != "":
		def = SourceFold
	case s.Structure.Item != "":
		def = SourceUpload
	}
	s.Kind = SourceKind(f.word("sourceType", string(def), mdSources, "targetSource"))
	switch s.Kind {
	case SourceFold:
		need(f, s.Fold.Job != "", "sourceJobId")
		s.Structure, s.PAE = FileRef{}, FileRef{}
	case SourceUpload, SourceLibrary:
		need(f, s.Structure.Item != "", "files.pdb.libraryItemId")
		s.Fold = pleat.FoldRef{}
	}
}

// checkSource refuses a source that does not fit the preset.
func checkSource(f *fields, p *Plan) {
	files := p.Source.Kind == SourceUpload || p.Source.Kind == SourceLibrary
	switch p.MD.Preset {
	case PresetIDR:
		if files {
			f.fail(f.where("files"), " would be ignored: preset %s starts from a sequence", PresetIDR)
		}
		if p.MD.Sequence == "" && p.Source.Kind == SourceNone {
			f.fail(f.where("sequence"), " is required for preset %s", PresetIDR)
		}
	case PresetGo:
		if p.Source.Kind == SourceNone {
			f.fail(f.where("sourceJobId"), " is required for preset %s: a fold job, or files.pdb and files.pae",
				PresetGo)
		}
		if files && p.Source.PAE.Item == "" {
			f.fail(f.where("files.pae")+".libraryItemId", " is required for preset %s: the predicted aligned "+
				"errors say what is held", PresetGo)
		}
	case PresetAllAtom:
		if p.Source.Kind == SourceNone {
			f.fail(f.where("sourceJobId"), " is required for preset %s: a fold job, or files.pdb", PresetAllAtom)
		}
	}
}

// readEngine reads what only some engines do. None here has a barostat: the coarse-grained one keeps its box and
// simulates one molecule in it, so where that stands is all the same to it; the one with all atoms has implicit
// solvent and no box.
func readEngine(f *fields, p *Plan) {
	f.word("topol", "center", []string{"center", "single", "grid", "random"})
	if c := f.object("config"); c != nil {
		if c.flag("box_eq", false) {
			box := "keeps its box"
			if p.MD.Preset == PresetAllAtom {
				box = "has no box"
			}
			f.fail(c.where("box_eq"), " is true, but preset %s %s; leave it out", p.MD.Preset, box)
		}
		readPressure(c, p.MD.Preset)
		refuseIgnored(c, p.MD.Preset)
	}
	p.MD.Termini = "both"
	if c := f.object("component_defaults"); c != nil {
		p.MD.Termini = c.word("charge_termini", "both", []string{"both", "N", "C", "none"})
		if p.MD.Preset == PresetAllAtom && p.MD.Termini != "both" {
			f.fail(c.where("charge_termini"), " is %q, but preset %s charges both ends of a chain; leave it out",
				p.MD.Termini, p.MD.Preset)
		}
		for name, want := range map[string]any{
			"molecule_type": "protein", "nmol": 1.0, "restraint": p.MD.Preset == PresetGo, "restraint_type": "go",
			"use_com": true,
		} {
			var got any
			raw := c.raw(name)
			if raw == nil || json.Unmarshal(raw, &got) == nil && got == want {
				continue
			}
			f.fail(c.where(name), " is %s; preset %s is for %v", clip(raw), p.MD.Preset, want)
		}
		refuseIgnored(c, p.MD.Preset)
	}
}

func readPressure(c *fields, preset string) {
	raw := c.raw("pressure")
	if raw == nil {
		return
	}
	var v []float64
	if json.Unmarshal(raw, &v) != nil || len(v) != 3 {
		c.fail(c.where("pressure"), " is %s; it must be a list of three numbers", clip(raw))
	}
	if slices.ContainsFunc(v, func(x float64) bool { return x != 0 }) {
		c.fail(c.where("pressure"), " would be ignored: preset %s runs at constant volume; leave it out", preset)
	}
}

func refuseIgnored(c *fields, preset string) {
	for _, name := range c.unknown() {
		if hint := misspells(name, c.known); hint != "" {
			c.refuse(pleat.Invalidf("unknown field %q in %s; did you mean %q?", pleat.Clip(name), c.path, hint).
				At(c.where(name)))
		} else {
			c.fail(c.where(pleat.Clip(name)), " would be ignored: preset %s has no such setting", preset)
		}
	}
}

// checkPhysics refuses numbers that no run could have.
func checkPhysics(f *fields, m *pleat.MDInput) {
	for _, n := range []struct {
		name      string
		v, lo, hi float64
		unit      string
	}{
		{"temp", m.Temp, calvados.MinTemp, calvados.MaxTemp, " K"},
		{"ionic", m.Ionic, 0, calvados.MaxIonic, " mol/L"},
		{"pH", m.PH, 0, 14, ""},
		{"box_length", m.BoxNm, calvados.MinBox, calvados.MaxBox, " nm"},
	} {
		if !(n.v >= n.lo && n.v <= n.hi) {
			f.fail(f.where(n.name), " is %v%s; it must be from %v to %v%s", n.v, n.unit, n.lo, n.hi, n.unit)
		}
	}
	if !(m.StepNs > 0) {
		f.fail(f.where("step_size_ns"), " is %v; the time between saved frames must be above 0 ns", m.StepNs)
	}
	if !(m.LengthNs > 0) {
		f.fail(f.where("sim_length_ns"), " is %v; the simulated time must be above 0 ns", m.LengthNs)
	}
	if *f.err != nil {
		return
	}
	every := m.StepNs / stepNs
	switch steps := m.LengthNs / stepNs; {
	case steps > calvados.MaxSteps*(1+1e-9):
		f.fail(f.where("sim_length_ns"), " is %v ns, which is %.3g steps of 10 fs; at most %d steps (%v ns) are taken",
			m.LengthNs, steps, calvados.MaxSteps, math.Round(calvados.MaxSteps*stepNs))
	case every < 0.5 || math.Abs(every-math.Round(every)) > 1e-6*every:
		f.fail(f.where("step_size_ns"), " is %v; it must be a whole number of steps of %v ns", m.StepNs, stepNs)
	case m.LengthNs < m.StepNs*(1-1e-9):
		f.fail(f.where("sim_length_ns"), " is %v, shorter than step_size_ns, %v; no frame would be saved", m.LengthNs,
			m.StepNs)
	case m.LengthNs/m.StepNs > calvados.MaxFrames+0.5:
		f.fail(f.where("sim_length_ns"), " %v at step_size_ns %v makes %.0f frames; at most %d are saved", m.LengthNs,
			m.StepNs, m.LengthNs/m.StepNs, calvados.MaxFrames)
	}
	if need := extent(len(m.Sequence)); m.Preset == PresetIDR && m.BoxNm < need {
		f.fail(f.where("box_length"), " is %v nm, smaller than the chain of %d residues; it must be at least %v nm",
			m.BoxNm, len(m.Sequence), math.Ceil(need))
	}
}

// extent is about how far a disordered chain of n residues reaches in nm: the end-to-end distance of a self-avoiding
// walk, or the spiral it starts from.
func extent(n int) float64 {
	if n == 0 {
		return 0
	}
	return max(0.55*math.Pow(float64(n), 0.6), 2*(1.2+math.Sqrt(0.38*0.7*float64(n)/math.Pi)))
}

// overrides are the fields of a destination that pass into the workflow it starts: all but its switch.
func overrides(settings map[string]json.RawMessage) map[string]json.RawMessage {
	out := maps.Clone(settings)
	delete(out, "enabled")
	return out
}
