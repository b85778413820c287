package facts

import (
	"math"

	"pleat/internal/structure"
)

// Confidence summarises a model's own estimate of local accuracy, pLDDT from 0 to 100, over some residues.
// Fractions are from 0 to 1.
type Confidence struct {
	// Mean, Min and Max are over all residues whose pLDDT is known.
	Mean float64 `json:"mean_plddt"`
	Min  float64 `json:"min_plddt"`
	Max  float64 `json:"max_plddt"`
	// VeryHigh, Confident, Low and VeryLow are fractions of the residues, by the bands of the AlphaFold database.
	VeryHigh  float64 `json:"share_90_or_more"`
	Confident float64 `json:"share_70_to_90"`
	Low       float64 `json:"share_50_to_70"`
	VeryLow   float64 `json:"share_below_50"`
	// Doubtful are the runs of residues with a pLDDT below 70.
	Doubtful []Stretch `json:"stretches_below_70,omitempty"`
}

// PredictedRMSD summarises the error in Å that some models expect of residues, in place of pLDDT or in addition to it.
// Lower is better.
type PredictedRMSD struct {
	Mean float64 `json:"mean_A"`
	Max  float64 `json:"max_A"`
	// Uncertain are the runs of residues above UncertainRMSD.
	Uncertain []RMSDStretch `json:"stretches_above_1.5,omitempty"`
}

// RMSDStretch is a run of residues of one chain and its mean predicted RMSD in Å.
type RMSDStretch struct {
	From   ResidueRef `json:"from"`
	To     ResidueRef `json:"to"`
	Length int        `json:"length"`
	Mean   float64    `json:"mean_A"`
}

// Stretch is a run of residues of one chain and its mean pLDDT.
type Stretch struct {
	From   ResidueRef `json:"from"`
	To     ResidueRef `json:"to"`
	Length int        `json:"length"`
	Mean   float64    `json:"mean_plddt"`
}

// PAE summarises a matrix of predicted aligned errors, in Å.
type PAE struct {
	// Mean is over the whole matrix.
	Mean    float64     `json:"mean_A"`
	Within  []PairError `json:"within_chains"`
	Between []PairError `json:"between_chains,omitempty"`
	// Domains are the parts of chains that domains finds.
	Domains []Domain `json:"domains,omitempty"`
}

// PairError is the error in Å between two chains, both directions together.
type PairError struct {
	// A and B are chain identifiers; they are equal for the error within one chain.
	A    string  `json:"a"`
	B    string  `json:"b"`
	Mean float64 `json:"mean_A"`
	Min  float64 `json:"min_A"`
}

// Domain is a stretch of a chain whose parts are predicted confidently relative to each other but not to the rest.
type Domain struct {
	From ResidueRef `json:"from"`
	To   ResidueRef `json:"to"`
	Mean float64    `json:"mean_inside_A"`
}

// assignConfidence sets the pLDDT of the sites: the given values, or else those that the structure has, and their
// predicted RMSD. It returns notes for the reader on what was assumed, or why no confidence of a prediction is known.
func (x *Index) assignConfidence(plddt [][]float64, predicted bool) (notes []string) {
	s := x.Structure
	x.assignRMSD()
	known := s.Confidence(predicted)
	switch {
	case plddt != nil && x.fits(plddt):
		known = s.Scaled(plddt)
	case plddt != nil:
		notes = append(notes, "The pLDDT values given do not match the chains of the structure and were left "+
			"out; those of its file were read instead, if it has any.")
	}
	if known.Note != "" && (predicted || s.Origin == structure.Prediction) {
		notes = append(notes, known.Note)
	}
	if known.PLDDT == nil {
		x.Unrated = known.Note
		return notes
	}
	for _, r := range x.Polymers {
		for i := r.Lo; i < r.Hi; i++ {
			x.Sites[i].PLDDT = known.PLDDT[r.Chain][i-r.Lo]
		}
	}
	x.HasConfidence = true
	return notes
}

