// Command train fits the local model of the embedded folding engine and writes it to local.gz.
//
//	go run ./tools/mini/train -out internal/mini/local.gz CHAINS.txt.gz
//
// CHAINS holds known structures: a line ">id", the sequence, then per residue the coordinates of N, CA, C
// and the side-chain centroid. The same file gives the same bytes on one architecture, whatever the cores.
package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"time"

	"pleat/internal/mini/local"
)

func main() {
	out := flag.String("out", "", "file to write; empty only measures")
	check := flag.String("check", "", "a further file of chains to measure on, never trained on")
	hold := flag.Int("hold", 0, "withhold every n-th chain and measure on it")
	nets := flag.Int("nets", 4, "members of the ensemble")
	s := local.Shape{}
	flag.IntVar(&s.Half, "half", 9, "residues seen on either side")
	flag.IntVar(&s.Full, "full", 3, "places before, seen as clusters")
	flag.IntVar(&s.Coarse, "coarse", 4, "further places before, seen as states")
	flag.IntVar(&s.Hidden, "hidden", 96, "hidden units")
	l := learning{}
	flag.IntVar(&l.epochs, "epochs", 30, "passes over the data")
	flag.IntVar(&l.batch, "batch", 128, "lessons a step")
	rate := flag.Float64("rate", 0.002, "greatest rate of learning")
	helix := flag.Float64("helix", -0.4,
		"added to the logit of helix after training: small folds have fewer than the data")
	decay := flag.Float64("decay", 0.01, "weight decay")
	flag.Float64Var(&l.dropIn, "drop-in", 0.05, "share of sequence rows dropped")
	flag.Float64Var(&l.dropHistory, "drop-history", 0.3, "share of history rows dropped")
	flag.Float64Var(&l.substitute, "substitute", 0.15, "share of residues replaced by likely substitutes")
	flag.Float64Var(&l.blind, "blind", 0, "share of lessons without history")
	flag.Float64Var(&l.dropHidden, "drop-hidden", 0.3, "share of hidden units dropped")
	flag.Parse()
	l.rate, l.decay = float32(*rate), float32(*decay)
	if err := run(*out, *check, *hold, *nets, float32(*helix), s, l, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

func run(out, check string, hold, nets int, helix float32, s local.Shape, l learning, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("give the file of chains as the one argument")
	}
	all, err := readChains(args[0])
	if err != nil {
		return err
	}
	var learn, held []*chain
	for i, c := range all {
		if hold > 0 && i%hold == hold-1 {
			held = append(held, c)
		} else {
			learn = append(learn, c)
		}
	}
	clusters := fitClusters(learn)
	s.K = len(clusters)
	var lessons []lesson
	for _, c := range learn {
		a := assign(c, clusters)
		for i := range a {
			if a[i] >= 0 {
				lessons = append(lessons, lesson{c, a, i})
			}
		}
	}
	fmt.Printf("%d chains, %d lessons, %d clusters, %d weights a member\n", len(learn), len(lessons), s.K,
		s.Rows()*s.Hidden+s.Hidden*s.K)
	began := time.Now()
	m := &local.Model{Shape: s, Clusters: clusters, Nets: make([]local.Net, nets)}
	var wait sync.WaitGroup
	room := make(chan bool, runtime.GOMAXPROCS(0))
	for k := range m.Nets {
		wait.Go(func() {
			room <- true
			m.Nets[k] = train(s, l, lessons, clusters, uint64(k))
			<-room
		})
	}
	wait.Wait()
	fmt.Printf("trained in %.0f s\n", time.Since(began).Seconds())
	for _, n := range m.Nets {
		for c := range clusters {
			if clusters[c].State == local.Helix {
				n.OutBias[c] += helix
			}
		}
	}
	data, err := local.Encode(m)
	if err != nil {
		return err
	}
	if m, err = local.Decode(data); err != nil {
		return err
	}
	if len(held) > 0 {
		measure("withheld", m, held)
	}
	if check != "" {
		more, err := readChains(check)
		if err != nil {
			return err
		}
		measure(check, m, more)
	}
	fmt.Printf("%d bytes\n", len(data))
	if out == "" {
		return nil
	}
	return os.WriteFile(out, data, 0o644)
}

// measure prints the loss per residue along true histories, the three-state accuracy of the marginals of
// drawn chains, and how near the best and the median of 200 drawn windows come to the true one.
func measure(name string, m *local.Model, chains []*chain) {
	var loss, n, right, seen float64
	var mark [4]float64
	var best, mid [2]float64
	var windows [2]float64
	sizes := [2]int{9, 3}
	const draws = 200
	for ci, c := range chains {
		a := assign(c, m.Clusters)
		r := m.Read(c.aa)
		for i := range a {
			if a[i] >= 0 {
				loss -= math.Log(r.Predict(a, i, 1)[a[i]])
				n++
			}
		}
		rng := rand.New(rand.NewPCG(uint64(ci), 3))
		drawn := make([]local.Chain, draws)
		for k := range drawn {
			drawn[k] = r.Draw(rng, 1)
		}
		for i := range a {
			if a[i] < 0 {
				continue
			}
			var p [3]float64
			for _, d := range drawn {
				p[three(m.Clusters[d.Cluster[i]].State)]++
			}
			mark[0] += p[0] / draws
			mark[2] += p[1] / draws
			switch c.state[i] {
			case local.Helix:
				mark[1]++
			case local.Strand:
				mark[3]++
			}
			guess := 2
			for s := range 2 {
				if p[s] > p[guess] {
					guess = s
				}
			}
			seen++
			if guess == three(c.state[i]) {
				right++
			}
		}
		for w, size := range sizes {
			for i := 1; i+size < len(a); i++ {
				d := make([]float64, 0, draws)
				for _, x := range drawn {
					e := 0.0
					for j := i; j < i+size; j++ {
						if a[j] < 0 {
							e = math.NaN()
							break
						}
						e += 2 - math.Cos((x.Phi[j]-c.phi[j])*math.Pi/180) - math.Cos((x.Psi[j]-c.psi[j])*math.Pi/180)
					}
					d = append(d, math.Sqrt(e/float64(size)))
				}
				if math.IsNaN(d[0]) {
					continue
				}
				lo, sum := d[0], 0.0
				for _, v := range d {
					lo, sum = min(lo, v), sum+v
				}
				best[w], mid[w], windows[w] = best[w]+lo, mid[w]+sum/draws, windows[w]+1
			}
		}
	}
	fmt.Printf("helix drawn %.3f true %.3f strand drawn %.3f true %.3f\n", mark[0]/seen, mark[1]/seen, mark[2]/seen,
		mark[3]/seen)
	fmt.Printf("%s: loss %.4f Q3 %.3f; 9-windows best %.3f mean %.3f; 3-windows best %.3f mean %.3f\n", name, loss/n,
		right/seen,
		best[0]/windows[0], mid[0]/windows[0], best[1]/windows[1], mid[1]/windows[1])
}

func three(state int) int {
	switch state {
	case local.Helix:
		return 0
	case local.Strand:
		return 1
	}
	return 2
}
