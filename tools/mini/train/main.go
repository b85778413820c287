// Command train fits the local model of the embedded folding engine and writes it to local.gz.
//
//	go -C tools/mini/train run . -out ../../../internal/mini/local.gz "$PWD/CHAINS.txt.gz"
//
// CHAINS holds known structures: a line ">id", the sequence, then per residue the coordinates of N, CA, C and the
// side-chain centroid in Å. The same file gives the same bytes on one architecture, whatever the number of cores.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"pleat/internal/mini/local"
)

// options is the command line.
type options struct {
	out       string  // file to write; empty: only measure
	check     string  // a further file of chains to measure on; empty: none
	hold      int     // every hold-th chain is withheld from the training and measured on; 0: none
	nets      int     // networks in the ensemble
	helixBias float32 // added to the logits of the helix clusters after the training
	shape     local.Shape
	learning  learning
}

func main() {
	o, args := parseFlags()
	if err := run(o, args); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

// parseFlags returns the options of this process's command line and its arguments. A wrong flag ends the process.
func parseFlags() (options, []string) {
	var o options
	flag.StringVar(&o.out, "out", "", "file to write; empty only measures")
	flag.StringVar(&o.check, "check", "", "a further file of chains to measure on, never trained on")
	flag.IntVar(&o.hold, "hold", 0, "withhold every n-th chain and measure on it")
	flag.IntVar(&o.nets, "nets", 4, "networks in the ensemble")
	helix := flag.Float64("helix", -0.4,
		"added to the logit of helix after training: small folds have fewer than the data")
	s, l := &o.shape, &o.learning
	flag.IntVar(&s.Half, "half", 9, "residues seen on either side")
	flag.IntVar(&s.Full, "full", 3, "preceding residues, seen as clusters")
	flag.IntVar(&s.Coarse, "coarse", 4, "residues before those, seen as states")
	flag.IntVar(&s.Hidden, "hidden", 96, "hidden units")
	flag.IntVar(&l.epochs, "epochs", 30, "passes over the data")
	flag.IntVar(&l.batch, "batch", 128, "lessons per step")
	rate := flag.Float64("rate", 0.002, "initial learning rate")
	decay := flag.Float64("decay", 0.01, "weight decay")
	flag.Float64Var(&l.dropIn, "drop-in", 0.05, "fraction of sequence rows dropped")
	flag.Float64Var(&l.dropHistory, "drop-history", 0.3, "fraction of history rows dropped")
	flag.Float64Var(&l.substitute, "substitute", 0.15, "fraction of residues replaced by likely substitutes")
	flag.Float64Var(&l.blind, "blind", 0, "fraction of lessons without history")
	flag.Float64Var(&l.dropHidden, "drop-hidden", 0.3, "fraction of hidden units dropped")
	flag.Parse()
	l.rate, l.decay, o.helixBias = float32(*rate), float32(*decay), float32(*helix)
	return o, flag.Args()
}

// run trains a model on the chains of the file that args names, measures it and writes it.
func run(o options, args []string) error {
	if len(args) != 1 {
		return errors.New("give the file of chains as the only argument")
	}
	all, err := readChains(args[0])
	if err != nil {
		return err
	}
	training, withheld := split(all, o.hold)
	data, err := local.Encode(trainEnsemble(o, training))
	if err != nil {
		return err
	}
	m, err := local.Decode(data) // measured as the engine reads it, with rounded weights
	if err != nil {
		return err
	}
	if len(withheld) > 0 {
		measure("withheld", m, withheld)
	}
	if o.check != "" {
		more, err := readChains(o.check)
		if err != nil {
			return err
		}
		measure(o.check, m, more)
	}
	fmt.Printf("%d bytes\n", len(data))
	if o.out == "" {
		return nil
	}
	return os.WriteFile(o.out, data, 0o644)
}

// split withholds every n-th chain from the training; with n = 0, none. Whole chains are withheld, since the residues
// of one chain say much about each other.
func split(all []*chain, n int) (training, withheld []*chain) {
	for i, c := range all {
		if n > 0 && i%n == n-1 {
			withheld = append(withheld, c)
		} else {
			training = append(training, c)
		}
	}
	return training, withheld
}

// trainEnsemble fits the clusters to the chains and trains the networks, as many at once as there are cores. Each
// network depends on its number alone, so the order in which they finish changes nothing.
func trainEnsemble(o options, chains []*chain) *local.Model {
	clusters := fitClusters(chains)
	o.shape.K = len(clusters)
	lessons := lessonsOf(chains, clusters)
	fmt.Printf("%d chains, %d lessons, %d clusters, %d weights per network\n", len(chains), len(lessons), o.shape.K,
		o.shape.Rows()*o.shape.Hidden+o.shape.Hidden*o.shape.K)
	began := time.Now()
	m := &local.Model{Shape: o.shape, Clusters: clusters, Nets: make([]local.Net, o.nets)}
	var wait sync.WaitGroup
	cores := make(chan struct{}, runtime.GOMAXPROCS(0))
	for k := range m.Nets {
		wait.Go(func() {
			cores <- struct{}{}
			m.Nets[k] = train(o.shape, o.learning, lessons, clusters, uint64(k))
			<-cores
		})
	}
	wait.Wait()
	fmt.Printf("trained in %.0f s\n", time.Since(began).Seconds())
	for _, n := range m.Nets {
		for c := range clusters {
			if clusters[c].State == local.Helix {
				n.OutBias[c] += o.helixBias
			}
		}
	}
	return m
}

// lessonsOf returns one lesson per residue that has a cluster.
func lessonsOf(chains []*chain, clusters []local.Cluster) []lesson {
	var out []lesson
	for _, c := range chains {
		a := assign(c, clusters)
		for i := range a {
			if a[i] >= 0 {
				out = append(out, lesson{c, a, i})
			}
		}
	}
	return out
}
