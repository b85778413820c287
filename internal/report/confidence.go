package report

import (
	"math"

	"pleat"
	"pleat/internal/structure"
)

// maxPairChains is the number of chains up to which every pair is scored: the pairs of more would fill the result.
const maxPairChains = 64

// confidence copies pLDDT (0 to 100) and predicted RMSD (Å), by token, into a prediction, and the former or else the
// latter into the B-factors. The pLDDT of a residue is the mean over its tokens and its RMSD their root mean square;
// where each atom is a token, the atoms keep their own values. MeanPLDDT is the mean over tokens, as models state it.
func (s *Structure) confidence(p *Prediction) {
	if s.PredictedRMSD != nil {
		p.PredictedRMSD = s.byResidue(s.PredictedRMSD, rootMeanSquare)
	}
	if s.PLDDT == nil {
		if s.PredictedRMSD == nil {
			s.clearBFactors()
		}
		return
	}
	p.PLDDT = s.byResidue(s.PLDDT, meanOfTokens)
	p.BFactors = polymersOf(s.Structure, p.PLDDT)
	p.MeanPLDDT = new(meanOfTokens(s.PLDDT))
}

// byResidue returns a measure by chain and residue from its values by token, and makes it the B-factors.
func (s *Structure) byResidue(values []float32, of func([]float32) float64) (out [][]float64) {
	next := 0
	for i := range s.Chains {
		c := &s.Chains[i]
		chain := make([]float64, len(c.Residues))
		for j, n := range s.tokens[i] {
			tokens := values[next : next+n]
			next += n
			if n > 0 {
				chain[j] = of(tokens)
			}
			setBFactors(&c.Residues[j], tokens, chain[j])
		}
		out = append(out, chain)
	}
	return out
}

// meanOfTokens is the measure of a residue whose tokens have these.
func meanOfTokens(values []float32) (mean float64) {
	for _, v := range values {
		mean += float64(v)
	}
	return mean / float64(len(values))
}

// rootMeanSquare is the deviation of a residue whose tokens have these.
func rootMeanSquare(values []float32) float64 {
	sum := 0.0
	for _, v := range values {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(len(values)))
}

// polymersOf returns the values of the chains that are polymers, and nil for the others, whose atoms have their own.
func polymersOf(s *structure.Structure, values [][]float64) [][]float64 {
	out := make([][]float64, len(values))
	for i := range values {
		if s.Chains[i].Kind.Polymer() {
			out[i] = values[i]
		}
	}
	return out
}

// clearBFactors removes the B-factors of a model that gives no confidence of residues: they are not known to be one.
func (s *Structure) clearBFactors() {
	for i := range s.Chains {
		for j := range s.Chains[i].Residues {
			for k := range s.Chains[i].Residues[j].Atoms {
				s.Chains[i].Residues[j].Atoms[k].B = 0
			}
		}
	}
}

// setBFactors writes the confidence of a residue into its atoms, where viewers look for it: that of each heavy atom if
// they are the tokens, else the mean.
func setBFactors(r *structure.Residue, tokens []float32, mean float64) {
	next := 0
	byAtom := len(tokens) > 1 && len(tokens) == HeavyAtoms(r)
	for k := range r.Atoms {
		a := &r.Atoms[k]
		a.B = mean
		if byAtom && a.Heavy() {
			a.B = float64(tokens[next])
			next++
		}
	}
}

// mergePolymers leaves one row and column of the PAE for each residue of a polymer. A modified residue, which has a
// token per atom, gets the mean over them. The PAE and the counts of tokens change; the rest of s does not.
func (s *Structure) mergePolymers() {
	var rows []span // of tokens that become one row
	next, merged := 0, false
	for i := range s.Chains {
		for j, n := range s.tokens[i] {
			if s.Chains[i].Kind.Polymer() && n > 1 {
				rows, merged = append(rows, span{next, n}), true
				s.tokens[i][j] = 1
			} else {
				for k := range n {
					rows = append(rows, span{next + k, 1})
				}
			}
			next += n
		}
	}
	if !merged {
		return
	}
	m := structure.Matrix{N: len(rows), V: make([]float32, 0, len(rows)*len(rows))}
	for _, a := range rows {
		for _, b := range rows {
			total := 0.0
			for i := range a.n {
				for j := range b.n {
					total += s.PAE.At(a.first+i, b.first+j)
				}
			}
			m.V = append(m.V, float32(total/float64(a.n*b.n)))
		}
	}
	s.PAE = &m
}

// pairs scores every pair of chains: ipTM as the model states it, else computed from the PAE; ipSAE, pDockQ2 and LIS
// between polymers, for which they are defined (package structure cites them). It must run after mergePolymers. Pairs
// without any score are left out.
func (s *Structure) pairs(scores *Scores) []pleat.PairScore {
	if len(s.Chains) < 2 || len(s.Chains) > maxPairChains {
		return nil
	}
	stated := map[[2]string]*float64{}
	for _, p := range scores.Pairs {
		stated[pairKey(jobName(scores.ChainMap, p.A), jobName(scores.ChainMap, p.B))] = Probability(p.IPTM)
	}
	computed := s.interfaces()
	var out []pleat.PairScore
	for i := range s.Chains {
		for j := i + 1; j < len(s.Chains); j++ {
			p := pleat.PairScore{A: s.Chains[i].ID, B: s.Chains[j].ID}
			p.IPTM = rounded(stated[pairKey(p.A, p.B)], 4)
			if c, ok := computed[[2]int{i, j}]; ok {
				p.IPSAE, p.PDockQ2, p.LIS = rounded(&c.IPSAE, 4), rounded(&c.PDockQ2, 4), rounded(&c.LIS, 4)
				if p.IPTM == nil {
					p.IPTM = rounded(&c.IPTM, 4)
				}
				if s.PLDDT == nil {
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

// pairKey returns a key of a pair of chains that does not depend on their order.
func pairKey(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }

// interfaces scores the pairs of polymers by the PAE between them, by their indices among the chains. It returns
// nothing without a PAE, or if a residue has no beta or representative atom to count contacts from.
func (s *Structure) interfaces() map[[2]int]structure.Interface {
	if s.PAE == nil {
		return nil
	}
	c := structure.Complex{}
	var rows []int
	next := 0
	for i := range s.Chains {
		chain := &s.Chains[i]
		if !chain.Kind.Polymer() {
			next += sum(s.tokens[i])
			continue
		}
		for j := range chain.Residues {
			beta, ok := chain.Residues[j].Beta()
			if !ok {
				return nil
			}
			c.Chain, c.Beta = append(c.Chain, i), append(c.Beta, beta)
			c.Nucleic = append(c.Nucleic, chain.Kind != structure.Protein)
			c.PLDDT = append(c.PLDDT, meanB(&chain.Residues[j]))
			rows = append(rows, next)
			next++
		}
	}
	c.PAE = s.PAE.Select(rows)
	out := map[[2]int]structure.Interface{}
	for _, x := range c.Interfaces() {
		out[[2]int{x.A, x.B}] = x
	}
	return out
}

// meanB returns the mean B-factor of a residue, which setBFactors made its confidence, from 0 to 100. It is 0 for a
// residue without atoms.
func meanB(r *structure.Residue) float64 {
	if len(r.Atoms) == 0 {
		return 0
	}
	total := 0.0
	for i := range r.Atoms {
		total += r.Atoms[i].B
	}
	return total / float64(len(r.Atoms))
}
