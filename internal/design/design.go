// Package design reads the documents of a design workflow: the graph of workflow.yml, the parameters of its pipeline,
// and the specs of designs. It checks them, and writes specs anew for the engine.
//
// It is pure: it must not use files, a clock, the network or a database. The caller fetches the library files that a
// Plan names, and gives their content to ReadSpec.
//
//	references.go files of the library
//	design.go  the types that the documents become
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

// ReadGraph reads a workflow.yml. The error is a pleat.Error whose message is one sentence.
func ReadGraph(text []byte) (*Graph, error) { return nil, errUnfinished }

// Plan returns what executing the graph means.
func (g *Graph) Plan() *Plan { return g.plan }

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

// Plan is what a graph runs: the spec that its pipeline requires, and the library files that this spec may name.
type Plan struct {
	Params   Params
	Pipeline string         // the pipeline's node
	Payload  map[string]any // inputPayload of the pipeline as sent
	Main     Reference      // the spec that is run
	// Files are the other files that are seen from the main spec: those of its node, the specs upstream of it and
	// their files. Names differ from each other and from that of Main. ReadSpec finds out which of them are used.
	Files []Reference
}

// Reference names a file of the library.
type Reference struct {
	Item  pleat.ItemID // in lower case
	Name  string       // as specs name the file; the only file of the item may be called otherwise
	Field string       // where the graph names it, such as jobs.what.inputPayload.files[0]
}

// Params are the parameters of a pipeline. Pointers are nil and text is empty where the caller gave nothing.
type Params struct {
	ProtocolName           string
	NumDesigns             int
	Budget                 int
	Seed                   string // decimal, 0 to 4294967295; empty: the service chooses one
	Alpha                  *float64
	RefoldingRmsdThreshold *float64 // Å
	FilterBiased           *bool
	InverseFoldAvoid       string // letters of amino acids, in upper case

	IsPublic json.RawMessage // as given, not checked
	Webhooks json.RawMessage // as given, not checked
}

// Door says what differs between the two forms in which parameters arrive. The zero value is that of a graph.
type Door struct {
	Snake      bool   // names may also be in snake_case
	Protocol   string // where none is given; empty: protein-anything
	NumDesigns int    // where none is given; 0: it is required
	Budget     int    // where none is given, at most NumDesigns; 0: it is required
}

// ReadParams reads the parameters among the fields of a JSON object. Path is that of the object, such as
// jobs.make.inputPayload. Fields that are no parameters are not looked at: see ParamNames.
func ReadParams(values map[string]json.RawMessage, path string, door Door) (Params, error) {
	return Params{}, errUnfinished
}

// Protocols are the words of protocolName.
var Protocols = []string{"protein-anything", "peptide-anything", "protein-small_molecule", "nanobody-anything",
	"antibody-anything", "protein-redesign"}

// ParamNames are the names of all parameters, with which callers compare the fields that they do not know.
var ParamNames = []string{"protocolName", "numDesigns", "budget", "seed", "alpha", "refoldingRmsdThreshold",
	"filterBiased", "inverseFoldAvoid", "isPublic", "webhooks"}

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
