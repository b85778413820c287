package report

import "pleat"

// configFile is config.json, the run configuration: what ran, and the request that runs it again. A service with the
// same engine version that receives the request at POST /v1/jobs produces the same bytes, if the engine promises so.
type configFile struct {
	Service string `json:"service"`
	// Cached: the results of an earlier run were reused. The file does not name that run: it may be private, and the
	// file is public with its job.
	Cached  bool              `json:"cached,omitempty"`
	Input   string            `json:"input_sha256"` // of everything that the files depend on
	Files   map[string]string `json:"input_files"`  // SHA-256 of each input file, such as an alignment
	Engine  string            `json:"engine"`
	Model   string            `json:"model"`
	Weights string            `json:"weight_set"`
	Method  string            `json:"method"`
	Device  string            `json:"device"`
	Seed    string            `json:"seed"`
	Params  map[string]any    `json:"effective_params"`
	Runner  map[string]any    `json:"runner,omitempty"` // what ran in a process of its own
	Request request           `json:"request"`
}

// request is the body of POST /v1/jobs, with the fields of docs/interface.md.
type request struct {
	Name        string             `json:"name"`
	Sequences   []map[string]any   `json:"sequences"`
	Params      map[string]any     `json:"params"`
	Constraints *pleat.Constraints `json:"constraints,omitempty"`
}

// config returns the content of config.json: the versions, the seed and the effective parameters of a fold.
func (r *Report) config() configFile {
	f, m := r.Work.Fold, &r.Work.Model
	effective := f.Params.Effective(*m)
	if m.TakesParam("seed") {
		effective["seed"] = f.Seed
	}
	return configFile{
		Service: "pleat " + pleat.Version,
		Input:   r.Work.Input,
		Files:   r.Work.Files,
		Engine:  r.Engine,
		Model:   m.Name,
		Weights: m.WeightSet,
		Method:  m.Method,
		Device:  m.Device,
		Seed:    f.Seed,
		Params:  effective,
		Runner:  r.Runner,
		Request: requestOf(r.Work),
	}
}

// requestOf returns the job as a client could send it again: absent and empty values are left out, the seed is that of
// the run.
func requestOf(w pleat.Work) request {
	f := w.Fold
	params := map[string]any{"modelName": w.Model.Name}
	for k, v := range f.Params.Values {
		params[k] = v
	}
	if w.Model.TakesParam("seed") {
		params["seed"] = f.Seed
	}
	out := request{Name: f.Name, Params: params}
	for _, s := range f.Sequences {
		out.Sequences = append(out.Sequences, itemOf(&s))
	}
	if !f.Constraints.Empty() {
		c := f.Constraints.Private() // the file is public with its job
		out.Constraints = &c
	}
	return out
}

// itemOf returns a sequence as an item of a creation request, with the fields of docs/interface.md. Absent values are
// left out.
func itemOf(s *pleat.Sequence) map[string]any {
	v := map[string]any{"sequence": s.Text}
	set := func(name string, value any, present bool) {
		if present {
			v[name] = value
		}
	}
	set("chain_id", s.ChainID, s.ChainID != "")
	set("label", s.Label, s.Label != "")
	set("count", s.Count, s.Count > 1)
	set("property_type", s.PropertyType, s.PropertyType != "")
	set("cyclic", s.Cyclic, s.Cyclic)
	set("is_ccd", s.CCD, s.CCD)
	set("modifications", s.Modifications, len(s.Modifications) > 0)
	return map[string]any{s.Kind.ItemKey(): v}
}
