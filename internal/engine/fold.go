package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"pleat"
	"pleat/internal/plot"
	"pleat/internal/structure"
)

// maxPairChains is the number of chains up to which every pair is scored.
const maxPairChains = 64

// folded is a structure that a runner predicted, with one entry per token of its arrays.
type folded struct {
	*structure.Structure
	counts [][]int   // tokens of each residue, by chain
	plddt  []float32 // by token; nil: none
	pae    *structure.Matrix
}

// model reads what a piece predicted, in the job's names and order.
func (c *piece) model() (*model, error) {
	s, err := c.structure()
	if err != nil {
		return nil, err
	}
	f := &folded{Structure: s}
	if err := c.arrays(f); err != nil {
		return nil, err
	}
	return f.model(c.result, c.sequences, c.others())
}

// model is the prediction in the job's names and order, with its scores and further files.
func (f *folded) model(r *wireResult, want []pleat.Sequence, others []pleat.File) (*model, error) {
	if err := f.rename(r.ChainMap); err != nil {
		return nil, err
	}
	if err := f.arrange(want); err != nil {
		return nil, err
	}
	m := &model{structure: f.Structure, extra: r.Metrics, others: others, affinity: affinityOf(r.Scores)}
	for _, q := range want {
		m.chains = append(m.chains, q.Chains...)
	}
	if len(want) == 1 {
		m.sequence = want[0]
	}
	f.confidence(m)
	if f.pae != nil {
		f.mergePolymers()
		m.pae = f.pae
		for i := range f.Chains {
			m.paeChains = append(m.paeChains, plot.Chain{Name: f.Chains[i].ID, Length: sum(f.counts[i])})
		}
		m.paeCap = float64(slices.Max(f.pae.V))
	}
	if sc := r.Scores; sc != nil {
		m.ptm, m.iptm = unit(sc.PTM), unit(sc.IPTM)
		if sc.MaxPAE != nil && m.pae != nil {
			m.paeCap = max(m.paeCap, *sc.MaxPAE)
		}
	}
	m.pairs = f.pairs(r)
	return m, nil
}

// unit drops a score that is not from 0 to 1.
func unit(v *float64) *float64 {
	if v == nil || !(*v >= 0 && *v <= 1) {
		return nil
	}
	return v
}

func affinityOf(s *wireScores) *pleat.Affinity {
	if s == nil {
		return nil
	}
	return s.Affinity
}

func sum(v []int) int {
	n := 0
	for _, x := range v {
		n += x
	}
	return n
}

// structure reads the structure of rank 0.
func (c *piece) structure() (*structure.Structure, error) {
	file, ok := c.file("structure", 0)
	if !ok {
		return nil, errors.New("it has no structure")
	}
	in, err := os.Open(filepath.Join(c.dir, file.Path))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return structure.ReadCIF(in, structure.Limits{})
}

// arrays reads pLDDT and PAE, and how their places belong to residues.
func (c *piece) arrays(f *folded) error {
	plddt, shape, err := c.array("plddt")
	if err != nil {
		return err
	}
	if plddt != nil && len(shape) != 1 {
		return fmt.Errorf("the plddt file has the shape %v; it must be a row", shape)
	}
	pae, square, err := c.array("pae")
	if err != nil {
		return err
	}
	n := len(plddt)
	if pae != nil {
		if len(square) != 2 || square[0] != square[1] || plddt != nil && square[0] != n {
			return fmt.Errorf("the pae file has the shape %v, and plddt %v; it must be a square of the same tokens", square, shape)
		}
		n = square[0]
		f.pae = &structure.Matrix{N: n, V: pae}
	}
	for i, v := range plddt {
		if v > 100.01 {
			return fmt.Errorf("the plddt of token %d is %v; it must be 0 to 100", i+1, v)
		}
	}
	f.plddt = plddt
	f.counts, err = f.count(n, c.result.Tokens)
	return err
}

// count says how many tokens each residue has: as the runner says, else one each where that fits, else the protocol's own rule.
func (f *folded) count(n int, told []int) ([][]int, error) {
	residues, tokens := 0, 0
	one, own := make([][]int, len(f.Chains)), make([][]int, len(f.Chains))
	for i := range f.Chains {
		c := &f.Chains[i]
		one[i], own[i] = make([]int, len(c.Residues)), make([]int, len(c.Residues))
		for j := range c.Residues {
			one[i][j], own[i][j] = 1, 1
			if !standard(c.Kind, c.Residues[j].Comp) {
				own[i][j] = heavy(&c.Residues[j])
			}
			tokens += own[i][j]
		}
		residues += len(c.Residues)
	}
	switch {
	case len(told) > 0:
		if len(told) != residues || slices.Min(told) < 1 || n > 0 && sum(told) != n {
			return nil, fmt.Errorf("its tokens are %d counts of %d tokens; the structure has %d residues and the arrays %d tokens", len(told), sum(told), residues, n)
		}
		at := 0
		for i := range one {
			at += copy(one[i], told[at:])
		}
		return one, nil
	case n == 0 || n == residues:
		return one, nil
	case n == tokens:
		return own, nil
	}
	return nil, fmt.Errorf("its arrays have %d tokens; the structure has %d residues, which are %d tokens", n, residues, tokens)
}

