package flow

import (
	"pleat"
)

// SourceFile is a stored file that a workflow reads.
type SourceFile struct {
	Name string // plain, and safe as the name of a file
	Key  string // in the artifact store; empty: there is no file
}

// SourceFiles are what a workflow reads of its source, and what is known of the structure. The zero value is that of a
// source that the service does not store.
type SourceFiles struct {
	Structure SourceFile
	PAE       SourceFile // predicted aligned errors
	Sequence  string     // of the protein, for a simulation that starts from it alone

	// For a structure that a fold predicted, in questions.
	Reference string
	Predicted bool
	Model     string
	Name      string
	Scores    *pleat.Prediction // nil: there are none

	Compared []ComparedFile // of a comparison, in the order of its input; nothing else is set then
	Design   []DesignFile   // of a design; nothing else is set then
}

// DesignFile is a file of a design.
type DesignFile struct {
	Name   string `json:"name"`           // by which specs know it
	Main   bool   `json:"main,omitempty"` // it is the spec that is run
	Key    string `json:"key"`
	SHA256 string `json:"sha256"` // in hex
}

// ComparedFile is one of the structures of a comparison. File.Key is empty for what the service does not store.
type ComparedFile struct {
	pleat.ComparedStructure
	Key   string `json:"key,omitempty"`
	Bytes int64  `json:"bytes,omitempty"` // 0: not known
}
