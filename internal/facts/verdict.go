package facts

import (
	"fmt"
	"math"
	"slices"

	"pleat"
	"pleat/internal/words"
)

// Verdict rates a whole prediction in words, as the page does above the structure. docs/analyst.md states the rule;
// web/src/result/verdict.test.json has the cases that both are tested with.
type Verdict struct {
	Tone  string   `json:"tone"` // good, fair, poor, or unknown
	Title string   `json:"title"`
	Lines []string `json:"lines"` // sentences, each of which names the score that it is based on
}

// class is one of AlphaFold's classes of pLDDT.
type class struct {
	above                     float64
	band, tone, title, advice string
}

// classes are those of pLDDT, from the best.
var classes = [...]class{
	{VeryConfident, "very high", "good", "Very confident fold",
		"the main chain and most side chains are usually reliable"},
	{Confident, "confident", "good", "Confident fold", "the main chain is usually reliable, the side chains less so"},
	{50, "low", "fair", "Low confidence", "treat the fold as a suggestion"},
	{math.Inf(-1), "very low", "poor", "Very low confidence",
		"such regions are often disordered, and the shape shown means little"},
}

// The pLDDT above which a residue counts as confident and as very confident.
const Confident, VeryConfident = 70.0, 90.0

// UncertainRMSD is the predicted RMSD in Å above which a residue counts as uncertain. Over 2,609 residues
// of antibodies, the median true error was 0.43 Å where IgFold predicts up to 0.25 Å, 0.52 up to 0.5, 0.99 up to 1,
// 1.96 up to 1.5, 2.8 up to 2.5 and 5.3 above.
const UncertainRMSD = 1.5

// lowRMSD is the mean predicted RMSD in Å up to which the error of a fold counts as low.
const lowRMSD = 1.0

// Thresholds of ipTM and pTM, and how many interfaces a verdict names.
const (
	reliableIPTM  = 0.8
	uncertainIPTM = 0.6
	foldPTM       = 0.5
	shortChain    = 50 // residues, below which pTM is always low
	maxPairLines  = 6
)

// classOf returns the class of a pLDDT.
func classOf(v float64) class {
	for _, c := range classes {
		if v > c.above {
			return c
		}
	}
	return classes[len(classes)-1]
}

// Band returns the name of the AlphaFold database for a range of pLDDT.
func Band(v float64) string { return classOf(v).band }

// Judge rates a prediction by its scores and the known pLDDT of its residues or, where its model gives no pLDDT, their
// known predicted RMSD. A score that is missing is not guessed.
func Judge(s *pleat.Prediction, plddt, rmsd []float64) *Verdict {
	switch {
	case s.MeanPLDDT == nil && s.PredictedRMSD != nil:
		return judgeRMSD(s, rmsd)
	case s.MeanPLDDT == nil:
		lines := []string{"This engine gives no pLDDT, so the reliability of its parts is not known."}
		return &Verdict{"unknown", "No confidence given", append(lines, interfaceLines(s)...)}
	}
	c := classOf(*s.MeanPLDDT)
	v := &Verdict{Tone: c.tone, Title: c.title}
	v.Lines = append(v.Lines, fmt.Sprintf("Mean pLDDT %s of 100: %s.", fixed(*s.MeanPLDDT, 1), c.advice))
	v.Lines = append(v.Lines, residueLines(plddt)...)
	v.Lines = append(v.Lines, interfaceLines(s)...)
	v.Lines = append(v.Lines, ptmLines(s, len(plddt))...)
	if c.tone == "good" && hasPoorInterface(s) {
		v.Tone, v.Title = "fair", v.Title+", uncertain interface"
	}
	return v
}

// judgeRMSD rates a prediction by its predicted RMSD.
func judgeRMSD(s *pleat.Prediction, rmsd []float64) *Verdict {
	high := 0
	for _, v := range rmsd {
		if v > UncertainRMSD {
			high++
		}
	}
	v := &Verdict{Tone: "poor", Title: "High predicted error"}
	switch mean := *s.PredictedRMSD; {
	case mean <= lowRMSD && high > 0:
		v.Tone, v.Title = "fair", "Low predicted error, uncertain parts"
	case mean <= lowRMSD:
		v.Tone, v.Title = "good", "Low predicted error"
	case mean <= UncertainRMSD:
		v.Tone, v.Title = "fair", "Moderate predicted error"
	}
	v.Lines = append(v.Lines, fmt.Sprintf("Mean predicted RMSD %s Å, of which low values are good; this model "+
		"gives it in place of pLDDT.", fixed(*s.PredictedRMSD, 2)))
	switch {
	case len(rmsd) > 0 && high == 0:
		v.Lines = append(v.Lines, fmt.Sprintf("All %d residues are at 1.5 Å or below.", len(rmsd)))
	case high > 0:
		v.Lines = append(v.Lines, fmt.Sprintf("%d of %d residues %s above 1.5 Å.", high, len(rmsd),
			words.Plural(high, "is", "are")))
	}
	v.Lines = append(v.Lines, "It is optimistic: true errors, measured on antibodies, are 1.5 to 2 times as large, so "+
		"above 1.5 Å expect 3 Å or more.")
	if len(s.Chains) > 1 {
		v.Lines = append(v.Lines, "Each chain is judged on its own: it says nothing of how the chains lie to each "+
			"other.")
	}
	if len(ratedPairs(s)) > 0 || s.IPTM != nil {
		v.Lines = append(v.Lines, interfaceLines(s)...)
	}
	return v
}

