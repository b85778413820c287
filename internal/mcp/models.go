package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pleat"
	"pleat/api"
)

// listModelsIn are the arguments of list_models.
type listModelsIn struct {
	Kind string `json:"kind,omitempty" doc:"Only models of this kind." enum:"ModelKind"`
	Name string `json:"name,omitempty" doc:"Only this model, with its parameters." maxLength:"255"`
}

// listModelsOut is the result of list_models.
type listModelsOut struct {
	Models []model `json:"models"`
}

// model is what to know of a model to choose it.
type model struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind" doc:"fold, qna (questions), md (simulations), design or compare."`
	Title      string   `json:"title"`
	Entities   []string `json:"entities" doc:"Molecules that it takes: protein, rna, dna, ligand."`
	Features   []string `json:"features" doc:"Other capabilities."`
	MinTokens  int      `json:"minTokens"`
	MaxTokens  int      `json:"maxTokens" doc:"Most tokens of a structure, which are residues and atoms of ligands and modified residues; 0: not stated."`
	Limits     []string `json:"limits" doc:"Further limits, by which jobs are checked."`
	Workers    int      `json:"workers" doc:"Workers that run it now; 0: jobs are accepted and wait for one."`
	Paused     bool     `json:"paused" doc:"Whether its operators have paused it: jobs are accepted and wait for them."`
	Licence    string   `json:"licence"`
	WeightUse  string   `json:"weightUse" doc:"The use of the weights that the licence allows: commercial, nonCommercial, or ask: read the licence."`
	Confidence string   `json:"confidence" doc:"The meaning of its scores."`
	Notice     string   `json:"notice" doc:"Notice to read before you rely on it."`
	Params     []param  `json:"params,omitempty" doc:"Only where one model was named."`
}

// param is a parameter of a model.
type param struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Default any      `json:"default"`
	Min     *float64 `json:"min"`
	Max     *float64 `json:"max"`
	Values  []string `json:"values,omitempty"`
	Doc     string   `json:"doc"`
}

// maxModels is how many models a result lists.
const maxModels = 100

var listModels = does(tool{
	name:  "list_models",
	title: "List models",
	about: "Lists the models of this service: what each takes, its limits, and how far to trust it. " +
		"With a name, also the parameters of that model.",
	repeatable: true,
}, func(ctx context.Context, s session, in *listModelsIn) (out listModelsOut, _ []sdk.Content, err error) {
	list, err := s.Models(ctx)
	if err != nil {
		return out, nil, err
	}
	out.Models = []model{}
	var all []string
	for i := range list.Data {
		m := &list.Data[i]
		all = append(all, m.Name)
		if in.Kind != "" && m.Kind != in.Kind || in.Name != "" && m.Name != in.Name || len(out.Models) == maxModels {
			continue
		}
		out.Models = append(out.Models, modelOf(m, in.Name != ""))
	}
	if in.Name != "" && len(out.Models) == 0 {
		return out, nil, noSuchModel(in.Name, all)
	}
	return out, nil, nil
})

// noSuchModel refuses the name of a model.
func noSuchModel(got string, all []string) error {
	if near := pleat.Nearest(got, all); near != "" {
		return pleat.InvalidField("name", " is %q, which is no model of that kind here; did you mean %q?",
			pleat.Clip(got), near)
	}
	return pleat.InvalidField("name", " is %q, which is no model of that kind here; list_models without a name "+
		"lists all", pleat.Clip(got))
}

// modelOf converts a model; params says whether with its parameters.
func modelOf(m *api.Model, params bool) model {
	out := model{
		Name:       name(m.Name),
		Kind:       m.Kind,
		Title:      name(m.Title),
		Entities:   names(m.Entities, 10),
		Features:   names(m.Features, 40),
		MinTokens:  m.MinTokens,
		MaxTokens:  m.MaxTokens,
		Limits:     m.Limits,
		Workers:    m.Workers,
		Paused:     m.Paused,
		Licence:    name(m.Licence),
		WeightUse:  m.WeightUse,
		Confidence: visible(m.Confidence, maxText),
		Notice:     visible(m.Notice, maxText),
	}
	for _, p := range m.Params {
		if params {
			out.Params = append(out.Params, param{name(p.Name), p.Type, p.Default, p.Min, p.Max, names(p.Values, 100),
				visible(p.Doc, maxText)})
		}
	}
	return out
}
