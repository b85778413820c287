package plot

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var galleryDir = flag.String("gallery", "", "write every figure of TestGallery into this folder, to be looked at")

// Figures of made-up arrays, in the shapes that have gone wrong in plots: one residue, few, many, many chains, long
// names.

func fakeProfile(r *rand.Rand, name string, n int) Profile {
	v, at := make([]float64, n), 80.0
	for i := range v {
		at += r.NormFloat64()*3 + (82-at)*0.03
		v[i] = min(max(at, 5), 99)
	}
	return Profile{Name: name, Values: v}
}

func manyProfiles(r *rand.Rand, count, n int) []Profile {
	var out []Profile
	for i := range count {
		out = append(out, fakeProfile(r, string(rune('A'+i)), n+(i*17)%40))
	}
	return out
}

func chainsOf(ps []Profile) []Chain {
	var out []Chain
	for _, p := range ps {
		out = append(out, Chain{Name: p.Name, Length: len(p.Values)})
	}
	return out
}

func fakePAE(chains []Chain) func(i, j int) float64 {
	var of []int
	for k, c := range chains {
		for range c.Length {
			of = append(of, k)
		}
	}
	return func(i, j int) float64 {
		v := 1 + math.Min(9, math.Abs(float64(i-j))*0.06) + 2*math.Abs(math.Sin(float64(i*3+j)/17))
		if of[i] != of[j] {
			v += 9 + float64((of[i]*7+of[j]*3)%9)
		}
		return math.Min(v, 31)
	}
}

func fakeBlock(r *rand.Rand, name string, rows, total, from, to int) Block {
	b := Block{Name: name}
	for range rows {
		s := []byte(strings.Repeat("-", total))
		width := to - from
		lo := from + r.IntN(width/3+1)
		hi := to - r.IntN(width/3+1)
		for i := lo; i < hi; i++ {
			if r.Float64() > 0.06 {
				s[i] = 'A'
			}
		}
		b.Rows = append(b.Rows, Row{Identity: 0.15 + 0.85*math.Pow(r.Float64(), 2.5), Aligned: string(s)})
	}
	return b
}

func fakeSeries(r *rand.Rand, n int, step, level float64) (t, v []float64) {
	at := 0.0
	for i := range n {
		at += (level-at)*0.02 + r.NormFloat64()*0.01*level
		t, v = append(t, float64(i+1)*step), append(v, math.Abs(at))
	}
	return t, v
}

func fakeEnergy(x, y Axis) []float64 {
	e := make([]float64, x.Bins*y.Bins)
	for i := range e {
		u, w := float64(i%x.Bins)/float64(x.Bins)-0.4, float64(i/x.Bins)/float64(y.Bins)-0.5
		e[i] = 60*(u*u+2*w*w) + 3*math.Sin(14*u)*math.Cos(9*w) + 3
		if e[i] > 22 {
			e[i] = math.Inf(1)
		}
	}
	return e
}

type shot struct {
	name string
	make func() (*Figure, error)
}

// designShots are the figures of one design and of many.
func designShots(r *rand.Rand) []shot {
	pae, iptm := Axis{Label: "Lowest PAE of design and target (Å)", Max: 23}, Axis{Label: "ipTM", Max: 1}
	var points []Point
	for i := range 120 {
		points = append(points, Point{X: 1 + 20*r.Float64(), Y: r.Float64(), Filled: i%3 == 0, Encircle: i < 5})
	}
	scatter := func(points []Point) func() (*Figure, error) {
		l := Labels{Title: "Designs", Subtitle: "BoltzGen"}
		return func() (*Figure, error) {
			return Scatter(l, pae, iptm, points, "passes every filter", "in the final set")
		}
	}
	bars := []Bar{{"all filters", 0}, {"filter_rmsd", 80}, {"designfolding-filter_rmsd", 33}, {"ALA_fraction", 120}}
	return []shot{
		{"scatter-one", scatter(points[:1])},
		{"scatter-many", scatter(points)},
		{"bars-one", func() (*Figure, error) { return Bars(Labels{Title: "Filters"}, bars[:1], 1) }},
		{"bars", func() (*Figure, error) { return Bars(Labels{Title: "Filters", Subtitle: "BoltzGen"}, bars, 120) }},
	}
}

