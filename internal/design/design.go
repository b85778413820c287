// Package design reads the documents of a design workflow: the graph of workflow.yml, the parameters of its pipeline,
// and the specs of designs. It checks them, and rewrites specs for the engine.
//
// It is pure: it must not use files, a clock, the network or a database. The caller fetches the library files that a
// Plan names, and gives their content to ReadSpec.
package design

import "encoding/json"

// Graph is a workflow.yml that has passed every check that needs no library file.
type Graph struct {
	Nodes []Node `json:"nodes"` // in the order of jobs
	Edges []Edge `json:"edges"` // in the order of workflows.main.jobs

	plan *Plan
}

// Node is a node of a graph. As JSON it has also the fields of Extra.
type Node struct {
	ID          string // the name of the job
	Type        string // start, end, input or pipeline
	SubType     string // as sent, or by TaskType; empty: absent, which JSON has as null
	TaskType    string // workflowTaskTypeId: as sent, or by SubType; likewise
	Label       string // the name of the job if none is given
	Description string
	X, Y        json.Number
	Payload     map[string]any // inputPayload as sent; numbers are json.Number
	Extra       map[string]any // fields that nobody knows
}

// Edge is a requirement: the job Target requires the job Source.
type Edge struct {
	ID     string `json:"id"` // source:target, which is unique, since names have no colon
	Source string `json:"source"`
	Target string `json:"target"`
}

// Chain is a chain of a design.
type Chain struct {
	Name     string
	Kind     string // protein, dna, rna or ligand
	Designed bool   // some residue of it is designed
	SMILES   string // of a ligand that is given so
}

// Kinds of EngineFile.
const (
	MainSpec   = "spec"
	NestedSpec = "nested"
	Structure  = "structure"
)

// EngineFile is a file for the engine, under a path of ours.
type EngineFile struct {
	Kind string // MainSpec, NestedSpec or Structure
	Path string // spec.yaml, nested-1.yaml …, structure-1.cif … or structure-1.pdb …
	Name string // the user's name of the file
	Text []byte // JSON of a spec, or mmCIF written here; nil for a structure that the engine gets as the user has it
}
