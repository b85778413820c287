package flow

import (
	"slices"
	"strings"
	"time"

	"pleat"
)

// Task is what the queue needs of a workflow's task. Queue is the queue of the model, see [pleat.Queue].
type Task struct {
	Model  pleat.Model
	Queue  string
	Memory int64 // bytes expected
	// Expected is how long the task is expected to compute, in core-seconds; 0: unknown.
	Expected time.Duration
	Seed     string
}

// answering are the engines that answer questions, the best first. An operator who runs evolla has installed it for
// that.
var answering = []string{"evolla", "chat", "analyst"}

// simulating maps a preset to the engine that runs it.
var simulating = map[string]string{PresetIDR: "calvados", PresetGo: "calvados", PresetAllAtom: "openmm"}

// Builtin returns the models that every worker has unless its operator disables them, with names, kinds and uses only.
// A task may wait for them even if no worker is running.
func Builtin() []pleat.Model {
	var out []pleat.Model
	for _, e := range pleat.BuiltInEngines {
		if e.Default {
			out = append(out, pleat.Model{Name: e.Name, Kind: e.Kind, WeightUse: pleat.CommercialUse})
		}
	}
	return out
}

// Choose returns the engine for a plan among the models that are running. The error lists what is available, or says
// how much memory the plan needs where no engine has it.
func Choose(p *Plan, models []pleat.Model) (Task, error) {
	var available []string
	byName := map[string]pleat.Model{}
	for _, m := range models {
		if m.Kind == p.Kind {
			available = append(available, m.Name)
			byName[m.Name] = m
		}
	}
	slices.Sort(available)
	wanted := answering
	switch p.Kind {
	case pleat.TaskMD:
		wanted = []string{simulating[p.MD.Preset]}
	case pleat.TaskDesign:
		available = p.Design.designing(available, byName)
		wanted = available
		if name := p.Design.Params.Model; name != "" {
			wanted = slices.DeleteFunc(slices.Clone(available), func(other string) bool { return other != name })
		}
	case pleat.TaskCompare:
		wanted = []string{"compare"}
	case pleat.TaskAlign:
		wanted = []string{pleat.MSAMMseqs2}
	}
	var large error
	for _, name := range wanted {
		m, ok := byName[name]
		if need := p.memory(&m); ok && m.Room > 0 && need > m.Room {
			large = pleat.Invalidf("the engine %s needs about %.0f GB of memory; where it runs there are %.0f GB", name,
				float64(need)/1e9, float64(m.Room)/1e9).At("workflow_input")
		} else if ok {
			return p.task(m), nil
		}
	}
	switch {
	case large != nil: // it would wait forever
		return Task{}, large
	case p.Kind == pleat.TaskAlign:
		return Task{}, pleat.Invalidf("no alignments are made here, unless the operator sets msa-server or " +
			"msa-command").
			At("sequences")
	case p.Kind == pleat.TaskDesign:
		return Task{}, p.Design.noDesigner(available)
	case len(available) == 0:
		return Task{}, pleat.Invalidf("no engine for %s is running here; start one with pleat worker", p.Kind).
			At("workflow_name")
	case p.Kind == pleat.TaskMD:
		var can []string
		for _, preset := range presets {
			if byName[simulating[preset]].Name != "" {
				can = append(can, preset)
			}
		}
		return Task{}, pleat.InvalidField("workflow_input.preset",
			" %s needs the engine %s, which is not running here; presets here: %s", p.MD.Preset,
			simulating[p.MD.Preset], strings.Join(can, ", "))
	}
	return p.task(byName[available[0]]), nil
}

// designers are models for designs, the best first. All others come after them, by name.
var designers = []string{"boltzgen", "proteinmpnn"}

// runs reports whether a model has the protocol of a design.
func (d *DesignPlan) runs(m *pleat.Model) bool {
	return m.Kind == pleat.TaskDesign &&
		m.Has(pleat.FeatureSequenceOnly) == (d.Params.Protocol == pleat.SequenceOnly)
}

// designing returns the names of the models that can run a design, the best first. The names in here are in order.
func (d *DesignPlan) designing(available []string, byName map[string]pleat.Model) []string {
	var can []string
	for _, name := range slices.Concat(designers, available) {
		m := byName[name]
		if d.runs(&m) && !slices.Contains(can, name) {
			can = append(can, name)
		}
	}
	return can
}

// noDesigner is the error for a design that no model here can run; can are those with its protocol.
func (d *DesignPlan) noDesigner(can []string) error {
	if len(can) > 0 {
		return pleat.InvalidField(inputPath+".modelName", " is %q; for the protocol %s these run here: %s",
			pleat.Clip(d.Params.Model), d.Params.Protocol, pleat.ListNames(can, 20))
	}
	what, engine := "design", "boltzgen"
	if d.Params.Protocol == pleat.SequenceOnly {
		what, engine = "the protocol "+pleat.SequenceOnly, "proteinmpnn"
	}
	return pleat.Invalidf("no engine for %s is running here; install one with pleat engines install %s and name it "+
		"in --engines", what, engine).At("workflow_name")
}

// ModelField is the field of a request that decides which model executes the plan.
func (p *Plan) ModelField() string {
	if p.Design != nil && p.Design.Params.Model != "" {
		return inputPath + ".modelName"
	}
	return "workflow_name"
}

// task returns the task of a plan for a model that can run it.
func (p *Plan) task(m pleat.Model) Task {
	return Task{
		Model:    m,
		Queue:    pleat.Queue(m.Kind, m.Name),
		Memory:   p.memory(&m),
		Expected: p.expected(&m),
		Seed:     p.Seed,
	}
}

const (
	// bytesPerToken is how many bytes of a structure file stand for a residue: eight atoms, a line of 80 bytes each.
	bytesPerToken = 640
	// bytesPerPAE is how much memory a byte of a PAE file needs: its text, the values as rows, and those as a matrix.
	bytesPerPAE = 8
)

// memory returns how many bytes a plan is expected to need with a model. That of a question or a comparison follows
// from the size of its files, which a user chooses; that of a simulation from its sequence.
func (p *Plan) memory(m *pleat.Model) int64 {
	if p.Design != nil {
		return m.Memory.Bytes(p.Size.Residues)
	}
	if p.MD != nil || p.Size.Structure == 0 {
		return m.Memory.Bytes(p.MD.Tokens())
	}
	return m.Memory.Bytes(int(p.Size.Structure/bytesPerToken)) + bytesPerPAE*p.Size.PAE
}

// expected returns how long a plan is expected to compute with a model; 0: unknown.
func (p *Plan) expected(m *pleat.Model) time.Duration {
	switch {
	case p.Design != nil:
		return pleat.Seconds(m.Speed.Seconds(p.Size.Residues) * float64(p.Design.Params.Designs))
	case p.MD != nil && p.residues() > 0:
		return pleat.Seconds(m.Speed.Seconds(p.residues()) * p.MD.LengthNs)
	case p.MD == nil && p.Align == nil:
		return pleat.Seconds(m.Speed.Seconds(int(p.Size.Structure / bytesPerToken)))
	}
	return 0
}
