package structure

import (
	"fmt"
	"math"
	"regexp"
	"strings"
)

// Origin says where a structure comes from.
type Origin string

// The origins that files name.
const (
	OriginUnknown Origin = ""
	Experiment    Origin = "experiment"
	Prediction    Origin = "prediction"
)

// theoretical is the method of models in EXPDTA and _exptl.method.
const theoretical = "THEORETICAL MODEL"

// predictionTitle matches the titles that the databases of AlphaFold and ESMFold give to their entries. Titles of
// experiments name these programs too, further behind.
var predictionTitle = regexp.MustCompile(`(?i)^((alphafold|esmfold)\b.*\bprediction\b|prediction for |` +
	`predicted structure|computed structure model)`)

// titleOfPrediction reports whether a title is one that databases of predictions write.
func titleOfPrediction(title string) bool { return predictionTitle.MatchString(title) }

// origin returns what the file says of its origin, the most certain statement first, and the experiment.
func (b *builder) origin() (Origin, string) {
	method := strings.ToUpper(b.method)
	switch {
	case b.metrics, b.statesRMSD: // only a model has values of its own
		return Prediction, ""
	case strings.Contains(method, theoretical):
		return Prediction, ""
	case method != "":
		return Experiment, method
	case b.computed || titleOfPrediction(b.title):
		return Prediction, ""
	}
	return OriginUnknown, ""
}

// Confidence is what is known of a model's own estimate of local accuracy, pLDDT.
type Confidence struct {
	// PLDDT is from 0 to 100, by chain and residue, and NaN where it is not known; nil: none is known.
	PLDDT [][]float64
	// Note is a sentence for the reader: what was assumed of PLDDT, or why none is known. It may be empty.
	Note string
}

// Confidence returns the confidence of the residues: the values that the file lists for them or else, in a prediction,
// its B-factors, as means over the atoms of each residue. A file that names an experiment is no prediction, whatever
// its title says; predicted says that the caller knows that the structure is one and has pLDDT as B-factors.
func (s *Structure) Confidence(predicted bool) Confidence {
	if listed := s.listed(func(r *Residue) *float64 { return r.PLDDT }); listed != nil {
		return s.Scaled(listed)
	}
	switch {
	case s.PredictedRMSD() != nil:
		return Confidence{Note: RMSDInstead}
	case predicted:
	case s.Origin == Experiment:
		return Confidence{Note: fmt.Sprintf("The structure is of an experiment (%s), so that its B-factors are no "+
			"confidence of a model.", s.Method)}
	case s.Origin != Prediction:
		return Confidence{}
	}
	if !predicted && !s.PLDDTInB {
		return Confidence{Note: "The file is of a prediction and does not say that its B-factors are pLDDT; no " +
			"confidence is reported."}
	}
	return s.Scaled(s.byResidue(meanB))
}

// RMSDInstead is the note on a structure whose model states its confidence in another measure than pLDDT.
const RMSDInstead = "The model gives no pLDDT but a predicted RMSD in Å for each residue, of which low values are good."

// PredictedRMSD returns the predicted RMSD in Å, by chain and residue, and NaN where it is not known; nil: the file has
// none.
func (s *Structure) PredictedRMSD() [][]float64 {
	return s.listed(func(r *Residue) *float64 { return r.PredictedRMSD })
}

// listed returns a value that the file has of residues; nil: it has none.
func (s *Structure) listed(value func(*Residue) *float64) [][]float64 {
	known := false
	out := s.byResidue(func(r *Residue) float64 {
		v := value(r)
		if v == nil {
			return math.NaN()
		}
		known = true
		return *v
	})
	if !known {
		return nil
	}
	return out
}

// byResidue returns a value of each residue, by chain.
func (s *Structure) byResidue(value func(*Residue) float64) [][]float64 {
	out := make([][]float64, len(s.Chains))
	for i := range s.Chains {
		for j := range s.Chains[i].Residues {
			out[i] = append(out[i], value(&s.Chains[i].Residues[j]))
		}
	}
	return out
}

// meanB returns the mean B-factor of the atoms of a residue, NaN where there are none.
func meanB(r *Residue) (mean float64) {
	if len(r.Atoms) == 0 {
		return math.NaN()
	}
	for i := range r.Atoms {
		mean += r.Atoms[i].B / float64(len(r.Atoms))
	}
	return mean
}

// Scaled returns values by chain and residue as the confidence of the polymers, those from 0 to 1 as ones from 0 to
// 100, or why they are no pLDDT.
func (s *Structure) Scaled(plddt [][]float64) Confidence {
	low, high, n := math.Inf(1), math.Inf(-1), 0
	for i := range s.Chains {
		if !s.Chains[i].Kind.Polymer() {
			continue
		}
		for _, v := range plddt[i] {
			if !math.IsNaN(v) {
				low, high, n = min(low, v), max(high, v), n+1
			}
		}
	}
	switch {
	case n == 0:
		return Confidence{}
	case low < 0 || high > 100 || high == 0:
		return Confidence{Note: "The structure is called a prediction, but its confidence values are not between 0 " +
			"and 100; none is reported."}
	case high <= 1:
		percent := make([][]float64, len(plddt))
		for i := range plddt {
			for _, v := range plddt[i] {
				percent[i] = append(percent[i], v*100)
			}
		}
		return Confidence{
			PLDDT: percent,
			Note:  "Confidence values from 0 to 1 were read as pLDDT from 0 to 100.",
		}
	}
	return Confidence{PLDDT: plddt}
}
