package pleat

import (
	"slices"
	"strings"
	"time"
)

// BatchKind is how the rows of a batch are given. The values are those of kind on the wire.
type BatchKind string

// The kinds of batch.
const (
	BatchList     BatchKind = "list"     // jobs, each with its own sequences
	BatchMatrix   BatchKind = "matrix"   // every binder with every target
	BatchLigands  BatchKind = "ligands"  // one complex with each of many ligands
	BatchVariants BatchKind = "variants" // one complex with mutations in a chain
	BatchSeeds    BatchKind = "seeds"    // one complex with many seeds
)

// MaxBatchRows is the largest number of rows of a batch.
const MaxBatchRows = 100_000

// Batch is many fold jobs of one model that are created, watched and ended together. Each row is a job; equal rows
// share one.
type Batch struct {
	ID          BatchID
	Owner       ProjectID
	Creator     UserID // empty: the user whose own project it is
	CreatorName string // as the store read it; empty: the user was deleted
	Name        string
	Kind        BatchKind
	Model       string
	Public      bool
	Cancelled   bool    // by its owner: rows that had not ended are STOPPED
	Source      BatchID // of which this is a repetition with other parameters; empty: none
	Rows        int     // as given
	Jobs        int     // different rows
	Counts      map[State]int
	CreatedAt   time.Time
	EndedAt     time.Time // zero until all rows have ended
}

// State returns the state of the batch by the states of its rows: COMPLETED where all have ended and one completed,
// STOPPED where the owner cancelled it before one did, FAILED otherwise. Counts says how many of its rows failed.
func (b *Batch) State() State {
	ended := b.Counts[StateCompleted] + b.Counts[StateFailed] + b.Counts[StateStopped]
	switch {
	case b.EndedAt.IsZero() && ended == 0 && b.Counts[StateRunning] == 0:
		return StateInitialized
	case b.EndedAt.IsZero():
		return StateRunning
	case b.Counts[StateCompleted] > 0:
		return StateCompleted
	case b.Cancelled || b.Counts[StateFailed] == 0:
		return StateStopped
	}
	return StateFailed
}

// Score is a number that ranks a result.
type Score struct {
	Name  string
	Value float64
}

// Scores returns the scores of the first prediction under the names of ScoreColumn, and those of the predictions of
// further sequences under the same names with a dot and the chain. Scores that the engine does not give are left out.
func (r *Result) Scores() []Score {
	if r == nil {
		return nil
	}
	var out []Score
	for i := range r.Predictions {
		p, of := &r.Predictions[i], ""
		if i > 0 {
			of = "." + strings.Join(p.Chains, "-")
		}
		add := func(name string, v *float64) {
			if v != nil {
				out = append(out, Score{name + of, *v})
			}
		}
		add("meanPLDDT", p.MeanPLDDT)
		add("predictedRmsd", p.PredictedRMSD)
		add("ptm_score", p.PTM)
		add("iptm_score", p.IPTM)
		add("max_pae_score", p.MaxPAE)
		if p.Affinity != nil {
			add("affinity_pred_value", &p.Affinity.Value)
			add("affinity_probability_binary", &p.Affinity.Probability)
		}
		for _, pair := range p.Pairs {
			of = "." + pair.A + "-" + pair.B
			add("iptm", pair.IPTM)
			add("ipsae", pair.IPSAE)
			add("pdockq2", pair.PDockQ2)
			add("lis", pair.LIS)
		}
	}
	return out
}

// BatchRow is a row of a batch in its table, with what is known of its job.
type BatchRow struct {
	Number   int // from 1
	CustomID string
	Job      JobID // empty: it is not made yet
	Name     string
	State    State
	Failure  *Failure // nil unless FAILED or STOPPED
	Scores   []Score
	First    int // of the rows that share its job
}

// Score is the row's score of a name; nil: it lacks it.
func (r *BatchRow) Score(name string) *float64 {
	for i := range r.Scores {
		if r.Scores[i].Name == name {
			return &r.Scores[i].Value
		}
	}
	return nil
}

// ScoreCondition is a condition that a row must meet by one of its scores. A row that lacks the score does not.
type ScoreCondition struct {
	Name  string
	Op    string // one of >= <= > < = !=
	Value float64
}

// TextCondition is a condition on the CustomID of a row. The zero value is met by all.
type TextCondition struct {
	Text   string
	IsPart bool // Text is a part, in which the letters A to Z stand for the small ones too; else it is the whole
}

// Holds reports whether a value meets the condition.
func (c *ScoreCondition) Holds(v float64) bool {
	switch c.Op {
	case ">=":
		return v >= c.Value
	case "<=":
		return v <= c.Value
	case ">":
		return v > c.Value
	case "<":
		return v < c.Value
	case "!=":
		return v != c.Value
	}
	return v == c.Value
}

// ScoreColumn describes a column of scores.
type ScoreColumn struct {
	Name         string
	Unit         string // empty: a number without one
	HigherBetter bool
	OfPair       bool // of two chains, which its name has after a dot
}

// scoreColumns are the columns by the part of their names before a dot, in the order of a table.
var scoreColumns = []ScoreColumn{
	{Name: "meanPLDDT", Unit: "0 to 100", HigherBetter: true},
	{Name: "predictedRmsd", Unit: "Å"},
	{Name: "ptm_score", Unit: "0 to 1", HigherBetter: true},
	{Name: "iptm_score", Unit: "0 to 1", HigherBetter: true},
	{Name: "max_pae_score", Unit: "Å"},
	{Name: "affinity_pred_value", Unit: "log10(IC50 in µM)"},
	{Name: "affinity_probability_binary", Unit: "0 to 1", HigherBetter: true},
	{Name: "iptm", Unit: "0 to 1", HigherBetter: true, OfPair: true},
	{Name: "ipsae", Unit: "0 to 1", HigherBetter: true, OfPair: true},
	{Name: "pdockq2", Unit: "0 to 1", HigherBetter: true, OfPair: true},
	{Name: "lis", Unit: "0 to 1", HigherBetter: true, OfPair: true},
}

// ScoreNames lists the names of scores without chains.
func ScoreNames() []string {
	var out []string
	for _, c := range scoreColumns {
		out = append(out, c.Name)
	}
	return out
}

// otherScoreNames are the names that scores have elsewhere: in results, in events and in the Python client.
var otherScoreNames = map[string]string{
	"meanPLLDT":      "meanPLDDT",
	"mean_plddt":     "meanPLDDT",
	"predicted_rmsd": "predictedRmsd",
}

// ColumnOf describes the column of a score by its name, or the one that the score has elsewhere; false if no score has
// such a name. The column has its own name, with the chains of the one that was asked for.
func ColumnOf(name string) (ScoreColumn, bool) {
	base, of, ofChains := strings.Cut(name, ".")
	if own := otherScoreNames[base]; own != "" {
		if name = own; ofChains {
			name += "." + of
		}
	}
	i := columnIndex(name)
	if i < 0 {
		return ScoreColumn{}, false
	}
	c := scoreColumns[i]
	c.Name = name
	return c, true
}

func columnIndex(name string) int {
	base, _, _ := strings.Cut(name, ".")
	return slices.IndexFunc(scoreColumns, func(c ScoreColumn) bool { return c.Name == base })
}

// SortColumns puts names of scores into the order of a table: that of the kinds of score, then by chain.
func SortColumns(names []string) {
	slices.SortFunc(names, func(a, b string) int {
		if d := columnIndex(a) - columnIndex(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

// CreatedBy is the user who created the batch.
func (b *Batch) CreatedBy() UserID { return creator(b.Creator, b.Owner) }