// assignRMSD sets the predicted RMSD of the sites of polymers that the structure has.
func (x *Index) assignRMSD() {
	for _, r := range x.Polymers {
		for i := r.Lo; i < r.Hi; i++ {
			if v := x.Sites[i].Residue.PredictedRMSD; v != nil {
				x.Sites[i].RMSD, x.HasRMSD = *v, true
			}
		}
	}
}

// predictedRMSD summarises the predicted RMSD of the sites from lo to hi, and returns nil where none is known.
func (x *Index) predictedRMSD(lo, hi int) *PredictedRMSD {
	var out PredictedRMSD
	var above []int
	n, sum := 0, 0.0
	for i := lo; i < hi; i++ {
		v := x.Sites[i].RMSD
		if math.IsNaN(v) {
			continue
		}
		n, sum, out.Max = n+1, sum+v, max(out.Max, v)
		if v > UncertainRMSD {
			above = append(above, i)
		}
	}
	if n == 0 {
		return nil
	}
	out.Mean, out.Max = Round(sum/float64(n), 2), Round(out.Max, 2)
	for _, run := range Head(x.Runs(above), maxList) {
		sum := 0.0
		for _, i := range run {
			sum += x.Sites[i].RMSD
		}
		out.Uncertain = append(out.Uncertain, RMSDStretch{
			x.Sites[run[0]].Ref, x.Sites[run[len(run)-1]].Ref, len(run), Round(sum/float64(len(run)), 2),
		})
	}
	return &out
}

// fits reports whether there is one value for each residue of each polymer.
func (x *Index) fits(plddt [][]float64) bool {
	if len(plddt) != len(x.Structure.Chains) {
		return false
	}
	for _, r := range x.Polymers {
		if len(plddt[r.Chain]) != r.Hi-r.Lo {
			return false
		}
	}
	return true
}

// confidence summarises the pLDDT of the sites from lo to hi, and returns nil where none is known.
func (x *Index) confidence(lo, hi int) *Confidence {
	if !x.HasConfidence {
		return nil
	}
	c := &Confidence{Min: math.Inf(1), Max: math.Inf(-1)}
	n, sum := 0.0, 0.0
	for i := lo; i < hi; i++ {
		v := x.Sites[i].PLDDT
		if math.IsNaN(v) {
			continue
		}
		n, sum = n+1, sum+v
		c.Min, c.Max = min(c.Min, v), max(c.Max, v)
		switch {
		case v >= 90:
			c.VeryHigh++
		case v >= 70:
			c.Confident++
		case v >= 50:
			c.Low++
		default:
			c.VeryLow++
		}
	}
	if n == 0 {
		return nil
	}
	c.Mean, c.Min, c.Max = Round(sum/n, 2), Round(c.Min, 2), Round(c.Max, 2)
	for _, share := range []*float64{&c.VeryHigh, &c.Confident, &c.Low, &c.VeryLow} {
		*share = Round(*share/n, 4)
	}
	c.Doubtful = Head(x.doubtful(lo, hi), maxList)
	return c
}

// doubtful returns the runs of residues between two sites whose pLDDT is below 70.
func (x *Index) doubtful(lo, hi int) (out []Stretch) {
	var low []int
	for i := lo; i < hi; i++ {
		if x.Sites[i].PLDDT < 70 {
			low = append(low, i)
		}
	}
	for _, run := range x.Runs(low) {
		sum := 0.0
		for _, i := range run {
			sum += x.Sites[i].PLDDT
		}
		mean := Round(sum/float64(len(run)), 2)
		out = append(out, Stretch{x.Sites[run[0]].Ref, x.Sites[run[len(run)-1]].Ref, len(run), mean})
	}
	return out
}

// tokens returns the matrix row of each polymer's first residue, or false where the matrix does not fit.
func (x *Index) tokens(n int) ([]int, bool) {
	var residues, tokens []int // rows of first residues, without and with ligands
	nr, nt, last := 0, 0, -1
	for i := range x.Sites {
		s := &x.Sites[i]
		if !s.Kind.Polymer() {
			nt += s.Hi - s.Lo
			continue
		}
		if s.Chain != last {
			residues, tokens, last = append(residues, nr), append(tokens, nt), s.Chain
		}
		nr, nt = nr+1, nt+1
	}
	switch n {
	case nr:
		return residues, true
	case nt:
		return tokens, true
	}
	return nil, false
}

