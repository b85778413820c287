package compare

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pleat"
	"pleat/api"
	"pleat/internal/structure"
	"pleat/internal/structure/structuretest"
)

// compareAll compares structures.
func compareAll(ctx context.Context, in []Input, reference int) (*api.Comparison, error) {
	var set Set
	for _, s := range in {
		if err := set.Add(ctx, s); err != nil {
			return nil, err
		}
	}
	return set.Compare(ctx, reference, nil)
}

// read returns a structure of the tests.
func read(t testing.TB, path string) *structure.Structure {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := structure.ReadPDB(f, structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ubiquitin(t testing.TB) *structure.Structure { return read(t, "../structure/testdata/1ubi.pdb") }
func crambin(t testing.TB) *structure.Structure   { return read(t, "../structure/testdata/1crn.pdb") }

// moved returns a copy of which every atom is moved.
func moved(s *structure.Structure, move func(v structure.Vec) structure.Vec) *structure.Structure {
	out := &structure.Structure{Title: s.Title}
	for _, c := range s.Chains {
		c.Residues = slices.Clone(c.Residues)
		for i := range c.Residues {
			r := &c.Residues[i]
			r.Atoms = slices.Clone(r.Atoms)
			for k := range r.Atoms {
				r.Atoms[k].Pos = move(r.Atoms[k].Pos)
			}
		}
		out.Chains = append(out.Chains, c)
	}
	return out
}

// rotated returns a copy that is turned by angles about x, y and z, and shifted.
func rotated(s *structure.Structure, angles, shift structure.Vec) *structure.Structure {
	return moved(s, func(v structure.Vec) structure.Vec {
		for axis, angle := range angles {
			i, j := (axis+1)%3, (axis+2)%3
			sin, cos := math.Sincos(angle)
			v[i], v[j] = cos*v[i]-sin*v[j], sin*v[i]+cos*v[j]
		}
		return structure.Vec{v[0] + shift[0], v[1] + shift[1], v[2] + shift[2]}
	})
}

// perturbed returns a copy of which every atom is moved along each axis by at most size Å, always in the same way.
func perturbed(s *structure.Structure, size float64) *structure.Structure {
	state := uint64(1)
	return moved(s, func(v structure.Vec) structure.Vec {
		for k := range v {
			state = state*6364136223846793005 + 1442695040888963407
			v[k] += size * (2*float64(state>>11)/(1<<53) - 1)
		}
		return v
	})
}

// only returns a structure of one chain of another, with another name.
func only(s *structure.Structure, chain int, id string) *structure.Structure {
	c := s.Chains[chain]
	c.ID, c.Label = id, ""
	return &structure.Structure{Chains: []structure.Chain{c}}
}

// joined returns a structure of the chains of several.
func joined(all ...*structure.Structure) *structure.Structure {
	out := &structure.Structure{}
	for _, s := range all {
		out.Chains = append(out.Chains, s.Chains...)
	}
	return out
}

// dimer returns crambin as chain A and a copy as chain B that is turned and touches it. It has no symmetry.
func dimer(t testing.TB) *structure.Structure {
	a := only(crambin(t), 0, "A")
	for shift := 5.0; ; shift += 0.25 {
		b := rotated(only(a, 0, "B"), structure.Vec{0.7, 0.3, 2}, structure.Vec{shift, 0, 0})
		least := math.Inf(1)
		p, _ := heavyAtoms(&polymersOf(a, nil)[0])
		q, _ := heavyAtoms(&polymersOf(b, nil)[0])
		for c := range structure.Contacts(p, q, 8) {
			least = min(least, c.Distance)
		}
		if least > 3 && least < 4 {
			return joined(a, b)
		}
		if shift > 200 {
			t.Fatal("the copies never touch")
		}
	}
}

func compared(t testing.TB, reference int, all ...*structure.Structure) *api.Comparison {
	t.Helper()
	var in []Input
	for _, s := range all {
		in = append(in, Input{Name: "s", Structure: s, Predicted: true})
	}
	out, err := compareAll(context.Background(), in, reference)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// near fails unless a value is known and within a tolerance.
func near(t testing.TB, name string, got *float64, want, tolerance float64) {
	t.Helper()
	if got == nil || !(math.Abs(*got-want) <= tolerance) {
		t.Errorf("%s is %s, want %v ± %v", name, show(got), want, tolerance)
	}
}

func show(v *float64) any {
	if v == nil {
		return "null"
	}
	return *v
}

func TestAlign(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want [][2]int32
	}{
		{"ACDE", "ACDE", [][2]int32{{0, 0}, {1, 1}, {2, 2}, {3, 3}}},
		{"ACDE", "ACE", [][2]int32{{0, 0}, {1, 1}, {3, 2}}},
		{"ACE", "ACDE", [][2]int32{{0, 0}, {1, 1}, {2, 3}}},
		{"ACDE", "AVDE", [][2]int32{{0, 0}, {1, 1}, {2, 2}, {3, 3}}},
		{"MKTAYIAK", "TAYIAK", [][2]int32{{2, 0}, {3, 1}, {4, 2}, {5, 3}, {6, 4}, {7, 5}}},
		{"TAYIAK", "TAYIAKQR", [][2]int32{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}}},
		// One gap of four costs less than two of two.
		{"AAAAGGGGCCCC", "AAAACCCC", [][2]int32{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {8, 4}, {9, 5}, {10, 6}, {11, 7}}},
	} {
		got, err := Align(t.Context(), c.a, c.b)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s and %s: %v %s", c.a, c.b, err, diff)
		}
	}
}

