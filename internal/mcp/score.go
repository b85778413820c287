package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pleat"
	"pleat/api"
)

// scores are the scores of a structure. Null: the model gives none.
type scores struct {
	Structure     int       `json:"structure" doc:"Number of the structure, from 1."`
	Chains        []string  `json:"chains"`
	PLDDT         *float64  `json:"meanPLDDT" doc:"0 to 100."`
	PredictedRMSD *float64  `json:"predictedRmsd" doc:"Mean over the residues, in angstrom: lower is better. Some models give it in place of pLDDT."`
	PTM           *float64  `json:"ptm" doc:"0 to 1."`
	IPTM          *float64  `json:"iptm" doc:"0 to 1, of several chains."`
	MaxPAE        *float64  `json:"maxPAE" doc:"In angstrom."`
	Confidence    string    `json:"confidence" doc:"The meaning of these scores."`
	Pairs         []pair    `json:"pairs" doc:"Interfaces between two chains."`
	MorePairs     int       `json:"morePairs,omitempty" doc:"Interfaces that are left out here."`
	Affinity      *affinity `json:"affinity,omitempty"`
}

// pair are the scores of the interface between two chains.
type pair struct {
	A       string   `json:"a"`
	B       string   `json:"b"`
	IPTM    *float64 `json:"iptm"`
	IPSAE   *float64 `json:"ipsae"`
	PDockQ2 *float64 `json:"pdockq2"`
	LIS     *float64 `json:"lis"`
}

// affinity is how strongly a ligand is predicted to bind.
type affinity struct {
	Value       float64 `json:"log10IC50" doc:"IC50 in micromolar."`
	Probability float64 `json:"probability" doc:"That it binds at all, 0 to 1."`
}

// How many structures, and interfaces of each, a result has.
const (
	maxStructures = 25
	maxPairs      = 30
)

// scoresOf converts the scores of the structure with an index.
func scoresOf(p *api.ScoredChains, index int) scores {
	out := scores{
		Structure:     index + 1,
		Chains:        names(p.Chains, 100),
		PLDDT:         p.MeanPLLDT,
		PredictedRMSD: p.PredictedRMSD,
		PTM:           p.PTM,
		IPTM:          p.IPTM,
		MaxPAE:        p.MaxPAE,
		Confidence:    visible(p.Confidence, maxText),
		Pairs:         []pair{},
		MorePairs:     max(0, len(p.Pairs)-maxPairs),
	}
	for _, q := range p.Pairs[:min(len(p.Pairs), maxPairs)] {
		out.Pairs = append(out.Pairs, pair{name(q.A), name(q.B), q.IPTM, q.IPSAE, q.PDockQ2, q.LIS})
	}
	if a := p.Affinity; a != nil {
		out.Affinity = &affinity{a.Value, a.Probability}
	}
	return out
}

// jobIn names a job.
type jobIn struct {
	Job string `json:"jobId" doc:"The id of a completed job." format:"uuid"`
}

// getScoresOut is the result of get_scores.
type getScoresOut struct {
	Job    string   `json:"jobId"`
	Status string   `json:"status"`
	Model  string   `json:"model"`
	Scores []scores `json:"structures" doc:"Empty until the job is COMPLETED."`
	More   int      `json:"moreStructures,omitempty" doc:"Structures that are left out here."`
}

var getScores = does(tool{
	name:  "get_scores",
	title: "Read scores",
	about: "Reads the confidence scores of every structure of a job, and of the interfaces between its chains.",

	repeatable: true,
	world:      true,
}, func(ctx context.Context, s session, in *jobIn) (out getScoresOut, _ []sdk.Content, err error) {
	if err := checkID("jobId", aJob, in.Job); err != nil {
		return out, nil, err
	}
	v, err := s.Job(ctx, in.Job)
	if err != nil {
		return out, nil, err
	}
	out = getScoresOut{Job: v.Job.ID, Status: v.Run.Status, Model: name(v.Run.ModelName), Scores: []scores{},
		More: max(0, len(v.Predictions)-maxStructures)}
	for i := range v.Predictions[:min(len(v.Predictions), maxStructures)] {
		out.Scores = append(out.Scores, scoresOf(&v.Predictions[i], i))
	}
	return out, nil, nil
})

// checkID refuses an id that names no work of a kind.
func checkID(field, kind, id string) error {
	if pleat.IsUUID(id) {
		return nil
	}
	return pleat.InvalidField(field, " is %q; it must be the UUID of a %s", pleat.Clip(id), kind)
}

// getResiduesIn are the arguments of get_residues.
type getResiduesIn struct {
	jobIn
	Structure *int     `json:"structure,omitempty" doc:"Number of the structure; absent: 1." minimum:"1"`
	Chain     string   `json:"chain,omitempty" doc:"Absent: the first." maxLength:"4"`
	From      *int     `json:"from,omitempty" doc:"First residue, counted from 1; absent: 1." minimum:"1"`
	Limit     *int     `json:"limit,omitempty" doc:"How many residues; absent: 100." minimum:"1" maximum:"200"`
	Below     *float64 `json:"below,omitempty" doc:"Only residues whose pLDDT is below this."`
	Above     *float64 `json:"above,omitempty" doc:"Only residues whose predicted RMSD in angstrom is above this."`
}

