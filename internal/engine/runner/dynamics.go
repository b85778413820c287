package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/engine"
	"pleat/internal/flow"
	"pleat/internal/report"
	"pleat/internal/structure"
)

// dynamics returns the output of a simulation. The service analyses the trajectory if the runner has not.
func (a *runnerAttempt) dynamics(ctx context.Context, q *predictRequest) pleat.Output {
	result := &pleat.Result{Timings: a.timings, Notes: a.notes}
	watch := clock.Start()
	files, row, err := a.writeDynamics(ctx, q, result)
	a.timings[pleat.StageWrite] += watch.Seconds()
	switch {
	case ctx.Err() != nil:
		return pleat.Output{Failure: engine.Interrupted(ctx), Engine: a.name()}
	case err != nil:
		return pleat.Output{Failure: engine.InvalidOutput(err), Engine: a.name()}
	}
	return pleat.Output{Files: files, Result: result, Row: row, Engine: a.name(), MSA: pleat.StatePending}
}

// writeDynamics writes the artifacts and returns them with the row of the workflow. If the runner has no metrics of its
// own, the service measures the trajectory and draws the figures. Notes are added to result.
func (a *runnerAttempt) writeDynamics(
	ctx context.Context, q *predictRequest, result *pleat.Result,
) ([]pleat.File, json.RawMessage, error) {
	topology, err := q.topology(ctx)
	if err != nil {
		return nil, nil, err
	}
	in := a.work.MD
	d := report.Dynamics{
		Work:     a.work,
		Engine:   a.name(),
		Result:   result,
		Subtitle: fmt.Sprintf("%s, %s, %v K, %v ns", a.name(), in.Preset, in.Temp, in.LengthNs),
		Runner:   a.describe(),
		Config:   map[string]any{"parameters": in.Parameters, "seed": fmt.Sprint(in.Seed)},
	}
	metrics := q.result.Metrics
	if metrics["rmsd"] == nil { // the runner leaves the analysis to the service
		d.Files = q.others(report.DynamicsFigures()...)
		if d.Trajectory, err = q.trajectory(ctx, in, topology); err != nil {
			return nil, nil, err
		}
		metrics = q.withAnalysis(d.Trajectory)
	} else {
		d.Files = q.others()
	}
	raw, err := json.Marshal(metrics)
	if err != nil {
		return nil, nil, err
	}
	d.Summary = json.RawMessage(raw)
	files, rows, err := d.Write(ctx)
	if err != nil {
		return nil, nil, err
	}
	row, err := flow.MeasuredRow(rows, raw)
	return files, row, err
}

// topology reads the structure that the atoms of the trajectory belong to. A result without a topology or a trajectory
// is an error.
func (q *predictRequest) topology(ctx context.Context) (*structure.Structure, error) {
	for _, kind := range []string{"topology", "trajectory"} {
		if _, ok := q.file(kind, 0); !ok {
			return nil, fmt.Errorf("it has no %s", kind)
		}
	}
	file, _ := q.file("topology", 0)
	s, err := report.ReadStructure(ctx, q.dir, file.Path)
	if err == nil && s.Atoms() == 0 {
		err = errors.New("it has no atoms")
	}
	if err != nil {
		return nil, fmt.Errorf("its topology cannot be read: %w", err)
	}
	return s, nil
}

// trajectory analyses the trajectory, a DCD file in Å whose atoms are those of the topology.
func (q *predictRequest) trajectory(
	ctx context.Context, w *pleat.MDInput, topology *structure.Structure,
) (*report.Trajectory, error) {
	file, _ := q.file("trajectory", 0)
	in, err := os.Open(filepath.Join(q.dir, file.Path))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return report.MeasureTrajectory(ctx, w, topology, in, file.Bytes)
}

// withAnalysis returns the metrics of the row: those of the analysis, unless the runner has its own of the same name.
// The mean temperature in K comes from the table of energies.
func (q *predictRequest) withAnalysis(t *report.Trajectory) map[string]any {
	m := report.DynamicsMetrics(t.Analysis)
	out := map[string]any{
		"rmsd":                  m.RMSD,
		"rmsf":                  m.RMSF,
		"radius_of_gyration":    m.Rg,
		"end_to_end":            m.EndToEnd,
		"free_energy_landscape": m.Landscape,
		"principal_components":  m.PCA,
		"frames":                t.Frames,
		"residues":              len(t.Analysis.RMSFNm),
	}
	if energies, ok := q.file("energies", 0); ok {
		if v := report.MeanTemperature(filepath.Join(q.dir, energies.Path)); v > 0 {
			out["mean_temperature"] = v
		}
	}
	maps.Copy(out, q.result.Metrics)
	return out
}
