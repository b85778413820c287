package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pleat/api"
)

// askIn are the arguments of ask.
type askIn struct {
	Job      string `json:"source_job_id" doc:"The completed job whose structure the question is about." format:"uuid"`
	Sequence string `json:"source_sequence_id,omitempty" doc:"One of its sequences; absent: the first protein." format:"uuid"`
	Question string `json:"question" doc:"One question about the structure, such as: Which residues are least certain?" maxLength:"4000"`
	title
}

// title are the arguments of all tools that start a workflow. They are no part of its input.
type title struct {
	Name string `json:"name,omitempty" doc:"A name for it in lists." maxLength:"255"`
	once
}

var askTool = does(tool{
	name:  "ask",
	title: "Ask about a structure",
	about: "Asks a question about the structure of a completed job, and waits up to 20 seconds for the answer of a " +
		"model. It takes one workflow of the daily quota.",
	effect: creates,
	world:  true,
}, func(ctx context.Context, s session, in *askIn) (work, []sdk.Content, error) {
	return s.workflow(ctx, "qna_v1", &in.title, struct {
		Target string `json:"targetSource"`
		*askIn
	}{"fold_job", in})
})

// simulateIn are the arguments of simulate: a part of the input of the workflow md.
type simulateIn struct {
	Job      string   `json:"sourceJobId,omitempty" doc:"The completed job whose structure is simulated." format:"uuid"`
	Sequence string   `json:"sequence,omitempty" doc:"Instead of a job: the sequence of a disordered protein."`
	Preset   string   `json:"preset,omitempty" doc:"single_af_go: a folded protein; single_idr_fasta: a disordered one; all_atom: every atom. Absent: what fits." enum:"single_af_go,single_idr_fasta,all_atom"`
	Length   *float64 `json:"sim_length_ns,omitempty" doc:"Simulated time in ns; absent: 0.2."`
	Step     *float64 `json:"step_size_ns,omitempty" doc:"Time between saved frames in ns; absent: 0.01."`
	Temp     *float64 `json:"temp,omitempty" doc:"Temperature in K; absent: 293.15."`
	Ionic    *float64 `json:"ionic,omitempty" doc:"Salt in mol/L; absent: 0.15."`
	PH       *float64 `json:"pH,omitempty" doc:"Absent: 7.5."`
	Seed     string   `json:"seed,omitempty" doc:"The same seed gives the same trajectory."`
	title
}

var simulateTool = does(tool{
	name:  "simulate",
	title: "Simulate",
	about: "Simulates the dynamics of a protein, coarse-grained unless the preset is all_atom. It waits up to 20 " +
		"seconds for the end, and takes one workflow of the daily quota.",
	effect: creates,
	world:  true,
}, func(ctx context.Context, s session, in *simulateIn) (work, []sdk.Content, error) {
	return s.workflow(ctx, "md", &in.title, in)
})

// designIn are the arguments of design: a part of the input of the workflow design_v1.
type designIn struct {
	Target   json.RawMessage   `json:"target" doc:"One of sourceJobId, libraryItemId (and fileName), pdbId, sequence, ccd and smiles."`
	Chains   []string          `json:"targetChains,omitempty" doc:"Absent: all polymers."`
	Naming   string            `json:"numbering,omitempty" doc:"How chains and residues are named: label, residues by their positions in the sequence; author, as in the file, also with insertion codes. Absent: label." enum:"label,author"`
	Epitope  []json.RawMessage `json:"epitope,omitempty" doc:"Residues to bind: {chain_id, res_idx} each; res_idx has numbers and ranges such as [3, \"7..9\"], with the numbering author also [-2, \"82A\", \"82A..84\"]."`
	Avoid    []json.RawMessage `json:"avoid,omitempty" doc:"Residues not to bind, in the same form."`
	Binder   json.RawMessage   `json:"binder,omitempty" doc:"kind (protein, peptide or nanobody) and length (such as 80..120) or sequence."`
	Redesign []json.RawMessage `json:"redesign,omitempty" doc:"With the protocol sequence_only: residues that get other amino acids, {chain_id, res_idx} each."`
	Protocol string            `json:"protocolName,omitempty" doc:"Absent: what fits the binder. sequence_only designs the sequence of a structure."`
	Model    string            `json:"modelName,omitempty" doc:"A model of the kind design."`
	Count    *int              `json:"numDesigns,omitempty" doc:"How many are made; absent: 50." minimum:"1" maximum:"10000"`
	Budget   *int              `json:"budget,omitempty" doc:"How many are returned; absent: 5." minimum:"1" maximum:"500"`
	Seed     *int64            `json:"seed,omitempty"`
	title
}

var designTool = does(tool{
	name:  "design",
	title: "Design",
	about: "Designs proteins that should bind a target, or new sequences of a structure. It takes minutes to hours " +
		"and one workflow of the daily quota: ask the person first. Read pass_filters of the rows: designs that fail " +
		"are returned too.",
	effect: creates,
	world:  true,
}, func(ctx context.Context, s session, in *designIn) (work, []sdk.Content, error) {
	return s.workflow(ctx, "design_v1", &in.title, in)
})

// workflow starts a workflow of a type with an input, and waits for its end. It takes the title, which is for the tool
// alone, out of the input.
func (s session) workflow(ctx context.Context, kind string, in *title, input any) (work, []sdk.Content, error) {
	t := *in
	*in = title{}
	if _, err := waiting(t.Wait, 0); err != nil {
		return work{}, nil, err
	}
	raw, err := json.Marshal(input)
	if err != nil {
		return work{}, nil, err
	}
	request, key := api.CreateWorkflow{WorkflowName: kind, Name: t.Name, Input: raw}, t.key()
	w, err := repeated(func() (api.Workflow, error) { return s.CreateWorkflowOnce(ctx, request, key) })
	if err != nil {
		return work{}, nil, err
	}
	known := workOfWorkflow(&w)
	known.Key = key
	return s.started(ctx, known, t.Wait)
}
