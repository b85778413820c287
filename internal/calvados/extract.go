package calvados

import (
	"io"

	"pleat"
	"pleat/internal/structure"
)

// Frame says which moment of a trajectory was taken.
type Frame struct {
	Index  int // from 0
	TimeNs float64
	Atoms  int // selected
}

// Extract writes, as PDB, the selected atoms of the frame nearest to timeNs. top
// gives the atoms in the trajectory's order; it may be any structure of as many atoms
// whose chains hold them in that order. dtPs is the time between frames in ps, 0: as
// the trajectory says. Refused: a time outside the trajectory (see
// Trajectory.Nearest), another number of atoms, a selection that takes none.
func Extract(w io.Writer, top *structure.Structure, t *Trajectory, timeNs, dtPs float64, sel *Selection) (Frame,
	error) {
	if n := top.Atoms(); n != t.Atoms() {
		return Frame{}, pleat.Invalidf("the topology has %d atoms and the trajectory %d; they do not belong together",
			n, t.Atoms())
	}
	index, err := t.Nearest(timeNs, dtPs)
	if err != nil {
		return Frame{}, err
	}
	x, err := t.Read(index, nil)
	if err != nil {
		return Frame{}, err
	}
	frame := Frame{Index: index, TimeNs: t.TimeNs(index, dtPs)}
	out := &structure.Structure{Title: top.Title}
	at := 0
	for i := range top.Chains {
		chain := top.Chains[i]
		chain.Residues = nil
		for j := range top.Chains[i].Residues {
			r := top.Chains[i].Residues[j]
			atoms := r.Atoms
			r.Atoms = nil
			for _, a := range atoms {
				a.Pos = x[at]
				at++
				if sel.Matches(&chain, &r, &a) {
					r.Atoms = append(r.Atoms, a)
				}
			}
			if r.Atoms != nil {
				chain.Residues = append(chain.Residues, r)
				frame.Atoms += len(r.Atoms)
			}
		}
		if chain.Residues != nil {
			out.Chains = append(out.Chains, chain)
		}
	}
	if frame.Atoms == 0 {
		return Frame{}, pleat.Invalidf("selection takes none of the %d atoms", t.Atoms())
	}
	return frame, structure.WritePDB(w, out, structure.Meta{Software: "pleat"})
}