func gallery() []shot {
	r := rand.New(rand.NewPCG(1, 2))
	trimer := []Profile{fakeProfile(r, "Heavy chain of a rather long-named antibody", 220),
		fakeProfile(r, "Light", 214), fakeProfile(r, "ATP", 31)}
	many := manyProfiles(r, 26, 40)
	one, twenty, long := []Profile{fakeProfile(r, "A", 1)}, []Profile{fakeProfile(r, "A", 20)},
		[]Profile{fakeProfile(r, "A", 1500)}
	tiny := []Profile{fakeProfile(r, "Receptor", 900), fakeProfile(r, "Peptide", 9), fakeProfile(r, "Zn", 1),
		fakeProfile(r, "Mg", 1), fakeProfile(r, "ATP", 31)}
	agreement := Labels{Subtitle: "ensemble agreement, calibrated; not a trained head"}
	x, y := Axis{Label: "RMSD (nm)", Min: 0, Max: 1.2, Bins: 60}, Axis{Label: "Rg (nm)", Min: 1.1, Max: 2.4, Bins: 50}
	var out []shot
	for _, c := range []struct {
		name string
		ps   []Profile
	}{{"one", one}, {"twenty", twenty}, {"long", long}, {"trimer", trimer}, {"tiny", tiny}, {"many", many}} {
		cs := chainsOf(c.ps)
		total := 0
		for _, k := range cs {
			total += k.Length
		}
		blocks := []Block{fakeBlock(r, "", 800, total, 0, total)}
		if len(cs) > 1 {
			blocks = []Block{fakeBlock(r, "paired", 300, total, 0, total)}
			at := 0
			for _, k := range cs {
				blocks = append(blocks, fakeBlock(r, k.Name, 200+k.Length, total, at, at+k.Length))
				at += k.Length
			}
		}
		out = append(out,
			shot{"plddt-" + c.name, func() (*Figure, error) { return PLDDT(agreement, c.ps) }},
			shot{"pae-" + c.name, func() (*Figure, error) { return PAE(agreement, cs, fakePAE(cs)) }},
			shot{"coverage-" + c.name, func() (*Figure, error) { return Coverage(Labels{}, cs, blocks) }},
		)
		if c.name == "twenty" || c.name == "long" || c.name == "tiny" {
			continue // the layout is that of pLDDT
		}
		out = append(out,
			shot{"prmsd-" + c.name, func() (*Figure, error) {
				var ps []Profile
				for _, p := range c.ps {
					v := make([]float64, len(p.Values))
					for i := range v {
						v[i] = (100 - p.Values[i]) / 20
					}
					ps = append(ps, Profile{p.Name, v})
				}
				return PredictedRMSD(Labels{}, ps)
			}},
			shot{"rmsf-" + c.name, func() (*Figure, error) {
				var ps []Profile
				for _, p := range c.ps {
					v := make([]float64, len(p.Values))
					for i := range v {
						v[i] = (100 - p.Values[i]) / 60
					}
					ps = append(ps, Profile{p.Name, v})
				}
				return RMSF(Labels{Subtitle: "0.2 ns, 20 frames"}, ps)
			}})
	}
	for _, n := range []int{1, 5000} {
		t, v := fakeSeries(r, n, 0.01, 0.8)
		out = append(out,
			shot{fmt.Sprintf("rmsd-%d", n), func() (*Figure, error) { return RMSD(Labels{}, t, v) }},
			shot{fmt.Sprintf("rg-%d", n), func() (*Figure, error) {
				return Rg(Labels{Subtitle: "CALVADOS 2, 293 K"}, t, v)
			}})
	}
	out = append(out,
		shot{"coverage-query", func() (*Figure, error) {
			return Coverage(Labels{}, []Chain{{"A", 60}}, []Block{{Rows: []Row{{1, strings.Repeat("M", 60)}}}})
		}},
		shot{"energy", func() (*Figure, error) {
			return FreeEnergy(Labels{Subtitle: "293 K, 20 000 frames"}, x, y, fakeEnergy(x, y))
		}},
		shot{"energy-one", func() (*Figure, error) {
			return FreeEnergy(Labels{}, Axis{"PC 1 (nm)", -1e-3, 1e-3, 1}, Axis{"PC 2 (nm)", -250, 1250, 1},
				[]float64{0})
		}},
		shot{"long-title", func() (*Figure, error) {
			return PLDDT(Labels{
				strings.Repeat("A very long title ", 12), strings.Repeat("and a longer subtitle <&> ", 12),
			}, twenty)
		}})
	out = append(out, designShots(r)...)
	return out
}

func TestGallery(t *testing.T) {
	if *galleryDir == "" {
		t.Skip("for the eye: go test -run Gallery -gallery DIR")
	}
	for _, s := range gallery() {
		f, err := s.make()
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		img, err := f.PNG()
		if err != nil {
			t.Fatal(err)
		}
		svg, err := f.SVG()
		if err != nil {
			t.Fatal(err)
		}
		for ext, data := range map[string][]byte{"png": img, "svg": svg} {
			if err := os.WriteFile(filepath.Join(*galleryDir, s.name+"."+ext), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
