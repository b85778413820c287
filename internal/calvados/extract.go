package calvados

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"pleat"
	"pleat/internal/structure"
)

// Frame describes an extracted frame.
type Frame struct {
	Index  int // from 0
	TimeNs float64
	Atoms  int // selected
}

// FrameRequest selects a frame of a trajectory and the atoms to extract.
type FrameRequest struct {
	TimeNs    float64    // the frame nearest to it, in ns
	DtPs      float64    // time between frames in ps; 0: as the trajectory says
	Selection *Selection // which atoms
}

// NewFrameRequest returns a checked request. An empty selection selects all atoms. An error has CodeInvalid and
// names the field as the API spells it.
func NewFrameRequest(timeNs, dtPs float64, selection string) (FrameRequest, error) {
	if timeNs < 0 || math.IsInf(timeNs, 0) || math.IsNaN(timeNs) {
		return FrameRequest{}, pleat.InvalidField("timeNs", " is %v; it must be 0 or more", timeNs)
	}
	if dtPs < 0 || dtPs > 1e9 || math.IsNaN(dtPs) {
		return FrameRequest{}, pleat.InvalidField("dtInPs", " is %v; it must be 0, for the trajectory's own, or "+
			"the time between frames in ps", dtPs)
	}
	sel, err := ParseSelection(cmp.Or(selection, "all"))
	return FrameRequest{TimeNs: timeNs, DtPs: dtPs, Selection: sel}, err
}

// ExtractFrame reads a simulation's topology, a PDB file, and its trajectory, a DCD file of size bytes, and writes
// the requested frame as PDB. Extract describes its errors.
func ExtractFrame(w io.Writer, topology io.Reader, dcd io.ReaderAt, size int64, req FrameRequest) (Frame, error) {
	top, err := structure.ReadPDB(topology, structure.Limits{})
	if err != nil {
		return Frame{}, fmt.Errorf("read the topology: %w", err)
	}
	t, err := OpenTrajectory(dcd, size)
	if err != nil {
		return Frame{}, fmt.Errorf("read the trajectory: %w", err)
	}
	return Extract(w, top, t, req)
}

// Extract writes, as PDB, the selected atoms of the frame nearest to req.TimeNs. top has the atoms in the
// trajectory's order; it may be any structure with as many atoms in that order. It returns an error for a time
// outside the trajectory (see [Trajectory.Nearest]), another number of atoms, and a selection of no atoms.
func Extract(w io.Writer, top *structure.Structure, t *Trajectory, req FrameRequest) (Frame, error) {
	if n := top.Atoms(); n != t.Atoms() {
		return Frame{}, pleat.Invalidf("the topology has %d atoms and the trajectory %d; they do not belong together",
			n, t.Atoms())
	}
	index, err := t.Nearest(req.TimeNs, req.DtPs)
	if err != nil {
		return Frame{}, err
	}
	x, err := t.Read(index, nil)
	if err != nil {
		return Frame{}, err
	}
	frame := Frame{Index: index, TimeNs: t.TimeNs(index, req.DtPs)}
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
				if req.Selection.Matches(&chain, &r, &a) {
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
