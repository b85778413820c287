package calvados

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"pleat/internal/structure"
)

// The tests of this file hold the engine against programs that are not in the repository. They run with
// PLEAT_TEST_ENGINES=1 (make test-engines) and take some minutes.

// python gives an interpreter with OpenMM, MDTraj and MDAnalysis: PLEAT_PYTHON's, or one in a virtual environment in
// the user's cache folder, made once from PyPI.
func python(t *testing.T) string {
	t.Helper()
	if os.Getenv("PLEAT_TEST_ENGINES") == "" {
		t.Skip("set PLEAT_TEST_ENGINES=1")
	}
	if p := os.Getenv("PLEAT_PYTHON"); p != "" {
		return p
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	env := filepath.Join(cache, "pleat", "dynamics-check")
	python := filepath.Join(env, "bin", "python")
	if exec.Command(python, "-c", "import openmm, mdtraj, MDAnalysis").Run() == nil {
		return python
	}
	for _, args := range [][]string{
		{"python3", "-m", "venv", env},
		{python, "-m", "pip", "install", "-q", "openmm>=8.1,<9", "mdtraj>=1.10,<2", "MDAnalysis>=2.7,<3"},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	return python
}

func script(t *testing.T, python string, answer any, args ...string) {
	t.Helper()
	cmd := exec.Command(python, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, &stderr)
	}
	if err := json.Unmarshal(out, answer); err != nil {
		t.Fatal(err)
	}
}

func jsonFile(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "in.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

type evaluation struct {
	Terms  [4]float64 `json:"terms"` // bond, Ashbaugh–Hatch, Debye–Hückel, restraint
	Forces []vec      `json:"forces"`
}

// against compares the engine's energies and forces with OpenMM's, and gives the largest differences: of a term over
// the sum of the terms' sizes, of a force over their rms.
func against(t *testing.T, name string, s *System, configurations [][]vec, answers []evaluation, energy,
	force float64) {
	t.Helper()
	if len(answers) != len(configurations) {
		t.Fatalf("%d answers for %d configurations", len(answers), len(configurations))
	}
	d := s.Describe()
	var worstE, worstF float64
	for k, x := range configurations {
		_, size, _ := naive(&d, x)
		e := s.Energy(x)
		for i, v := range [4]float64{e.Bond, e.AshbaughHatch, e.DebyeHuckel, e.Restraint} {
			worstE = max(worstE, math.Abs(v-answers[k].Terms[i])/size)
		}
		worstF = max(worstF, worstForce(s.Forces(x), answers[k].Forces))
	}
	t.Logf("%s: %d configurations; max |ΔE|/Σ|terms| %.2g, max |ΔF|/rms %.2g", name, len(configurations), worstE,
		worstF)
	if !(worstE <= energy) || !(worstF <= force) {
		t.Errorf("%s: differs from OpenMM by %.2g in energy and %.2g in force; allowed %v and %v", name, worstE, worstF,
			energy, force)
	}
}

const histatin5 = "DSHAKRHHGYKRKFHEKHHSHRGY"

func TestOpenMM(t *testing.T) {
	python := python(t)
	r := newNoise(77)
	for _, c := range []struct {
		name    string
		profile Profile
		box     float64
		m       *Molecule
	}{
		{"histatin-5, CALVADOS 2", Calvados2, 20, mustSequence(t, histatin5)},
		{"150 residues, CALVADOS 3", Calvados3, 14, mustSequence(t, mixture(150))},
		{"fold of 60", Calvados3, 10, randomFold(&r, []int{60})},
		{"fold of three chains, small box", Calvados2, 8.2, randomFold(&r, []int{40, 30, 12})},
	} {
		p := Defaults()
		p.Box, p.Residues = c.box, c.profile
		if c.m.placed {
			p.Preset = SingleGo
		}
		s := mustSystem(t, p, c.m)
		var configurations [][]vec
		for range 12 {
			configurations = append(configurations, randomWalks(&r, s))
		}
		in := struct {
			Description
			Configurations [][]vec `json:"configurations"`
		}{s.Describe(), configurations}
		var answers []evaluation
		script(t, python, &answers, "testdata/openmm_system.py", "forces", jsonFile(t, in))
		against(t, c.name, s, configurations, answers, 1e-9, 1e-9)
	}
}

// fullAtoms dresses the sites of a molecule with some atoms each.
func fullAtoms(r *noise, m *Molecule) *structure.Structure {
	out := &structure.Structure{}
	for _, c := range m.Chains {
		chain := structure.Chain{ID: c.ID, Kind: structure.Protein}
		for k, site := range c.Sites {
			res := structure.Residue{Comp: residues[byLetter[site.Letter]].name, Seq: k + 1, Auth: k + 1}
			for i, name := range []string{"N", "CA", "C", "O", "CB", "HA"} {
				a := structure.Atom{
					Name:      name,
					Element:   name[:1],
					Occupancy: 1,
					B:         min(99, max(1, site.PLDDT+3*r.gauss())),
				}
				for x := range a.Pos {
					a.Pos[x] = site.Pos[x] + r.gauss()
				}
				if name == "CB" && site.Letter == 'G' || i == 5 && k%2 == 0 {
					continue
				}
				res.Atoms = append(res.Atoms, a)
			}
			chain.Residues = append(chain.Residues, res)
		}
		out.Chains = append(out.Chains, chain)
	}
	return out
}

func TestOpenMMFromPDB(t *testing.T) {
	python := python(t)
	r := newNoise(78)
	for _, c := range []struct {
		profile Profile
		lengths []int
	}{{Calvados3, []int{70}}, {Calvados2, []int{45, 35}}} {
		m := randomFold(&r, c.lengths)
		var pdb bytes.Buffer
		if err := structure.WritePDB(&pdb, fullAtoms(&r, m), structure.Meta{}); err != nil {
			t.Fatal(err)
		}
		text := pdb.String()
		read, err := structure.ReadPDB(&pdb, structure.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		p := Defaults()
		p.Preset, p.Residues, p.Box, p.PH, p.Temp, p.Ionic = SingleGo, c.profile, 12, 6.8, 310, 0.1
		placed, err := FromStructure(read, m.PAE)
		if err != nil {
			t.Fatal(err)
		}
		s := mustSystem(t, p, placed)
		var configurations [][]vec
		for range 12 {
			configurations = append(configurations, randomWalks(&r, s))
		}
		pae := make([][]float64, m.PAE.N)
		for i := range pae {
			for j := range m.PAE.N {
				pae[i] = append(pae[i], m.PAE.At(i, j))
			}
		}
		var answers []evaluation
		script(t, python, &answers, "testdata/openmm_system.py", "pdb", jsonFile(t, map[string]any{
			"pdb": text, "pae": pae, "profile": c.profile, "temp": p.Temp, "ionic": p.Ionic, "pH": p.PH, "box": p.Box,
			"configurations": configurations,
		}))
		t.Logf("%d restraints, %d scaled pairs", len(s.contacts), len(s.weak))
		against(t, fmt.Sprint("from PDB, chains of ", c.lengths), s, configurations, answers, 1e-6, 1e-5)
	}
}

// MDTraj and MDAnalysis read a run's files and measure on them what Analyse does (but MDTraj's radius of gyration,
// which is about the unweighted middle).
func TestOtherReaders(t *testing.T) {
	python := python(t)
	r := newNoise(79)
	p := Defaults()
	p.Preset, p.SaveNs, p.LengthNs, p.Box = SingleGo, 0.002, 0.2, 15
	s := mustSystem(t, p, randomFold(&r, []int{50}))
	dir := t.TempDir()
	if _, err := Run(t.Context(), s, dir, Hooks{}); err != nil {
		t.Fatal(err)
	}
	a, err := Analyse(t.Context(), s, trajectory(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	selections := []string{
		"all", "protein", "name CA", "resid 3:9 20", "resname A* or resname GLY",
		"not resid 1:10 and resname L?? or resid 2",
		"not (resname ALA or resid 5:30) and chainID A", "resid 1 or resid 2 and resid 3", "chainID B",
	}
	type measured struct {
		Frames     int       `json:"frames"`
		Atoms      int       `json:"atoms"`
		Rg         []float64 `json:"rg_nm"`
		RMSD       []float64 `json:"rmsd_nm"`
		Ends       []float64 `json:"end_to_end_nm"`
		Cell       []float64 `json:"cell_nm"`
		Last       []vec     `json:"last"`
		Dt         float64   `json:"dt_ps"`
		Times      []float64 `json:"times_ps"`
		Selections [][]int   `json:"selections"`
	}
	var got map[string]measured
	script(t, python, &got, "testdata/read_trajectory.py", dir,
		jsonFile(t, map[string]any{"masses": s.Masses(), "reference": s.Start(), "selections": selections}))
	for name, m := range got {
		if m.Frames != 100 || m.Atoms != s.Len() {
			t.Fatalf("%s reads %d frames of %d atoms", name, m.Frames, m.Atoms)
		}
		for series, pair := range map[string][2][]float64{
			"Rg": {m.Rg, a.RgNm}, "RMSD": {m.RMSD, a.RMSDNm}, "end-to-end": {m.Ends, a.EndToEndNm},
		} {
			if pair[0] == nil && (name == "mdtraj" && series == "Rg" || name == "mdanalysis" &&
				series == "end-to-end") {
				continue
			}
			if len(pair[0]) != len(pair[1]) {
				t.Fatalf("%s: %s has %d values, want %d", name, series, len(pair[0]), len(pair[1]))
			}
			worst := 0.0
			for k := range pair[0] {
				worst = max(worst, math.Abs(pair[0][k]-pair[1][k]))
			}
			t.Logf("%s: %s differs by at most %.2g nm", name, series, worst)
			if worst > 2e-5 {
				t.Errorf("%s: %s differs by %v nm", name, series, worst)
			}
		}
	}
	if c := got["mdtraj"].Cell; len(c) != 3 || math.Abs(c[0]-15) > 1e-5 {
		t.Errorf("MDTraj reads a cell of %v nm", c)
	}
	last, err := trajectory(t, dir).Read(99, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range got["mdtraj"].Last {
		if structure.Distance(last[i], structure.Vec{p[0] * 10, p[1] * 10, p[2] * 10}) > 1e-4 {
			t.Errorf("bead %d: MDTraj reads %v nm, we %v Å", i, p, last[i])
		}
	}
	mda := got["mdanalysis"]
	if math.Abs(mda.Dt-2) > 1e-4 {
		t.Errorf("MDAnalysis reads frames %v ps apart", mda.Dt)
	}
	st := s.Structure(s.Start())
	for k, expr := range selections {
		sel, err := ParseSelection(expr)
		if err != nil {
			t.Fatal(err)
		}
		ours := []int{}
		for i := range st.Chains[0].Residues {
			if res := &st.Chains[0].Residues[i]; sel.Matches(&st.Chains[0], res, &res.Atoms[0]) {
				ours = append(ours, i)
			}
		}
		if !slices.Equal(ours, mda.Selections[k]) {
			t.Errorf("%q: %v, MDAnalysis %v", expr, ours, mda.Selections[k])
		}
	}
}

// Histatin-5 with CALVADOS 2 at 293.15 K, 0.15 M, pH 7.5: 48 chains of 11 ns, the first 1 ns left out.
func TestHistatin5(t *testing.T) {
	if os.Getenv("PLEAT_TEST_ENGINES") == "" {
		t.Skip("set PLEAT_TEST_ENGINES=1")
	}
	const chains = 48
	rg, ends := make([]float64, chains), make([]float64, chains)
	systems := make([]*System, chains)
	for k := range systems {
		p := Defaults()
		p.Seed, p.Workers = uint64(100+k), 1
		systems[k] = mustSystem(t, p, mustSequence(t, histatin5))
	}
	var next sync.Mutex
	at := 0
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for {
				next.Lock()
				k := at
				at++
				next.Unlock()
				if k >= chains {
					return
				}
				d := NewDynamics(systems[k])
				if err := d.Minimise(t.Context()); err != nil {
					t.Error(err)
					return
				}
				d.Heat()
				d.Advance(100_000)
				const frames = 1000
				for range frames {
					d.Advance(1000)
					x := make([]structure.Vec, len(d.x))
					copy(x, d.x)
					rg[k] += gyration(d.s.Masses(), x) / frames
					r := d.s.distance(d.x, 0, len(d.x)-1)
					ends[k] += r * r / frames
				}
			}
		})
	}
	wait.Wait()
	s, e := NewStatistic(rg), NewStatistic(ends)
	se := s.SD / math.Sqrt(chains)
	t.Logf("radius of gyration %.4f ± %.4f nm; rms end-to-end %.3f nm", s.Mean, se, math.Sqrt(e.Mean))
	if off := math.Abs(s.Mean - 1.317); off > 3*math.Hypot(se, 0.002) || se > 0.006 {
		t.Errorf("radius of gyration %.4f ± %.4f nm, reference 1.317 ± 0.002", s.Mean, se)
	}
	if got := math.Sqrt(e.Mean); math.Abs(got-3.40) > 0.06 {
		t.Errorf("rms end-to-end %.3f nm, reference 3.40", got)
	}
}
