package facts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"pleat/internal/structure"
	"pleat/internal/structure/structuretest"
)

// Structures of strangers whose atoms lie on one another are answered without the geometry, with a sentence that names
// the place. Not one pair of their atoms is looked at.
func TestCrowdedStructures(t *testing.T) {
	for _, c := range []struct {
		name string
		s    *structure.Structure
		note string
	}{
		{"25,000 in 30 Å", structuretest.CrowdedCube(25_000, 30), "Atoms lie on one another: a cube of 8 Å at ALA "},
		{"50,000 in 30 Å", structuretest.CrowdedCube(50_000, 30), "Atoms lie on one another: a cube of 8 Å at ALA "},
		{"9,000 on one point", structuretest.CrowdedCube(9_000, 0), "Atoms lie on one another: a cube of 8 Å at ALA "},
		{"9,000 in one residue", structuretest.CrowdedResidue(9_000), "ALA 1 (chain A) has 9000 heavy atoms"},
	} {
		f := digestOf(t, c.s, Extra{})
		x := f.Index()
		if !strings.HasPrefix(x.crowded, c.note) || len(f.Notes) != 1 || f.Notes[0] != x.crowded {
			t.Errorf("%s: %q, notes %q; want %q", c.name, x.crowded, f.Notes, c.note)
		}
		if x.examined != 0 || x.HasSurface || f.Atoms != c.s.Atoms() || len(f.Chains) != 1 {
			t.Errorf("%s: %d pairs, surface %v, atoms %d, chains %d", c.name, x.examined, x.HasSurface, f.Atoms,
				len(f.Chains))
		}
	}
}

