package engine

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/structure"
)

// What the Boltz-2 container's interface reads and writes; the names are its documentation's.

type nimRequest struct {
	Polymers           []nimPolymer    `json:"polymers"`
	Ligands            []nimLigand     `json:"ligands,omitempty"`
	Constraints        []nimConstraint `json:"constraints,omitempty"`
	RecyclingSteps     any             `json:"recycling_steps"`
	SamplingSteps      any             `json:"sampling_steps"`
	DiffusionSamples   any             `json:"diffusion_samples"`
	StepScale          any             `json:"step_scale"`
	AffinitySteps      any             `json:"sampling_steps_affinity,omitempty"`
	AffinitySamples    any             `json:"diffusion_samples_affinity,omitempty"`
	AffinityCorrection any             `json:"affinity_mw_correction,omitempty"`
	OutputFormat       string          `json:"output_format"`
	ConcatenateMSAs    bool            `json:"concatenate_msas"`
	WithoutPotentials  bool            `json:"without_potentials"`
	WriteFullPAE       bool            `json:"write_full_pae"`
}

type nimPolymer struct {
	ID            string                             `json:"id"`
	Type          string                             `json:"molecule_type"`
	Sequence      string                             `json:"sequence"`
	Cyclic        bool                               `json:"cyclic"`
	Modifications []nimModification                  `json:"modifications,omitempty"`
	MSA           map[string]map[string]nimAlignment `json:"msa,omitempty"` // by database, then format
}

type nimAlignment struct {
	Alignment string `json:"alignment"`
	Format    string `json:"format"`
	Rank      int    `json:"rank"`
}

type nimModification struct {
	CCD      string `json:"ccd"`
	Position int    `json:"position"`
}

type nimLigand struct {
	ID       string `json:"id"`
	SMILES   string `json:"smiles,omitempty"`
	CCD      string `json:"ccd,omitempty"`
	Affinity bool   `json:"predict_affinity,omitempty"`
}

// nimConstraint is a pocket (Binder and Contacts) or a bond (Atoms, two of them).
type nimConstraint struct {
	Type     string    `json:"constraint_type"`
	Binder   string    `json:"binder,omitempty"`
	Contacts []nimAtom `json:"contacts,omitempty"`
	Atoms    []nimAtom `json:"atoms,omitempty"`
}

type nimAtom struct {
	ID      string `json:"id"`
	Residue int    `json:"residue_index"`
	Atom    string `json:"atom_name,omitempty"`
}

// nimQuery is a request, and what is needed to read the answer.
type nimQuery struct {
	request  nimRequest
	names    map[string]string // chain in the request → chain of the job
	affinity string            // chain in the request whose affinity is asked for; empty: none
	notes    []string
}

const maxNIMAlignments = 128 << 20 // bytes of all together

// maxNIMErrors bounds the predicted errors that are asked for: they come as text, about 20 bytes each.
const maxNIMErrors = 8_000_000

// newNIMQuery turns a job into a request, or says why the interface cannot take it. Chains get names of letters only, since
// bonds take no others.
func newNIMQuery(w pleat.Work) (*nimQuery, *pleat.Failure) {
	q := &nimQuery{names: map[string]string{}}
	q.parameters(w)
	alignments, failure := q.alignments(w)
	if failure != nil {
		return nil, failure
	}
	r, ids := &q.request, map[string]string{}
	for i := range w.Fold.Sequences {
		s := &w.Fold.Sequences[i]
		for _, chain := range s.Chains {
			id := letterName(len(ids))
			ids[chain], q.names[id] = id, chain
			if !s.Polymer() {
				l := nimLigand{ID: id, SMILES: s.Text, Affinity: s.PropertyType == "affinity"}
				if s.CCD {
					l.SMILES, l.CCD = "", s.Text
				}
				if l.Affinity && q.affinity != "" {
					return nil, pleat.Failed(pleat.FailUnsupported, "the Boltz-2 endpoint predicts the affinity of one ligand in a single copy")
				} else if l.Affinity {
					q.affinity = id
				}
				r.Ligands = append(r.Ligands, l)
				continue
			}
			p := nimPolymer{ID: id, Type: string(s.Kind), Sequence: s.Text, Cyclic: s.Cyclic, MSA: alignments[i]}
			if len(s.Text) > nimResidues {
				return nil, pleat.Failed(pleat.FailTooLarge, fmt.Sprintf("chain %s has %d residues; the Boltz-2 endpoint folds at most %d in a chain", chain, len(s.Text), nimResidues))
			}
			for _, m := range s.Modifications {
				p.Modifications = append(p.Modifications, nimModification{m.CCD, m.Residue})
			}
			r.Polymers = append(r.Polymers, p)
		}
	}
	switch {
	case len(r.Polymers) == 0:
		return nil, pleat.Failed(pleat.FailUnsupported, "the Boltz-2 endpoint needs at least one protein, RNA or DNA chain")
	case len(r.Polymers) > nimPolymers:
		return nil, pleat.Failed(pleat.FailTooLarge, fmt.Sprintf("the job has %d chains of residues; the Boltz-2 endpoint takes at most %d", len(r.Polymers), nimPolymers))
	case len(r.Ligands) > nimLigands:
		return nil, pleat.Failed(pleat.FailTooLarge, fmt.Sprintf("the job has %d ligands; the Boltz-2 endpoint takes at most %d", len(r.Ligands), nimLigands))
	}
	return q, q.constrain(&w.Fold.Constraints, ids)
}

