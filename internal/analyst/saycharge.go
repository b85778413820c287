package analyst

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// Answers about charge and mass.

// charge computes the net charge of chains, or sums the side chains of the selection.
func (q *query) charge() part {
	pH := 7.0
	if q.pH != nil {
		pH = *q.pH
	}
	switch list := q.proteins(); {
	case len(list) == 0:
		return refusal("Net charge is computed for protein chains, and there is none here to compute it of.")
	case pH < 0 || pH > 14:
		return refusal("A pH lies between 0 and 14; %g does not.", pH)
	case q.partial():
		return q.chargeOfPart(pH)
	default:
		return q.chargeOfChains(list, pH)
	}
}

// chargeOfChains computes net charge and isoelectric point of whole chains.
func (q *query) chargeOfChains(list []facts.Chain, pH float64) part {
	var said []string
	sum := 0.0
	for _, c := range list {
		z := facts.ChargeAt(c.Sequence, q.x.BondedIn(c.Polymer), pH)
		sum += z
		said = append(said,
			fmt.Sprintf("chain %s has a net charge of %+.2f e at pH %g and an isoelectric point of %.2f",
				c.ID, z, pH, c.Isoelectric))
	}
	text := capital(facts.Join(said, maxSaid))
	if len(list) > 1 {
		text += fmt.Sprintf("; together %+.2f e", sum)
	}
	return part{text: text + ". Computed from the residues with coordinates, free ends and pKa values of single " +
		"residues; " +
		"the surroundings in the fold are not taken into account.", sure: Measured}
}

// chargeOfPart sums the side chains of selected residues, whose ends are not free.
func (q *query) chargeOfPart(pH float64) part {
	if q.has["pi"] || q.has["whichph"] {
		return refusal("The isoelectric point is computed of whole chains only.")
	}
	var said []string
	var cited []facts.ResidueRef
	groups := q.groups()
	if len(groups) == 0 {
		return q.none()
	}
	for _, g := range facts.Head(groups, maxSaid) {
		plus, minus, z := q.charges(g.sites, pH)
		text := fmt.Sprintf("%s: a net charge of %s by its side chains, %d positive (LYS, ARG) and %d negative "+
			"(ASP, GLU)", capital(g.label),
			signed(len(plus)-len(minus)), len(plus), len(minus))
		if q.pH != nil {
			text += fmt.Sprintf("; at pH %g, with pKa values of single residues, %+.2f e", pH, z)
		}
		said = append(said, text+".")
		cited = append(cited, q.x.Refs(facts.Head(slices.Concat(plus, minus), maxListed))...)
	}
	if len(groups) > 1 {
		plus, minus, _ := q.charges(q.sites(), pH)
		said = append(said, fmt.Sprintf("Together %s.", signed(len(plus)-len(minus))))
	}
	return part{strings.Join(said, " ") + " The ends of the chain are not counted.", cited, certaintyOf(q.conds)}
}

func signed(n int) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%+d", n)
}

// charges lists the charged side chains among sites, and their charge at a pH in e.
func (q *query) charges(sites []int, pH float64) (plus, minus []int, net float64) {
	for _, i := range sites {
		s := &q.x.Sites[i]
		if s.Kind != structure.Protein {
			continue
		}
		net += facts.SideChainCharge(s, pH)
		switch s.Letter {
		case 'K', 'R':
			plus = append(plus, i)
		case 'D', 'E':
			minus = append(minus, i)
		}
	}
	return plus, minus, net
}

// weight sums the masses of chains, or of the selected residues.
func (q *query) weight() part {
	if q.partial() {
		return q.weightOfPart()
	}
	list := q.polymers()
	if len(list) == 0 {
		return refusal("The structure has no polymer to weigh.")
	}
	var said []string
	sum := 0.0
	for _, c := range list {
		sum += c.Mass
		text := fmt.Sprintf("chain %s weighs %.1f Da (%.2f kDa)", c.ID, c.Mass, c.Mass/1000)
		if c.Unweighed > 0 {
			text += fmt.Sprintf(" without %s of unknown mass", residues(c.Unweighed))
		}
		said = append(said, text)
	}
	text := capital(facts.Join(said, maxSaid))
	if len(list) > 1 {
		text += fmt.Sprintf("; together %.1f Da", sum)
	}
	return part{text: text + ". Average mass of the residues with coordinates, cysteines reduced; ligands are not " +
		"counted.", sure: Measured}
}

// weightOfPart sums the masses of the selected residues, each segment separately.
func (q *query) weightOfPart() part {
	var said []string
	for _, g := range facts.Head(q.groups(), maxSaid) {
		mass := 0.0
		for _, i := range g.sites {
			mass += facts.ResidueMass(q.x.Sites[i].Kind, q.x.Sites[i].Letter)
		}
		said = append(said, fmt.Sprintf("%s: %.1f Da (%.2f kDa)", capital(g.label), mass, mass/1000))
	}
	if len(said) == 0 {
		return q.none()
	}
	return part{text: strings.Join(said, "; ") + ". Average masses of residues as they are in the chain, without " +
		"the water of its ends.", sure: Measured}
}
