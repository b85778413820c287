package report

import (
	"context"
	"maps"
	"os"

	"pleat"
	"pleat/internal/calvados"
	"pleat/internal/flow"
	"pleat/internal/plot"
)

// maxZippedTrajectory is the size in bytes of a trajectory above which results.zip does not contain it; it can be
// downloaded on its own.
const maxZippedTrajectory = 256 << 20

// Dynamics turns a simulation into the artifacts of its run. Fill in the exported fields and call Write once.
type Dynamics struct {
	Work     pleat.Work
	Engine   string        // name and version
	Files    []pleat.File  // written by the engine
	Result   *pleat.Result // timings and notes; Write may add a note
	Subtitle string        // of the figures
	// Trajectory is what the service has measured; nil: the engine has measured the trajectory itself.
	Trajectory *Trajectory
	Summary    any            // JSON: metrics of the row
	Runner     map[string]any // what ran in a process of its own; nil: nothing did
	Config     map[string]any // further entries of config.json

	folder
}

// Write writes the figures, metrics.json, config.json, citations and the archive. It returns all artifacts, those of
// the engine included, and a row entry for each. Without a Trajectory there are no figures.
func (d *Dynamics) Write(ctx context.Context) ([]pleat.File, []flow.RowFile, error) {
	d.folder = folder{dir: d.Work.Dir, files: d.Files}
	if d.Trajectory != nil {
		if err := d.figures(); err != nil {
			return nil, nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err := d.json(pleat.ArtifactMetrics, flow.MetricsFile, d.metrics()); err != nil {
		return nil, nil, err
	}
	config := map[string]any{"service": "pleat " + pleat.Version, "engine": d.Engine, "model": d.Work.Model.Name}
	if d.Runner != nil {
		config["runner"] = d.Runner
	}
	maps.Copy(config, d.Config)
	if err := d.json(pleat.ArtifactConfig, "config.json", config); err != nil {
		return nil, nil, err
	}
	if err := d.citations(d.Engine, d.Work.Model.Citations); err != nil {
		return nil, nil, err
	}
	rows, err := d.archive()
	return d.files, rows, err
}

// dynamicsFigures are the names of the figures, without extensions.
var dynamicsFigures = []string{"rmsd", "rmsf", "radius_of_gyration", "free_energy", "free_energy_pca"}

// DynamicsFigures lists the files that Write makes of the figures.
func DynamicsFigures() []string { return figureFiles(dynamicsFigures...) }

// figures writes the figures of the trajectory: RMSD and radius of gyration over time, RMSF by residue, and two
// free-energy landscapes.
func (d *Dynamics) figures() error {
	l, a := plot.Labels{Subtitle: d.Subtitle}, d.Trajectory.Analysis
	energy := func(v calvados.Landscape) (*plot.Figure, error) {
		axis := func(x calvados.Axis) plot.Axis {
			return plot.Axis{Label: x.Label, Min: x.Min, Max: x.Max, Bins: x.Bins}
		}
		return plot.FreeEnergy(l, axis(v.X), axis(v.Y), v.Energy)
	}
	var all []figure
	for i, plotFigure := range []func() (*plot.Figure, error){
		func() (*plot.Figure, error) { return plot.RMSD(l, a.TimesNs, a.RMSDNm) },
		func() (*plot.Figure, error) { return plot.RMSF(l, d.Trajectory.Profiles) },
		func() (*plot.Figure, error) { return plot.Rg(l, a.TimesNs, a.RgNm) },
		func() (*plot.Figure, error) { return energy(a.ByRMSDAndRg) },
		func() (*plot.Figure, error) { return energy(a.ByPC) },
	} {
		fig, err := plotFigure()
		if err != nil {
			return err
		}
		all = append(all, figure{pleat.ArtifactDynamics, dynamicsFigures[i], fig})
	}
	return d.draw(all)
}

// metrics returns the content of metrics.json: the summary of the row, and the series and landscapes that it is
// computed from.
func (d *Dynamics) metrics() map[string]any {
	doc := map[string]any{
		"engine":          d.Engine,
		"model":           d.Work.Model.Name,
		"notice":          d.Work.Model.Notice,
		"notes":           d.Result.Notes,
		"timings_seconds": d.Result.Timings,
		"summary":         d.Summary,
	}
	if d.Runner != nil {
		doc["runner"] = d.Runner
	}
	if d.Trajectory == nil {
		return doc
	}
	a := d.Trajectory.Analysis
	doc["series"] = map[string]any{
		"time_ns":               a.TimesNs,
		"rmsd_nm":               roundedLengths(a.RMSDNm),
		"radius_of_gyration_nm": roundedLengths(a.RgNm),
		"end_to_end_nm":         roundedLengths(a.EndToEndNm),
		"rmsf_nm":               roundedLengths(a.RMSFNm),
		"pc1_nm":                roundedLengths(a.PC1Nm),
		"pc2_nm":                roundedLengths(a.PC2Nm),
	}
	doc["principal_component_shares"] = []float64{rounded5(a.PCShare[0]), rounded5(a.PCShare[1])}
	doc["free_energy_landscape"] = map[string]any{
		"rmsd_by_radius_of_gyration": a.ByRMSDAndRg,
		"principal_components":       a.ByPC,
	}
	return doc
}

// archive packs all files so far into results.zip, except a trajectory of more than maxZippedTrajectory bytes, and
// returns the row entries of all files, the archive included.
func (d *Dynamics) archive() ([]flow.RowFile, error) {
	var inside []pleat.File
	var rows []flow.RowFile
	for _, f := range d.files {
		row, err := rowFile(f)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
		if f.Kind == pleat.ArtifactTrajectory && row.SizeBytes > maxZippedTrajectory {
			d.Result.Notes = append(d.Result.Notes,
				"results.zip is without the trajectory, which is large and has a link of its own.")
			continue
		}
		inside = append(inside, f)
	}
	if err := d.zip(pleat.ArtifactArchive, "results.zip", inside); err != nil {
		return nil, err
	}
	row, err := rowFile(d.files[len(d.files)-1])
	return append(rows, row), err
}

// rowFile returns the row entry of a file.
func rowFile(f pleat.File) (flow.RowFile, error) {
	info, err := os.Stat(f.Path)
	if err != nil {
		return flow.RowFile{}, err
	}
	return flow.RowFile{Path: f.Name, SizeBytes: info.Size()}, nil
}
