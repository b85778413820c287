package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"

	"pleat"
)

// DesignColumn describes a field of the rows of a design.
type DesignColumn struct {
	Name   string `json:"name"`
	Type   string `json:"type"`             // string, integer, number, boolean or list
	Unit   string `json:"unit,omitempty"`   // Å, Å², fraction; empty: none
	Better string `json:"better,omitempty"` // higher or lower; empty: neither is
	Doc    string `json:"description"`
	// Optional columns are absent from the rows of protocols that do not compute them. All others are in every row.
	Optional bool `json:"optional"`

	min, max float64 // both 0: any
}

// The types of columns.
const (
	columnText    = "string"
	columnInteger = "integer"
	columnNumber  = "number"
	columnFlag    = "boolean"
	columnList    = "list" // of strings
)

// designColumns are the columns of the rows of a design, section 8 of design.md. Scores of the engine are those of its
// refold of the design with another network.
var designColumns = slices.Concat([]DesignColumn{
	{Name: "id", Type: columnText, Doc: "Name of the design in this run."},
	{Name: "final_rank", Type: columnInteger, Better: "lower", min: 1, max: math.MaxInt32,
		Doc: "Rank among all designs that were considered, the best 1. It has gaps in the final set, which is chosen " +
			"for diversity too; ties share a rank."},
	{Name: "secondary_rank", Type: columnInteger, Better: "lower", min: 0, max: math.MaxInt32,
		Doc: "Rank by the worst of the weighted ranks."},
	{Name: "max_rank", Type: columnNumber, Better: "lower", Doc: "The worst of the weighted ranks."},
	{Name: "quality_score", Type: columnNumber, Better: "higher", max: 1,
		Doc: "1 for the best rank, 0 for the worst: a rank and nothing else. Null for a single design."},
	{Name: "pass_filters", Type: columnFlag,
		Doc: "Whether the design passes every filter. Designs that fail are ranked and returned all the same."},
	{Name: "num_filters_passed", Type: columnInteger, Better: "higher", max: 1000,
		Doc: "Filters passed before the first that failed."},
	{Name: "failed_filters", Type: columnList, Doc: "Names of the filters that the design fails."},
	{Name: "designed_sequence", Type: columnText, Doc: "The designed residues of all chains, joined."},
	{Name: "num_design", Type: columnInteger, max: 1e6, Doc: "How many residues are designed."},
	{Name: "designed_chain_sequence", Type: columnText,
		Doc: "The whole first designed chain: what one would make."},
	probability("ptm", "pTM of the complex."),
	probability("target_ptm", "pTM of the target."),
	probability("design_ptm", "pTM of the chain of the binder."),
	probability("iptm", "ipTM over all chains; null without a second chain."),
	probability("protein_iptm", "ipTM of proteins with each other; null without a second one."),
	probability("ligand_iptm", "ipTM of ligand and protein; null without a ligand."),
	probability("design_iptm", "ipTM of the designed chain with the others; null without others."),
	probability("design_iiptm", "ipTM of the designed chain over its interface; null without one."),
	probability("design_to_target_iptm", "ipTM from the designed residues to the target; null without a target."),
	probability("design_ipsae_min",
		"The lower ipSAE of design and target, with a cutoff of 15 Å. The ipSAE of folds uses 10 Å."),
	distance("interaction_pae", "Mean PAE between chains; null without a second chain."),
	distance("min_interaction_pae", "Lowest PAE between chains; null without a second chain."),
	distance("min_design_to_target_pae", "Lowest PAE from the designed residues to the target; null without a target."),
	{Name: "plddt", Type: columnNumber, Better: "higher", max: 100,
		Doc: "Mean pLDDT of the refolded complex, 0 to 100."},
	{Name: "iplddt", Type: columnNumber, Better: "higher", max: 100,
		Doc: "Mean pLDDT of the refolded complex weighted by its interface, 0 to 100."},
	fraction("helix", "Helix of the designed residues before refolding; null for 5 residues or fewer."),
	fraction("sheet", "Sheet of the designed residues before refolding; null for 5 residues or fewer."),
	fraction("loop", "Loop of the designed residues before refolding; null for 5 residues or fewer."),
	distance("filter_rmsd", "Backbone RMSD of the design to its refold."),
	distance("filter_rmsd_design", "Backbone RMSD of the designed chain to that of the refold."),
	distance("designfolding_filter_rmsd",
		"Backbone RMSD of the designed chain to its refold alone; null in protocols without that step."),
	{Name: "delta_sasa_refolded", Type: columnNumber, Unit: "Å²", Better: "higher",
		Doc: "Surface that the design buries, of the refold."},
	{Name: "plip_hbonds_refolded", Type: columnInteger, Better: "higher", max: 1e6,
		Doc: "Hydrogen bonds of design and target, of the refold, counted without the program PLIP."},
	{Name: "plip_saltbridge_refolded", Type: columnInteger, Better: "higher", max: 1e6,
		Doc: "Salt bridges of design and target, of the refold, counted without the program PLIP."},
	{Name: "design_hydrophobicity", Type: columnNumber, Better: "lower",
		Doc: "Hydrophobicity of the designed residues, an index without unit; null with an unknown residue."},
	{Name: "design_chain_hydrophobicity", Type: columnNumber,
		Doc: "Hydrophobicity of the whole designed chain, an index without unit; null with an unknown residue."},
	{Name: "liability_score", Type: columnNumber, Better: "lower",
		Doc: "Weighted count of motifs that make trouble in the laboratory."},
	{Name: "liability_num_violations", Type: columnInteger, Better: "lower", max: 1e6,
		Doc: "How many such motifs there are."},
	{Name: "liability_violations_summary", Type: columnText, Doc: "Which such motifs there are."},
	{Name: "sequence_score", Type: columnNumber, Unit: "nats", Better: "lower", Optional: true,
		Doc: "Mean negative log-likelihood of the designed residues by the model that chose them; of the protocol " +
			"sequence_only."},
	{Name: "sequence_recovery", Type: columnNumber, Unit: "fraction", max: 1, Optional: true,
		Doc: "Share of the designed residues that are those of the given structure; of the protocol sequence_only."},
}, bindingColumns(), []DesignColumn{
	{Name: "file", Type: "object", Doc: "Library item and file name of the structure; null for others than the owner."},
	{Name: "cif_url", Type: columnText, Doc: "Signed link to the structure."},
	{Name: "notes", Type: columnList, Doc: "Remarks about this row."},
})

