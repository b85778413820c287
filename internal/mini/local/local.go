// Package local says what a protein sequence alone tells about its backbone: a small autoregressive
// network over clusters of backbone torsions, from which whole chains of torsions are drawn.
//
// The network reads the sequence around a residue and the clusters already drawn before it, and gives
// a distribution over the cluster of the residue; windows of such chains take the place of the fragment
// libraries of Simons et al. (J. Mol. Biol. 268, 209, 1997). Its weights come from the trainer in
// tools/mini/train. The package must not know of energies or of coordinates.
package local

import (
	"math"
	"math/rand/v2"
)

// Letters are the twenty standard residues in the order of every table of the engine.
const Letters = "ACDEFGHIKLMNPQRSTVWY"

// Outside is the symbol of a place before the first or after the last residue.
const Outside = 20

// The six local states: helix, other right-handed, strand, other extended, left-handed, other with phi > 0.
const (
	Helix = iota
	Alpha
	Strand
	Beta
	Left
	Other
	States
)

// Index returns the place of each residue of seq in Letters, and false where a letter is not among them.
func Index(seq string) ([]int, bool) {
	var at [256]int
	for i := range at {
		at[i] = -1
	}
	for i := range len(Letters) {
		at[Letters[i]] = i
	}
	out := make([]int, len(seq))
	for i := range len(seq) {
		if out[i] = at[seq[i]]; out[i] < 0 {
			return nil, false
		}
	}
	return out, true
}

// Cluster is one Gaussian of the torsion plane, in degrees; Rho is the correlation of phi and psi.
type Cluster struct {
	State    int     `json:"state"`
	Phi      float64 `json:"phi"`
	Psi      float64 `json:"psi"`
	SigmaPhi float64 `json:"sigmaPhi"`
	SigmaPsi float64 `json:"sigmaPsi"`
	Rho      float64 `json:"rho"`
}

// Density is the cluster's probability per square degree at phi, psi, wrapped to the nearest image.
func (c Cluster) Density(phi, psi float64) float64 {
	a, b := Wrap(phi-c.Phi)/c.SigmaPhi, Wrap(psi-c.Psi)/c.SigmaPsi
	r := 1 - c.Rho*c.Rho
	q := (a*a - 2*c.Rho*a*b + b*b) / r
	return math.Exp(-q/2) / (2 * math.Pi * c.SigmaPhi * c.SigmaPsi * math.Sqrt(r))
}

// Wrap brings an angle in degrees into (-180, 180].
func Wrap(a float64) float64 {
	for a > 180 {
		a -= 360
	}
	for a <= -180 {
		a += 360
	}
	return a
}

// Shape is the layout of the network's input, shared by training and use.
type Shape struct {
	Half   int `json:"half"`   // residues seen on either side
	Full   int `json:"full"`   // places before, seen as clusters
	Coarse int `json:"coarse"` // further places before, seen as states
	Hidden int `json:"hidden"`
	K      int `json:"k"` // clusters
}

// lengthBins is the number of input rows of which one says how long the sequence is.
const lengthBins = 7

// Rows is the number of input rows.
func (s Shape) Rows() int {
	return s.SequenceCount() + s.Full*(s.K+1) + s.Coarse*(States+1)
}

// SequenceCount is the number of input rows that depend on the sequence alone; they come first.
func (s Shape) SequenceCount() int { return (2*s.Half+1)*21 + lengthBins }

// SequenceRows appends the input rows that depend on the sequence alone, for residue i.
func (s Shape) SequenceRows(rows []int, aa []int, i int) []int {
	for o := -s.Half; o <= s.Half; o++ {
		sym := Outside
		if j := i + o; j >= 0 && j < len(aa) {
			sym = aa[j]
		}
		rows = append(rows, (o+s.Half)*21+sym)
	}
	bin := lengthBins - 1
	for k, top := range [...]int{14, 24, 36, 50, 65, 80} {
		if len(aa) <= top {
			bin = k
			break
		}
	}
	return append(rows, (2*s.Half+1)*21+bin)
}

// HistoryRows appends the rows of what was drawn before residue i; states gives the state of a cluster,
// and a negative cluster is unknown.
func (s Shape) HistoryRows(rows []int, clusters []int8, i int, states []int) []int {
	base := s.SequenceCount()
	for h := 1; h <= s.Full; h++ {
		c := s.K
		if i-h >= 0 && clusters[i-h] >= 0 {
			c = int(clusters[i-h])
		}
		rows = append(rows, base+(h-1)*(s.K+1)+c)
	}
	base += s.Full * (s.K + 1)
	for h := 1; h <= s.Coarse; h++ {
		c := States
		if j := i - s.Full - h; j >= 0 && clusters[j] >= 0 {
			c = states[clusters[j]]
		}
		rows = append(rows, base+(h-1)*(States+1)+c)
	}
	return rows
}

