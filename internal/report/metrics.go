package report

import (
	"bytes"
	"context"
	"slices"

	"pleat"
	"pleat/internal/facts"
	"pleat/internal/structure"
)

// metricsFile is metrics.json of a fold. Reissue reads it back, so that every field has a name. Its values are those of
// the result, with pLDDT and predicted RMSD by residue in addition.
type metricsFile struct {
	Model       string              `json:"model"`
	Engine      string              `json:"engine"`
	Confidence  string              `json:"confidence"`
	Notice      string              `json:"notice,omitempty"`
	Predictions []predictionMetrics `json:"predictions"`
	Timings     map[string]float64  `json:"timings_seconds"`
	Notes       []string            `json:"notes,omitempty"`
}

// predictionMetrics are the metrics of one structure: its scores, and what can be measured of its coordinates.
type predictionMetrics struct {
	pleat.Prediction
	PLDDT              map[string][]float64 `json:"plddt"`                    // by chain
	ResidueRMSD        map[string][]float64 `json:"predicted_rmsd,omitempty"` // Å, by chain
	SecondaryStructure map[string]string    `json:"secondary_structure"`
	RadiusOfGyration   float64              `json:"radius_of_gyration_angstrom"`
	Extra              map[string]any       `json:"engine_metrics,omitempty"`
}

// metrics returns the content of metrics.json: pLDDT, predicted RMSD and secondary structure (DSSP, ? where the main
// chain is not complete) by chain, the radius of gyration in Å of alpha carbons and C1', and the engine's own values.
// The summaries of all predictions must be in the result.
func (r *Report) metrics() metricsFile {
	out := metricsFile{
		Model:      r.Work.Model.Name,
		Engine:     r.Engine,
		Confidence: r.Work.Model.Confidence,
		Notice:     r.Work.Model.Notice,
		Timings:    r.Timings,
		Notes:      r.result.Notes,
	}
	for i := range r.Predictions {
		p := &r.Predictions[i]
		m := predictionMetrics{
			Prediction:         r.result.Predictions[i],
			PLDDT:              map[string][]float64{},
			SecondaryStructure: map[string]string{},
			Extra:              p.Metrics,
		}
		secondary, _ := p.Structure.SecondaryStructure(context.Background()) // fails only with its context
		var centres []structure.Vec
		for k, c := range p.Structure.Chains {
			if p.PLDDT != nil {
				m.PLDDT[c.ID] = roundedAll(p.PLDDT[k], 2)
			}
			if p.PredictedRMSD != nil {
				if m.ResidueRMSD == nil {
					m.ResidueRMSD = map[string][]float64{}
				}
				m.ResidueRMSD[c.ID] = roundedAll(p.PredictedRMSD[k], 2)
			}
			if k < len(secondary) && len(bytes.Trim(secondary[k], "\x00")) > 0 { // a chain without any has none
				m.SecondaryStructure[c.ID] = string(bytes.ReplaceAll(secondary[k], []byte{0}, []byte{'?'}))
			}
			centres = append(centres, c.Centres()...)
		}
		m.RadiusOfGyration = facts.Round(structure.RadiusOfGyration(centres), 2)
		out.Predictions = append(out.Predictions, m)
	}
	return out
}

// summary returns the scores of a prediction as the run keeps them: pLDDT (0 to 100), predicted RMSD and PAE (Å) with
// two decimals,
// scores from 0 to 1 with four.
func (r *Report) summary(p *Prediction) pleat.Prediction {
	out := pleat.Prediction{
		Sequence:   p.Sequence.ID,
		Chains:     p.Chains,
		PTM:        rounded(p.PTM, 4),
		IPTM:       rounded(p.IPTM, 4),
		Affinity:   p.Affinity,
		Confidence: r.Work.Model.Confidence,
		Pairs:      p.Pairs,
		MeanPLDDT:  rounded(p.MeanPLDDT, 2),
	}
	if p.MeanPLDDT == nil {
		out.MeanPLDDT = meanOf(p.PLDDT)
	}
	out.PredictedRMSD = meanOf(p.PredictedRMSD)
	out.Templates = r.templateScores(p)
	if p.PAE != nil {
		most := 0.0
		for _, v := range p.PAE.V {
			most = max(most, float64(v))
		}
		out.MaxPAE = new(facts.Round(most, 2))
	}
	return out
}

// minSuperposed is how many points a superposition needs to mean anything.
const minSuperposed = 3

// templateScores compares a structure with the templates of its chains: RMSD in Å, with two decimals, of the CA of the
// residues that the template has.
func (r *Report) templateScores(p *Prediction) []pleat.TemplateScore {
	var out []pleat.TemplateScore
	for i := range r.Work.Fold.Templates {
		t := &r.Work.Fold.Templates[i]
		if !slices.Contains(p.Chains, t.Chain) {
			continue
		}
		centres := map[int]structure.Vec{}
		if c := p.Structure.Chain(t.Chain); c != nil {
			for k := range c.Residues {
				if at, ok := c.Residues[k].Centre(); ok {
					centres[c.Residues[k].Seq] = at
				}
			}
		}
		var model, template []structure.Vec
		for _, residue := range t.Residues {
			if at, ok := centres[residue.Position]; ok {
				model, template = append(model, at), append(template, residue.CA)
			}
		}
		score := pleat.TemplateScore{Template: t.Template, Chain: t.Chain, Residues: len(model)}
		if len(model) >= minSuperposed {
			score.RMSD = new(facts.Round(structure.RMSD(model, template), 2))
		}
		out = append(out, score)
	}
	return out
}

// meanOf returns the mean of values over all residues of all chains, with two decimals, or nil if there are none.
func meanOf(values [][]float64) *float64 {
	total, n := 0.0, 0
	for _, chain := range values {
		for _, v := range chain {
			total += v
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return new(facts.Round(total/float64(n), 2))
}

// rounded rounds a value to a number of decimals; nil stays nil. Further digits of a score mean nothing and make files
// differ.
func rounded(v *float64, digits int) *float64 {
	if v == nil {
		return nil
	}
	return new(facts.Round(*v, digits))
}

// roundedAll rounds every value of a list.
func roundedAll(v []float64, digits int) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = facts.Round(x, digits)
	}
	return out
}