// fixed writes a positive number with n decimals; of two that are equally near, the larger, as the page does.
func fixed(v float64, n int) string { return fmt.Sprintf("%.*f", n, math.Nextafter(v, math.Inf(1))) }

// residueLines says how many residues are not confident.
func residueLines(plddt []float64) []string {
	low := 0
	for _, v := range plddt {
		if v <= Confident {
			low++
		}
	}
	switch {
	case len(plddt) == 0:
		return nil
	case low == 0:
		return []string{fmt.Sprintf("All %d residues are above 70.", len(plddt))}
	case low == len(plddt):
		return []string{"No residue is above 70."}
	}
	are := words.Plural(low, "is", "are")
	return []string{fmt.Sprintf("%d of %d residues %s at 70 or below.", low, len(plddt), are)}
}

// ptmLines says what the pTM of a single chain means.
func ptmLines(s *pleat.Prediction, residues int) []string {
	if s.PTM == nil || len(s.Chains) != 1 {
		return nil
	}
	verdict := "uncertain"
	switch {
	case *s.PTM >= foldPTM:
		verdict = "probably right"
	case residues > 0 && residues < shortChain:
		verdict += ", though pTM is always low for so short a chain"
	}
	return []string{fmt.Sprintf("pTM %s: the overall shape is %s.", fixed(*s.PTM, 2), verdict)}
}

// ratedPairs returns the pairs of chains that have an ipTM.
func ratedPairs(s *pleat.Prediction) (out []pleat.PairScore) {
	for _, p := range s.Pairs {
		if p.IPTM != nil {
			out = append(out, p)
		}
	}
	return out
}

// hasPoorInterface reports whether an interface or, where no pair has one, the arrangement has an ipTM below 0.6.
func hasPoorInterface(s *pleat.Prediction) bool {
	pairs := ratedPairs(s)
	return slices.ContainsFunc(pairs, func(p pleat.PairScore) bool { return *p.IPTM < uncertainIPTM }) ||
		len(pairs) == 0 && s.IPTM != nil && *s.IPTM < uncertainIPTM
}

// reliability says what an ipTM means.
func reliability(iptm float64) string {
	switch {
	case iptm > reliableIPTM:
		return "reliable"
	case iptm >= uncertainIPTM:
		return "uncertain"
	}
	return "not reliable"
}

// interfaceLines has one sentence for each interface of a complex, or a count of those that are reliable.
func interfaceLines(s *pleat.Prediction) (lines []string) {
	pairs := ratedPairs(s)
	reliable := 0
	for _, p := range pairs {
		if *p.IPTM > reliableIPTM {
			reliable++
		}
		lines = append(lines, fmt.Sprintf("Interface %s–%s %s: ipTM %s.", p.A, p.B, reliability(*p.IPTM),
			fixed(*p.IPTM, 2)))
	}
	switch {
	case len(pairs) > maxPairLines:
		return []string{fmt.Sprintf("%d of %d interfaces are reliable (ipTM above 0.8).", reliable, len(pairs))}
	case len(pairs) > 0:
		return lines
	case s.IPTM != nil:
		return []string{fmt.Sprintf("Arrangement of the chains %s: ipTM %s.", reliability(*s.IPTM), fixed(*s.IPTM, 2))}
	case len(s.Chains) > 1:
		return []string{"This engine does not rate the arrangement of the chains."}
	}
	return nil
}

// rate rates the structure, if it is a prediction. Where its engine's scores are not known, those are rated that the
// structure itself has.
func (f *Facts) rate(scores *pleat.Prediction) {
	if !f.Predicted {
		return
	}
	var plddt, rmsd []float64
	sum, errors := 0.0, 0.0
	for _, r := range f.index.Polymers {
		for _, site := range f.index.Sites[r.Lo:r.Hi] {
			if !math.IsNaN(site.PLDDT) {
				plddt, sum = append(plddt, site.PLDDT), sum+site.PLDDT
			}
			if !math.IsNaN(site.RMSD) {
				rmsd, errors = append(rmsd, site.RMSD), errors+site.RMSD
			}
		}
	}
	if scores == nil {
		scores = &pleat.Prediction{}
		for _, c := range f.Chains {
			scores.Chains = append(scores.Chains, c.ID)
		}
		if n := float64(len(plddt)); n > 0 {
			scores.MeanPLDDT = new(sum / n)
		}
		if n := float64(len(rmsd)); n > 0 {
			scores.PredictedRMSD = new(errors / n)
		}
		for _, in := range f.Interfaces {
			if in.Scores != nil && in.Scores.HasPAE {
				scores.Pairs = append(scores.Pairs, pleat.PairScore{A: in.A, B: in.B, IPTM: &in.Scores.IPTM})
			}
		}
	}
	f.Verdict = Judge(scores, plddt, rmsd)
}