// score returns the score of an alignment, counted from its pairs.
func scoreOf(a, b string, pairs [][2]int32) int {
	score, i, j := 0, int32(0), int32(0)
	gap := func(n int32) {
		if n > 0 {
			score += gapOpen + int(n-1)*gapExtend
		}
	}
	for _, p := range append(slices.Clone(pairs), [2]int32{int32(len(a)), int32(len(b))}) {
		gap(p[0] - i)
		gap(p[1] - j)
		i, j = p[0]+1, p[1]+1
		if int(p[0]) < len(a) && a[p[0]] == b[p[1]] {
			score += matchScore
		}
	}
	return score
}

// No alignment of short sequences, of which all are tried, scores more.
func TestAlignIsBest(t *testing.T) {
	letters := rapid.StringOfN(rapid.SampledFrom([]rune("AC")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := letters.Draw(t, "a"), letters.Draw(t, "b")
		got, err := Align(context.Background(), a, b)
		if err != nil {
			t.Fatal(err)
		}
		best := math.MinInt
		var try func(i, j int, pairs [][2]int32)
		try = func(i, j int, pairs [][2]int32) {
			best = max(best, scoreOf(a, b, pairs))
			for x := i; x < len(a); x++ {
				for y := j; y < len(b); y++ {
					try(x+1, y+1, append(slices.Clone(pairs), [2]int32{int32(x), int32(y)}))
				}
			}
		}
		try(0, 0, nil)
		if have := scoreOf(a, b, got); have != best {
			t.Errorf("%q and %q: the alignment %v scores %d, the best %d", a, b, got, have, best)
		}
	})
}

// points returns a protein of one chain with the CA of a residue at each point. Neighbours are different residues.
func points(all ...structure.Vec) *structure.Structure {
	c := structure.Chain{ID: "A", Kind: structure.Protein}
	for i, v := range all {
		comp, _ := structure.Component(structure.Protein, "ARNDCQEGHILKMFPSTWYV"[i%20])
		c.Residues = append(c.Residues, structure.Residue{
			Comp: comp, Seq: i + 1, Auth: i + 1,
			Atoms: []structure.Atom{{Name: "CA", Element: "C", Pos: v, Occupancy: 1}},
		})
	}
	return &structure.Structure{Chains: []structure.Chain{c}}
}

