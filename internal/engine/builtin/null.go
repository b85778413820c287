package builtin

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/engine"
)

// Null is an engine that predicts nothing, to measure and test the service. Its scores are null. It runs only if an
// operator names it; no default configuration has it.
type Null struct{}

// Models lists the one model, null. Its parameters make it take time and write files.
func (Null) Models() []pleat.Model {
	return []pleat.Model{{
		Name:      "null",
		Kind:      pleat.TaskFold,
		Title:     "Null, which predicts nothing",
		Engine:    "null",
		Version:   "1",
		Method:    "none",
		Licence:   "Apache-2.0",
		WeightUse: pleat.CommercialUse,
		Device:    "cpu",
		Cores:     1,
		Entities:  []pleat.EntityKind{pleat.Protein, pleat.RNA, pleat.DNA, pleat.Ligand},
		Features: []pleat.Feature{
			pleat.FeatureConstraints, pleat.FeatureComplex, pleat.FeatureModifications, pleat.FeatureCyclic,
			pleat.FeatureAffinity, pleat.FeatureMSA, pleat.FeatureRNAMSA, pleat.FeatureUnknown, pleat.FeatureTemplates,
			pleat.FeatureTemplateForce, pleat.FeatureComponents,
		},
		Params: []pleat.ParamSpec{
			{Name: "seed", Type: pleat.ParamString, Doc: "Stored, without effect."},
			{Name: "samplingSteps", Type: pleat.ParamInt, Doc: "How many milliseconds to take."},
			{Name: "recyclingSteps", Type: pleat.ParamInt, Doc: "How many small files to write."},
		},
		Notice: "Predicts nothing. It exists to measure and test the service.",
	}}
}

// Run waits for the time that the parameters ask for, writes the files, and returns a result without scores.
func (Null) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
	watch := clock.Start()
	milliseconds, _ := w.Fold.Params.Values["samplingSteps"].(float64) // parameters come from the store as JSON
	const step = 20
	for left := int(milliseconds); left > 0; left -= step {
		sink.Progress("wait", int(milliseconds)-left, int(milliseconds))
		select {
		case <-ctx.Done():
			return pleat.Output{Failure: engine.Interrupted(ctx)}
		case <-time.After(time.Duration(min(left, step)) * time.Millisecond):
		}
	}
	waited := watch.Elapsed()
	files, err := nullFiles(w)
	if err != nil {
		return pleat.Output{Failure: pleat.Failed(pleat.FailStorage, engine.PublicMessage(err))}
	}
	result := &pleat.Result{
		Timings: map[string]float64{
			pleat.StageInfer: waited.Seconds(),
			pleat.StageWrite: (watch.Elapsed() - waited).Seconds(),
		},
		Notes: []string{"the null engine predicts nothing"},
	}
	return pleat.Output{Engine: "null 1", MSA: pleat.StatePending, Files: files, Result: result}
}

// nullFiles writes as many small files as the parameter recyclingSteps asks for, at most 100, into the folder of the
// work.
func nullFiles(w pleat.Work) ([]pleat.File, error) {
	count, _ := w.Fold.Params.Values["recyclingSteps"].(float64)
	var out []pleat.File
	for i := range min(int(count), 100) {
		name := "null-" + strconv.Itoa(i) + ".txt"
		f := pleat.File{
			Kind:        pleat.ArtifactOther,
			Name:        name,
			Path:        filepath.Join(w.Dir, name),
			ContentType: "text/plain; charset=utf-8",
		}
		if err := os.WriteFile(f.Path, []byte("The null engine predicts nothing.\n"), 0o600); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}