// alignments reads the work's, by the index of their sequence. The interface pairs rows by a format of its own, so rows that belong
// together across chains are sent as those of each chain.
func (q *nimQuery) alignments(w pleat.Work) (map[int]map[string]map[string]nimAlignment, *pleat.Failure) {
	out := map[int]map[string]map[string]nimAlignment{}
	left, paired := int64(maxNIMAlignments), false
	for _, a := range w.Fold.Alignments {
		paired = paired || a.Paired != ""
		if a.File == "" {
			continue
		}
		in, err := os.Open(filepath.Join(w.Dir, a.File))
		if err != nil {
			return nil, pleat.Failed(pleat.FailStorage, "the alignment cannot be read: "+clean(err))
		}
		raw, err := io.ReadAll(io.LimitReader(in, left+1))
		if err = errors.Join(err, in.Close()); err != nil {
			return nil, pleat.Failed(pleat.FailStorage, "the alignment cannot be read: "+clean(err))
		}
		if left -= int64(len(raw)); left < 0 {
			return nil, pleat.Failed(pleat.FailTooLarge, fmt.Sprintf("the alignments have more than %d MiB; the Boltz-2 endpoint is not sent more", maxNIMAlignments>>20))
		}
		out[a.Sequence] = map[string]map[string]nimAlignment{"pleat": {"a3m": {Alignment: string(raw), Format: "a3m"}}}
	}
	if paired {
		q.notes = append(q.notes, "rows that are paired across chains were not sent to the endpoint; each chain has its own alignment")
	}
	return out, nil
}

func (q *nimQuery) parameters(w pleat.Work) {
	v := w.Fold.Params.Effective(w.Model)
	r := &q.request
	r.RecyclingSteps, r.SamplingSteps, r.DiffusionSamples, r.StepScale = v["recyclingSteps"], v["samplingSteps"], v["diffusionSample"], v["stepScale"]
	tokens, asks := 0, false
	for i := range w.Fold.Sequences {
		s := &w.Fold.Sequences[i]
		tokens += s.Tokens() * len(s.Chains)
		asks = asks || s.PropertyType == "affinity"
	}
	if asks {
		r.AffinitySteps, r.AffinitySamples, r.AffinityCorrection = v["samplingStepsAffinity"], v["diffusionSamplesAffinity"], v["affinityMwCorrection"]
	}
	r.OutputFormat = "mmcif"
	samples := 1.0
	switch n := r.DiffusionSamples.(type) {
	case int64:
		samples = float64(n)
	case float64: // as the store keeps it
		samples = n
	}
	if r.WriteFullPAE = samples*float64(tokens)*float64(tokens) <= maxNIMErrors; !r.WriteFullPAE {
		q.notes = append(q.notes, fmt.Sprintf("the predicted errors (PAE) were not asked for: %.0f structures of about %d tokens would be too long an answer", samples, tokens))
	}
}