// A structure that is just below the bound of density costs what its bounds say: links in memory, pairs in time.
func TestDenseStructuresAreBounded(t *testing.T) {
	// 0.29 atoms in a cubic ångström: three times a protein, nearly twice diamond
	s := structuretest.CrowdedCube(6_000, 27.5)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f := digestOf(t, s, Extra{})
	runtime.ReadMemStats(&after)
	x := f.Index()
	if !x.HasSurface || len(x.linked) < 200_000 {
		t.Fatalf("%q, %d links: the structure does not test the bounds", x.crowded, len(x.linked))
	}
	if x.examined > 3_000_000 {
		t.Errorf("%d pairs were examined", x.examined)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 60e6 {
		t.Errorf("the digest allocated %d bytes", got)
	}
}

// Beyond maxLinks, what was computed is dropped: half of the contacts would be a wrong answer.
func TestTooManyLinks(t *testing.T) {
	s := &structure.Structure{Chains: []structure.Chain{{ID: "A", Kind: structure.Protein}}}
	for i := range 21_000 { // points of 200 residues each, 30 Å apart: over 2 million pairs in contact
		at := structure.Vec{float64(i / 200 * 30), 1, 1}
		s.Chains[0].Residues = append(s.Chains[0].Residues, structure.Residue{Comp: "CYS", Seq: i + 1, Auth: i + 1,
			Atoms: []structure.Atom{{Name: "SG", Element: "S", Pos: at}}})
	}
	f := digestOf(t, s, Extra{})
	x := f.Index()
	if !strings.HasPrefix(x.crowded, "Atoms lie on one another: more than") || x.HasSurface || x.linked != nil ||
		f.Disulfides != nil || f.Shape.Area != nil {
		t.Errorf("%q: surface %v, %d links, %d disulfides", x.crowded, x.HasSurface, len(x.linked),
			len(f.Disulfides))
	}
	if x.examined > 5_000_000 {
		t.Errorf("%d pairs were examined before the end", x.examined)
	}
}

// countedContext ends after a number of calls of Err, and counts the pairs that are examined between two calls.
type countedContext struct {
	context.Context
	x           *Index
	left, since int
	most        int // pairs between two calls
	late        int // calls after the end
}

func (c *countedContext) Err() error {
	c.most, c.since = max(c.most, c.x.examined-c.since), c.x.examined
	if c.left--; c.left >= 0 {
		return nil
	}
	c.late++
	return context.Canceled
}

// The geometry asks its context before each atom, and the first answer that it has ended is the last question.
func TestGeometryObeysItsContext(t *testing.T) {
	whole := &countedContext{Context: t.Context(), left: 1 << 40}
	f := &Facts{index: newIndex(copies(t, 4))}
	whole.x = f.index
	if err := f.measure(whole); err != nil {
		t.Fatal(err)
	}
	asked := 1<<40 - whole.left
	if whole.most > 10_000 || asked < len(f.index.Points) {
		t.Errorf("%d calls for %d atoms, up to %d pairs between two", asked, len(f.index.Points), whole.most)
	}
	for _, calls := range []int{0, 1, 100, asked / 2, asked - 1} {
		f := &Facts{index: newIndex(copies(t, 4))}
		ctx := &countedContext{Context: t.Context(), left: calls, x: f.index}
		if err := f.measure(ctx); !errors.Is(err, context.Canceled) || ctx.late != 1 {
			t.Errorf("ended after %d calls: %v, %d calls more", calls, err, ctx.late)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Digest(ended, load(t, "1ubi"), Extra{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled digest: %v", err)
	}
}

// Dense parts of files of good faith are answered whole: chains of a prediction that pass through each other, coarse
// beads, an ensemble of models, and alternative locations.
func TestDenseButReal(t *testing.T) {
	clash := &structure.Structure{}
	for k := range 3 {
		c := load(t, "1ubi").Chains[0]
		c.ID = fmt.Sprintf("C%d", k)
		for i := range c.Residues {
			for j := range c.Residues[i].Atoms {
				c.Residues[i].Atoms[j].Pos[0] += 1.3 * float64(k)
			}
		}
		clash.Chains = append(clash.Chains, c)
	}
	beads := load(t, "1ubi")
	for i := range beads.Chains[0].Residues {
		r := &beads.Chains[0].Residues[i]
		r.Atoms = r.Atoms[1:2] // CA
	}
	crambin, err := os.ReadFile("../structure/testdata/1crn.pdb")
	if err != nil {
		t.Fatal(err)
	}
	var ensemble, alternatives strings.Builder
	for model := range 20 {
		fmt.Fprintf(&ensemble, "MODEL     %4d\n", model+1)
		for line := range strings.Lines(string(crambin)) {
			if strings.HasPrefix(line, "ATOM") {
				ensemble.WriteString(line)
			}
		}
		ensemble.WriteString("ENDMDL\n")
	}
	for line := range strings.Lines(string(crambin)) {
		for _, alternative := range "ABCDEF" {
			if strings.HasPrefix(line, "ATOM") {
				alternatives.WriteString(line[:16] + string(alternative) + line[17:])
			}
		}
	}
	read := func(b *strings.Builder) *structure.Structure {
		s, err := structure.ReadPDB(strings.NewReader(b.String()), structure.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, s := range map[string]*structure.Structure{
		"clash": clash, "beads": beads, "ensemble": read(&ensemble), "alternatives": read(&alternatives),
	} {
		if f := digestOf(t, s, Extra{}); f.Index().crowded != "" || !f.Index().HasSurface {
			t.Errorf("%s: %q", name, f.Index().crowded)
		}
	}
}

// oneAtom is a component of one heavy atom, so that residues of one atom lack none.
const oneAtom = "NH2"

// A prediction of thousands of chains gets scores for the interfaces that it lists, not for every two chains.
func TestScoresOfManyChains(t *testing.T) {
	s := &structure.Structure{}
	for i := range 4_000 {
		at := structure.Vec{4 * float64(i), 0, 0}
		s.Chains = append(s.Chains, structure.Chain{ID: fmt.Sprintf("C%d", i), Kind: structure.Protein,
			Residues: []structure.Residue{{Comp: oneAtom, Seq: 1, Auth: 1,
				Atoms: []structure.Atom{{Name: "CA", Element: "N", Pos: at, B: 90}}}}})
	}
	f := digestOf(t, s, Extra{Predicted: true})
	if len(f.Interfaces) != maxList || f.Interfaces[maxList-1].Scores == nil {
		t.Fatalf("%d interfaces", len(f.Interfaces))
	}
	if n := testing.AllocsPerRun(1, func() { f.scoreInterfaces(structure.Matrix{}) }); n > 100_000 {
		t.Errorf("%.0f allocations for the scores of %d interfaces", n, maxList)
	}
}

// Whatever the coordinates are, a digest examines each pair of atoms a few times at most and has lists of bounded
// length: atoms are put into residues of some size, in clusters of some edge that lie apart.
func FuzzDigest(f *testing.F) {
	f.Add(uint16(500), uint8(1), uint8(3), 0.0, uint64(1))
	f.Add(uint16(1000), uint8(8), uint8(1), 20.0, uint64(2))
	f.Add(uint16(1500), uint8(200), uint8(7), 4.0, uint64(3))
	names := [...]string{"N", "CA", "C", "O", "SG", "NZ", "OD1"}
	comps := [...]string{"ALA", "CYS", "LYS", "ASP", "TRP", oneAtom}
	f.Fuzz(func(t *testing.T, atoms uint16, perResidue, clusters uint8, edge float64, seed uint64) {
		if !(math.Abs(edge) < 1e6) {
			t.Skip()
		}
		random := rand.New(rand.NewPCG(seed, 0))
		s := &structure.Structure{Title: "PREDICTION FOR fuzzing"}
		n := int(atoms) % 600
		for i := range n {
			if i%(16*int(perResidue)+16) == 0 {
				kind := [...]structure.Kind{structure.Protein, structure.Protein, structure.Ligand}[i%3]
				s.Chains = append(s.Chains, structure.Chain{ID: fmt.Sprintf("C%d", i), Kind: kind})
			}
			c := &s.Chains[len(s.Chains)-1]
			if i%(int(perResidue)+1) == 0 || len(c.Residues) == 0 {
				c.Residues = append(c.Residues, structure.Residue{Comp: comps[random.IntN(len(comps))], Seq: i + 1,
					Auth: i + 1})
			}
			r := &c.Residues[len(c.Residues)-1]
			name := names[i%len(names)]
			at := structure.Vec{edge * random.Float64(), edge * random.Float64(), edge * random.Float64()}
			at[0] += 30 * float64(random.IntN(int(clusters)%4+1))
			r.Atoms = append(r.Atoms, structure.Atom{Name: name, Element: name[:1], Pos: at, B: 50})
		}
		d := digestOf(t, s, Extra{})
		x := d.Index()
		if most := 10*n*n + 100_000; x.examined > most { // each pair of atoms a few times, and the cells of pockets
			t.Errorf("%d pairs were examined for %d atoms", x.examined, n)
		}
		if x.crowded == "" != x.HasSurface || len(d.Notes) == 0 && x.crowded != "" {
			t.Errorf("%q, surface %v, notes %q", x.crowded, x.HasSurface, d.Notes)
		}
		raw, err := json.Marshal(d)
		if most := 100_000 + 8_000*n; err != nil || len(raw) > most {
			t.Errorf("%d bytes of facts for %d atoms, %v", len(raw), n, err)
		}
	})
}

// Oxygens that lie close together are all candidates of hydrogen bonds. The lists keep the nearest, and the counts are
// complete.
func TestHydrogenBondsOfACrowd(t *testing.T) {
	s := &structure.Structure{}
	for chain := range 2 {
		c := structure.Chain{ID: string(rune('A' + chain)), Kind: structure.RNA}
		for i := range 90 {
			at := structure.Vec{1 + float64(chain), 1 + float64(i)/60, 1}
			c.Residues = append(c.Residues, structure.Residue{Comp: oneAtom, Seq: i + 1, Auth: i + 1,
				Atoms: []structure.Atom{{Name: "O2'", Element: "O", Pos: at}}})
		}
		s.Chains = append(s.Chains, c)
	}
	f := digestOf(t, s, Extra{})
	if len(f.Interfaces) != 1 {
		t.Fatalf("%q, %d interfaces", f.Index().crowded, len(f.Interfaces))
	}
	in := f.Interfaces[0]
	if in.HBondN != 90*90 || len(in.HBonds) != maxNear || cap(in.HBonds) > 2*manyPairs {
		t.Errorf("%d candidates of %d, in %d places", len(in.HBonds), in.HBondN, cap(in.HBonds))
	}
	if first, last := in.HBonds[0].Distance, in.HBonds[maxNear-1].Distance; first != 1 || last > 1.01 {
		t.Errorf("the nearest candidates are %v to %v Å apart", first, last)
	}
}