// standard reports whether a residue is one of the polymer's own, which is one token.
func standard(kind structure.Kind, comp string) bool {
	if !kind.Polymer() {
		return false
	}
	std, ok := structure.Component(kind, structure.Letter(kind, comp))
	return ok && std == comp
}

// rename gives the chains the job's names.
func (f *folded) rename(names map[string]string) error {
	taken := map[string]bool{}
	for i := range f.Chains {
		c := &f.Chains[i]
		if to, ok := names[c.ID]; ok {
			c.ID = to
		}
		c.Label = ""
		if taken[c.ID] {
			return fmt.Errorf("its structure has two chains %q", pleat.Clip(c.ID))
		}
		taken[c.ID] = true
	}
	return nil
}

// arrange brings the chains into the job's order, the arrays with them, and refuses a structure that is not the job's.
func (f *folded) arrange(want []pleat.Sequence) error {
	var order []int
	for k := range want {
		q := &want[k]
		for _, name := range q.Chains {
			i := slices.IndexFunc(f.Chains, func(c structure.Chain) bool { return c.ID == name })
			if i < 0 {
				return fmt.Errorf("its structure lacks the chain %s", name)
			}
			if err := matches(&f.Chains[i], q); err != nil {
				return err
			}
			f.Chains[i].Entity, f.Chains[i].Name = k+1, q.Label
			order = append(order, i)
		}
	}
	if len(order) != len(f.Chains) {
		return fmt.Errorf("its structure has %d chains; the job has %d", len(f.Chains), len(order))
	}
	if slices.IsSorted(order) {
		return nil
	}
	f.permute(order)
	return nil
}

func (f *folded) permute(order []int) {
	starts, at := make([]int, len(f.counts)), 0
	for i, c := range f.counts {
		starts[i] = at
		at += sum(c)
	}
	var tokens []int
	chains, counts := make([]structure.Chain, len(order)), make([][]int, len(order))
	for k, i := range order {
		chains[k], counts[k] = f.Chains[i], f.counts[i]
		for j := range sum(f.counts[i]) {
			tokens = append(tokens, starts[i]+j)
		}
	}
	f.Chains, f.counts = chains, counts
	if f.plddt != nil {
		v := make([]float32, len(tokens))
		for k, i := range tokens {
			v[k] = f.plddt[i]
		}
		f.plddt = v
	}
	if f.pae != nil {
		m := structure.Matrix{N: len(tokens), V: make([]float32, 0, len(tokens)*len(tokens))}
		for _, i := range tokens {
			for _, j := range tokens {
				m.V = append(m.V, f.pae.V[i*f.pae.N+j])
			}
		}
		f.pae = &m
	}
}

// confidence puts pLDDT into a model: a residue's is the mean of its tokens, and where each atom has its own, the atoms keep it.
func (f *folded) confidence(m *model) {
	if f.plddt == nil {
		for i := range f.Chains { // what stands there is not known to be a confidence
			for j := range f.Chains[i].Residues {
				for k := range f.Chains[i].Residues[j].Atoms {
					f.Chains[i].Residues[j].Atoms[k].B = 0
				}
			}
		}
		return
	}
	at, total := 0, 0.0
	for i := range f.Chains {
		c := &f.Chains[i]
		values := make([]float64, len(c.Residues))
		for j := range c.Residues {
			n := f.counts[i][j]
			own := f.plddt[at : at+n]
			at += n
			for _, v := range own {
				values[j] += float64(v) / float64(n)
				total += float64(v)
			}
			spread(&c.Residues[j], own, values[j])
		}
		m.plddt = append(m.plddt, values)
		if c.Kind.Polymer() {
			m.bfactors = append(m.bfactors, values)
		} else {
			m.bfactors = append(m.bfactors, nil)
		}
	}
	mean := total / float64(len(f.plddt))
	m.meanPLDDT = &mean
}

// spread gives a residue's atoms their confidence.
func spread(r *structure.Residue, own []float32, mean float64) {
	at := 0
	each := len(own) > 1 && len(own) == heavy(r)
	for k := range r.Atoms {
		a := &r.Atoms[k]
		a.B = mean
		if each && a.Element != "H" && a.Element != "D" {
			a.B = float64(own[at])
			at++
		}
	}
}

var entityKinds = map[pleat.EntityKind]structure.Kind{pleat.Protein: structure.Protein, pleat.RNA: structure.RNA, pleat.DNA: structure.DNA}