func (q *nimQuery) constrain(c *pleat.Constraints, ids map[string]string) *pleat.Failure {
	if len(c.Contact) > 0 {
		return pleat.Failed(pleat.FailUnsupported, "the Boltz-2 endpoint takes pocket and bond constraints, and no contacts")
	}
	for _, p := range c.Pocket {
		n := nimConstraint{Type: "pocket", Binder: ids[p.Binder.Chain]}
		for _, r := range p.Contacts {
			n.Contacts = append(n.Contacts, nimAtom{ID: ids[r.Chain], Residue: r.Residue})
		}
		q.request.Constraints = append(q.request.Constraints, n)
	}
	for _, b := range c.Bond {
		n := nimConstraint{Type: "bond"}
		for _, a := range []pleat.AtomRef{b.Atom1, b.Atom2} {
			n.Atoms = append(n.Atoms, nimAtom{ids[a.Chain], a.Residue, a.Atom})
		}
		q.request.Constraints = append(q.request.Constraints, n)
	}
	return nil
}

// letterName counts A … Z, AA, AB …
func letterName(n int) string {
	name := string(rune('A' + n%26))
	if n >= 26 {
		name = letterName(n/26-1) + name
	}
	return name
}

type nimAnswer struct {
	Structures []struct {
		Format    string `json:"format"`
		Structure string `json:"structure"`
	} `json:"structures"`
	Confidence  []*float64             `json:"confidence_scores"`
	PTM         []*float64             `json:"ptm_scores"`
	IPTM        []*float64             `json:"iptm_scores"`
	LigandIPTM  []*float64             `json:"ligand_iptm_scores"`
	ProteinIPTM []*float64             `json:"protein_iptm_scores"`
	PLDDT       []*float64             `json:"complex_plddt_scores"` // 0 to 1
	IPLDDT      []*float64             `json:"complex_iplddt_scores"`
	PDE         []*float64             `json:"complex_pde_scores"`
	IPDE        []*float64             `json:"complex_ipde_scores"`
	PAE         [][][]float32          `json:"pae"`
	Affinities  map[string]nimAffinity `json:"affinities"`
}

type nimAffinity struct {
	Value       []*float64 `json:"affinity_pred_value"`
	Probability []*float64 `json:"affinity_probability_binary"`
	PIC50       []*float64 `json:"affinity_pic50"`
}

// at is the value of a sample; nil where there is none or it is no number.
func at(v []*float64, i int) *float64 {
	if i >= len(v) || v[i] == nil || math.IsNaN(*v[i]) || math.IsInf(*v[i], 0) {
		return nil
	}
	return v[i]
}

// best is the sample with the highest confidence score, the first where there are none.
func (a *nimAnswer) best() int {
	best := 0
	for i := range a.Structures {
		if v, top := at(a.Confidence, i), at(a.Confidence, best); v != nil && (top == nil || *v > *top) {
			best = i
		}
	}
	return best
}

// model reads the best sample, in the job's names and order, and keeps the others as files. What the answer lacks is absent.
func (a *nimAnswer) model(w pleat.Work, q *nimQuery) (*model, []string, error) {
	if len(a.Structures) == 0 {
		return nil, nil, errors.New("it has no structure")
	}
	const most = 25
	if len(a.Structures) > most {
		return nil, nil, fmt.Errorf("it has %d structures; at most %d can be asked for", len(a.Structures), most)
	}
	best := a.best()
	f, others, err := a.structures(w.Dir, best)
	if err != nil {
		return nil, nil, err
	}
	if best < len(a.PAE) && len(a.PAE[best]) > 0 {
		pae, err := square(a.PAE[best])
		if err != nil {
			return nil, nil, err
		}
		f.pae = &pae
	}
	tokens := 0
	if f.pae != nil {
		tokens = f.pae.N
	}
	if f.counts, err = f.count(tokens, nil); err != nil {
		return nil, nil, err
	}
	overall := unit(at(a.PLDDT, best))
	notes := f.readPLDDT(overall)
	r := &wireResult{ChainMap: q.names, Metrics: a.metrics(best, q.affinity), Scores: &wireScores{PTM: at(a.PTM, best), Affinity: a.affinity(q.affinity)}}
	if len(q.names) > 1 { // of one chain there is no interface
		r.Scores.IPTM = at(a.IPTM, best)
	}
	m, err := f.model(r, w.Fold.Sequences, others)
	if err != nil {
		return nil, nil, err
	}
	if overall != nil {
		v := 100 * *overall
		m.meanPLDDT = &v
	}
	if q.affinity != "" && m.affinity == nil {
		notes = append(notes, "the endpoint gave no affinity")
	}
	if q.request.WriteFullPAE && f.pae == nil {
		notes = append(notes, "the endpoint gave no predicted errors (PAE)")
	}
	return m, notes, nil
}

