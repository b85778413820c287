package submit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/store/workers"
)

// modelCache holds the models of the workers: every creation needs them and they rarely change.
type modelCache struct {
	mu   sync.Mutex
	age  clock.Stopwatch // of list
	list []pleat.Model
}

const (
	// The ages up to which a list of models may be used: of requests, and of those that did not find their model in it.
	modelsMaxAge    = time.Second
	modelsRecentAge = 100 * time.Millisecond
)

// Models returns the models that run here, as the store listed them at most a second ago.
func (r *Resolver) Models(ctx context.Context) ([]pleat.Model, error) {
	return r.models.get(ctx, r.Workers, modelsMaxAge)
}

// recentModels returns the models that run here, as the store listed them at most 0.1 s ago. Ask it when
// [Resolver.Models] does not have the model: a worker may have started since.
func (r *Resolver) recentModels(ctx context.Context) ([]pleat.Model, error) {
	return r.models.get(ctx, r.Workers, modelsRecentAge)
}

// get returns the models of the workers, from the cache if it was filled at most maxAge ago. An empty list is never
// cached.
func (m *modelCache) get(ctx context.Context, s *workers.Store, maxAge time.Duration) ([]pleat.Model, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.list) > 0 && m.age.Elapsed() < maxAge {
		return m.list, nil
	}
	list, err := s.Models(ctx)
	if err != nil {
		return nil, err
	}
	m.list, m.age = list, clock.Start()
	return list, nil
}

// modelField is the field of a request that names the model of folds.
const modelField = "params.modelName"

// foldModel returns the fold model of a name, for a run in a project. An error with CodeInvalid, of the field
// params.modelName, says what to install or which models there are, or why the project may not use the model.
func (r *Resolver) foldModel(ctx context.Context, project pleat.ProjectID, name string) (pleat.Model, error) {
	m, err := r.knownModel(ctx, name)
	if err == nil {
		err = r.checkPermitted(ctx, project, &m, modelField)
	}
	return m, err
}

// knownModel is [Resolver.foldModel] without regard to the project.
func (r *Resolver) knownModel(ctx context.Context, name string) (pleat.Model, error) {
	if name == "" {
		return pleat.Model{}, pleat.InvalidField(modelField, " is required; GET /v1/models lists the models")
	}
	all, err := r.Models(ctx)
	if err != nil {
		return pleat.Model{}, err
	}
	if m, ok := pleat.FindModel(all, name); ok {
		return m, nil
	}
	if all, err = r.recentModels(ctx); err != nil { // a worker may have started since
		return pleat.Model{}, err
	}
	if m, ok := pleat.FindModel(all, name); ok {
		return m, nil
	}
	return pleat.Model{}, r.unknownModel(all, name, modelField)
}

// program is a well-known program of which the models have other names here.
type program struct {
	title  string
	names  []string // that callers may give it, in lower case without spaces, hyphens and underscores
	models []string // its models here, which a runner has; none: it cannot run here
	text   string   // the models in a sentence, or what there is instead of them
}

// programs are the well-known programs.
var programs = []program{
	{
		title:  "AlphaFold 2",
		names:  []string{"alphafold", "alphafold2", "af", "af2", "colabfold"},
		models: []string{"monomer", "multimer"},
		text:   "monomer (single chains) or multimer (complexes)",
	},
	{"AlphaFold-Multimer", []string{"alphafoldmultimer", "afm"}, []string{"multimer"}, "multimer"},
	{"ESMFold", []string{"esmfold", "esm", "esm2", "esmfoldv1"}, []string{"esm1b"}, "esm1b"},
	{"Boltz-1", []string{"boltz1", "boltz1x"}, []string{"boltz"}, "boltz"},
	{"Boltz-2", []string{"boltz2", "boltz2x"}, []string{"boltz-2"}, "boltz-2"},
	{"Chai-1", []string{"chai", "chailab"}, []string{"chai1"}, "chai1"},
	{"OpenFold3", []string{"openfold", "of3"}, []string{"openfold3"}, "openfold3"},
	{"Protenix v1", []string{"protenixv1", "protenix1"}, []string{"protenix"}, "protenix"},
	{"Protenix v2", []string{"protenixv2", "protenix2"}, []string{"protenix-v2"}, "protenix-v2"},
	{
		title: "SimpleFold",
		names: []string{"simplefold"},
		models: []string{
			"simplefold_100M", "simplefold_360M", "simplefold_700M", "simplefold_1.1B", "simplefold_1.6B",
			"simplefold_3B",
		},
		text: "simplefold_100M to simplefold_3B",
	},
	{
		title: "AlphaFold 3",
		names: []string{"alphafold3", "af3"},
		text:  "boltz-2, chai1, intellifold, openfold3 and protenix fold the same kinds of molecules",
	},
}

// programNamed returns the well-known program of a name that is none of a model here; false if there is none.
func programNamed(name string) (program, bool) {
	bare := strings.ToLower(strings.NewReplacer(" ", "", "-", "", "_", "").Replace(name))
	i := slices.IndexFunc(programs, func(p program) bool { return slices.Contains(p.names, bare) })
	if i < 0 {
		return program{}, false
	}
	return programs[i], true
}

// installName returns the name by which the operator installs the engine of a model: that of the engine if the model is
// one of several of a program, since one installation is for all of them, else that of the model.
func (r *Resolver) installName(model string) string {
	for _, p := range programs {
		if len(p.models) > 1 && slices.Contains(p.models, model) {
			return cmp.Or(r.Installable[model], model)
		}
	}
	return model
}

// explain says what a program is called here, where models run, and what to install if none of its own is among them.
func (r *Resolver) explain(p program, models []string) string {
	if len(p.models) == 0 {
		return fmt.Sprintf("%s does not run here; %s", p.title, p.text)
	}
	text := fmt.Sprintf("%s is called %s here", p.title, p.text)
	if !slices.ContainsFunc(p.models, func(m string) bool { return slices.Contains(models, m) }) {
		text += ", and has no engine; the operator can add it with: pleat engines install " +
			r.installName(p.models[0])
	}
	return text
}

// unknownModel returns the error for a fold model that does not run here. It says what to install, or which models
// there are.
func (r *Resolver) unknownModel(models []pleat.Model, name, field string) error {
	var names []string
	for _, m := range models {
		if m.Kind == pleat.TaskFold {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return pleat.InvalidField(field, " is %q, but no folding engine has run here yet; start one with pleat worker",
			pleat.Clip(name))
	}
	available := strings.Join(names, ", ")
	if _, ok := r.Installable[name]; ok {
		return pleat.InvalidField(field, " %q has no engine here; the operator can add it with: "+
			"pleat engines install %s. Models here: %s", name, r.installName(name), available)
	}
	if p, ok := programNamed(name); ok {
		return pleat.InvalidField(field, " is %q: %s. Models here: %s", pleat.Clip(name), r.explain(p, names),
			available)
	}
	if near := pleat.Nearest(name, names); near != "" {
		return pleat.InvalidField(field, " %q is not a known model; did you mean %q? Models here: %s",
			pleat.Clip(name), near, available)
	}
	return pleat.InvalidField(field, " %q is not a known model. Models here: %s", pleat.Clip(name), available)
}
