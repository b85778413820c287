package builtin

import (
	"context"
	"errors"
	"fmt"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/compare"
	"pleat/internal/engine"
	"pleat/internal/report"
)

// Compare is the built-in engine of comparisons: package compare, which needs no model.
type Compare struct{}

// compareVersion is part of the engine's name in results; comparisons of one version of the same structures are equal.
const compareVersion = "2"

// Models lists the one model, compare.
func (Compare) Models() []pleat.Model {
	return []pleat.Model{{
		Name:      "compare",
		Kind:      pleat.TaskCompare,
		Title:     "Compare, the built-in comparison of structures",
		Engine:    "compare",
		Version:   compareVersion,
		WeightSet: "none",
		Method:    "superposition, TM-score, lDDT and DockQ",
		Licence:   "Apache-2.0",
		WeightUse: pleat.CommercialUse,
		Device:    "cpu",
		Cores:     1,
		Entities:  []pleat.EntityKind{pleat.Protein, pleat.RNA, pleat.DNA},
		Memory:    pleat.MemoryModel{Base: 150e6, Linear: 13e3},
		Notice: fmt.Sprintf("Compares %d to %d structures by their coordinates. Chains are matched by their sequences.",
			pleat.MinCompared, pleat.MaxCompared),
		Citations: report.Cite("zhang2004", "mariani2013", "mirabello2024"),
	}}
}

// Run reads the structures and compares them; the row of the result is the comparison.
func (Compare) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
	watch := clock.Start()
	var set compare.Set
	for i, s := range w.Compare.Structures {
		sink.Progress("read", i, len(w.Compare.Structures))
		read, err := report.ReadStructure(ctx, w.Dir, s.File)
		if ctx.Err() != nil {
			return pleat.Output{Failure: engine.Interrupted(ctx)}
		}
		if err != nil {
			message := fmt.Sprintf("structure %d (%s) cannot be read: %s", i+1, pleat.Clip(s.Name),
				engine.PublicMessage(err))
			return pleat.Output{Failure: pleat.Failed(pleat.FailInvalidInput, message)}
		}
		if err := set.Add(ctx, compare.Input{Name: s.Name, Structure: read, Predicted: s.Predicted}); ctx.Err() != nil {
			return pleat.Output{Failure: engine.Interrupted(ctx)}
		} else if err != nil {
			return pleat.Output{Failure: failure(err)}
		}
	}
	took := watch.Elapsed()
	out, err := set.Compare(ctx, w.Compare.Reference, func(done, total int) {
		sink.Progress("compare", done, total)
	})
	switch {
	case ctx.Err() != nil:
		return pleat.Output{Failure: engine.Interrupted(ctx)}
	case err != nil:
		return pleat.Output{Failure: failure(err)}
	}
	row, err := report.Comparison(out, w.Compare.Structures)
	if err != nil {
		return pleat.Output{Failure: failure(errors.New("the comparison could not be written"))}
	}
	return pleat.Output{
		Result: &pleat.Result{Timings: map[string]float64{
			pleat.StageFetch: took.Seconds(),
			pleat.StageInfer: (watch.Elapsed() - took).Seconds(),
		}},
		Row:    row,
		Engine: "compare " + compareVersion,
		MSA:    pleat.StatePending,
	}
}