// getResiduesOut is the result of get_residues.
type getResiduesOut struct {
	Job        string    `json:"jobId"`
	Structure  int       `json:"structure"`
	Chain      string    `json:"chain"`
	Chains     []string  `json:"chains" doc:"The chains with values."`
	Length     int       `json:"length" doc:"Residues of the chain with a value."`
	Residues   []residue `json:"residues"`
	Next       *int      `json:"nextFrom" doc:"Where to go on; null: there is no more."`
	Confidence string    `json:"confidence" doc:"The meaning of the values."`
}

// residue is what is known of a residue.
type residue struct {
	Number        int      `json:"n"`
	PLDDT         *float64 `json:"plddt,omitempty"`
	PredictedRMSD *float64 `json:"predictedRmsd,omitempty" doc:"In angstrom, lower being better: what some models give in place of pLDDT."`
	Secondary     string   `json:"ss,omitempty" doc:"Secondary structure by DSSP, such as H (helix), E (strand) or - (none)."`
}

// metricsFile is the part of metrics.json that get_residues reads, and maxMetrics its size in bytes.
type metricsFile struct {
	Confidence  string `json:"confidence"`
	Predictions []struct {
		PLDDT     map[string][]float64 `json:"plddt"`
		RMSD      map[string][]float64 `json:"predicted_rmsd"`
		Secondary map[string]string    `json:"secondary_structure"`
	} `json:"predictions"`
}

const maxMetrics = 16 << 20

var getResidues = does(tool{
	name:  "get_residues",
	title: "Read residues",
	about: "Reads the confidence (pLDDT, or the predicted RMSD of a model that gives that instead) and the secondary " +
		"structure of the residues of a chain, 200 at most.",

	repeatable: true,
	world:      true,
}, func(ctx context.Context, s session, in *getResiduesIn) (out getResiduesOut, _ []sdk.Content, err error) {
	if err := checkID("jobId", aJob, in.Job); err != nil {
		return out, nil, err
	}
	limit, err := within("limit", in.Limit, 100, 200)
	if err != nil {
		return out, nil, err
	}
	m, err := s.metrics(ctx, in.Job)
	if err != nil {
		return out, nil, err
	}
	out.Job, out.Confidence = in.Job, visible(m.Confidence, maxText)
	if out.Structure, err = within("structure", in.Structure, 1, len(m.Predictions)); err != nil {
		return out, nil, err
	}
	p := m.Predictions[out.Structure-1]
	byChain, err := valuesOf(in, p.PLDDT, p.RMSD)
	if err != nil {
		return out, nil, err
	}
	for chain := range byChain {
		out.Chains = append(out.Chains, name(chain))
	}
	slices.Sort(out.Chains)
	if len(out.Chains) == 0 {
		return out, nil, pleat.Errorf(pleat.CodeNotFound, "the model of this job gives no values by residue")
	}
	out.Chain = cmp.Or(in.Chain, out.Chains[0])
	values, ok := byChain[out.Chain]
	if !ok {
		return out, nil, pleat.InvalidField("chain", " is %q, which has no values; those are %q", pleat.Clip(in.Chain),
			out.Chains[:min(len(out.Chains), maxEntries)])
	}
	out.Length = len(values)
	from, err := within("from", in.From, 1, max(1, len(values)))
	if err != nil {
		return out, nil, err
	}
	out.add(values, p.Secondary[out.Chain], from, limit, in)
	for i := range out.Residues {
		if r := &out.Residues[i]; len(p.PLDDT) == 0 {
			r.PLDDT, r.PredictedRMSD = nil, r.PLDDT
		}
	}
	return out, nil, nil
})

// valuesOf returns the pLDDT by chain or, where there is none, the predicted RMSD. It refuses a bound of the other.
func valuesOf(in *getResiduesIn, plddt, rmsd map[string][]float64) (map[string][]float64, error) {
	switch {
	case len(plddt) > 0 && in.Above != nil:
		return nil, pleat.InvalidField("above", " is a bound of the predicted RMSD, and the model of this job gives "+
			"pLDDT")
	case len(plddt) == 0 && len(rmsd) > 0 && in.Below != nil:
		return nil, pleat.InvalidField("below", " is a bound of pLDDT, and the model of this job gives a predicted "+
			"RMSD")
	case len(plddt) > 0:
		return plddt, nil
	}
	return rmsd, nil
}

// add adds residues from one on, at most limit, and of these only those within the bounds, with their values as pLDDT.
func (out *getResiduesOut) add(values []float64, secondary string, from, limit int, in *getResiduesIn) {
	out.Residues = []residue{}
	for i := from - 1; i < len(values); i++ {
		if in.Below != nil && values[i] >= *in.Below || in.Above != nil && values[i] <= *in.Above {
			continue
		}
		if len(out.Residues) == limit {
			next := i + 1
			out.Next = &next
			return
		}
		r := residue{Number: i + 1, PLDDT: &values[i]}
		if i < len(secondary) {
			r.Secondary = name(secondary[i : i+1])
		}
		out.Residues = append(out.Residues, r)
	}
}

// metrics reads metrics.json of a job.
func (s session) metrics(ctx context.Context, job string) (m metricsFile, err error) {
	b, f, err := s.part(ctx, handle{aJob, job}, "metrics.json", 0, maxMetrics)
	if err != nil {
		return m, err
	}
	if f.bytes > maxMetrics {
		return m, pleat.Errorf(pleat.CodeTooLarge, "the values of this job have %d bytes; at most %d can be read here",
			f.bytes, maxMetrics)
	}
	err = json.Unmarshal(b, &m)
	return m, err
}