// Four residues on a line, 4 Å apart, of which the last is moved by 1.5 Å along the line. Three of the six distances,
// those to the last one, differ by 1.5 Å, which two of four thresholds allow: lDDT = (3·4 + 3·2) / 24. After
// superposition the mean of the deviations is 0: they are -0.375 three times, and 1.125.
func TestByHand(t *testing.T) {
	a := points(structure.Vec{0}, structure.Vec{4}, structure.Vec{8}, structure.Vec{12})
	b := points(structure.Vec{0}, structure.Vec{4}, structure.Vec{8}, structure.Vec{13.5})
	out := compared(t, 0, a, b)
	p := out.Pairs[0]
	near(t, "lddtCA", p.LDDTCA, 0.75, 1e-12)
	if why := p.Reasons["lddtAllAtom"]; p.LDDTAllAtom != nil || !strings.Contains(why, "have only CA") {
		t.Errorf("lddtAllAtom of CA alone is %v, because %q", p.LDDTAllAtom, why)
	}
	near(t, "rmsd", p.RMSD, math.Sqrt((3*0.375*0.375+1.125*1.125)/4), 1e-9)
	if s := out.Details[0].Segments[0]; !slices.Equal(s.Distance, []float64{0.375, 0.375, 0.375, 1.125}) ||
		!slices.Equal(s.LDDT, []float64{0.8333, 0.8333, 0.8333, 0.5}) {
		t.Errorf("%+v", s)
	}
	near(t, "tmScoreA", tmOfHinge(t), (19+1/(1+30.0*30/0.25))/20, 1e-4)
	// A residue more in b: a's residues are all aligned, and b's score counts five residues.
	c := points(structure.Vec{0}, structure.Vec{4}, structure.Vec{8}, structure.Vec{12}, structure.Vec{12, 4})
	p = compared(t, 0, a, c).Pairs[0]
	near(t, "tmScoreA", p.TMScoreA, 1, 1e-9)
	near(t, "tmScoreB", p.TMScoreB, 4.0/5, 1e-9)
	near(t, "lddtCA", p.LDDTCA, 1, 0)
	// With c as the reference, the distances to its fifth residue, 4 of 10, are not preserved.
	p = compared(t, 0, c, a).Pairs[0]
	near(t, "lddtCA", p.LDDTCA, 6.0/10, 1e-12)
}

// tmOfHinge returns the TM-score of a helix of 20 residues, for which d0 is 0.5 Å, and a copy whose last residue is
// 30 Å away.
func tmOfHinge(t *testing.T) *float64 {
	var helix []structure.Vec
	for i := range 20 {
		sin, cos := math.Sincos(float64(i) * 100 * math.Pi / 180)
		helix = append(helix, structure.Vec{2.3 * cos, 2.3 * sin, 1.5 * float64(i)})
	}
	broken := slices.Clone(helix)
	broken[19][2] += 30
	return compared(t, 0, points(helix...), points(broken...)).Pairs[0].TMScoreA
}

// Random sequences are not similar.
func TestSimilarity(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // sequences, not secrets
	sequence := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "ARNDCQEGHILKMFPSTWYV"[random.IntN(20)]
		}
		return string(b)
	}
	for range 50 {
		a, b := sequence(20+random.IntN(180)), sequence(20+random.IntN(180))
		pairs, err := Align(t.Context(), a, b)
		if s := similarity(a, b, pairs); err != nil || s >= minSimilarity {
			t.Errorf("%s and %s: %v %v", a, b, s, err)
		}
	}
	for _, c := range [][2]string{{"ARNDCQEGHI", "ARNDCQEGHI"}, {"NDCQE", "ARNDCQEGHI"}} {
		if pairs, err := Align(t.Context(), c[0], c[1]); err != nil || similarity(c[0], c[1], pairs) != 1 {
			t.Errorf("%v: %v %v", c, pairs, err)
		}
	}
}