// readPAE summarises the predicted aligned errors by chain and by pair of chains, and finds domains in them.
func (f *Facts) readPAE(m structure.Matrix) {
	x := f.index
	first, ok := x.tokens(m.N)
	if !ok || len(m.V) != m.N*m.N {
		f.Notes = append(f.Notes, "The predicted aligned errors given do not match the residues of the structure "+
			"and were left out.")
		return
	}
	p := &PAE{}
	sum := 0.0
	for _, v := range m.V {
		sum += float64(v)
	}
	p.Mean = Round(sum/float64(len(m.V)), 2)
	for i, a := range x.Polymers {
		for j, b := range x.Polymers[i:] {
			j += i
			if len(p.Within)+len(p.Between) > maxList {
				break
			}
			e := blockError(m, first[i], a.Hi-a.Lo, first[j], b.Hi-b.Lo)
			e.A, e.B = x.Structure.Chains[a.Chain].ID, x.Structure.Chains[b.Chain].ID
			if i == j {
				p.Within = append(p.Within, e)
			} else {
				p.Between = append(p.Between, e)
			}
		}
		p.Domains = append(p.Domains, x.domains(m, a, first[i])...)
	}
	p.Domains = Head(p.Domains, maxList)
	f.PAE = p
}

// blockError averages the errors between the na rows from a and the nb rows from b, in both directions.
func blockError(m structure.Matrix, a, na, b, nb int) PairError {
	sum, low, n := 0.0, math.Inf(1), 0.0
	for i := a; i < a+na; i++ {
		for j := b; j < b+nb; j++ {
			if i == j {
				continue // the error of a residue to itself says nothing
			}
			u, v := m.At(i, j), m.At(j, i)
			sum, n = sum+u+v, n+2
			low = min(low, u, v)
		}
	}
	if n == 0 {
		return PairError{}
	}
	return PairError{Mean: Round(sum/n, 2), Min: Round(low, 2)}
}

// domains splits a chain where the error across the split is largest, as long as it is at least 10 Å and twice the
// error within the parts, each at least 30 residues long. It does not find domains that consist of several
// stretches. first is the matrix row of the chain's first residue.
func (x *Index) domains(m structure.Matrix, r Polymer, first int) []Domain {
	n := r.Hi - r.Lo
	bin := max(1, (n+799)/800) // prefix sums of at most 800² blocks
	k := n / bin
	if n < 60 || k == 0 {
		return nil
	}
	prefix := make([]float64, (k+1)*(k+1))
	for i := range k {
		for j := range k {
			v := 0.0
			for a := range bin {
				for b := range bin {
					v += m.At(first+i*bin+a, first+j*bin+b)
				}
			}
			prefix[(i+1)*(k+1)+j+1] = v/float64(bin*bin) + prefix[i*(k+1)+j+1] +
				prefix[(i+1)*(k+1)+j] - prefix[i*(k+1)+j]
		}
	}
	mean := func(a, b, c, d int) float64 { // rows a to b, columns c to d
		w := k + 1
		return (prefix[b*w+d] - prefix[a*w+d] - prefix[b*w+c] + prefix[a*w+c]) / float64((b-a)*(d-c))
	}
	least := (30 + bin - 1) / bin
	var out []Domain
	var cut func(a, b int)
	cut = func(a, b int) {
		best, at := 10.0, -1
		for c := a + least; c <= b-least; c++ {
			across := (mean(a, c, c, b) + mean(c, b, a, c)) / 2
			if inside := max(mean(a, c, a, c), mean(c, b, c, b)); across >= best && across >= 2*inside {
				best, at = across, c
			}
		}
		if at < 0 {
			to := b*bin - 1
			if b == k {
				to = n - 1
			}
			out = append(out, Domain{x.Sites[r.Lo+a*bin].Ref, x.Sites[r.Lo+to].Ref, Round(mean(a, b, a, b), 2)})
			return
		}
		cut(a, at)
		cut(at, b)
	}
	cut(0, k)
	if len(out) < 2 {
		return nil
	}
	return out
}
