package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"pleat/internal/mini/local"
)

// draws is the number of torsion chains that are drawn for each measured sequence.
const draws = 200

// windowSizes are the lengths, in residues, of the windows whose drawn torsions are compared with the true ones.
var windowSizes = [2]int{9, 3}

// Three-state secondary structure, by which accuracy is counted.
const (
	helixState = iota
	strandState
	coilState
	threeStates
)

// quality sums the measurements over chains.
type quality struct {
	loss, predicted float64 // cross-entropy in nats, and the residues that it was summed over
	right, drawn    float64 // residues whose likeliest of three states is the true one, of all that were drawn
	// Residues of helix and strand: expected from the draws, and counted in the structures.
	expected, counted [coilState]float64
	windows           [len(windowSizes)]windowError
}

// windowError sums the distances of drawn windows to the true one, in units of the torsions' cosines.
type windowError struct{ best, mean, n float64 }

// measure prints how well a model predicts the chains: the loss per residue along true histories, the accuracy of the
// three states of drawn chains (Q3), the fractions of helix and strand, and the distance of the best and of the average
// drawn window to the true one.
func measure(name string, m *local.Model, chains []*chain) {
	var q quality
	for n, c := range chains {
		a := assign(c, m.Clusters)
		r := m.Read(c.aa)
		q.addLoss(r, a)
		rng := rand.New(rand.NewPCG(uint64(n), 3))
		drawn := make([]local.Chain, draws)
		for k := range drawn {
			drawn[k] = r.Draw(rng, 1)
		}
		q.addStates(m, c, a, drawn)
		q.addWindows(c, a, drawn)
	}
	q.print(name)
}

// addLoss adds the cross-entropy of a chain's true clusters, each predicted from the true ones before it. Residues
// without a cluster are skipped.
func (q *quality) addLoss(r *local.Reader, clusters []int8) {
	for i, k := range clusters {
		if k >= 0 {
			q.loss -= math.Log(r.Predict(clusters, i, 1)[k])
			q.predicted++
		}
	}
}

// addStates compares the states of the drawn chains with the true ones. The prediction of a residue is the state that
// most draws give it.
func (q *quality) addStates(m *local.Model, c *chain, clusters []int8, drawn []local.Chain) {
	for i, k := range clusters {
		if k < 0 {
			continue
		}
		var p [threeStates]float64
		for _, d := range drawn {
			p[threeStateOf(m.Clusters[d.Cluster[i]].State)]++
		}
		guess := coilState
		for s := range coilState {
			q.expected[s] += p[s] / draws
			if p[s] > p[guess] {
				guess = s
			}
		}
		truth := threeStateOf(c.state[i])
		if truth != coilState {
			q.counted[truth]++
		}
		if guess == truth {
			q.right++
		}
		q.drawn++
	}
}

// addWindows adds, for each window without an undefined torsion, the distances of the drawn windows to the true one.
func (q *quality) addWindows(c *chain, clusters []int8, drawn []local.Chain) {
	for w, size := range windowSizes {
		for i := 1; i+size < len(clusters); i++ {
			if !defined(clusters[i : i+size]) {
				continue
			}
			best, sum := math.Inf(1), 0.0
			for _, d := range drawn {
				distance := windowDistance(c, d, i, size)
				best, sum = min(best, distance), sum+distance
			}
			e := &q.windows[w]
			e.best, e.mean, e.n = e.best+best, e.mean+sum/draws, e.n+1
		}
	}
}

// defined reports whether every residue has a cluster.
func defined(clusters []int8) bool {
	for _, k := range clusters {
		if k < 0 {
			return false
		}
	}
	return true
}

// windowDistance returns the root mean square of 2 - cos(Δphi) - cos(Δpsi) over size residues from the first: 0 for the
// true torsions, 2 for the opposite ones.
func windowDistance(c *chain, d local.Chain, first, size int) float64 {
	e := 0.0
	for j := first; j < first+size; j++ {
		e += 2 - math.Cos((d.Phi[j]-c.phi[j])*math.Pi/180) - math.Cos((d.Psi[j]-c.psi[j])*math.Pi/180)
	}
	return math.Sqrt(e / float64(size))
}

// print writes the measurements of one set of chains: the fractions of helix and strand, which show a bias that the
// loss does not, then the rest. Lower is better but for Q3.
func (q *quality) print(name string) {
	fmt.Printf("helix drawn %.3f true %.3f strand drawn %.3f true %.3f\n",
		q.expected[helixState]/q.drawn, q.counted[helixState]/q.drawn,
		q.expected[strandState]/q.drawn, q.counted[strandState]/q.drawn)
	nine, three := q.windows[0], q.windows[1]
	fmt.Printf("%s: loss %.4f Q3 %.3f; 9-windows best %.3f mean %.3f; 3-windows best %.3f mean %.3f\n",
		name, q.loss/q.predicted, q.right/q.drawn,
		nine.best/nine.n, nine.mean/nine.n, three.best/three.n, three.mean/three.n)
}

// threeStateOf returns the three-state secondary structure of a state of the local model.
func threeStateOf(state int) int {
	switch state {
	case local.Helix:
		return helixState
	case local.Strand:
		return strandState
	}
	return coilState
}
