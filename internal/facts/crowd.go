package facts

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Bounds of what the geometry of one structure costs. Files come from strangers, and atoms that lie on one another have
// as many pairs as the square of their number.
const (
	// crowdEdge is the edge in Å of the cubes in which atoms are counted, and maxCrowd the most heavy atoms in one of
	// them. Diamond, the densest solid of carbon, has 90: 8 atoms in a cell of 3.567 Å. A protein has about 50, and
	// predicted chains that pass through each other have twice that.
	crowdEdge = 8.0
	maxCrowd  = 200
	// maxPairs is how many pairs of neighbouring atoms a digest examines. A protein of 40,000 atoms has 6 million.
	maxPairs = 300_000_000
	// maxLinks is how many pairs of sites may be in contact. A protein of 40,000 atoms has 22,000.
	maxLinks = 2_000_000
)

// omitted ends the sentences that say why there is no geometry.
const omitted = "Contacts, surface and pockets were not computed."

// errCrowded ends the geometry of a structure that has more pairs than the bounds allow.
var errCrowded = errors.New("atoms lie on one another")

// examine counts pairs of atoms that the digest is about to look at. Every loop over such pairs calls it, so that a
// digest ends soon after ctx does. It returns the error of ctx, or errCrowded beyond maxPairs.
func (x *Index) examine(ctx context.Context, pairs int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if x.examined += pairs; x.examined > maxPairs {
		return errCrowded
	}
	return nil
}

// measure computes everything that needs spatial neighbours. Where it must not, a note says why. It fails only when ctx
// ends.
func (f *Facts) measure(ctx context.Context) error {
	x := f.index
	x.crowded = x.crowding()
	if x.crowded == "" {
		measured := *f
		err := measured.geometry(ctx)
		if err == nil {
			*f = measured
		}
		if !errors.Is(err, errCrowded) {
			return err
		}
		x.crowded = fmt.Sprintf("Atoms lie on one another: more than %d pairs of atoms are neighbours, or more "+
			"than %d pairs of residues touch. %s", maxPairs, maxLinks, omitted)
		x.forget()
	}
	f.Notes = append(f.Notes, x.crowded)
	return nil
}

// geometry computes the facts that measure promises.
func (f *Facts) geometry(ctx context.Context) error {
	compute := [...]func(context.Context) error{f.sulfurs, f.index.surface, f.contacts, f.ligands, f.exposure,
		f.patches, f.pockets}
	for _, step := range compute {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// forget drops what a geometry that did not end has left in the sites.
func (x *Index) forget() {
	x.linked, x.HasSurface = nil, false
	for i := range x.Sites {
		x.Sites[i].Area, x.Sites[i].Bonded = 0, false
	}
}

// crowding returns a sentence on why spatial neighbours cannot be computed in reasonable time, or an empty string where
// they can. It names the densest place.
func (x *Index) crowding() string {
	if len(x.Points) > maxGeometry {
		return fmt.Sprintf("The structure has %d heavy atoms; contacts, surface and pockets are computed up to %d.",
			len(x.Points), maxGeometry)
	}
	big := slices.IndexFunc(x.Sites, func(s Site) bool { return s.Hi-s.Lo > maxSiteAtoms })
	if big >= 0 {
		return fmt.Sprintf("%s has %d heavy atoms; a residue or ligand may have at most %d. %s", x.Sites[big].Ref,
			x.Sites[big].Hi-x.Sites[big].Lo, maxSiteAtoms, omitted)
	}
	if n, p := x.densest(); n > maxCrowd {
		return fmt.Sprintf("Atoms lie on one another: a cube of %g Å at %s has %d heavy atoms; no molecule has more "+
			"than %d. %s", crowdEdge, x.Sites[x.Owner[p]].Ref, n, maxCrowd, omitted)
	}
	return ""
}

// densest returns the number of heavy atoms in the cube of crowdEdge that has most, and one of them.
func (x *Index) densest() (n, atom int) {
	type cube [3]int32
	count := make(map[cube]int, len(x.Points)/8)
	for p, v := range x.Points {
		var at cube
		for k := range v {
			at[k] = int32(min(max(math.Floor(v[k]/crowdEdge), -1<<30), 1<<30))
		}
		if count[at]++; count[at] > n {
			n, atom = count[at], p
		}
	}
	return n, atom
}
