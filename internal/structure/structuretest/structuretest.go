// Package structuretest makes structures whose atoms lie on one another, as hostile files have them, for tests and
// benchmarks. Nothing that is shipped may import it.
package structuretest

import (
	"fmt"
	"math/rand/v2"

	"pleat/internal/structure"
)

// CrowdedCube returns n alanines of one atom each, CA, at random places in a cube of edge Å, the same at every call.
func CrowdedCube(n int, edge float64) *structure.Structure {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a structure, not a secret
	c := structure.Chain{ID: "A", Kind: structure.Protein, Residues: make([]structure.Residue, n)}
	for i := range n {
		at := structure.Vec{edge * random.Float64(), edge * random.Float64(), edge * random.Float64()}
		c.Residues[i] = structure.Residue{Comp: "ALA", Seq: i + 1, Auth: i + 1, Atoms: []structure.Atom{
			{Name: "CA", Element: "C", Pos: at, Occupancy: 1},
		}}
	}
	return &structure.Structure{Chains: []structure.Chain{c}}
}

// CrowdedResidue returns one alanine whose n atoms lie on one point.
func CrowdedResidue(n int) *structure.Structure {
	r := structure.Residue{Comp: "ALA", Seq: 1, Auth: 1}
	for i := range n {
		r.Atoms = append(r.Atoms, structure.Atom{Name: fmt.Sprintf("C%d", i), Element: "C", Occupancy: 1})
	}
	return &structure.Structure{Chains: []structure.Chain{
		{ID: "A", Kind: structure.Protein, Residues: []structure.Residue{r}},
	}}
}
