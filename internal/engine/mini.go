package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"pleat"
	"pleat/internal/mini"
	"pleat/internal/structure"
)

// Mini is the embedded folding engine: pure Go, nothing to download.
type Mini struct {
	Workers int // goroutines per fold; 0: one per core
}

// Models has the one model, mini.
func (Mini) Models() []pleat.Model {
	_, bytes := mini.Estimate(mini.MaxLength)
	return []pleat.Model{{
		Name: mini.Model, Kind: pleat.TaskFold, Title: "Mini, the embedded folding engine",
		Engine: "mini", Version: mini.Version, WeightSet: "mini-" + mini.Version, Method: "fragment-style assembly with knowledge-based potentials",
		Licence: "Apache-2.0", Device: "cpu",
		Entities: []pleat.EntityKind{pleat.Protein},
		Params: []pleat.ParamSpec{{Name: "seed", Type: pleat.ParamString,
			Doc: "A whole number from 0 to 4294967295. The same seed and sequence give the same bytes. Chosen at random where absent."}},
		MinTokens: mini.MinLength, MaxTokens: mini.MaxLength,
		Memory:     pleat.MemoryModel{Base: float64(bytes)},
		Speed:      miniSpeed(),
		Confidence: mini.Confidence,
		Notice: "A small physics-and-statistics engine, not a trained structure predictor: peptides and some mini-proteins of up to about 50 residues come out right, " +
			"longer chains are compact and protein-like but not predictions. Several chains are folded each on its own. The confidence is the agreement of an ensemble, calibrated.",
		Citations: []pleat.Citation{
			{Key: "simons1997", BibTeX: "@article{simons1997,\n  author  = {Simons, Kim T. and Kooperberg, Charles and Huang, Enoch and Baker, David},\n  title   = {Assembly of protein tertiary structures from fragments with similar local sequences using simulated annealing and {Bayesian} scoring functions},\n  journal = {Journal of Molecular Biology},\n  volume  = {268},\n  number  = {1},\n  pages   = {209--225},\n  year    = {1997},\n  doi     = {10.1006/jmbi.1997.0959}\n}"},
			{Key: "simons1999", BibTeX: "@article{simons1999,\n  author  = {Simons, Kim T. and Ruczinski, Ingo and Kooperberg, Charles and Fox, Brian A. and Bystroff, Chris and Baker, David},\n  title   = {Improved recognition of native-like protein structures using a combination of sequence-dependent and sequence-independent features of proteins},\n  journal = {Proteins: Structure, Function, and Genetics},\n  volume  = {34},\n  number  = {1},\n  pages   = {82--95},\n  year    = {1999},\n  doi     = {10.1002/(SICI)1097-0134(19990101)34:1<82::AID-PROT7>3.0.CO;2-A}\n}"},
			{Key: "kabsch1983", BibTeX: "@article{kabsch1983,\n  author  = {Kabsch, Wolfgang and Sander, Christian},\n  title   = {Dictionary of protein secondary structure: pattern recognition of hydrogen-bonded and geometrical features},\n  journal = {Biopolymers},\n  volume  = {22},\n  number  = {12},\n  pages   = {2577--2637},\n  year    = {1983},\n  doi     = {10.1002/bip.360221211}\n}"},
			{Key: "lovell2000", BibTeX: "@article{lovell2000,\n  author  = {Lovell, Simon C. and Word, J. Michael and Richardson, Jane S. and Richardson, David C.},\n  title   = {The penultimate rotamer library},\n  journal = {Proteins: Structure, Function, and Genetics},\n  volume  = {40},\n  number  = {3},\n  pages   = {389--408},\n  year    = {2000},\n  doi     = {10.1002/1097-0134(20000815)40:3<389::AID-PROT50>3.0.CO;2-2}\n}"},
			{Key: "engh1991", BibTeX: "@article{engh1991,\n  author  = {Engh, Richard A. and Huber, Robert},\n  title   = {Accurate bond and angle parameters for {X}-ray protein structure refinement},\n  journal = {Acta Crystallographica Section A},\n  volume  = {47},\n  number  = {4},\n  pages   = {392--400},\n  year    = {1991},\n  doi     = {10.1107/S0108767391001071}\n}"},
			{Key: "mariani2013", BibTeX: "@article{mariani2013,\n  author  = {Mariani, Valerio and Biasini, Marco and Barbato, Alessandro and Schwede, Torsten},\n  title   = {{lDDT}: a local superposition-free score for comparing protein structures and models using distance difference tests},\n  journal = {Bioinformatics},\n  volume  = {29},\n  number  = {21},\n  pages   = {2722--2728},\n  year    = {2013},\n  doi     = {10.1093/bioinformatics/btt473}\n}"},
		},
	}}
}

