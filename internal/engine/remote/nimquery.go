package remote

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/words"
)

// nimRequest is the body of a call. The names are those of the container's documentation. Parameters of type any are
// those of the job, already checked against nimParams.
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
	OutputFormat       string          `json:"output_format"`      // mmcif
	ConcatenateMSAs    bool            `json:"concatenate_msas"`   // false: each chain has its own
	WithoutPotentials  bool            `json:"without_potentials"` // false: steering potentials are used
	WriteFullPAE       bool            `json:"write_full_pae"`
}

// nimPolymer is one chain of residues; copies of a chain are separate polymers.
type nimPolymer struct {
	ID            string            `json:"id"`            // chain
	Type          string            `json:"molecule_type"` // protein, rna or dna
	Sequence      string            `json:"sequence"`      // one letter per residue
	Cyclic        bool              `json:"cyclic"`
	Modifications []nimModification `json:"modifications,omitempty"`
	MSA           nimAlignments     `json:"msa,omitempty"`
}

// nimAlignments are the alignments of a chain by database, then format.
type nimAlignments map[string]map[string]nimAlignment

// nimAlignment is one alignment as text.
type nimAlignment struct {
	Alignment string `json:"alignment"`
	Format    string `json:"format"` // a3m
	Rank      int    `json:"rank"`
}

// nimModification is a modified residue.
type nimModification struct {
	CCD      string `json:"ccd"`
	Position int    `json:"position"` // from 1
}

// nimLigand is a ligand, named by its CCD code or SMILES.
type nimLigand struct {
	ID       string `json:"id"`
	SMILES   string `json:"smiles,omitempty"`
	CCD      string `json:"ccd,omitempty"`
	Affinity bool   `json:"predict_affinity,omitempty"`
}

// nimConstraint is a pocket (Binder and Contacts) or a bond (Atoms, two of them). Contact constraints have no form
// here.
type nimConstraint struct {
	Type     string    `json:"constraint_type"`
	Binder   string    `json:"binder,omitempty"`
	Contacts []nimAtom `json:"contacts,omitempty"`
	Atoms    []nimAtom `json:"atoms,omitempty"`
}

// nimAtom is a residue of a chain of the request, or with a name one of its atoms.
type nimAtom struct {
	ID      string `json:"id"`
	Residue int    `json:"residue_index"` // from 1
	Atom    string `json:"atom_name,omitempty"`
}

// nimQuery is a request with what is needed to read the answer: the names of chains, and the ligand whose affinity it
// has.
type nimQuery struct {
	request  nimRequest
	names    map[string]string // chain in the request → chain of the job
	affinity string            // ligand in the request whose affinity is requested; empty: none
	notes    []string
}

// maxNIMAlignments is the largest size in bytes of all alignments of a request; they are sent as JSON text.
const maxNIMAlignments = 128 << 20 // bytes of all alignments

// maxNIMPAE is the number of PAE values up to which they are requested: they arrive as text, about 20 bytes each.
const maxNIMPAE = 8_000_000

// newNIMQuery makes the request of a job, or returns why the interface cannot run it. Chains get names of letters,
// because bonds accept no others; names maps them back.
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
			id := words.LetterName(len(ids))
			ids[chain], q.names[id] = id, chain
			if s.Polymer() {
				failure = q.addPolymer(id, chain, s, alignments[i])
			} else {
				failure = q.addLigand(id, s)
			}
			if failure != nil {
				return nil, failure
			}
		}
	}
	switch {
	case len(r.Polymers) == 0:
		return nil, pleat.Failed(pleat.FailUnsupported,
			"the Boltz-2 endpoint needs at least one protein, RNA or DNA chain")
	case len(r.Polymers) > nimPolymers:
		return nil, pleat.Failed(pleat.FailTooLarge, fmt.Sprintf(
			"the job has %d chains of residues; the Boltz-2 endpoint accepts at most %d", len(r.Polymers), nimPolymers))
	case len(r.Ligands) > nimLigands:
		return nil, pleat.Failed(pleat.FailTooLarge, fmt.Sprintf(
			"the job has %d ligands; the Boltz-2 endpoint accepts at most %d", len(r.Ligands), nimLigands))
	}
	return q, q.constrain(&w.Fold.Constraints, ids)
}

// addPolymer adds one chain of residues. id is its name in the request, chain in the job.
func (q *nimQuery) addPolymer(id, chain string, s *pleat.Sequence, msa nimAlignments) *pleat.Failure {
	if len(s.Text) > nimResidues {
		return pleat.Failed(pleat.FailTooLarge, fmt.Sprintf(
			"chain %s has %d residues; the Boltz-2 endpoint folds at most %d in a chain",
			chain, len(s.Text), nimResidues))
	}
	p := nimPolymer{ID: id, Type: string(s.Kind), Sequence: s.Text, Cyclic: s.Cyclic, MSA: msa}
	for _, m := range s.Modifications {
		p.Modifications = append(p.Modifications, nimModification{m.CCD, m.Residue})
	}
	q.request.Polymers = append(q.request.Polymers, p)
	return nil
}