func TestSelf(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		angle, shift := rapid.Float64Range(-4, 4), rapid.Float64Range(-200, 200)
		angles := structure.Vec{angle.Draw(r, "x"), angle.Draw(r, "y"), angle.Draw(r, "z")}
		by := structure.Vec{shift.Draw(r, "dx"), shift.Draw(r, "dy"), shift.Draw(r, "dz")}
		a := crambin(t)
		out := compared(t, 1, a, rotated(a, angles, by))
		p, d := out.Pairs[0], out.Details[0]
		near(t, "rmsd", p.RMSD, 0, 1e-6)
		near(t, "lddtCA", p.LDDTCA, 1, 0)
		near(t, "lddtAllAtom", p.LDDTAllAtom, 1, 0)
		near(t, "tmScoreA", p.TMScoreA, 1, 1e-6)
		near(t, "tmScoreB", p.TMScoreB, 1, 1e-6)
		near(t, "plddtChange", p.PLDDTChange, 0, 0)
		if p.AlignedResidues != 46 || d.Contacts.Gained != 0 || d.Contacts.Lost != 0 || d.Contacts.Kept < 50 {
			t.Errorf("%d aligned, %+v", p.AlignedResidues, d.Contacts)
		}
		if max := slices.Max(d.Segments[0].Distance); max > 1e-3 {
			t.Errorf("a residue is %v Å away", max)
		}
	})
}

// No score depends on how the structures are placed, and the transform moves the coordinates to where distances are
// measured.
func TestInvariance(t *testing.T) {
	a := dimer(t)
	b := perturbed(a, 1.5)
	want := compared(t, 1, a, b)
	rapid.Check(t, func(r *rapid.T) {
		angle, shift := rapid.Float64Range(-4, 4), rapid.Float64Range(-200, 200)
		turned := rotated(b,
			structure.Vec{angle.Draw(r, "x"), angle.Draw(r, "y"), angle.Draw(r, "z")},
			structure.Vec{shift.Draw(r, "dx"), shift.Draw(r, "dy"), shift.Draw(r, "dz")})
		got := compared(t, 1, a, turned)
		p, q := want.Pairs[0], got.Pairs[0]
		near(t, "rmsd", q.RMSD, *p.RMSD, 1e-6)
		near(t, "lddtCA", q.LDDTCA, *p.LDDTCA, 1e-6)
		near(t, "lddtAllAtom", q.LDDTAllAtom, *p.LDDTAllAtom, 1e-4)
		near(t, "tmScoreA", q.TMScoreA, *p.TMScoreA, 1e-6)
		near(t, "dockq", q.DockQ, *p.DockQ, 1e-6)
		if diff := cmp.Diff(want.Details[0].Contacts.Kept, got.Details[0].Contacts.Kept); diff != "" {
			t.Error(diff)
		}
		sum, n := 0.0, 0
		move := got.Structures[1].Transform
		for i, s := range got.Details[0].Segments {
			for k, v := range turned.Chains[i].Centres() {
				at := structure.Apply(move.Rotation, move.Translation, v)
				d := structure.Distance(at, a.Chains[i].Centres()[k])
				if math.Abs(d-s.Distance[k]) > 2e-3 {
					t.Fatalf("residue %d: %v Å, and %v Å by the transform", k, s.Distance[k], d)
				}
				sum, n = sum+d*d, n+1
			}
		}
		near(t, "rmsd of the distances", q.RMSD, math.Sqrt(sum/float64(n)), 1e-6)
	})
}

// The copies of a homodimer are exchanged, and a third chain without a counterpart is left out.
func TestSymmetricCopies(t *testing.T) {
	a := dimer(t)
	b := rotated(a, structure.Vec{1, 2, 3}, structure.Vec{9, 9, 9})
	b.Chains[0].ID, b.Chains[1].ID = "X", "Y"
	slices.Reverse(b.Chains)
	b = joined(only(ubiquitin(t), 0, "C"), b)
	p := compared(t, 1, a, b).Pairs[0]
	near(t, "rmsd", p.RMSD, 0, 1e-6)
	want := []api.MatchedChains{{A: "A", B: "X", AlignedResidues: 46, SequenceIdentity: 1},
		{A: "B", B: "Y", AlignedResidues: 46, SequenceIdentity: 1}}
	if diff := cmp.Diff(want, p.Chains); diff != "" {
		t.Error(diff)
	}
	near(t, "tmScoreB", p.TMScoreB, 92.0/168, 1e-6)
	near(t, "dockq", p.DockQ, 1, 1e-6)
}