// matches refuses a chain that is not what was asked for.
func matches(c *structure.Chain, q *pleat.Sequence) error {
	if !q.Polymer() {
		if c.Kind.Polymer() || len(c.Residues) != 1 {
			return fmt.Errorf("chain %s of its structure is not the one ligand that was asked for", c.ID)
		}
		return nil
	}
	if c.Kind.Polymer() {
		c.Kind = entityKinds[q.Kind]
	}
	if !c.Kind.Polymer() || len(c.Residues) != len(q.Text) {
		return fmt.Errorf("chain %s of its structure has %d residues of %s; %d of %s were asked for", c.ID, len(c.Residues), c.Kind, len(q.Text), q.Kind)
	}
	for i := range c.Residues {
		want := q.Text[i]
		modified := slices.ContainsFunc(q.Modifications, func(m pleat.Modification) bool { return m.Residue == i+1 })
		if got := structure.Letter(c.Kind, c.Residues[i].Comp); !modified && got != want && got != structure.Unknown && want != 'X' && want != 'N' {
			return fmt.Errorf("residue %d of chain %s of its structure is %s; %c was asked for", i+1, c.ID, pleat.Clip(c.Residues[i].Comp), want)
		}
	}
	return nil
}

// mergePolymers leaves one row and column of the errors per residue of a polymer: a modified one, which has a token per atom,
// gets the mean of them.
func (f *folded) mergePolymers() {
	var groups [][2]int // first token and number, of each row that stays
	at, whole := 0, true
	for i := range f.Chains {
		for j, n := range f.counts[i] {
			if f.Chains[i].Kind.Polymer() && n > 1 {
				groups, whole = append(groups, [2]int{at, n}), false
				f.counts[i][j] = 1
			} else {
				for k := range n {
					groups = append(groups, [2]int{at + k, 1})
				}
			}
			at += n
		}
	}
	if whole {
		return
	}
	m := structure.Matrix{N: len(groups), V: make([]float32, 0, len(groups)*len(groups))}
	for _, a := range groups {
		for _, b := range groups {
			total := 0.0
			for i := range a[1] {
				for j := range b[1] {
					total += f.pae.At(a[0]+i, b[0]+j)
				}
			}
			m.V = append(m.V, float32(total/float64(a[1]*b[1])))
		}
	}
	f.pae = &m
}

// pairs scores every pair of chains: ipTM as the model itself gives it, else from the errors; ipSAE and pDockQ2 between polymers,
// for which they are defined. It must follow mergePolymers.
func (f *folded) pairs(r *wireResult) []pleat.PairScore {
	if len(f.Chains) < 2 || len(f.Chains) > maxPairChains {
		return nil
	}
	own := map[[2]string]*float64{}
	if r.Scores != nil {
		for _, p := range r.Scores.Pairs {
			a, b := mapped(r.ChainMap, p.A), mapped(r.ChainMap, p.B)
			own[[2]string{min(a, b), max(a, b)}] = unit(p.IPTM)
		}
	}
	computed := f.interfaces()
	var out []pleat.PairScore
	for i := range f.Chains {
		for j := i + 1; j < len(f.Chains); j++ {
			a, b := f.Chains[i].ID, f.Chains[j].ID
			p := pleat.PairScore{A: a, B: b, IPTM: rounded(own[[2]string{min(a, b), max(a, b)}], 4)}
			if c, ok := computed[[2]int{i, j}]; ok {
				p.IPSAE, p.PDockQ2 = rounded(&c.IPSAE, 4), rounded(&c.PDockQ2, 4)
				if p.IPTM == nil {
					p.IPTM = rounded(&c.IPTM, 4)
				}
				if f.plddt == nil {
					p.PDockQ2 = nil
				}
			}
			if p.IPTM != nil || p.IPSAE != nil || p.PDockQ2 != nil {
				out = append(out, p)
			}
		}
	}
	return out
}

func mapped(names map[string]string, name string) string {
	if to, ok := names[name]; ok {
		return to
	}
	return name
}

// interfaces scores the pairs of polymers by the errors between them; none without errors, or where a residue has no point to
// count contacts from.
func (f *folded) interfaces() map[[2]int]structure.Interface {
	if f.pae == nil {
		return nil
	}
	c := structure.Complex{}
	var keep []int
	at := 0
	for i := range f.Chains {
		chain := &f.Chains[i]
		if !chain.Kind.Polymer() {
			at += sum(f.counts[i])
			continue
		}
		for j := range chain.Residues {
			beta, ok := chain.Residues[j].Beta()
			if !ok {
				return nil
			}
			c.Chain, c.Beta = append(c.Chain, i), append(c.Beta, beta)
			c.Nucleic = append(c.Nucleic, chain.Kind != structure.Protein)
			c.PLDDT = append(c.PLDDT, f.residue(i, j))
			keep = append(keep, at)
			at++
		}
	}
	c.PAE = structure.Matrix{N: len(keep), V: make([]float32, 0, len(keep)*len(keep))}
	for _, i := range keep {
		for _, j := range keep {
			c.PAE.V = append(c.PAE.V, f.pae.V[i*f.pae.N+j])
		}
	}
	out := map[[2]int]structure.Interface{}
	for _, x := range c.Interfaces() {
		out[[2]int{x.A, x.B}] = x
	}
	return out
}

// residue is a residue's confidence: that of its atoms, which spread filled in.
func (f *folded) residue(chain, residue int) float64 {
	atoms := f.Chains[chain].Residues[residue].Atoms
	if len(atoms) == 0 {
		return 0
	}
	total := 0.0
	for i := range atoms {
		total += atoms[i].B
	}
	return total / float64(len(atoms))
}
