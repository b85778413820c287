package mini

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"math"
	"sync"

	"pleat/internal/mini/local"
)

//go:embed tables.json.gz
var tablesFile []byte

//go:embed local.gz
var localFile []byte

// pairBins is the number of distance bins of the pair potential.
const pairBins = 9

// tables holds the knowledge-based potentials in the form that the energy reads. It is read-only after loading.
type tables struct {
	centroid [20][2]vec3               // in the residue's frame; right-handed states second
	pair     [20][20][pairBins]float64 // over centroid distance, general and specific part together
	edge2    [pairBins]float64         // upper edges of the bins, squared
	env      [20][40]float64           // over the number of CB within 10 Å
	radius2  [6][6]float64             // vdw, squared: N CA C O CB centroid
	inverse2 [6][6]float64
	// local is the network that predicts torsions from the sequence.
	local *local.Model
}

// loaded reads the embedded tables once. They are part of the program, so an error in them is a panic.
var loaded = sync.OnceValue(func() *tables {
	var raw struct {
		Cen   [20][2][3]float64
		Pair  [20][20][pairBins]float64
		Spec  [20][20][pairBins]float64 `json:"pairspec"`
		Env   [20][40]float64
		Edges [pairBins + 1]float64
		VDW   map[string]float64
	}
	z, err := gzip.NewReader(bytes.NewReader(tablesFile))
	if err == nil {
		err = json.NewDecoder(z).Decode(&raw)
	}
	if err != nil {
		panic("mini: embedded tables: " + err.Error())
	}
	t := &tables{env: raw.Env}
	for a := range 20 {
		for k, c := range raw.Cen[a] {
			t.centroid[a][k] = vec3{c[0], c[1], c[2]}
		}
		for b := range 20 {
			for k := range pairBins {
				t.pair[a][b][k] = weightPair*raw.Pair[a][b][k] + weightSpecific*raw.Spec[a][b][k]
			}
		}
	}
	for k := range pairBins {
		t.edge2[k] = raw.Edges[k+1] * raw.Edges[k+1]
	}
	const kinds = "NACOBS"
	for i := range 6 {
		for j := range 6 {
			r, ok := raw.VDW[string([]byte{kinds[i], kinds[j]})]
			if !ok {
				r = raw.VDW[string([]byte{kinds[j], kinds[i]})]
			}
			if r == 0 {
				panic("mini: embedded tables: no radius for " + kinds[i:i+1] + kinds[j:j+1])
			}
			t.radius2[i][j] = r * r
			t.inverse2[i][j] = 1 / (r * r)
		}
	}
	if t.local, err = local.Decode(localFile); err != nil {
		panic("mini: " + err.Error())
	}
	return t
})

// locals is what the local model predicts for one sequence: drawn chains of torsions, and the local energy of each
// residue over the torsion plane in cells of 10 degrees. It is read-only.
type locals struct {
	drawn  []torsions
	energy []float64
}

// newLocals converts the chains drawn from the local model and computes the local energy.
func newLocals(m *local.Model, chains []local.Chain) *locals {
	l := &locals{}
	for _, c := range chains {
		t := torsions{c.Phi, c.Psi, make([]uint8, len(c.Cluster))}
		for i, k := range c.Cluster {
			t.state[i] = uint8(m.Clusters[k].State)
		}
		l.drawn = append(l.drawn, t)
	}
	l.weigh(m, chains)
	return l
}

// cells is the number of cells of the torsion plane.
const cells = 36 * 36

// cell returns the index of the cell of phi and psi in degrees.
func cell(phi, psi float64) int {
	p, q := int((phi+180)/10), int((psi+180)/10)
	return min(max(p, 0), 35)*36 + min(max(q, 0), 35)
}

// weigh fills in energy: −ln of the mixture of the clusters drawn at each residue.
func (l *locals) weigh(m *local.Model, chains []local.Chain) {
	n := len(chains[0].Cluster)
	grid := make([]float64, m.K*cells)
	for k, c := range m.Clusters {
		c.SigmaPhi, c.SigmaPsi = max(c.SigmaPhi, 10), max(c.SigmaPsi, 10)
		for i := range cells {
			grid[k*cells+i] = 100 * c.Density(float64(i/36*10-175), float64(i%36*10-175))
		}
	}
	l.energy = make([]float64, n*cells)
	share := make([]float64, m.K)
	for i := range n {
		for k := range share {
			share[k] = 0.5 / float64(m.K)
		}
		for _, d := range chains {
			share[d.Cluster[i]]++
		}
		e := l.energy[i*cells:][:cells]
		for k, s := range share {
			s /= float64(len(chains)) + 0.5
			for j, g := range grid[k*cells:][:cells] {
				e[j] += float64(s * g)
			}
		}
		for j, p := range e {
			e[j] = -math.Log(float64(0.98*cells*p) + 0.02)
		}
	}
}