// The ring of a hexamer is found again however the chains are named.
func TestRing(t *testing.T) {
	one := only(crambin(t), 0, "A")
	c := structure.Centroid(one.Chains[0].Centres())
	one = moved(one, func(v structure.Vec) structure.Vec {
		return structure.Vec{v[0] - c[0] + 25, v[1] - c[1], v[2] - c[2]}
	})
	var ring []*structure.Structure
	for k := range 6 {
		ring = append(ring, rotated(only(one, 0, string(rune('A'+k))), structure.Vec{0, 0, float64(k) * math.Pi / 3},
			structure.Vec{}))
	}
	a := joined(ring...)
	rapid.Check(t, func(r *rapid.T) {
		b := &structure.Structure{}
		for _, i := range rapid.Permutation([]int{0, 1, 2, 3, 4, 5}).Draw(r, "order") {
			b.Chains = append(b.Chains, a.Chains[i])
		}
		matches, err := matchChains(context.Background(), polymersOf(a, nil), polymersOf(perturbed(b, 0.5), nil))
		if err != nil || len(matches) != 6 {
			t.Fatal(matches, err)
		}
		var p, q []structure.Vec
		for _, m := range matches {
			p, q = append(p, m.pointsA...), append(q, m.pointsB...)
		}
		near(t, "rmsd", new(structure.RMSD(p, q)), 0.5, 0.1)
	})
}

// A dimer of which one chain is moved by 100 Å has none of the contacts, and DockQ by its formula.
func TestDockQByHand(t *testing.T) {
	a := dimer(t)
	far := joined(only(a, 0, "A"), rotated(only(a, 1, "B"), structure.Vec{}, structure.Vec{0, 0, 100}))
	i := compared(t, 1, a, far).Pairs[0].Interfaces[0]
	near(t, "fnat", i.FNat, 0, 0)
	near(t, "fnonnat", i.FNon, 0, 0)
	near(t, "LRMSD", i.LRMSD, 100, 1e-6)
	near(t, "dockq", i.DockQ,
		(1/(1+*i.IRMSD**i.IRMSD/2.25)+1/(1+100*100/(8.5*8.5)))/3, 1e-12)
	if *i.IRMSD < 10 || *i.IRMSD > 50 {
		t.Errorf("iRMSD %v", *i.IRMSD)
	}
	// One chain alone has no counterpart of the interface.
	p := compared(t, 1, a, only(a, 0, "A")).Pairs[0]
	if p.DockQ != nil || p.Reasons["dockq"] == "" || p.Interfaces[0].Reason == "" || len(p.Interfaces[0].Model) != 0 {
		t.Errorf("%+v", p)
	}
	// Without a reference there is none, and the reference is a wherever it stands.
	if p := compared(t, 0, a, a).Pairs[0]; p.DockQ != nil || p.Reasons["dockq"] != "a is not the reference" {
		t.Errorf("%+v", p)
	}
	out := compared(t, 3, far, far, a)
	if p := out.Pairs[1]; p.A != 3 || p.B != 1 || p.DockQ == nil || out.SuperposedOn != 3 {
		t.Errorf("%+v", p)
	}
}

// The names of atoms that are the same by nature do not matter.
func TestNamesByNature(t *testing.T) {
	a := ubiquitin(t)
	b := moved(a, func(v structure.Vec) structure.Vec { return v })
	swapped := 0
	for i := range b.Chains[0].Residues {
		r := &b.Chains[0].Residues[i]
		if r.Comp == "ASP" || r.Comp == "LEU" {
			for k := range r.Atoms {
				if name := r.Atoms[k].Name; strings.HasSuffix(name, "D1") {
					r.Atoms[k].Name = strings.TrimSuffix(name, "1") + "2"
					swapped++
				} else if strings.HasSuffix(name, "D2") {
					r.Atoms[k].Name = strings.TrimSuffix(name, "2") + "1"
				}
			}
		}
	}
	near(t, "lddtAllAtom", compared(t, 0, a, b).Pairs[0].LDDTAllAtom, 1, 0)
	if swapped < 10 {
		t.Errorf("%d names were exchanged", swapped)
	}
}

