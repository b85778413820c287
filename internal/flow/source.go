package flow

import (
	"pleat"
)

// SourceFile is a stored file that a workflow reads.
type SourceFile struct {
	Name string `json:"name"` // plain, and safe as the name of a file
	Key  string `json:"key"`  // in the artifact store; empty: there is no file
}

// SourceFiles are what a workflow reads of its source, and what is known of the structure. The zero value is that of a
// source that the service does not store.
type SourceFiles struct {
	Structure SourceFile `json:"structure,omitzero"`
	PAE       SourceFile `json:"pae,omitzero"`       // predicted aligned errors
	Sequence  string     `json:"sequence,omitempty"` // of the protein, for a simulation that starts from it alone

	// For a structure that a fold predicted, in questions.
	Reference string            `json:"reference,omitempty"`
	Predicted bool              `json:"predicted,omitempty"`
	Model     string            `json:"model,omitempty"`
	Name      string            `json:"name,omitempty"`
	Scores    *pleat.Prediction `json:"scores,omitempty"` // nil: there are none

	// For a comparison, in the order of its input, and for a design; nothing else is set then.
	Compared []ComparedFile `json:"compared,omitempty"`
	Design   []DesignFile   `json:"design,omitempty"`
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
