package flow

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"pleat"
	"pleat/internal/calvados"
	"pleat/internal/words"
)

// The presets of molecular dynamics.
const (
	PresetIDR     = "single_idr_fasta" // one disordered chain from its sequence
	PresetGo      = "single_af_go"     // a predicted structure, restrained where its confidence is high
	PresetAllAtom = "all_atom"         // a structure with all its atoms, by OpenMM
)

// presets are the words for preset.
var presets = []string{PresetGo, PresetIDR, PresetAllAtom}

// aminoAcids are the one-letter codes of the residues that the engines can simulate.
var aminoAcids = pleat.KnownLetters(pleat.Protein)

// commonMisnomers maps names that other programs give to fields of md to our names. They are refused with a hint,
// because a setting under such a name would be ignored.
var commonMisnomers = map[string]string{
	"temperature": "temp", "temp_k": "temp", "ionic_strength": "ionic", "salt": "ionic", "ph_value": "pH",
	"length": "sim_length_ns", "duration": "sim_length_ns", "time": "sim_length_ns", "time_ns": "sim_length_ns",
	"length_ns": "sim_length_ns", "simulation_length_ns": "sim_length_ns", "simulation_time_ns": "sim_length_ns",
	"sim_time_ns": "sim_length_ns", "n_steps": "sim_length_ns", "steps": "sim_length_ns",
	"step_ns": "step_size_ns", "save_interval_ns": "step_size_ns", "frame_interval_ns": "step_size_ns",
	"box": "box_length", "box_size": "box_length", "charge_termini": "component_defaults.charge_termini",
	"box_eq": "config.box_eq", "pressure": "config.pressure", "force_field": "force_field_family",
	"forcefield": "force_field_family",
}

// readMD reads the input of a simulation into p: the conditions, the source of the structure, and the settings of the
// engine. The physics has the bounds of internal/calvados. A misspelt field, or one of another program, is refused.
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
	m.Profile = f.enum("residue_profile", "calvados2", []string{"calvados2", "calvados3"})
	m.Sequence = readSequence(f)
	f.refuse(pleat.CheckPrintable(f.pathOf("name"), f.string("name", 4*pleat.MaxName)))
	f.string("sourceUserId", 64)
	p.Seed = readSeed(f)
	m.Seed, _ = strconv.ParseUint(p.Seed, 10, 64)
	readMDSource(f, p)
	def := PresetGo
	if p.Source.Kind == SourceNone && m.Sequence != "" {
		def = PresetIDR
	}
	m.Preset = f.enum("preset", def, presets)
	family := "calvados"
	if m.Preset == PresetAllAtom {
		family = "amber"
	}
	if got := f.enum("force_field_family", family, []string{"calvados", "amber"}); got != family && f.ok("preset") {
		f.fail(f.pathOf("force_field_family"), " is %q, but preset %s uses %s", got, m.Preset, family)
	}
	checkSource(f, p)
	readEngine(f, p)
	checkPhysics(f, m)
	for _, name := range f.unknown() {
		if meant := commonMisnomers[strings.ToLower(name)]; meant != "" {
			f.failUnknown(name, f.spell(name, meant))
		} else if hint := f.misspells(name); hint != "" {
			f.failUnknown(name, hint)
		}
	}
	m.Parameters = map[string]any{"preset": m.Preset, "force_field_family": family, "residue_profile": m.Profile,
		"temp": m.Temp, "ionic": m.Ionic, "pH": m.PH,
		"step_size_ns": m.StepNs, "sim_length_ns": m.LengthNs, "box_length": m.BoxNm, "charge_termini": m.Termini,
		"source": PublicReference(p.Source.Reference())}
}

// readSequence reads the one-letter codes of a protein in upper case without white space.
func readSequence(f *fields) string {
	s := f.protein("sequence", 100_000, "dynamics knows")
	if s != "" && (len(s) < 2 || len(s) > calvados.MaxBeads) {
		f.fail(f.pathOf("sequence"), " has %s; dynamics takes 2 to %d", words.Quantity(len(s), "residue", "residues"),
			calvados.MaxBeads)
	}
	return s
}

// readSeed reads a whole number, given as a JSON number or a string; empty if it is absent.
func readSeed(f *fields) string {
	raw := f.raw("seed")
	if raw == nil {
		return ""
	}
	s := strings.Trim(string(raw), `"`)
	if _, err := strconv.ParseUint(s, 10, 64); err != nil {
		f.fail(f.pathOf("seed"), " is %s; it must be a whole number from 0", clip(raw))
		return ""
	}
	return s
}

// mdSources are the words for sourceType.
var mdSources = []string{"fold_job", "upload", "library"}

// readMDSource reads where the structure comes from: a fold, files of the library, or nothing but a sequence.
func readMDSource(f *fields, p *Plan) {
	s := &p.Source
	s.Fold = readFold(f)
	item := pleat.FileRef{Item: pleat.ItemID(f.uuid("libraryItemId"))}
	if files := f.object("files"); files != nil {
		s.Structure, s.PAE = readFile(files, "pdb"), readFile(files, "pae")
	}
	if s.Structure.Item == "" {
		s.Structure = item
	}
	def := SourceNone
	switch {
	case s.Fold.Job != "" && s.Structure.Item != "":
		f.refuse(pleat.Invalidf("%s names a fold job and files; it must name one of them", f.path).
			At(f.pathOf("source_job_id")))
	case s.Fold.Job != "":
		def = SourceFold
	case s.Structure.Item != "":
		def = SourceUpload
	}
	s.Kind = SourceKind(f.enum("sourceType", string(def), mdSources, "targetSource"))
	switch s.Kind {
	case SourceFold:
		require(f, s.Fold.Job, "sourceJobId")
		s.Structure, s.PAE = pleat.FileRef{}, pleat.FileRef{}
	case SourceUpload, SourceLibrary:
		require(f, s.Structure.Item, "files.pdb.libraryItemId")
		s.Fold = pleat.FoldRef{}
	}
}