// A contact that a moved side chain loses is listed, with its distances.
func TestContactChanges(t *testing.T) {
	a := ubiquitin(t)
	b := moved(a, func(v structure.Vec) structure.Vec { return v })
	r := &b.Chains[0].Residues[0] // MET 1 packs on residues 17, 63 and others
	for k := range r.Atoms {
		if name := r.Atoms[k].Name; name == "SD" || name == "CE" || name == "CG" {
			r.Atoms[k].Pos[0] += 40
		}
	}
	d := compared(t, 0, a, b).Details[0].Contacts
	if d.Lost == 0 || d.Gained != 0 || len(d.Changes) != d.Lost {
		t.Fatalf("%+v", d)
	}
	for _, c := range d.Changes {
		if c.Change != "lost" || c.A[0] != (api.Position{Chain: "A", Residue: 1, Name: "MET"}) ||
			c.DistanceA > 4.5 || c.DistanceB <= 4.5 {
			t.Errorf("%+v", c)
		}
	}
	back := compared(t, 0, b, a).Details[0].Contacts
	if back.Gained != d.Lost || back.Lost != 0 || back.Kept != d.Kept {
		t.Errorf("%+v, the other way %+v", d, back)
	}
}

func TestUnrelated(t *testing.T) {
	out := compared(t, 1, ubiquitin(t), crambin(t))
	p := out.Pairs[0]
	if p.RMSD != nil || p.AlignedResidues != 0 || p.Reasons["rmsd"] == "" || out.Structures[1].Transform != nil ||
		len(out.Details) != 1 || out.Details[0].Contacts != nil {
		t.Errorf("%+v", p)
	}
}

func TestNoConfidence(t *testing.T) {
	a := crambin(t)
	out, err := compareAll(t.Context(), []Input{{Structure: a, Predicted: true}, {Structure: a}}, 0)
	if err != nil || out.Pairs[0].PLDDTChange != nil || out.Pairs[0].Reasons["plddtChange"] == "" {
		t.Errorf("%v %+v", err, out)
	}
}