// probability is a column of scores from 0 to 1.
func probability(name, doc string) DesignColumn {
	return DesignColumn{Name: name, Type: columnNumber, Better: "higher", Doc: doc, max: 1}
}

// distance is a column of errors in Å.
func distance(name, doc string) DesignColumn {
	return DesignColumn{Name: name, Type: columnNumber, Unit: "Å", Better: "lower", Doc: doc, max: 10_000}
}

// fraction is a column of shares from 0 to 1.
func fraction(name, doc string) DesignColumn {
	return DesignColumn{Name: name, Type: columnNumber, Unit: "fraction", Doc: doc, max: 1}
}

// bindingColumns are the columns of designs with residues to bind.
func bindingColumns() []DesignColumn {
	var out []DesignColumn
	for r := 3; r <= 9; r++ {
		out = append(out, DesignColumn{
			Name:     fmt.Sprintf("bindsite_under_%drmsd", r),
			Type:     columnNumber,
			Unit:     "fraction",
			Better:   "higher",
			max:      1,
			Optional: true,
			Doc: fmt.Sprintf("The share of the residues to bind with a designed residue within %d Å. "+
				"The name says RMSD, but it is none.", r),
		})
	}
	return out
}

// affinityColumn matches the columns of affinities, which are optional numbers.
var affinityColumn = regexp.MustCompile(`^affinity_[a-z0-9_]{1,40}$`)

// DesignRow is a row of a design, by the names of its columns. Values are strings, float64 (also of integers), bools,
// []string and nil.
type DesignRow map[string]any

// Text returns a text of the row; empty if it is null.
func (r DesignRow) Text(name string) string {
	s, _ := r[name].(string)
	return s
}

// Number returns a number of the row; nil if it is null.
func (r DesignRow) Number(name string) *float64 {
	if v, ok := r[name].(float64); ok {
		return &v
	}
	return nil
}

// Rank returns the final rank; 0 if it is null.
func (r DesignRow) Rank() int {
	v, _ := r["final_rank"].(float64)
	return int(v)
}

