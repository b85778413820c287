package structure

import (
	"fmt"
	"math"
)

// Matrix is a square matrix of predicted aligned errors in Å, stored by rows: V[i*N+j] is the error expected at
// residue (token) j when prediction and truth are aligned on residue i. len(V) is N·N. The zero value has no
// residues.
type Matrix struct {
	N int
	V []float32
}

// At returns the error in Å at residue j when aligned on residue i.
func (m Matrix) At(i, j int) float64 { return float64(m.V[i*m.N+j]) }

// Row returns the errors in Å of all residues when aligned on residue i. The slice shares memory with the matrix.
func (m Matrix) Row(i int) []float32 { return m.V[i*m.N : (i+1)*m.N] }

// Select returns the given rows and columns of the matrix, in this order. If these are all in their order, the result
// shares memory with the matrix.
func (m Matrix) Select(rows []int) Matrix {
	same := len(rows) == m.N
	for k, i := range rows {
		same = same && k == i
	}
	if same {
		return m
	}
	out := Matrix{N: len(rows), V: make([]float32, 0, len(rows)*len(rows))}
	for _, i := range rows {
		for _, j := range rows {
			out.V = append(out.V, m.V[i*m.N+j])
		}
	}
	return out
}

// check panics where V has not N·N values or where one of the lengths is not N.
func (m Matrix) check(lists ...int) {
	if len(m.V) != m.N*m.N {
		panic(fmt.Sprintf("structure: an error matrix of %d residues with %d values", m.N, len(m.V)))
	}
	for _, n := range lists {
		if n != m.N {
			panic(fmt.Sprintf("structure: an error matrix of %d residues for %d", m.N, n))
		}
	}
}

// tmTerm returns the TM-score term 1/(1+(e/d0)²) of an error e in Å.
func tmTerm(e, d0 float64) float64 { return 1 / (1 + (e/d0)*(e/d0)) }

// PTM estimates the TM-score of a prediction from its aligned errors: the best
// row's mean of 1/(1+(e/d0)²), d0 = 1.24·(N−15)^⅓−1.8 with N at least 19; 0 to 1,
// and 0 for no residues. It panics where V has not N·N values.
//
// Source: Jumper et al., Nature 596, 583 (2021), supplement 1.9.7. The paper
// averages the term over the predicted distribution of errors; computed from the
// expected error alone, as here, it comes out slightly different, so a model's own
// value is to be preferred where it gives one.
func PTM(pae Matrix) float64 {
	pae.check()
	best, scale := 0.0, distanceScale(pae.N, 19, 0)
	for i := range pae.N {
		sum := 0.0
		for _, e := range pae.Row(i) {
			sum += tmTerm(float64(e), scale)
		}
		best = max(best, sum/float64(pae.N))
	}
	return best
}

// Complex is the input of interface scores: one entry per residue (token), all lists of the same length.
type Complex struct {
	Chain []int // which chain, in any numbering
	// Beta is the point in Å from which contacts are counted, see Residue.Beta.
	Beta    []Vec
	PLDDT   []float64 // 0 to 100
	Nucleic []bool    // part of a nucleic acid; nil: none is
	PAE     Matrix    // N = 0: there is none; scores that need it are then 0
}

// Interface holds the scores of one pair of chains. The suffix AB means the direction from A to B: errors at B's
// residues when aligned on A's.
type Interface struct {
	A, B                 int     // the chains' numbers, A before B in order of appearance
	Contacts             int     // residue pairs with Beta within 8 Å
	IPTM                 float64 // ipTM of the pair, d0 from the residues of both chains
	IPSAE                float64 // the larger of the two directions
	IPSAEAB, IPSAEBA     float64
	PDockQ               float64 // 0 where there is no contact
	PDockQ2              float64 // the larger of the two directions; 0 where there is no contact
	PDockQ2AB, PDockQ2BA float64
	LIS                  float64 // local interaction score, 0 to 1: the mean of the two directions
	MinPAE               float64 // lowest error between the two chains, Å
}

const (
	// contactRadius is the largest distance in Å of two residues in contact, ipsaeCutoff the PAE in Å below which ipSAE
	// counts a residue pair, saeLeast the residues from which its distance scale grows, and lisCutoff the PAE in Å up
	// to which LIS counts.
	contactRadius = 8.0
	ipsaeCutoff   = 10.0
	saeLeast      = 26
	lisCutoff     = 12.0
)

// Interfaces returns the scores of every pair of chains, in order of their first residues. It panics where the
// lists' lengths differ.
//
// Sources: ipSAE, Dunbrack (2025), with the cutoff of 10 Å and the program's d0 (at least 1 Å, 2 Å with nucleic
// acid); pDockQ, Bryant et al., Nat. Commun. 13, 1265 (2022); pDockQ2, Zhu et al., Bioinformatics 39, btad424
// (2023); LIS, Kim et al., Enhanced protein-protein interaction discovery via AlphaFold-Multimer (2024).
func (c *Complex) Interfaces() []Interface {
	c.check()
	var order []int
	members := map[int][]int{}
	for i, id := range c.Chain {
		if members[id] == nil {
			order = append(order, id)
		}
		members[id] = append(members[id], i)
	}
	var out []Interface
	for k, a := range order {
		for _, b := range order[k+1:] {
			out = append(out, c.pair(a, b, members[a], members[b]))
		}
	}
	return out
}

