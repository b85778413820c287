package facts

import (
	"cmp"
	"slices"
	"strings"

	"pleat/internal/structure"
)

// Chain holds the facts of one polymer. Only residues with coordinates count. Lengths are in Å, masses in Da,
// charges in e.
type Chain struct {
	ID          string         `json:"id"`
	Kind        structure.Kind `json:"kind"`
	Name        string         `json:"name,omitempty"`
	Length      int            `json:"length"` // residues with coordinates
	First       ResidueRef     `json:"first"`
	Last        ResidueRef     `json:"last"`
	Sequence    string         `json:"sequence"`
	Composition []Count        `json:"composition"`
	// Modified are the residues whose component is not standard.
	Modified []ResidueRef `json:"modified,omitempty"`
	// Charge is the net charge in e at pH 7, and Isoelectric the pH at which the net charge is 0; nil: this is no
	// protein, or it is so at no pH. Uncharged are the residues that they leave out, since nothing is known of their
	// charge.
	Charge      *float64     `json:"charge_pH7"`
	Isoelectric *float64     `json:"isoelectric_point"`
	Uncharged   []ResidueRef `json:"residues_without_charge,omitempty"`
	// FreeEnds reports that the chain has both an amine and an acid at its ends: it is not circular, and they are
	// bonded to nothing.
	FreeEnds bool `json:"-"`
	// Mass is the average mass of the free chain, nil where that of no residue is known; Unweighed counts the residues
	// that it omits.
	Mass      *float64 `json:"mass_Da"`
	Unweighed int      `json:"residues_without_mass,omitempty"`
	// Secondary is nil where too few residues have a main chain, and outside proteins.
	Secondary  *Secondary  `json:"secondary_structure,omitempty"`
	Confidence *Confidence `json:"confidence,omitempty"`
	// PredictedRMSD is in place of Confidence, or in addition to it.
	PredictedRMSD *PredictedRMSD `json:"predicted_rmsd,omitempty"`
	Links
	// Gyration and EndToEnd are nil where no atom, or no centre of an end, is there.
	Gyration *float64 `json:"radius_of_gyration_A"`
	EndToEnd *float64 `json:"end_to_end_A"` // between the centres of the first and last residue

	Polymer Polymer `json:"-"` // its residues in Index.Sites
}

// Count is how often a component occurs.
type Count struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// chainFacts computes the facts of one polymer: its composition, mass, charge and gaps among them.
func (x *Index) chainFacts(r Polymer) Chain {
	ch := &x.Structure.Chains[r.Chain]
	sites := x.Sites[r.Lo:r.Hi]
	c := Chain{
		ID:       ch.ID,
		Kind:     ch.Kind,
		Name:     ch.Name,
		Length:   len(sites),
		First:    sites[0].Ref,
		Last:     sites[len(sites)-1].Ref,
		Sequence: ch.Sequence(),
		Links:    x.Links(r).head(),
		Polymer:  r,
	}
	c.Composition = x.Composition(r.sites())
	for i := range sites {
		if sites[i].Modified() && len(c.Modified) < maxList {
			c.Modified = append(c.Modified, sites[i].Ref)
		}
		if ch.Kind == structure.Protein && sites[i].Titration() == LeftOut && len(c.Uncharged) < maxList {
			c.Uncharged = append(c.Uncharged, sites[i].Ref)
		}
	}
	c.Mass, c.Unweighed = x.polymerMass(r)
	if amine, acid := x.ends(r); ch.Kind == structure.Protein {
		c.FreeEnds = amine && acid
		c.Charge = new(Round(x.ChargeAt(r, 7), 2))
		if pI, ok := x.isoelectric(r); ok {
			c.Isoelectric = new(Round(pI, 2))
		}
		c.Secondary = x.secondary(r)
	}
	c.Confidence, c.PredictedRMSD = x.confidence(r.Lo, r.Hi), x.predictedRMSD(r.Lo, r.Hi)
	c.Gyration = x.gyration(r.sites())
	if d, ok := x.CentreDistance(r.Lo, r.Hi-1); ok {
		c.EndToEnd = new(Round(d, 2))
	}
	return c
}

// sites returns the positions of the residues in Index.Sites.
func (r Polymer) sites() []int {
	out := make([]int, r.Hi-r.Lo)
	for i := range out {
		out[i] = r.Lo + i
	}
	return out
}

// polymerMass returns the average mass in Da of a chain with its ends, nil where no residue has a formula that is
// known, and how many residues it leaves out. See Mass.
func (x *Index) polymerMass(r Polymer) (*float64, int) {
	mass, unknown := x.Mass(r.sites())
	if unknown == r.Hi-r.Lo {
		return nil, unknown
	}
	within := func(i int) bool { return r.Lo <= i && i < r.Hi }
	if !x.Circular(r) && !slices.ContainsFunc(x.bondedTo(r.Hi-1, "C"), within) {
		mass += water
	}
	return new(Round(mass, 1)), unknown
}

// Composition returns how often each component occurs, the most frequent first. A modified residue counts by its own
// code, protonation states of a residue as one.
func (x *Index) Composition(sites []int) []Count {
	n := map[string]int{}
	for _, i := range sites {
		n[x.Sites[i].Canonical()]++
	}
	out := make([]Count, 0, len(n))
	for name, k := range n {
		out = append(out, Count{name, k})
	}
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(a.Name, b.Name))
	})
	return out
}
