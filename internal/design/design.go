// Package design reads the documents of a design workflow: the graph of workflow.yml, the parameters of its pipeline,
// and the specs of designs. It checks them, and writes specs anew for the engine.
//
// It is pure: it must not use files, a clock, the network or a database. The caller fetches the library files that a
// Plan names, and gives their content to ReadSpec.
//
//	references.go files of the library
//	design.go  the types that the documents become
//	graph.go   ReadGraph: the nodes of a graph
//	order.go   ReadGraph: requirements, circles and ways
//	plan.go    Plan: the spec and the library files that a graph runs
//	params.go  ReadParams: the parameters of a pipeline
package design

import (
	"encoding/json"

	"pleat"
)

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
	SubType     string // as sent; empty: absent, which JSON has as null
	TaskType    string // workflowTaskTypeId, likewise
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

// Spec is a spec of designs with the files that it names, which has passed every check.
type Spec struct {
	name string
}

// ReadSpec reads the main spec, whose name is for messages and for Stem. Files has the content of every file that the
// spec sees, by the names that specs use: structures (.cif, .pdb) and nested specs (.yaml, .yml). The error is a
// pleat.Error whose message is one sentence.
func ReadSpec(name string, text []byte, files map[string][]byte) (*Spec, error) {
	return nil, errUnfinished
}

// Stem returns the beginning of the ids of the designs: the spec's name without its ending, in letters, digits and
// hyphens.
func (s *Spec) Stem() string { return "" }

// Files returns the names of the files that the spec uses, nested specs included, in the order in which it names them.
func (s *Spec) Files() []string { return nil }

// Tokens returns the size of the largest design in tokens, target and longest binder together. Ligands of the CCD
// count as one, because their atoms are not known here.
func (s *Spec) Tokens() int { return 0 }

// Chain is a chain of a design.
type Chain struct {
	Name     string
	Kind     string // protein, dna, rna or ligand
	Designed bool   // some residue of it is designed
}

// Chains returns the chains of a design in the order in which the spec names them. Of a list of nested specs it has the
// chains of the first.
func (s *Spec) Chains() []Chain { return nil }

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
	Text []byte // JSON of a spec; nil for a structure, whose bytes are those of the user's file
}

// Engine returns the files for the engine, the main spec first. Equal specs give equal paths and bytes, whatever the
// style, the comments and the order of keys of their YAML, and whatever their files are called.
func (s *Spec) Engine() []EngineFile { return nil }

var errUnfinished = pleat.Errorf(pleat.CodeInternal, "documents of designs are not read yet")
