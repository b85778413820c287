package pleat

import (
	"fmt"
	"strconv"
	"strings"
)

// Bounds of a design.
const (
	MaxDesigns = 10_000 // that one run may make
	MaxBudget  = 500    // that it may return
)

// SequenceOnly is the protocol of designs that keep a backbone and give some of its residues other amino acids.
const SequenceOnly = "sequence_only"

// DesignParams are the parameters of a design in their spelling on the wire. A field that is not set is nil or empty,
// and the protocol decides it.
type DesignParams struct {
	Protocol         string   `json:"protocolName"`
	Designs          int      `json:"numDesigns"` // 1 to MaxDesigns
	Budget           int      `json:"budget"`     // how many are returned: 1 to Designs, at most MaxBudget
	Alpha            *float64 `json:"alpha,omitempty"`
	RefoldingRMSD    *float64 `json:"refoldingRmsdThreshold,omitempty"` // Å
	FilterBiased     *bool    `json:"filterBiased,omitempty"`
	InverseFoldAvoid string   `json:"inverseFoldAvoid,omitempty"` // letters of amino acids
	Temperature      *float64 `json:"temperature,omitempty"`      // of sampling, by SequenceOnly alone
	Model            string   `json:"modelName,omitempty"`        // empty: the service chooses one
}

// Map returns the parameters that are given, by their names.
func (p *DesignParams) Map() map[string]any {
	out := map[string]any{"protocolName": p.Protocol, "numDesigns": p.Designs, "budget": p.Budget}
	if p.Alpha != nil {
		out["alpha"] = *p.Alpha
	}
	if p.RefoldingRMSD != nil {
		out["refoldingRmsdThreshold"] = *p.RefoldingRMSD
	}
	if p.FilterBiased != nil {
		out["filterBiased"] = *p.FilterBiased
	}
	if p.InverseFoldAvoid != "" {
		out["inverseFoldAvoid"] = p.InverseFoldAvoid
	}
	if p.Temperature != nil {
		out["temperature"] = *p.Temperature
	}
	if p.Model != "" {
		out["modelName"] = p.Model
	}
	return out
}

// DesignInput is a design to run.
type DesignInput struct {
	Name   string       // of the workflow
	Stem   string       // with which the ids of the designs begin
	Spec   string       // path of the main spec inside Work.Dir; the paths in it are relative to its folder
	Files  []DesignFile // everything that the spec reads, itself included
	Params DesignParams
	Seed   uint32
	Chains []DesignChain // of the result, in the order of the spec
	Sent   DesignSource
}

// DesignSource is what a design was made from, for its record.
type DesignSource struct {
	Spec  string            // the main spec as its owner wrote it
	Plan  string            // SHA-256 in hex of everything that decides what is designed
	Files map[string]string // SHA-256 in hex of each file of its owner that was used, by its name there
	Own   []OwnFile         // these files as they are, the main spec first
}

// OwnFile is a copy of a file of a design's owner.
type OwnFile struct {
	Name string // there: a file name without a folder
	Path string // inside Work.Dir
}

// DesignFile is a file that a design reads.
type DesignFile struct {
	Kind string // spec, nested or structure
	Path string // inside Work.Dir
}

// DesignChain is a chain of the structures that a design gives.
type DesignChain struct {
	Name     string `json:"name"`
	Designed bool   `json:"designed"`         // some of its residues are designed
	SMILES   string `json:"smiles,omitempty"` // of a ligand that was given so
}

// DesignFileName returns the name of the structure of a design with a final rank, such as rank3_spec_12.cif.
func DesignFileName(rank int, id string) string { return fmt.Sprintf("rank%d_%s.cif", rank, id) }

// ParseDesignFileName returns the rank and the id of a DesignFileName.
func ParseDesignFileName(name string) (rank int, id string, ok bool) {
	first, id, cut := strings.Cut(strings.TrimSuffix(name, ".cif"), "_")
	rank, err := strconv.Atoi(strings.TrimPrefix(first, "rank"))
	return rank, id, cut && err == nil && DesignFileName(rank, id) == name
}