// checkSource reports a source that does not fit the preset, if both could be read.
func checkSource(f *fields, p *Plan) {
	if !f.ok("preset", "sourceType", "source_job_id", "libraryItemId", "files") {
		return
	}
	files := p.Source.Kind == SourceUpload || p.Source.Kind == SourceLibrary
	switch p.MD.Preset {
	case PresetIDR:
		if files {
			f.fail(f.pathOf("files"), " would be ignored: preset %s starts from a sequence", PresetIDR)
		}
		if p.MD.Sequence != "" && p.Source.Kind == SourceFold {
			f.fail(f.pathOf("sequence"), " would be ignored: the fold job has the sequence; leave one of them out")
		}
		if p.MD.Sequence == "" && p.Source.Kind == SourceNone {
			f.fail(f.pathOf("sequence"), " is required for preset %s", PresetIDR)
		}
	case PresetGo:
		if p.Source.Kind == SourceNone {
			f.fail(f.pathOf("sourceJobId"), " is required for preset %s: a fold job, or files.pdb and files.pae",
				PresetGo)
		}
		if files && p.Source.PAE.Item == "" {
			f.fail(f.pathOf("files.pae")+".libraryItemId", " is required for preset %s: "+
				"the predicted aligned errors say what is held", PresetGo)
		}
	case PresetAllAtom:
		if p.Source.Kind == SourceNone {
			f.fail(f.pathOf("sourceJobId"), " is required for preset %s: a fold job, or files.pdb", PresetAllAtom)
		}
	}
}

// readEngine reads the settings that only some engines support. No engine here has a barostat: the coarse-grained one
// has a constant box with one molecule, whose position in it does not matter; the all-atom one has implicit solvent
// and no box.
func readEngine(f *fields, p *Plan) {
	f.enum("topol", "center", []string{"center", "single", "grid", "random"})
	if !f.ok("preset") { // what an engine supports depends on it
		f.raw("config")
		f.raw("component_defaults")
		return
	}
	if c := f.object("config"); c != nil {
		if c.flag("box_eq") {
			box := "keeps its box"
			if p.MD.Preset == PresetAllAtom {
				box = "has no box"
			}
			f.fail(c.pathOf("box_eq"), " is true, but preset %s %s; leave it out", p.MD.Preset, box)
		}
		readPressure(c, p.MD.Preset)
		refuseIgnored(c, p.MD.Preset)
	}
	p.MD.Termini = "both"
	if c := f.object("component_defaults"); c != nil {
		p.MD.Termini = c.enum("charge_termini", "both", []string{"both", "N", "C", "none"})
		if p.MD.Preset == PresetAllAtom && p.MD.Termini != "both" {
			f.fail(c.pathOf("charge_termini"), " is %q, but preset %s charges both ends of a chain; leave it out",
				p.MD.Termini, p.MD.Preset)
		}
		for _, only := range []struct {
			name string
			want any
		}{
			{"molecule_type", "protein"}, {"nmol", 1.0}, {"restraint", p.MD.Preset == PresetGo},
			{"restraint_type", "go"}, {"use_com", true},
		} {
			var got any
			raw := c.raw(only.name)
			if raw == nil || json.Unmarshal(raw, &got) == nil && got == only.want {
				continue
			}
			f.fail(c.pathOf(only.name), " is %s; preset %s is for %v", clip(raw), p.MD.Preset, only.want)
		}
		refuseIgnored(c, p.MD.Preset)
	}
}

// readPressure accepts a pressure of zero only, because every engine runs at constant volume.
func readPressure(c *fields, preset string) {
	raw := c.raw("pressure")
	if raw == nil {
		return
	}
	var v []float64
	if json.Unmarshal(raw, &v) != nil || len(v) != 3 {
		c.fail(c.pathOf("pressure"), " is %s; it must be a list of three numbers", clip(raw))
	}
	if slices.ContainsFunc(v, func(x float64) bool { return x != 0 }) {
		c.fail(c.pathOf("pressure"), " would be ignored: preset %s runs at constant volume; leave it out", preset)
	}
}

// refuseIgnored reports every unknown field of c, which the engine would ignore.
func refuseIgnored(c *fields, preset string) {
	for _, name := range c.unknown() {
		if hint := c.misspells(name); hint != "" {
			c.failUnknown(name, hint)
		} else {
			c.fail(c.pathOf(pleat.Clip(name)), " would be ignored: preset %s has no such setting", preset)
		}
	}
}

// checkPhysics reports values that the engine refuses: internal/calvados has the bounds, which hold for every preset.
func checkPhysics(f *fields, m *pleat.MDInput) {
	p := calvados.Defaults()
	p.Temp, p.Ionic, p.PH, p.Box = m.Temp, m.Ionic, m.PH, m.BoxNm
	p.SaveNs, p.LengthNs = m.StepNs, m.LengthNs
	for _, fault := range p.Faults() {
		f.refuse(f.inside(fault))
	}
	if m.Preset != PresetIDR || !f.ok("sequence", "preset") {
		return
	}
	n := len(m.Sequence)
	for _, fault := range pleat.ErrorsOf(p.CheckBox(n, calvados.DisorderedSpan(n))) {
		f.refuse(f.inside(fault))
	}
}
