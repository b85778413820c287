package analyst

import "pleat/internal/structure"

// Secondary is one chain's secondary structure by DSSP.
type Secondary struct {
	States   string    `json:"states"` // one letter per residue, '?' where the main chain is incomplete
	Assigned int       `json:"assigned"`
	Helix    float64   `json:"helix"`  // share of assigned residues in H, G or I
	Strand   float64   `json:"strand"` // in E or B
	Other    float64   `json:"other"`
	Segments []Segment `json:"segments"` // helices and strands
}

// Segment is a run of residues in one state.
type Segment struct {
	State  string     `json:"state"` // H, G, I, E or B
	From   ResidueRef `json:"from"`
	To     ResidueRef `json:"to"`
	Length int        `json:"length"`
}

// stateNames are the words for DSSP's letters.
var stateNames = map[byte]string{
	'H': "α-helix", 'G': "3-10 helix", 'I': "π-helix", 'E': "β-strand", 'B': "isolated β-bridge", 'T': "turn", 'S': "bend", '-': "coil",
}

// Kind in words.
func (s Segment) Kind() string { return stateNames[s.State[0]] }

func (x *index) assignStates() {
	all := x.s.SecondaryStructure()
	for _, r := range x.polymers {
		for i := r.lo; i < r.hi; i++ {
			x.sites[i].state = all[r.chain][i-r.lo]
		}
	}
}

func (x *index) secondary(r run) *Secondary {
	out := &Secondary{}
	states := make([]byte, 0, r.hi-r.lo)
	var n [3]int
	for i := r.lo; i < r.hi; i++ {
		state := x.sites[i].state
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
	share := func(k int) float64 { return round(float64(k)/float64(out.Assigned), 4) }
	out.Helix, out.Strand, out.Other = share(n[0]), share(n[1]), share(n[2])
	for i := 0; i < len(states); {
		j := i + 1
		for j < len(states) && states[j] == states[i] {
			j++
		}
		if k := states[i]; k != '?' && structure.ThreeState(k) != '-' {
			out.Segments = append(out.Segments, Segment{string(k), x.sites[r.lo+i].ref, x.sites[r.lo+j-1].ref, j - i})
		}
		i = j
	}
	return out
}
