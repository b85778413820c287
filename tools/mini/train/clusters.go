package main

import (
	"math"
	"math/rand/v2"

	"pleat/internal/mini/local"
)

// clustersOf is the number of clusters of each state of the local model. States with many different torsions have more.
var clustersOf = [local.States]int{3, 6, 5, 7, 4, 3}

// fitClusters divides the torsions of each state by k-means on the torus and fits a Gaussian to each cluster. The same
// chains give the same clusters.
func fitClusters(chains []*chain) []local.Cluster {
	var out []local.Cluster
	for s, k := range clustersOf {
		var pts [][2]float64
		for _, c := range chains {
			for i, st := range c.state {
				if st == s {
					pts = append(pts, [2]float64{c.phi[i], c.psi[i]})
				}
			}
		}
		centre, part := kMeans(pts, k, rand.New(rand.NewPCG(uint64(s), 7)))
		for j := range centre {
			out = append(out, gaussian(pts, part, j, s, centre[j]))
		}
	}
	return out
}

// kMeans returns the centres of k clusters of points, and the cluster of each point. It makes 60 iterations, which are
// enough to converge.
func kMeans(pts [][2]float64, k int, rng *rand.Rand) (centre [][2]float64, part []int) {
	centre, part = make([][2]float64, k), make([]int, len(pts))
	for j := range centre {
		centre[j] = pts[rng.IntN(len(pts))]
	}
	for range 60 {
		for i, p := range pts {
			best := math.Inf(1)
			for j, c := range centre {
				if d := squaredDistance(p, c); d < best {
					best, part[i] = d, j
				}
			}
		}
		for j := range centre {
			centre[j] = mean(pts, part, j, centre[j])
		}
	}
	return centre, part
}

// squaredDistance returns the squared distance of two pairs of torsions on the torus, in square degrees.
func squaredDistance(a, b [2]float64) float64 {
	x, y := local.Wrap(a[0]-b[0]), local.Wrap(a[1]-b[1])
	return x*x + y*y
}

// mean returns the centre of the points of cluster j, measured from its present centre; that centre if it has no
// points.
func mean(pts [][2]float64, part []int, j int, at [2]float64) [2]float64 {
	x, y, n := 0.0, 0.0, 0.0
	for i, p := range pts {
		if part[i] == j {
			x, y, n = x+local.Wrap(p[0]-at[0]), y+local.Wrap(p[1]-at[1]), n+1
		}
	}
	if n == 0 {
		return at
	}
	return [2]float64{local.Wrap(at[0] + x/n), local.Wrap(at[1] + y/n)}
}

// gaussian fits a Gaussian in degrees to the points of cluster j that are at most 60° from its centre.
func gaussian(pts [][2]float64, part []int, j, state int, at [2]float64) local.Cluster {
	var xx, yy, xy, n float64
	for i, p := range pts {
		if part[i] == j {
			x, y := local.Wrap(p[0]-at[0]), local.Wrap(p[1]-at[1])
			if x*x+y*y > 60*60 {
				continue
			}
			xx, yy, xy, n = xx+x*x, yy+y*y, xy+x*y, n+1
		}
	}
	c := local.Cluster{
		State:    state,
		Phi:      round(at[0]),
		Psi:      round(at[1]),
		SigmaPhi: round(math.Sqrt(xx/n) + 1),
		SigmaPsi: round(math.Sqrt(yy/n) + 1),
	}
	c.Rho = round(max(-0.9, min(0.9, xy/n/(c.SigmaPhi*c.SigmaPsi))))
	return c
}

// round keeps two decimals: the model is stored as JSON.
func round(x float64) float64 { return math.Round(x*100) / 100 }

// assign gives each residue its cluster: the likeliest of its own state; -1 where torsions are undefined.
func assign(c *chain, clusters []local.Cluster) []int8 {
	out := make([]int8, len(c.aa))
	for i, s := range c.state {
		out[i] = -1
		best := -1.0
		for k, cl := range clusters {
			if cl.State != s {
				continue
			}
			if d := cl.Density(c.phi[i], c.psi[i]); d > best {
				best, out[i] = d, int8(k)
			}
		}
	}
	return out
}