// miniSpeed fits the manifest's quadratic through three of the engine's own estimates.
func miniSpeed() pleat.SpeedModel {
	at := func(n int) float64 { s, _ := mini.Estimate(n); return s }
	x0, x1, x2 := 20.0, 100.0, 400.0
	y0, y1, y2 := at(20), at(100), at(400)
	d1, d2 := (y1-y0)/(x1-x0), (y2-y1)/(x2-x1)
	c := (d2 - d1) / (x2 - x0)
	b := d1 - c*(x0+x1)
	return pleat.SpeedModel{Base: y0 - b*x0 - c*x0*x0, Linear: b, Square: c}
}

// Run folds each sequence on its own.
func (e Mini) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
	seed, err := strconv.ParseUint(w.Fold.Seed, 10, 64)
	if err != nil {
		return pleat.Output{Failure: pleat.Failed(pleat.FailInvalidInput, fmt.Sprintf("seed %q is not a whole number", pleat.Clip(w.Fold.Seed)))}
	}
	defer debug.FreeOSMemory() // what a fold used would otherwise stay with a server at rest for minutes
	began := time.Now()
	rep := report{work: w, engine: mini.Model + " " + mini.Version}
	for i, s := range w.Fold.Sequences {
		label := ""
		if len(w.Fold.Sequences) > 1 {
			label = fmt.Sprintf("chain %s: ", s.Chains[0])
		}
		res, err := mini.Fold(ctx, s.Text, mini.Options{Seed: seed, Workers: e.Workers}, func(stage string, done, total int) {
			sink.Progress(label+stage, done, total)
		})
		switch {
		case ctx.Err() != nil:
			return pleat.Output{Failure: Interrupted(ctx)}
		case err != nil:
			return pleat.Output{Failure: failure(err)}
		}
		sink.Log(fmt.Sprintf("chain %s: %d residues, %d trajectories, mean confidence %.1f", s.Chains[0], len(s.Text), res.Decoys, mean(res.PLDDT)))
		res.Chain.ID, res.Chain.Entity, res.Chain.Name = s.Chains[0], 1, s.Label
		ptm, capPAE := res.PTM, res.MaxPAE
		rep.models = append(rep.models, model{
			sequence: w.Fold.Sequences[i], chains: s.Chains[:1],
			structure: &structure.Structure{Chains: []structure.Chain{res.Chain}},
			plddt:     [][]float64{res.PLDDT}, pae: &res.PAE, paeCap: capPAE, ptm: &ptm,
			extra: map[string]any{"trajectories": res.Decoys, "energy": res.Energy},
		})
	}
	rep.timings = map[string]float64{"infer": time.Since(began).Seconds()}
	return rep.write(ctx, sink)
}

func failure(err error) *pleat.Failure {
	var refusal *pleat.Error
	if errors.As(err, &refusal) {
		return pleat.Failed(pleat.FailInvalidInput, refusal.Message)
	}
	return pleat.Failed(pleat.FailInternal, err.Error())
}

func mean(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