// Net is one member of the ensemble: In is Rows×Hidden, Out is Hidden×K.
type Net struct{ In, Bias, Out, OutBias []float32 }

// Model is the ensemble; read-only after loading, so that any number of goroutines may use it.
type Model struct {
	Shape
	Clusters []Cluster
	Nets     []Net
	states   []int
}

// Init prepares what is derived from the fields; call it once after filling them.
func (m *Model) Init() {
	m.states = make([]int, len(m.Clusters))
	for i, c := range m.Clusters {
		m.states[i] = c.State
	}
}

// Reader holds one sequence's share of the first layer, so that drawing a chain is cheap.
// It is for one goroutine at a time.
type Reader struct {
	m    *Model
	n    int
	base []float32 // net, residue, hidden
	act  []float32
	p    []float64
	rows []int
}

// Read prepares the sequence aa.
func (m *Model) Read(aa []int) *Reader {
	r := &Reader{
		m:    m,
		n:    len(aa),
		base: make([]float32, len(m.Nets)*len(aa)*m.Hidden),
		act:  make([]float32, m.Hidden),
		p:    make([]float64, m.K),
	}
	for k := range m.Nets {
		for i := range aa {
			b := r.base[(k*r.n+i)*m.Hidden:][:m.Hidden]
			copy(b, m.Nets[k].Bias)
			r.rows = m.SequenceRows(r.rows[:0], aa, i)
			m.Nets[k].add(b, r.rows)
		}
	}
	return r
}

// add adds the weights of the given input rows to the activations of the hidden layer.
func (n *Net) add(act []float32, rows []int) {
	h := len(act)
	for _, row := range rows {
		w := n.In[row*h:][:h]
		for j := range act {
			act[j] += w[j]
		}
	}
}

// Predict returns the distribution over the cluster of residue i after the clusters before it. The slice is the
// reader's own until the next call. A temperature below 1 sharpens it.
func (r *Reader) Predict(clusters []int8, i int, temperature float64) []float64 {
	m := r.m
	for k := range r.p {
		r.p[k] = 0
	}
	r.rows = m.HistoryRows(r.rows[:0], clusters, i, m.states)
	for k := range m.Nets {
		net := &m.Nets[k]
		copy(r.act, r.base[(k*r.n+i)*m.Hidden:][:m.Hidden])
		net.add(r.act, r.rows)
		for j, v := range r.act {
			t := float32(0)
			if v > 0 {
				t = v
			}
			if t == 0 {
				continue
			}
			w := net.Out[j*m.K:][:m.K]
			for c := range w {
				r.p[c] += float64(float32(t * w[c]))
			}
		}
		for c := range r.p {
			r.p[c] += float64(net.OutBias[c])
		}
	}
	scale := 1 / (temperature * float64(len(m.Nets)))
	top := math.Inf(-1)
	for _, v := range r.p {
		top = max(top, v)
	}
	sum := 0.0
	for c, v := range r.p {
		r.p[c] = math.Exp((v - top) * scale)
		sum += r.p[c]
	}
	for c := range r.p {
		r.p[c] /= sum
	}
	return r.p
}

// Chain is one draw: a cluster, phi and psi (degrees) for each residue.
type Chain struct {
	Cluster  []int8
	Phi, Psi []float64
}

// Draw draws a whole chain from the first residue to the last.
func (r *Reader) Draw(rng *rand.Rand, temperature float64) Chain {
	c := Chain{make([]int8, r.n), make([]float64, r.n), make([]float64, r.n)}
	for i := range c.Cluster {
		p := r.Predict(c.Cluster, i, temperature)
		u, k := rng.Float64(), 0
		for k < len(p)-1 && u >= p[k] {
			u -= p[k]
			k++
		}
		c.Cluster[i] = int8(k)
		c.Phi[i], c.Psi[i] = r.m.Clusters[k].draw(rng)
	}
	return c
}

// draw draws phi and psi in degrees from the cluster.
func (c Cluster) draw(rng *rand.Rand) (phi, psi float64) {
	a, b := trimmed(rng), trimmed(rng)
	b = c.Rho*a + math.Sqrt(1-c.Rho*c.Rho)*b
	return Wrap(c.Phi + c.SigmaPhi*a), Wrap(c.Psi + c.SigmaPsi*b)
}

// trimmed is a normal deviate without the tails beyond two sigma, which in these clusters are mostly
// errors of the structures they were fitted to.
func trimmed(rng *rand.Rand) float64 {
	for {
		if a := rng.NormFloat64(); a > -2 && a < 2 {
			return a
		}
	}
}