func TestBounds(t *testing.T) {
	chains := &structure.Structure{}
	for range MaxChains + 1 {
		chains.Chains = append(chains.Chains, points(structure.Vec{}).Chains[0])
	}
	long := points(slices.Repeat([]structure.Vec{{}}, MaxResidues)...)
	longer := points(slices.Repeat([]structure.Vec{{}}, MaxResidues+1)...)
	a := crambin(t)
	for _, c := range []struct {
		all  []*structure.Structure
		want string
	}{
		{[]*structure.Structure{a}, "of names 1 structures; it must name 2 to 20"},
		{slices.Repeat([]*structure.Structure{a}, 21), "of names 21 structures; it must name 2 to 20"},
		{[]*structure.Structure{a, chains}, "of[1] (s) has 65 polymer chains; at most 64 can be compared"},
		{[]*structure.Structure{longer, a},
			"of[0] (s) has 5001 residues; at most 5000 of one structure can be compared"},
		{slices.Repeat([]*structure.Structure{long}, 5),
			"of has more than 20000 residues in all; compare fewer structures"},
	} {
		var in []Input
		for _, s := range c.all {
			in = append(in, Input{Name: "s", Structure: s})
		}
		_, err := compareAll(t.Context(), in, 0)
		if pleat.CodeOf(err) != pleat.CodeInvalid || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// What a set keeps is bounded by the residues of polymers, however many ligands a file has.
func TestSetKeepsPolymers(t *testing.T) {
	a := crambin(t)
	cloud := *a
	ligand := structure.Chain{ID: "L", Kind: structure.Ligand}
	for i := range 50_000 {
		at := structure.Vec{float64(i%40) * 2, float64(i/40%40) * 2, float64(i/1600) * 2}
		ligand.Residues = append(ligand.Residues, structure.Residue{
			Comp: "LIG", Auth: i, Het: true, Atoms: []structure.Atom{{Name: "C1", Element: "C", Pos: at}},
		})
	}
	cloud.Chains = append(slices.Clone(a.Chains), ligand)
	var set Set
	for range 2 {
		if err := set.Add(t.Context(), Input{Structure: &cloud}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range set.all {
		for _, c := range set.all[i].Structure.Chains {
			if !c.Kind.Polymer() {
				t.Errorf("structure %d: the chain %s of %d residues is kept", i+1, c.ID, len(c.Residues))
			}
		}
	}
	out, err := set.Compare(t.Context(), 1, nil)
	if err != nil || *out.Pairs[0].RMSD > 1e-9 || out.Pairs[0].Reasons["contacts"] != "" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := crambin(t)
	if _, err := compareAll(ctx, []Input{{Structure: a}, {Structure: a}}, 0); err != context.Canceled {
		t.Error(err)
	}
}

// Atoms that lie on one another have no contacts, and the scores that need neighbours are null with a reason.
func TestCrowded(t *testing.T) {
	a := structuretest.CrowdedCube(3000, 10)
	out := compared(t, 1, a, a)
	p := out.Pairs[0]
	if p.LDDTAllAtom != nil || out.Details[0].Contacts != nil || p.RMSD == nil ||
		!strings.HasPrefix(p.Reasons["contacts"], "structure 1: Atoms lie on one another") {
		t.Errorf("%+v", p)
	}
}

// BenchmarkLimits compares what GET /v1/compare answers at most: 4 structures of 4,000 residues in all, and two.
func BenchmarkLimits(b *testing.B) {
	for _, n := range []int{2, 4} {
		one := &structure.Structure{}
		for k := range 4000 / n / 76 {
			one.Chains = append(one.Chains, rotated(only(ubiquitin(b), 0, string(rune('A'+k))),
				structure.Vec{0, 0, float64(k)}, structure.Vec{0, 0, 15 * float64(k)}).Chains...)
		}
		var in []Input
		for range n {
			in = append(in, Input{Structure: perturbed(one, float64(len(in)))})
		}
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for range b.N {
				if _, err := compareAll(b.Context(), in, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Residues are the same where their components are, also those that have no letter. A modified residue is not its
// parent, and a protonation state is.
func TestIdentityByComponent(t *testing.T) {
	chain := func(comps ...string) *structure.Structure {
		var all []structure.Vec
		for i := range comps {
			sin, cos := math.Sincos(float64(i) * 100 * math.Pi / 180)
			all = append(all, structure.Vec{2.3 * cos, 2.3 * sin, 1.5 * float64(i)})
		}
		s := points(all...)
		for i, comp := range comps {
			s.Chains[0].Residues[i].Comp = comp
		}
		return s
	}
	odd := chain("22Q", "ALA", "SER", "CYS", "22W", "GLY", "UNK", "HIS")
	for _, c := range []struct {
		name string
		b    *structure.Structure
		want float64
	}{
		{"itself", odd, 1},
		{"a residue is missing", chain("22Q", "ALA", "SER", "CYS", "22W", "GLY", "UNK"), 1},
		{"phosphoserine", chain("22Q", "ALA", "SEP", "CYS", "22W", "GLY", "UNK", "HIS"), 7.0 / 8},
		{"protonation", chain("22Q", "ALA", "SER", "CYX", "22W", "GLY", "UNK", "HIE"), 1},
		{"another component", chain("22Q", "ALA", "SER", "CYS", "22Q", "GLY", "UNK", "HIS"), 7.0 / 8},
	} {
		p := compared(t, 0, odd, c.b).Pairs[0]
		if p.SequenceIdentity == nil || math.Abs(*p.SequenceIdentity-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %g", c.name, p.SequenceIdentity, c.want)
		}
	}
}
