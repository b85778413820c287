// Package builtin has the engines that are part of the program: they need no download, no process and no endpoint.
//
// It owns the adapters of the packages mini, calvados, analyst and compare to the seam, with the descriptions of their
// models.
// It must not compute or write anything itself: those packages compute, package report writes.
//
// Files:
package builtin

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/engine"
	"pleat/internal/mini"
	"pleat/internal/report"
	"pleat/internal/structure"
)

// Mini is the embedded folding engine: package mini, which needs no weights and no device. It folds each protein on its
// own.
type Mini struct {
	Workers int // goroutines of one fold; 0: one per core
	Steps   int // of a trajectory, see mini.Options; 0 outside of tests
}

// Models lists the one model, mini.
func (e Mini) Models() []pleat.Model {
	_, bytes := mini.Estimate(mini.MaxLength)
	return []pleat.Model{{
		Name:      mini.Model,
		Kind:      pleat.TaskFold,
		Title:     "Mini, the embedded folding engine",
		Engine:    "mini",
		Version:   mini.Version,
		WeightSet: "mini-" + mini.Version,
		Method:    "fragment-style assembly with knowledge-based potentials",
		Licence:   "Apache-2.0",
		WeightUse: pleat.CommercialUse,
		Device:    "cpu",
		Cores:     min(coresOf(e.Workers), mini.MaxWorkers),
		Entities:  []pleat.EntityKind{pleat.Protein},
		Params: []pleat.ParamSpec{{
			Name: "seed",
			Type: pleat.ParamString,
			Doc: "A whole number from 0 to 4294967295. The same seed and sequence give the same bytes. " +
				"Without a seed, the service chooses one at random.",
		}},
		MinTokens:  mini.MinLength,
		MaxTokens:  mini.MaxLength,
		Memory:     pleat.MemoryModel{Base: float64(bytes)},
		Speed:      miniSpeed(),
		Confidence: mini.Confidence,
		Notice: "A small engine that uses statistics and simple physics, not a trained structure predictor. It " +
			"finds helices and the shortest hairpins, and some helical mini-proteins of up to about 50 residues are " +
			"right as a whole. It often makes helices of longer hairpins and sheets. Its models of longer chains are " +
			"compact and protein-like, but they are not predictions. Each chain is folded separately. The confidence " +
			"is the calibrated agreement of an ensemble of models.",
		Citations: report.Cite("simons1997", "simons1999", "kabsch1983", "lovell2000", "engh1991", "mariani2013"),
	}}
}

// miniSpeed fits the quadratic of pleat.SpeedModel through three of the engine's own estimates, which depend on the
// length of the chain in a more complicated way.
func miniSpeed() pleat.SpeedModel {
	at := func(n int) float64 { s, _ := mini.Estimate(n); return s }
	x0, x1, x2 := 20.0, 100.0, 400.0
	y0, y1, y2 := at(20), at(100), at(400)
	d1, d2 := (y1-y0)/(x1-x0), (y2-y1)/(x2-x1)
	c := (d2 - d1) / (x2 - x0)
	b := d1 - c*(x0+x1)
	return pleat.SpeedModel{Base: y0 - b*x0 - c*x0*x0, Linear: b, Square: c}
}

// Run folds each sequence on its own, with the seed of the job, and writes the report. The same job and seed give the
// same files on any number of threads.
func (e Mini) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
	seed, err := strconv.ParseUint(w.Fold.Seed, 10, 64)
	if err != nil {
		message := fmt.Sprintf("seed %q is not a whole number", pleat.Clip(w.Fold.Seed))
		return pleat.Output{Failure: pleat.Failed(pleat.FailInvalidInput, message)}
	}
	watch := clock.Start()
	rep := report.Report{Work: w, Engine: mini.Model + " " + mini.Version}
	for _, s := range w.Fold.Sequences {
		label := ""
		if len(w.Fold.Sequences) > 1 {
			label = fmt.Sprintf("chain %s: ", s.Chains[0])
		}
		options := mini.Options{Seed: seed, Workers: e.Workers, Steps: e.Steps}
		res, err := mini.Fold(ctx, s.Text, options, func(stage string, done, total int) {
			sink.Progress(label+stage, done, total)
		})
		switch {
		case ctx.Err() != nil:
			return pleat.Output{Failure: engine.Interrupted(ctx)}
		case err != nil:
			return pleat.Output{Failure: failure(err)}
		}
		sink.Log(fmt.Sprintf("chain %s: %d residues, %d trajectories, mean confidence %.1f",
			s.Chains[0], len(s.Text), res.Decoys, mean(res.PLDDT)))
		rep.Predictions = append(rep.Predictions, miniPrediction(s, res))
	}
	rep.Timings = map[string]float64{pleat.StageInfer: watch.Seconds()}
	return rep.Write(ctx, sink)
}

// miniPrediction returns the fold of a sequence as a prediction, with pLDDT from 0 to 100 by residue.
func miniPrediction(s pleat.Sequence, r *mini.Result) report.Prediction {
	r.Chain.ID, r.Chain.Entity, r.Chain.Name = s.Chains[0], 1, s.Label
	return report.Prediction{
		Sequence:  s,
		Chains:    s.Chains[:1],
		Structure: &structure.Structure{Chains: []structure.Chain{r.Chain}},
		PLDDT:     [][]float64{r.PLDDT},
		PAE:       &r.PAE,
		MaxPAE:    r.MaxPAE,
		PTM:       &r.PTM,
		Metrics:   map[string]any{"trajectories": r.Decoys, "energy": r.Energy},
	}
}

// failure returns the failure that an error of an embedded engine stands for: a pleat.Error is the fault of the input,
// any other that of the service.
func failure(err error) *pleat.Failure {
	var refusal *pleat.Error
	if errors.As(err, &refusal) {
		return pleat.Failed(pleat.FailInvalidInput, refusal.Message)
	}
	return pleat.Failed(pleat.FailInternal, err.Error())
}

// mean returns the mean of v; 0 if v is empty.
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