// DesignColumns describes the columns of rows: all but the optional ones that no row has.
func DesignColumns(rows []DesignRow) []DesignColumn {
	var out []DesignColumn
	for _, c := range designColumns {
		if !c.Optional || slices.ContainsFunc(rows, func(r DesignRow) bool { return r[c.Name] != nil }) {
			out = append(out, c)
		}
	}
	seen := map[string]bool{}
	for _, r := range rows {
		for name := range r {
			if affinityColumn.MatchString(name) {
				seen[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		out = append(out, affinity(name))
	}
	return out
}

// ReadDesignRow reads a row as an engine gives it. Values that are missing are null; a value outside its range becomes
// null with a note in the row. Fields that are no columns are left out. An error says which field has another type.
func ReadDesignRow(line []byte) (DesignRow, error) {
	var values map[string]any
	if err := json.Unmarshal(line, &values); err != nil || values == nil {
		return nil, errors.New("is not a JSON object")
	}
	row := DesignRow{"file": nil, "cif_url": nil}
	var notes []string
	read := func(c *DesignColumn) error {
		v, ok := values[c.Name]
		if (!ok || v == nil) && c.Optional {
			return nil
		}
		v, err := c.value(v)
		if err != nil {
			return err
		}
		if f, ok := v.(float64); ok && c.outside(f) {
			notes = append(notes, fmt.Sprintf("%s was %v, which is outside of its range; it is left out", c.Name, f))
			v = nil
		}
		row[c.Name] = v
		return nil
	}
	for i := range designColumns {
		if c := &designColumns[i]; c.Name != "file" && c.Name != "cif_url" {
			if err := read(c); err != nil {
				return nil, err
			}
		}
	}
	for name := range values {
		if affinityColumn.MatchString(name) {
			c := affinity(name)
			if err := read(&c); err != nil {
				return nil, err
			}
		}
	}
	rowNotes, _ := row["notes"].([]string)
	row["notes"] = append(append([]string{}, rowNotes...), notes...)
	return row, nil
}

// affinity is the column of an affinity.
func affinity(name string) DesignColumn {
	return DesignColumn{
		Name: name, Type: columnNumber, Optional: true, Doc: "From the engine's prediction of the affinity.",
	}
}

// outside reports whether a number is outside the column's range.
func (c *DesignColumn) outside(v float64) bool {
	return math.IsNaN(v) || math.IsInf(v, 0) || (c.min != 0 || c.max != 0) && (v < c.min || v > c.max)
}

// maxDesignText is the longest text of a row in bytes.
const maxDesignText = 20_000

// value returns a value of the column from JSON; nil is null.
func (c *DesignColumn) value(v any) (any, error) {
	wrong := fmt.Errorf("has a %s that is no %s", c.Name, c.Type)
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		if c.Type != columnText || len(v) > maxDesignText {
			return nil, wrong
		}
		return v, nil
	case bool:
		if c.Type != columnFlag {
			return nil, wrong
		}
		return v, nil
	case float64:
		if c.Type != columnNumber && (c.Type != columnInteger || v != math.Trunc(v)) {
			return nil, wrong
		}
		return v, nil
	case []any:
		if c.Type != columnList || len(v) > 100 {
			return nil, wrong
		}
		out := []string{}
		for _, item := range v {
			s, ok := item.(string)
			if !ok || len(s) > maxDesignText {
				return nil, wrong
			}
			out = append(out, s)
		}
		return out, nil
	}
	return nil, wrong
}

// DesignMetrics counts the designs of a run.
type DesignMetrics struct {
	Requested  int  `json:"requested"`
	Generated  *int `json:"generated"`  // nil: the engine does not say
	Considered int  `json:"considered"` // that could be analysed, without duplicates
	Duplicates *int `json:"duplicates"` // of a sequence that another design has; nil: the engine does not say
	Passed     *int `json:"passed"`     // every filter; nil: there are no filters
	Returned   int  `json:"returned"`   // in the final set
}

// DesignResult is result_raw_json of a design.
type DesignResult struct {
	Artifacts   []RowFile           `json:"artifacts"`
	MetricsJSON *string             `json:"metricsJson"`
	Metrics     DesignMetrics       `json:"metrics"`
	Parameters  DesignedBy          `json:"parameters"`
	Designs     []DesignRow         `json:"designs"` // the final set, by final_rank
	Columns     []DesignColumn      `json:"columns"`
	Chains      []pleat.DesignChain `json:"chains"` // of the structures
	Notes       []string            `json:"notes"`
	Model       string              `json:"model"`
	Notice      string              `json:"notice"` // of the model: what to know before one relies on it
	Best        map[string]float64  `json:"best"`   // the best value of some scores in the final set
}

// DesignedBy are the parameters of a design as they took effect. One that neither the caller nor the engine states is
// absent.
type DesignedBy struct {
	pleat.DesignParams
	Seed string `json:"seed"`
}

// DesignRaw encodes the result of a design.
func DesignRaw(r *DesignResult) (json.RawMessage, error) {
	r.Best = map[string]float64{}
	for _, name := range []string{"design_to_target_iptm", "iptm", "design_ptm", "min_interaction_pae", "filter_rmsd",
		"sequence_score"} {
		i := slices.IndexFunc(designColumns, func(c DesignColumn) bool { return c.Name == name })
		best := designColumns[i].Better
		for _, d := range r.Designs {
			v := d.Number(name)
			if was, ok := r.Best[name]; v != nil && (!ok || (*v > was) == (best == "higher")) {
				r.Best[name] = *v
			}
		}
	}
	return encode(r)
}

// ReadDesignResult reads the result of a design.
func ReadDesignResult(raw json.RawMessage) (*DesignResult, error) {
	out := new(DesignResult)
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("read designs: %w", err)
	}
	return out, nil
}

// ParsedDesigns returns the rows of a design's result for one reader: file is the library item and the name of the
// structure, or null; link the URL of a file of the run by its name, or empty. It also returns the result with these
// rows. A result of another kind has no rows.
func ParsedDesigns(
	raw json.RawMessage, file func(name string) any, link func(name string) string,
) (rows []json.RawMessage, all json.RawMessage, err error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil || parts["designs"] == nil {
		return []json.RawMessage{}, raw, err
	}
	var designs []DesignRow
	if err := json.Unmarshal(parts["designs"], &designs); err != nil {
		return nil, nil, fmt.Errorf("read designs: %w", err)
	}
	rows = []json.RawMessage{}
	for _, d := range designs {
		name := pleat.DesignFileName(d.Rank(), d.Text("id"))
		d["file"] = file(name)
		if u := link(name); u != "" {
			d["cif_url"] = u
		}
		row, err := encode(d)
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, row)
	}
	if parts["designs"], err = encode(rows); err != nil {
		return nil, nil, err
	}
	all, err = encode(parts)
	return rows, all, err
}