// addLigand adds one ligand as the chain id of the request, and records it if its affinity is requested.
func (q *nimQuery) addLigand(id string, s *pleat.Sequence) *pleat.Failure {
	l := nimLigand{ID: id, SMILES: s.Text, Affinity: s.PropertyType == "affinity"}
	if s.CCD {
		l.SMILES, l.CCD = "", s.Text
	}
	if l.Affinity {
		if q.affinity != "" {
			return pleat.Failed(pleat.FailUnsupported,
				"the Boltz-2 endpoint predicts the affinity of one ligand in a single copy")
		}
		q.affinity = id
	}
	q.request.Ligands = append(q.request.Ligands, l)
	return nil
}

// alignments reads the alignments (a3m) of the work, by the index of their sequence, at most maxNIMAlignments bytes in
// all. The interface has its own format for paired rows, so paired alignments are not sent; a note says so.
func (q *nimQuery) alignments(w pleat.Work) (map[int]nimAlignments, *pleat.Failure) {
	out := map[int]nimAlignments{}
	left, paired := int64(maxNIMAlignments), false
	for _, a := range w.Fold.Alignments {
		paired = paired || a.Paired != ""
		if a.File == "" {
			continue
		}
		in, err := os.Open(filepath.Join(w.Dir, a.File))
		if err != nil {
			return nil, pleat.Failed(pleat.FailStorage, "the alignment cannot be read: "+engine.PublicMessage(err))
		}
		raw, err := io.ReadAll(io.LimitReader(in, left+1))
		if err = errors.Join(err, in.Close()); err != nil {
			return nil, pleat.Failed(pleat.FailStorage, "the alignment cannot be read: "+engine.PublicMessage(err))
		}
		if left -= int64(len(raw)); left < 0 {
			return nil, pleat.Failed(pleat.FailTooLarge, fmt.Sprintf(
				"the alignments have more than %d MiB; the Boltz-2 endpoint is not sent more", maxNIMAlignments>>20))
		}
		out[a.Sequence] = nimAlignments{"pleat": {"a3m": {Alignment: string(raw), Format: "a3m"}}}
	}
	if paired {
		q.notes = append(q.notes,
			"rows that are paired across chains were not sent to the endpoint; each chain has its own alignment")
	}
	return out, nil
}

// parameters sets the parameters of the request to the effective ones of the job. The PAE is requested only if it is
// not more than maxNIMPAE values for all samples; else a note says so.
func (q *nimQuery) parameters(w pleat.Work) {
	v := w.Fold.Params.Effective(w.Model)
	r := &q.request
	r.RecyclingSteps, r.SamplingSteps = v["recyclingSteps"], v["samplingSteps"]
	r.DiffusionSamples, r.StepScale = v["diffusionSample"], v["stepScale"]
	job := pleat.Job{Sequences: w.Fold.Sequences, Constraints: w.Fold.Constraints}
	tokens, affinity := 0, false
	for i := range w.Fold.Sequences {
		s := &w.Fold.Sequences[i]
		tokens += job.TokensOf(s, w.Model.Limits) * len(s.Chains)
		affinity = affinity || s.PropertyType == "affinity"
	}
	if affinity {
		r.AffinitySteps, r.AffinitySamples = v["samplingStepsAffinity"], v["diffusionSamplesAffinity"]
		r.AffinityCorrection = v["affinityMwCorrection"]
	}
	r.OutputFormat = "mmcif"
	samples := 1.0
	switch n := r.DiffusionSamples.(type) {
	case int64:
		samples = float64(n)
	case float64: // from the store
		samples = n
	}
	if r.WriteFullPAE = samples*float64(tokens)*float64(tokens) <= maxNIMPAE; !r.WriteFullPAE {
		q.notes = append(q.notes, fmt.Sprintf("the predicted errors (PAE) were not asked for: "+
			"%.0f structures of about %d tokens would be too long an answer", samples, tokens))
	}
}

// constrain adds the constraints. ids maps the job's chains to their names in the request.
func (q *nimQuery) constrain(c *pleat.Constraints, ids map[string]string) *pleat.Failure {
	if len(c.Contact) > 0 {
		return pleat.Failed(pleat.FailUnsupported,
			"the Boltz-2 endpoint accepts pocket and bond constraints, and no contacts")
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
