package calvados

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pleat"
	"pleat/internal/structure"
	"pleat/internal/structure/structuretest"
)

func TestParamsRefuse(t *testing.T) {
	p := Defaults()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	if p.Steps() != 20_000 || p.Every() != 1000 || p.Frames() != 20 {
		t.Errorf("%d steps, a frame each %d, %d frames", p.Steps(), p.Every(), p.Frames())
	}
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		change func(p *Params)
		want   string
	}{
		"temperature of 0":  {func(p *Params) { p.Temp = 0 }, "temp is 0 K; it must be from 250 to 400 K"},
		"temperature nan":   {func(p *Params) { p.Temp = nan }, "temp is NaN"},
		"negative salt":     {func(p *Params) { p.Ionic = -0.1 }, "ionic is -0.1"},
		"pH":                {func(p *Params) { p.PH = 15 }, "pH is 15; it must be from 0 to 14"},
		"small box":         {func(p *Params) { p.Box = 7.9 }, "box_length is 7.9 nm; it must be from 8"},
		"infinite box":      {func(p *Params) { p.Box = inf }, "box_length is +Inf"},
		"negative friction": {func(p *Params) { p.Friction = -1 }, "friction"},
		"negative length":   {func(p *Params) { p.LengthNs = -1 }, "sim_length_ns is -1"},
		"negative save":     {func(p *Params) { p.SaveNs = -0.01 }, "step_size_ns is -0.01"},
		"no length":         {func(p *Params) { p.LengthNs = nan }, "sim_length_ns is NaN"},
		"infinite save":     {func(p *Params) { p.SaveNs = inf }, "step_size_ns is +Inf"},
		"1e9 steps":         {func(p *Params) { p.LengthNs, p.SaveNs = 10_000, 1 }, "1e+09 steps"},
		"huge":              {func(p *Params) { p.LengthNs = math.MaxFloat64 }, "sim_length_ns"},
		"too many frames": {func(p *Params) {
			p.LengthNs, p.SaveNs = 100, 0.0001
		}, "makes 1000000 frames; at most 100000"},
		"no frame":          {func(p *Params) { p.LengthNs = 0.005 }, "shorter than step_size_ns"},
		"between two steps": {func(p *Params) { p.SaveNs = 0.0100042 }, "whole number of steps of"},
		"less than a step":  {func(p *Params) { p.SaveNs = 0.000001 }, "whole number"},
		"preset":            {func(p *Params) { p.Preset = "all_atom" }, `preset is "all_atom"`},
		"profile":           {func(p *Params) { p.Residues = Profile(strings.Repeat("x", 90)) }, "residue_profile"},
		"termini":           {func(p *Params) { p.Termini = "left" }, "charge_termini"},
		"long steps":        {func(p *Params) { p.Step = 0.1 }, "integration step"},
		"workers":           {func(p *Params) { p.Workers = -1 }, "workers"},
		"box below the chain": {func(p *Params) {
			p.Box = 8
		}, "box_length is 8 nm, smaller than the chain of 150 residues"},
		"too many bytes":   {func(p *Params) { p.LengthNs, p.SaveNs = 1000, 0.01 }, "MiB"},
		"Gō of a sequence": {func(p *Params) { p.Preset = SingleGo }, "needs a predicted structure"},
	} {
		p := Defaults()
		c.change(&p)
		n := 150
		if name == "too many bytes" {
			n = 1000
			p.Box = 50
		}
		_, err := NewSystem(p, mustSequence(t, mixture(n)))
		var refusal *pleat.Error
		if !errors.As(err, &refusal) || refusal.Code != pleat.CodeInvalid ||
			!strings.Contains(refusal.Message, c.want) || len(refusal.Message) > 250 {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestSequenceRefused(t *testing.T) {
	for sequence, want := range map[string]string{
		"":                          "0 residues",
		"A":                         "1 residue;",
		"ACDX":                      `'X' at position 4`,
		"acd":                       `'a' at position 1`,
		"AC\xff":                    "position 3",
		strings.Repeat("A", 10_000): "at most 5000",
	} {
		if _, err := FromSequence(sequence); pleat.CodeOf(err) != pleat.CodeInvalid ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.10q: %v, want %q", sequence, err, want)
		}
	}
}

// threeResidues is a chain of GLY, TRP, ALA with some atoms each.
func threeResidues() *structure.Structure {
	atom := func(name, element string, x, b float64) structure.Atom {
		return structure.Atom{Name: name, Element: element, Pos: structure.Vec{x, 1, 2}, B: b, Occupancy: 1}
	}
	return &structure.Structure{Chains: []structure.Chain{
		{ID: "A", Kind: structure.Protein, Residues: []structure.Residue{
			{Comp: "GLY", Seq: 1, Auth: 5, Atoms: []structure.Atom{atom("N", "N", 0, 80), atom("CA", "C", 1.4, 90)}},
			{Comp: "TRP", Seq: 2, Auth: 6, Atoms: []structure.Atom{atom("CA", "C", 5, 70)}},
			{Comp: "ALA", Seq: 3, Auth: 7, Atoms: []structure.Atom{atom("CA", "C", 9, 70), atom("H", "H", 10, 40)}},
		}},
		{ID: "L", Kind: structure.Ligand, Residues: []structure.Residue{
			{Comp: "HEM", Auth: 1, Atoms: []structure.Atom{atom("FE", "FE", 0, 50)}},
		}},
	}}
}

func flat(n int, v float32) structure.Matrix {
	m := structure.Matrix{N: n, V: make([]float32, n*n)}
	for i := range m.V {
		m.V[i] = v
	}
	return m
}

func TestFromStructure(t *testing.T) {
	m, err := FromStructure(threeResidues(), flat(3, 1))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Chains) != 1 || len(m.Left) != 1 || m.Left[0] != "chain L (ligand)" {
		t.Errorf("%+v", m)
	}
	first := m.Chains[0].Sites[0]
	if want := 1.4 * 12.011 / (12.011 + 14.007); math.Abs(first.Pos[0]-want) > 1e-12 || first.PLDDT != 85 ||
		first.Letter != 'G' || first.Number != 5 {
		t.Errorf("%+v, want x %v", first, want)
	}
	if last := m.Chains[0].Sites[2]; math.Abs(last.Pos[0]-(9*12.011+10*1.008)/13.019) > 1e-12 || last.PLDDT != 55 {
		t.Errorf("%+v", last)
	}
	for name, c := range map[string]struct {
		change func(s *structure.Structure, pae *structure.Matrix)
		want   string
	}{
		"unknown residue": {func(s *structure.Structure, _ *structure.Matrix) { s.Chains[0].Residues[1].Comp = "UNK" },
			`residue 6 of chain A is "UNK"`},
		"gap": {func(s *structure.Structure, _ *structure.Matrix) {
			s.Chains[0].Residues[2].Seq = 5
		}, "jumps from residue 6 to 7"},
		"no atoms": {func(s *structure.Structure, _ *structure.Matrix) { s.Chains[0].Residues[1].Atoms = nil },
			"has no atoms"},
		"no position": {func(s *structure.Structure, _ *structure.Matrix) {
			s.Chains[0].Residues[1].Atoms[0].Pos[1] = math.NaN()
		}, "no finite position"},
		"broken chain": {func(s *structure.Structure, _ *structure.Matrix) {
			s.Chains[0].Residues[2].Auth = 9
			s.Chains[0].Residues[2].Atoms[0].Pos[0] = 15
		}, "jumps from residue 6 to 9"},
		"no confidence": {func(s *structure.Structure, _ *structure.Matrix) {
			for i := range s.Chains[0].Residues {
				for j := range s.Chains[0].Residues[i].Atoms {
					s.Chains[0].Residues[i].Atoms[j].B = 0
				}
			}
		}, "needs the pLDDT of the structure, and none is known"},
		"B-factors": {func(s *structure.Structure, _ *structure.Matrix) { s.Chains[0].Residues[1].Atoms[0].B = 130 },
			"its confidence values are not between 0 and 100"},
		"experiment": {func(s *structure.Structure, _ *structure.Matrix) {
			s.Origin, s.Method = structure.Experiment, "X-RAY DIFFRACTION"
		}, "The structure is of an experiment (X-RAY DIFFRACTION)"},
		"one residue without confidence": {func(s *structure.Structure, _ *structure.Matrix) {
			s.Chains[0].Residues[0].PLDDT = new(80.0)
		}, "residue TRP 6 of chain A has no pLDDT"},
		"other PAE": {func(_ *structure.Structure, pae *structure.Matrix) {
			*pae = flat(4, 1)
		}, "4 × 4 values for 3 protein residues"},
		"no PAE": {func(_ *structure.Structure, pae *structure.Matrix) { *pae = structure.Matrix{} }, "0 × 0"},
		"no protein": {func(s *structure.Structure, _ *structure.Matrix) {
			s.Chains = s.Chains[1:]
		}, "0 protein residues"},
		"one residue": {func(s *structure.Structure, _ *structure.Matrix) {
			s.Chains[0].Residues = s.Chains[0].Residues[:1]
		}, "1 residue;"},
	} {
		s, pae := threeResidues(), flat(3, 1)
		c.change(s, &pae)
		if _, err := FromStructure(s, pae); pleat.CodeOf(err) != pleat.CodeInvalid ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	s := threeResidues()
	s.Chains[0].Residues[0].PLDDT, s.Chains[0].Residues[1].PLDDT = new(0.5), new(0.25)
	s.Chains[0].Residues[2].PLDDT = new(1.0)
	if m, err := FromStructure(s, flat(3, 1)); err != nil || m.Chains[0].Sites[1].PLDDT != 25 {
		t.Errorf("values that the file lists: %v", err)
	}
	s = threeResidues()
	s.Chains[0].Residues[2].Atoms = s.Chains[0].Residues[1].Atoms
	m, err = FromStructure(s, flat(3, 1))
	if err != nil {
		t.Fatal(err)
	}
	p := Defaults()
	p.Preset = SingleGo
	if _, err := NewSystem(p, m); err == nil ||
		!strings.Contains(err.Error(), "TRP 6 of chain A and ALA 7 of chain A lie within 0.1 Å") {
		t.Errorf("residues on one another: %v", err)
	}
}

// Residues that lie close together would all be restrained to each other: memory of the square of their number.
func TestCrowdedMoleculeIsRefused(t *testing.T) {
	for n, want := range map[int]string{150: "", 400: "more than 200 residues lie within 9 Å of ALA"} {
		source := structuretest.CrowdedCube(n, 6)
		for i := range source.Chains[0].Residues { // places of a lattice, none of which overlap
			a := &source.Chains[0].Residues[i].Atoms[0]
			a.Pos, a.B = structure.Vec{float64(i % 8), float64(i / 8 % 8), float64(i / 64)}, 95
		}
		m, err := FromStructure(source, flat(n, 1))
		if err != nil {
			t.Fatal(err)
		}
		p := Defaults()
		p.Preset = SingleGo
		_, err = NewSystem(p, m)
		if message := fmt.Sprint(err); (err == nil) != (want == "") || !strings.HasPrefix(message, want) && err != nil {
			t.Errorf("%d residues: %v, want %q", n, err, want)
		}
	}
}

// A spiral has bonds of the right length and nothing overlaps.
func TestSpiral(t *testing.T) {
	x := spiral(500)
	for i := range x {
		for j := range i {
			r := math.Hypot(x[i][0]-x[j][0], x[i][1]-x[j][1])
			if i == j+1 && math.Abs(r-bondLength) > 1e-9 || i > j+1 && r < 0.6 {
				t.Fatalf("beads %d and %d are %v nm apart", j, i, r)
			}
		}
	}
}