// Interface returns the scores of the chains a and b, as [Complex.Interfaces] does. It panics where the lists' lengths
// differ.
func (c *Complex) Interface(a, b int) Interface {
	c.check()
	var members [2][]int
	for i, id := range c.Chain {
		switch id {
		case a:
			members[0] = append(members[0], i)
		case b:
			members[1] = append(members[1], i)
		}
	}
	return c.pair(a, b, members[0], members[1])
}

// check panics where the lists have different lengths.
func (c *Complex) check() {
	n := len(c.Chain)
	if len(c.Beta) != n || len(c.PLDDT) != n || c.Nucleic != nil && len(c.Nucleic) != n {
		panic("structure: a complex with lists of different lengths")
	}
	if c.PAE.N > 0 {
		c.PAE.check(n)
	}
}

// pair returns the scores of chains ida and idb, whose residues are the indices a and b.
func (c *Complex) pair(ida, idb int, a, b []int) Interface {
	out := Interface{A: ida, B: idb}
	if c.PAE.N > 0 {
		least := 1.0
		if c.nucleic(a) || c.nucleic(b) {
			least = 2
		}
		out.MinPAE = min(c.minPAE(a, b), c.minPAE(b, a))
		scale := distanceScale(len(a)+len(b), saeLeast, least)
		out.IPTM = max(c.best(a, b, math.Inf(1), scale, least), c.best(b, a, math.Inf(1), scale, least))
		out.IPSAEAB = c.best(a, b, ipsaeCutoff, 0, least)
		out.IPSAEBA = c.best(b, a, ipsaeCutoff, 0, least)
		out.IPSAE = max(out.IPSAEAB, out.IPSAEBA)
		out.LIS = (c.localInteraction(a, b) + c.localInteraction(b, a)) / 2
	}
	c.dock(&out, a, b)
	return out
}

// nucleic reports whether any of the residues belongs to a nucleic acid.
func (c *Complex) nucleic(members []int) bool {
	if c.Nucleic == nil {
		return false
	}
	for _, i := range members {
		if c.Nucleic[i] {
			return true
		}
	}
	return false
}

// minPAE returns the lowest error in Å at residues b when aligned on residues a.
func (c *Complex) minPAE(a, b []int) float64 {
	least := math.Inf(1)
	for _, i := range a {
		for _, j := range b {
			least = min(least, c.PAE.At(i, j))
		}
	}
	return least
}

// localInteraction returns the mean of (12 Å − e)/12 Å over the errors e of at most 12 Å at residues b when aligned on
// residues a; 0 where there are none.
func (c *Complex) localInteraction(a, b []int) float64 {
	sum, n := 0.0, 0
	for _, i := range a {
		row := c.PAE.Row(i)
		for _, j := range b {
			if e := float64(row[j]); e <= lisCutoff {
				sum += (lisCutoff - e) / lisCutoff
				n++
			}
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// best returns the largest mean term of the rows a over those residues b whose error is below cutoff. Where d0 is
// 0, each row's d0 follows from its number of such residues.
func (c *Complex) best(a, b []int, cutoff, d0, least float64) float64 {
	best := 0.0
	for _, i := range a {
		row, n := c.PAE.Row(i), 0
		for _, j := range b {
			if float64(row[j]) < cutoff {
				n++
			}
		}
		if n == 0 {
			continue
		}
		scale := d0
		if scale == 0 {
			scale = distanceScale(n, saeLeast, least)
		}
		sum := 0.0
		for _, j := range b {
			if e := float64(row[j]); e < cutoff {
				sum += tmTerm(e, scale)
			}
		}
		best = max(best, sum/float64(n))
	}
	return best
}

// dock fills in the number of contacts, pDockQ and pDockQ2 of a pair.
func (c *Complex) dock(out *Interface, a, b []int) {
	pa, pb := make([]Vec, len(a)), make([]Vec, len(b))
	for k, i := range a {
		pa[k] = c.Beta[i]
	}
	for k, i := range b {
		pb[k] = c.Beta[i]
	}
	touched := map[int]bool{}
	plddt, ab, ba := 0.0, 0.0, 0.0
	take := func(i int) {
		if !touched[i] {
			touched[i] = true
			plddt += c.PLDDT[i]
		}
	}
	for contact := range Contacts(pa, pb, contactRadius) {
		i, j := a[contact.A], b[contact.B]
		take(i)
		take(j)
		out.Contacts++
		if c.PAE.N > 0 {
			ab += tmTerm(c.PAE.At(i, j), 10)
			ba += tmTerm(c.PAE.At(j, i), 10)
		}
	}
	if out.Contacts == 0 {
		return
	}
	n := float64(out.Contacts)
	plddt /= float64(len(touched))
	out.PDockQ = sigmoid(plddt*math.Log10(n), 0.724, 0.052, 152.611, 0.018)
	if c.PAE.N > 0 {
		out.PDockQ2AB = sigmoid(plddt*ab/n, 1.31, 0.075, 84.733, 0.005)
		out.PDockQ2BA = sigmoid(plddt*ba/n, 1.31, 0.075, 84.733, 0.005)
		out.PDockQ2 = max(out.PDockQ2AB, out.PDockQ2BA)
	}
}

// sigmoid returns the logistic curve of pDockQ at x.
func sigmoid(x, height, slope, middle, floor float64) float64 {
	return height/(1+math.Exp(-slope*(x-middle))) + floor
}
