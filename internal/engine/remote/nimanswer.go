package remote

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/pae"
	"pleat/internal/report"
	"pleat/internal/structure"
)

// nimAnswer is the response to a call. Lists of scores have an entry for each structure. The names are those of the
// container's documentation.
type nimAnswer struct {
	Structures []struct {
		Format    string `json:"format"`
		Structure string `json:"structure"`
	} `json:"structures"`
	Confidence  []*float64             `json:"confidence_scores"` // the order of the samples
	PTM         []*float64             `json:"ptm_scores"`        // 0 to 1
	IPTM        []*float64             `json:"iptm_scores"`       // 0 to 1
	LigandIPTM  []*float64             `json:"ligand_iptm_scores"`
	ProteinIPTM []*float64             `json:"protein_iptm_scores"`
	PLDDT       []*float64             `json:"complex_plddt_scores"` // 0 to 1
	IPLDDT      []*float64             `json:"complex_iplddt_scores"`
	PDE         []*float64             `json:"complex_pde_scores"`  // Å
	IPDE        []*float64             `json:"complex_ipde_scores"` // Å
	PAE         []pae.Matrix           `json:"pae"`                 // Å, by structure
	Affinities  map[string]nimAffinity `json:"affinities"`          // by ligand
}

// nimAffinity has the affinity of a ligand. Each list has one entry.
type nimAffinity struct {
	Value       []*float64 `json:"affinity_pred_value"`
	Probability []*float64 `json:"affinity_probability_binary"` // that it binds, 0 to 1
	PIC50       []*float64 `json:"affinity_pic50"`
}

// sampleValue returns the value of a sample; nil if there is none or it is not finite.
func sampleValue(v []*float64, i int) *float64 {
	if i >= len(v) || v[i] == nil || math.IsNaN(*v[i]) || math.IsInf(*v[i], 0) {
		return nil
	}
	return v[i]
}

// best returns the index of the sample with the highest confidence score; 0 without scores.
func (a *nimAnswer) best() int {
	best := 0
	for i := range a.Structures {
		v, highest := sampleValue(a.Confidence, i), sampleValue(a.Confidence, best)
		if v != nil && (highest == nil || *v > *highest) {
			best = i
		}
	}
	return best
}

// maxNIMSamples is the number of structures that can be requested.
const maxNIMSamples = 25

// prediction reads the best sample in the job's names and order, and writes the others as files. It also returns notes
// for the owner. Values that the answer does not have are absent. An error says how the answer contradicts the request.
func (a *nimAnswer) prediction(w pleat.Work, q *nimQuery) (*report.Prediction, []string, error) {
	if len(a.Structures) == 0 {
		return nil, nil, errors.New("it has no structure")
	}
	if len(a.Structures) > maxNIMSamples {
		return nil, nil,
			fmt.Errorf("it has %d structures; at most %d can be asked for", len(a.Structures), maxNIMSamples)
	}
	best := a.best()
	s, others, err := a.structures(w.Dir, best)
	if err != nil {
		return nil, nil, err
	}
	tokens := 0
	if best < len(a.PAE) && a.PAE[best].N > 0 {
		s.PAE, tokens = &a.PAE[best].Matrix, a.PAE[best].N
	}
	if err := s.CountTokens(tokens, nil); err != nil {
		return nil, nil, err
	}
	mean := report.Probability(sampleValue(a.PLDDT, best))
	notes := readPLDDT(s, mean)
	scores := &report.Scores{
		ChainMap: q.names,
		PTM:      sampleValue(a.PTM, best),
		Affinity: a.affinity(q.affinity),
		Metrics:  a.metrics(best, q.affinity),
	}
	if len(q.names) > 1 { // one chain has no interface
		scores.IPTM = sampleValue(a.IPTM, best)
	}
	p, err := s.Prediction(w.Fold.Sequences, scores, others)
	if err != nil {
		return nil, nil, err
	}
	if mean != nil {
		v := 100 * *mean
		p.MeanPLDDT = &v
	}
	if q.affinity != "" && p.Affinity == nil {
		notes = append(notes, "the endpoint gave no affinity")
	}
	if q.request.WriteFullPAE && s.PAE == nil {
		notes = append(notes, "the endpoint gave no predicted errors (PAE)")
	}
	return p, notes, nil
}