// structures reads every sample, and writes those that are not the best into the work's folder.
func (a *nimAnswer) structures(dir string, best int) (*folded, []pleat.File, error) {
	f, others := &folded{}, []pleat.File(nil)
	for i, s := range a.Structures {
		if s.Format != "" && !slices.Contains([]string{"mmcif", "cif"}, strings.ToLower(s.Format)) {
			return nil, nil, fmt.Errorf("structure %d has the format %q; mmcif was asked for", i+1, pleat.Clip(s.Format))
		}
		read, err := structure.ReadCIF(strings.NewReader(s.Structure), structure.Limits{})
		if err != nil {
			return nil, nil, fmt.Errorf("structure %d cannot be read: %w", i+1, err)
		}
		if i == best {
			f.Structure = read
			continue
		}
		name := fmt.Sprintf("sample-%d.cif", len(others)+1)
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(s.Structure), 0o600); err != nil {
			return nil, nil, err
		}
		others = append(others, pleat.File{Kind: pleat.ArtifactOther, Name: name, Path: path, ContentType: "chemical/x-mmcif"})
	}
	return f, others, nil
}

func (a *nimAnswer) affinity(id string) *pleat.Affinity {
	v, ok := a.Affinities[id]
	if id == "" || !ok {
		return nil
	}
	value, probability := at(v.Value, 0), unit(at(v.Probability, 0))
	if value == nil || probability == nil {
		return nil
	}
	return &pleat.Affinity{Value: *value, Probability: *probability}
}

// metrics are the further scores of a sample that the answer has.
func (a *nimAnswer) metrics(i int, binder string) map[string]any {
	out := map[string]any{}
	for name, v := range map[string][]*float64{"confidence_score": a.Confidence, "ligand_iptm": a.LigandIPTM, "protein_iptm": a.ProteinIPTM, "complex_plddt": a.PLDDT,
		"complex_iplddt": a.IPLDDT, "complex_pde": a.PDE, "complex_ipde": a.IPDE} {
		if x := at(v, i); x != nil {
			out[name] = *x
		}
	}
	if x := at(a.Affinities[binder].PIC50, 0); x != nil {
		out["affinity_pic50"] = *x
	}
	return out
}

// readPLDDT takes the confidence of each token from the B-factors, where Boltz writes it. The answer's own mean says whether they are
// that, and on which scale; without one they must at least look it.
func (f *folded) readPLDDT(mean *float64) (notes []string) {
	var values []float32
	total, tokens, most, least := 0.0, 0.0, 0.0, 0.0
	for i := range f.Chains {
		for j := range f.Chains[i].Residues {
			weight := 1.0 // tokens that Boltz itself counts, where the answer does not tell
			if n := f.counts[i][j]; n == 1 && !f.Chains[i].Kind.Polymer() {
				weight = float64(heavy(&f.Chains[i].Residues[j]))
			}
			for _, v := range tokensB(&f.Chains[i].Residues[j], f.counts[i][j]) {
				values = append(values, float32(v))
				total, tokens = total+v*weight, tokens+weight
				most, least = max(most, v), min(least, v)
			}
		}
	}
	if most == 0 && least == 0 {
		return nil
	}
	got, scale := total/tokens, 1.0
	switch {
	case least < 0:
		scale = 0
	case most > 100.01:
		scale = 0
	case mean == nil && most <= 1, mean != nil && math.Abs(got-100**mean) > 5:
		if scale = 0; mean != nil && most <= 1 && math.Abs(got-*mean) <= 0.05 {
			scale = 100
		}
	}
	if scale == 0 {
		return []string{"the structure's B-factors are no pLDDT, and were dropped"}
	}
	for i := range values {
		values[i] *= float32(scale)
	}
	f.plddt = values
	return nil
}

// tokensB are the B-factors of a residue's tokens: those of its heavy atoms where they are as many, else their mean for each.
func tokensB(r *structure.Residue, n int) []float64 {
	var each []float64
	total := 0.0
	for i := range r.Atoms {
		if e := r.Atoms[i].Element; e != "H" && e != "D" {
			each = append(each, r.Atoms[i].B)
			total += r.Atoms[i].B
		}
	}
	if len(each) == n && n > 1 {
		return each
	}
	out := make([]float64, n)
	for i := range out {
		if len(each) > 0 {
			out[i] = total / float64(len(each))
		}
	}
	return out
}
