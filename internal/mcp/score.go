package mcp

import (
	"pleat/api"
)

// scores are the scores of a structure. Null: the model gives none.
type scores struct {
	Structure  int      `json:"structure" doc:"Number of the structure, from 1."`
	Chains     []string `json:"chains"`
	PLDDT      *float64 `json:"meanPLDDT" doc:"0 to 100."`
	PTM        *float64 `json:"ptm" doc:"0 to 1."`
	IPTM       *float64 `json:"iptm" doc:"0 to 1, of several chains."`
	MaxPAE     *float64 `json:"maxPAE" doc:"In angstrom."`
	Confidence string   `json:"confidence" doc:"What these scores mean."`
	Pairs      []pair   `json:"pairs" doc:"Interfaces between two chains."`
	MorePairs  int      `json:"morePairs,omitempty" doc:"Interfaces that are left out here."`
	Affinity   *struct {
		Value       float64 `json:"log10IC50" doc:"IC50 in micromolar."`
		Probability float64 `json:"probability" doc:"That it binds at all, 0 to 1."`
	} `json:"affinity,omitempty"`
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

// maxPairs is how many interfaces a result has.
const maxPairs = 30

// scoresOf converts the scores of the structure with an index.
func scoresOf(p *api.ScoredChains, index int) scores {
	out := scores{
		Structure:  index + 1,
		Chains:     names(p.Chains, 100),
		PLDDT:      p.MeanPLLDT,
		PTM:        p.PTM,
		IPTM:       p.IPTM,
		MaxPAE:     p.MaxPAE,
		Confidence: visible(p.Confidence, maxText),
		Pairs:      []pair{},
		MorePairs:  max(0, len(p.Pairs)-maxPairs),
	}
	for _, q := range p.Pairs[:min(len(p.Pairs), maxPairs)] {
		out.Pairs = append(out.Pairs, pair{name(q.A), name(q.B), q.IPTM, q.IPSAE, q.PDockQ2, q.LIS})
	}
	if a := p.Affinity; a != nil {
		out.Affinity = &struct {
			Value       float64 `json:"log10IC50" doc:"IC50 in micromolar."`
			Probability float64 `json:"probability" doc:"That it binds at all, 0 to 1."`
		}{a.Value, a.Probability}
	}
	return out
}
