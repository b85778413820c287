package main

import (
	"math"
	"math/rand/v2"

	"pleat/internal/mini/local"
)

// clustersOf says into how many clusters each state's torsions are divided.
var clustersOf = [local.States]int{3, 6, 5, 7, 4, 3}

// fitClusters divides each state's torsions by k-means on the torus and fits a Gaussian to each part.
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
		rng := rand.New(rand.NewPCG(uint64(s), 7))
		centre := make([][2]float64, k)
		for j := range centre {
			centre[j] = pts[rng.IntN(len(pts))]
		}
		part := make([]int, len(pts))
		for range 60 {
			for i, p := range pts {
				best := math.Inf(1)
				for j, c := range centre {
					if d := torus(p, c); d < best {
						best, part[i] = d, j
					}
				}
			}
			for j := range centre {
				centre[j] = mean(pts, part, j, centre[j])
			}
		}
		for j := range centre {
			out = append(out, gaussian(pts, part, j, s, centre[j]))
		}
	}
	return out
}

func torus(a, b [2]float64) float64 {
	x, y := local.Wrap(a[0]-b[0]), local.Wrap(a[1]-b[1])
	return x*x + y*y
}

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
