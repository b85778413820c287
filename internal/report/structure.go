package report

import (
	"fmt"
	"slices"

	"pleat"
	"pleat/internal/plot"
	"pleat/internal/structure"
)

// Structure is a structure as a model predicted it, with arrays that have one entry per token: a standard residue of a
// polymer is one token, and each heavy atom of any other residue. CountTokens must be called before Prediction.
type Structure struct {
	*structure.Structure
	PLDDT []float32 // 0 to 100, by token; nil: none
	// PredictedRMSD is in Å, by token; nil: none.
	PredictedRMSD []float32
	PAE           *structure.Matrix // Å, by token; nil: none

	tokens [][]int // of each residue, by chain
}

// Scores are what a model says of its own prediction. Chain names are those of the model. PTM, IPTM and the ipTM of
// pairs are probabilities from 0 to 1; values outside are dropped. nil: the model does not give the value.
type Scores struct {
	ChainMap map[string]string // chain of the model → chain of the job; a chain that is missing keeps its name
	PTM      *float64
	IPTM     *float64
	MaxPAE   *float64 // Å: the largest error that the model can state; nil: the largest of the matrix
	Affinity *pleat.Affinity
	Pairs    []pleat.PairScore // ipTM of pairs of chains
	Metrics  map[string]any    // further values for metrics.json
}

// Prediction returns the structure in the job's names and order, with its scores: pLDDT and predicted RMSD by
// residue, the PAE with one row per residue of a polymer, and a score of every pair of chains. The structure itself
// changes.
//
// It returns an error for a structure that is not of these sequences. others are further files of the prediction, which
// become artifacts unchanged. CountTokens must have been called.
func (s *Structure) Prediction(sequences []pleat.Sequence, scores *Scores, others []pleat.File) (*Prediction, error) {
	if err := s.rename(scores.ChainMap); err != nil {
		return nil, err
	}
	if err := s.arrange(sequences); err != nil {
		return nil, err
	}
	p := &Prediction{
		Structure: s.Structure,
		Metrics:   scores.Metrics,
		Others:    others,
		PTM:       Probability(scores.PTM),
		IPTM:      Probability(scores.IPTM),
		Affinity:  scores.Affinity,
	}
	for _, q := range sequences {
		p.Chains = append(p.Chains, q.Chains...)
	}
	if len(sequences) == 1 {
		p.Sequence = sequences[0]
	}
	s.confidence(p)
	if s.PAE != nil {
		s.mergePolymers()
		p.PAE = s.PAE
		for i := range s.Chains {
			p.PAEChains = append(p.PAEChains, plot.Chain{Name: s.Chains[i].ID, Length: sum(s.tokens[i])})
		}
		p.MaxPAE = float64(slices.Max(s.PAE.V))
		if scores.MaxPAE != nil {
			p.MaxPAE = max(p.MaxPAE, *scores.MaxPAE)
		}
	}
	p.Pairs = s.pairs(scores)
	return p, nil
}

// Probability returns v if it is a number from 0 to 1, else nil.
func Probability(v *float64) *float64 {
	if v == nil || !(*v >= 0 && *v <= 1) {
		return nil
	}
	return v
}

// HeavyAtoms counts the atoms of a residue other than hydrogen and deuterium.
func HeavyAtoms(r *structure.Residue) int {
	n := 0
	for i := range r.Atoms {
		if r.Atoms[i].Heavy() {
			n++
		}
	}
	return n
}

// sum returns the total of v.
func sum(v []int) int {
	n := 0
	for _, x := range v {
		n += x
	}
	return n
}

// CountTokens determines how many tokens each residue has. n is the length of the token arrays; 0: there are none.
// counts are the model's own numbers for all residues in order. Without them every residue has one token if that fits
// n, else the rule of Structure holds. An error says that neither fits: the arrays belong to another structure.
func (s *Structure) CountTokens(n int, counts []int) error {
	residues, tokens := 0, 0
	single, byRule := make([][]int, len(s.Chains)), make([][]int, len(s.Chains))
	for i := range s.Chains {
		c := &s.Chains[i]
		single[i], byRule[i] = make([]int, len(c.Residues)), make([]int, len(c.Residues))
		for j := range c.Residues {
			single[i][j], byRule[i][j] = 1, 1
			if !standard(c.Kind, c.Residues[j].Comp) {
				byRule[i][j] = HeavyAtoms(&c.Residues[j])
			}
			tokens += byRule[i][j]
		}
		residues += len(c.Residues)
	}
	switch {
	case len(counts) > 0:
		if len(counts) != residues || slices.Min(counts) < 1 || n > 0 && sum(counts) != n {
			return fmt.Errorf("its tokens are %d counts of %d tokens; "+
				"the structure has %d residues and the arrays %d tokens",
				len(counts), sum(counts), residues, n)
		}
		next := 0
		for i := range single {
			next += copy(single[i], counts[next:])
		}
		s.tokens = single
	case n == 0 || n == residues:
		s.tokens = single
	case n == tokens:
		s.tokens = byRule
	default:
		return fmt.Errorf("its arrays have %d tokens; the structure has %d residues, which are %d tokens",
			n, residues, tokens)
	}
	return nil
}

