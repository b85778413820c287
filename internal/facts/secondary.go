package facts

import (
	"bytes"
	"context"

	"pleat/internal/structure"
)

// Secondary is one chain's secondary structure by DSSP.
type Secondary struct {
	States   string `json:"states"` // one letter per residue, '?' where the main chain is incomplete
	Assigned int    `json:"assigned"`
	// Helix, Strand and Other are fractions of the assigned residues and add up to 1.
	Helix  float64 `json:"helix"`  // share of assigned residues in H, G or I
	Strand float64 `json:"strand"` // in E or B
	Other  float64 `json:"other"`
	// Segments are helices and strands in order.
	Segments []Segment `json:"segments"` // helices and strands
}

// Segment is a run of residues of one chain in one state, such as a helix.
type Segment struct {
	// State is a letter of DSSP; StateName gives its word.
	State  string     `json:"state"` // H, G, I, E or B
	From   ResidueRef `json:"from"`
	To     ResidueRef `json:"to"`
	Length int        `json:"length"`
}

// StateName returns the word for a letter of DSSP: H is an α-helix.
func StateName(state byte) string {
	switch state {
	case 'H':
		return "α-helix"
	case 'G':
		return "3-10 helix"
	case 'I':
		return "π-helix"
	case 'E':
		return "β-strand"
	case 'B':
		return "isolated β-bridge"
	case 'T':
		return "turn"
	case 'S':
		return "bend"
	case '-':
		return "coil"
	}
	return "not assigned"
}

// Kind returns the segment's state in words.
func (s Segment) Kind() string { return StateName(s.State[0]) }

// isCap reports whether a residue blocks an end of a protein and has no main chain.
func (s *Site) isCap() bool {
	return s.Kind == structure.Protein && structure.Cap(s.Ref.Name) != "" && s.State == 0
}

// assignStates sets the DSSP state of every site that has one: DSSP is defined for proteins, and needs a main chain.
func (x *Index) assignStates(ctx context.Context) error {
	all, err := x.Structure.SecondaryStructure(ctx)
	if err != nil {
		return err
	}
	for _, r := range x.Polymers {
		states := all[r.Chain]
		caps := 0
		for i := r.Lo; i < r.Hi; i++ {
			if x.Sites[i].isCap() {
				caps++
			}
		}
		unassigned := bytes.Count(states, []byte{0}) - caps
		if float64(unassigned) > mostLacking*float64(len(states)-caps) {
			continue // most residues of what there is lack their neighbours
		}
		for i := r.Lo; i < r.Hi; i++ {
			x.Sites[i].State = states[i-r.Lo]
		}
	}
	return nil
}

// secondary summarises the states of one chain, and returns nil where none is assigned.
func (x *Index) secondary(r Polymer) *Secondary {
	out := &Secondary{}
	states := make([]byte, 0, r.Hi-r.Lo)
	var n [3]int
	for i := r.Lo; i < r.Hi; i++ {
		state := x.Sites[i].State
		if state == 0 {
			states = append(states, '?')
			continue
		}
		states = append(states, state)
		out.Assigned++
		switch structure.ThreeState(state) {
		case 'H':
			n[0]++
		case 'E':
			n[1]++
		default:
			n[2]++
		}
	}
	if out.Assigned == 0 {
		return nil
	}
	out.States = string(states)
	share := func(k int) float64 { return Round(float64(k)/float64(out.Assigned), 4) }
	out.Helix, out.Strand, out.Other = share(n[0]), share(n[1]), share(n[2])
	for _, run := range x.Segments(r.sites()) {
		first, last := &x.Sites[run[0]], &x.Sites[run[len(run)-1]]
		if first.State != 0 && structure.ThreeState(first.State) != '-' {
			out.Segments = append(out.Segments, Segment{string(first.State), first.Ref, last.Ref, len(run)})
		}
	}
	return out
}

// Character describes the secondary structure in a few words: «mostly» from half of the residues, «partly» from a
// tenth.
func (s *Secondary) Character() string {
	switch {
	case s.Helix >= 0.5:
		return "mostly helical"
	case s.Strand >= 0.5:
		return "mostly strands"
	case s.Helix >= 0.1 && s.Strand >= 0.1:
		return "mixed, neither makes up half"
	case s.Helix >= 0.1:
		return "partly helical, the larger part neither helix nor strand"
	case s.Strand >= 0.1:
		return "partly strands, the larger part neither helix nor strand"
	}
	return "mostly without helix or strand"
}