// structures reads every sample (mmCIF), and writes all but the best into the folder of the work.
func (a *nimAnswer) structures(dir string, best int) (*report.Structure, []pleat.File, error) {
	out, others := &report.Structure{}, []pleat.File(nil)
	for i, s := range a.Structures {
		if s.Format != "" && !slices.Contains([]string{"mmcif", "cif"}, strings.ToLower(s.Format)) {
			return nil, nil,
				fmt.Errorf("structure %d has the format %q; mmcif was asked for", i+1, pleat.Clip(s.Format))
		}
		read, err := structure.ReadCIF(strings.NewReader(s.Structure), structure.Limits{})
		if err != nil {
			return nil, nil, fmt.Errorf("structure %d cannot be read: %w", i+1, err)
		}
		if i == best {
			out.Structure = read
			continue
		}
		name := fmt.Sprintf("sample-%d.cif", len(others)+1)
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(s.Structure), 0o600); err != nil {
			return nil, nil, err
		}
		others = append(others, pleat.File{
			Kind:        pleat.ArtifactOther,
			Name:        name,
			Path:        path,
			ContentType: "chemical/x-mmcif",
		})
	}
	return out, others, nil
}

// affinity returns the affinity of a ligand of the request; nil if the answer has none or no ligand is named.
func (a *nimAnswer) affinity(id string) *pleat.Affinity {
	v, ok := a.Affinities[id]
	if id == "" || !ok {
		return nil
	}
	value, probability := sampleValue(v.Value, 0), report.Probability(sampleValue(v.Probability, 0))
	if value == nil || probability == nil {
		return nil
	}
	return &pleat.Affinity{Value: *value, Probability: *probability}
}

// metrics returns the further scores of sample i under the names of the interface, for metrics.json. binder is the
// ligand with an affinity; empty: none.
func (a *nimAnswer) metrics(i int, binder string) map[string]any {
	out := map[string]any{}
	for name, v := range map[string][]*float64{
		"confidence_score": a.Confidence,
		"ligand_iptm":      a.LigandIPTM,
		"protein_iptm":     a.ProteinIPTM,
		"complex_plddt":    a.PLDDT,
		"complex_iplddt":   a.IPLDDT,
		"complex_pde":      a.PDE,
		"complex_ipde":     a.IPDE,
	} {
		if x := sampleValue(v, i); x != nil {
			out[name] = *x
		}
	}
	if x := sampleValue(a.Affinities[binder].PIC50, 0); x != nil {
		out["affinity_pic50"] = *x
	}
	return out
}

// readPLDDT reads the pLDDT of each token from the B-factors, where Boltz writes it. Mean is the mean pLDDT (0 to 1)
// that the answer states; it shows whether the B-factors are pLDDT, and on which scale. Without it their range must
// fit. Otherwise they are dropped, and the notes say so.
func readPLDDT(s *report.Structure, mean *float64) (notes []string) {
	var values []float32
	var b plddtScale
	for i := range s.Chains {
		for j := range s.Chains[i].Residues {
			residue, n := &s.Chains[i].Residues[j], s.Tokens(i, j)
			weight := 1.0
			if n == 1 && !s.Chains[i].Kind.Polymer() { // Boltz counts the atoms of a ligand as tokens
				weight = float64(report.HeavyAtoms(residue))
			}
			for _, v := range tokenBFactors(residue, n) {
				values = append(values, float32(v))
				b.add(v, weight)
			}
		}
	}
	if b.max == 0 && b.min == 0 {
		return nil
	}
	factor := b.factor(mean)
	if factor == 0 {
		return []string{"the structure's B-factors are not pLDDT and were dropped"}
	}
	for i := range values {
		values[i] *= factor
	}
	s.PLDDT = values
	return nil
}

// plddtScale summarizes the B-factors of all tokens: what is needed to tell pLDDT from 0 to 100, fractions and neither.
type plddtScale struct {
	total, weight, min, max float64
}

// add counts the value of a token. weight is the number of tokens that it stands for, at least 1.
func (b *plddtScale) add(v, weight float64) {
	b.total += v * weight
	b.weight += weight
	b.min, b.max = min(b.min, v), max(b.max, v)
}

// factor returns what the values must be multiplied with to be pLDDT from 0 to 100: 1, or 100 for fractions; 0: they
// are not pLDDT.
func (b *plddtScale) factor(mean *float64) float32 {
	chainMean := b.total / b.weight
	switch {
	case b.min < 0 || b.max > 100.01:
		return 0
	case mean == nil && b.max <= 1:
		return 0
	case mean == nil || math.Abs(chainMean-100**mean) <= 5:
		return 1
	case b.max <= 1 && math.Abs(chainMean-*mean) <= 0.05:
		return 100
	}
	return 0
}

// tokenBFactors returns the B-factors of a residue's n tokens: those of its heavy atoms if they are as many, else the
// mean for each token.
func tokenBFactors(r *structure.Residue, n int) []float64 {
	var atoms []float64
	total := 0.0
	for i := range r.Atoms {
		if r.Atoms[i].Heavy() {
			atoms = append(atoms, r.Atoms[i].B)
			total += r.Atoms[i].B
		}
	}
	if len(atoms) == n && n > 1 {
		return atoms
	}
	out := make([]float64, n)
	for i := range out {
		if len(atoms) > 0 {
			out[i] = total / float64(len(atoms))
		}
	}
	return out
}