// Tokens returns the number of tokens of a residue, after CountTokens.
func (s *Structure) Tokens(chain, residue int) int { return s.tokens[chain][residue] }

// standard reports whether a residue is a standard residue of its polymer, which is one token. Modified residues and
// ligands have a token per heavy atom, as in AlphaFold 3 (Abramson et al. 2024).
func standard(kind structure.Kind, comp string) bool {
	if !kind.Polymer() {
		return false
	}
	std, ok := structure.Component(kind, structure.Letter(kind, comp))
	return ok && std == comp
}

// rename gives the chains the job's names. names maps the model's chains to them; nil: they are the same. Two chains
// with one name are an error.
func (s *Structure) rename(names map[string]string) error {
	used := map[string]bool{}
	for i := range s.Chains {
		c := &s.Chains[i]
		c.ID = jobName(names, c.ID)
		c.Label = ""
		if used[c.ID] {
			return fmt.Errorf("its structure has two chains %q", pleat.Clip(c.ID))
		}
		used[c.ID] = true
	}
	return nil
}

// jobName returns the job's name of a model's chain: itself if names does not have it.
func jobName(names map[string]string, chain string) string {
	if name, ok := names[chain]; ok {
		return name
	}
	return chain
}

// arrange brings the chains and the arrays into the order of the job's sequences. An error names a chain that the
// structure lacks, or says how it differs from its sequence.
func (s *Structure) arrange(sequences []pleat.Sequence) error {
	var order []int
	for k := range sequences {
		q := &sequences[k]
		for _, name := range q.Chains {
			i := slices.IndexFunc(s.Chains, func(c structure.Chain) bool { return c.ID == name })
			if i < 0 {
				return fmt.Errorf("its structure lacks the chain %s", name)
			}
			if err := checkChain(&s.Chains[i], q); err != nil {
				return err
			}
			s.Chains[i].Entity, s.Chains[i].Name = k+1, q.Label
			order = append(order, i)
		}
	}
	if len(order) != len(s.Chains) {
		return fmt.Errorf("its structure has %d chains; the job has %d", len(s.Chains), len(order))
	}
	if !slices.IsSorted(order) {
		s.permute(order)
	}
	return nil
}

// permute reorders the chains, and the rows and columns of the arrays with them.
func (s *Structure) permute(order []int) {
	starts, next := make([]int, len(s.tokens)), 0
	for i, c := range s.tokens {
		starts[i] = next
		next += sum(c)
	}
	var rows []int
	chains, tokens := make([]structure.Chain, len(order)), make([][]int, len(order))
	for k, i := range order {
		chains[k], tokens[k] = s.Chains[i], s.tokens[i]
		for j := range sum(s.tokens[i]) {
			rows = append(rows, starts[i]+j)
		}
	}
	s.Chains, s.tokens = chains, tokens
	s.PLDDT, s.PredictedRMSD = pick(s.PLDDT, rows), pick(s.PredictedRMSD, rows)
	if s.PAE != nil {
		m := s.PAE.Select(rows)
		s.PAE = &m
	}
}

// pick returns the values at some indices; nil where there are no values.
func pick(values []float32, indices []int) []float32 {
	if values == nil {
		return nil
	}
	out := make([]float32, len(indices))
	for k, i := range indices {
		out[k] = values[i]
	}
	return out
}

// polymerKinds maps the kinds of a job's polymers to those of a structure's chains.
var polymerKinds = map[pleat.EntityKind]structure.Kind{
	pleat.Protein: structure.Protein,
	pleat.RNA:     structure.RNA,
	pleat.DNA:     structure.DNA,
}

// checkChain refuses a chain that is not what the sequence asks for.
func checkChain(c *structure.Chain, q *pleat.Sequence) error {
	if !q.Polymer() {
		if c.Kind.Polymer() || len(c.Residues) != 1 {
			return fmt.Errorf("chain %s of its structure is not the one ligand that was asked for", c.ID)
		}
		return nil
	}
	if c.Kind.Polymer() {
		c.Kind = polymerKinds[q.Kind]
	}
	if !c.Kind.Polymer() || len(c.Residues) != len(q.Text) {
		return fmt.Errorf("chain %s of its structure has %d residues of %s; %d of %s were asked for",
			c.ID, len(c.Residues), c.Kind, len(q.Text), q.Kind)
	}
	for i := range c.Residues {
		want, comp := q.Text[i], c.Residues[i].Comp
		if slices.ContainsFunc(q.Modifications, func(m pleat.Modification) bool { return m.Residue == i+1 }) {
			continue
		}
		got := structure.Letter(c.Kind, comp)
		if got != want && got != structure.Unknown && want != 'X' && want != 'N' {
			return fmt.Errorf("residue %d of chain %s of its structure is %s; %c was asked for",
				i+1, c.ID, pleat.Clip(comp), want)
		}
	}
	return nil
}
