package engine

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"pleat"
	"pleat/internal/calvados"
	"pleat/internal/flow"
	"pleat/internal/plot"
	"pleat/internal/structure"
)

// What every simulation is measured by, whichever engine has moved the atoms.

// summary sums an analysis up, as the row has it. Temperature, time and counts are the caller's to add.
func summary(a *calvados.Analysis) flow.Metrics {
	m := flow.Metrics{RMSD: series(a.RMSDNm, "rmsd"), RMSF: series(a.RMSFNm, "rmsf"), Rg: series(a.RgNm, "radius_of_gyration"), EndToEnd: series(a.EndToEndNm, ""),
		Landscape: landscape(a.ByRMSDAndRg, "free_energy")}
	// Residues are no series in time: their mean has no error of that kind.
	m.RMSF.Error = nil
	pc := landscape(a.ByPC, "free_energy_pca")
	m.PCA = &pc
	return m
}

// detail adds the series that a summary sums up to metrics.json.
func detail(a *calvados.Analysis, doc map[string]any) map[string]any {
	doc["series"] = map[string]any{"time_ns": a.TimesNs, "rmsd_nm": lengths(a.RMSDNm), "radius_of_gyration_nm": lengths(a.RgNm), "end_to_end_nm": lengths(a.EndToEndNm),
		"rmsf_nm": lengths(a.RMSFNm), "pc1_nm": lengths(a.PC1Nm), "pc2_nm": lengths(a.PC2Nm)}
	doc["principal_component_shares"] = []float64{digits(a.PCShare[0]), digits(a.PCShare[1])}
	doc["free_energy_landscape"] = map[string]any{"rmsd_by_radius_of_gyration": a.ByRMSDAndRg, "principal_components": a.ByPC}
	return doc
}

func series(v []float64, figure string) flow.Series {
	s := calvados.NewStatistic(v)
	out := flow.Series{Unit: "nm", Mean: digits(s.Mean), SD: digits(s.SD), Min: digits(slices.Min(v)), Max: digits(slices.Max(v))}
	if !math.IsNaN(s.Error) {
		e := digits(s.Error)
		out.Error = &e
	}
	if figure != "" {
		out.Plot = figure + ".svg"
	}
	return out
}

// digits keeps what a length in nm can mean, and is finite.
func digits(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return math.Round(v*1e5) / 1e5
}

func landscape(l calvados.Landscape, figure string) flow.LandscapeSummary {
	out := flow.LandscapeSummary{Unit: "kJ/mol", X: l.X.Label, Y: l.Y.Label, Plot: figure + ".svg"}
	seen, lowest := 0, math.Inf(1)
	for i, e := range l.Energy {
		if math.IsInf(e, 0) || math.IsNaN(e) {
			continue
		}
		seen++
		out.Highest = max(out.Highest, digits(e))
		if e < lowest {
			lowest = e
			out.MinX, out.MinY = centre(l.X, i%l.X.Bins), centre(l.Y, i/l.X.Bins)
		}
	}
	out.Visited = digits(float64(seen) / float64(len(l.Energy)))
	return out
}

func centre(a calvados.Axis, bin int) float64 {
	return digits(a.Min + (float64(bin)+0.5)*(a.Max-a.Min)/float64(a.Bins))
}

func lengths(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = digits(x)
	}
	return out
}

// dynamicsFigures are the names of the figures of drawDynamics.
var dynamicsFigures = []string{"rmsd", "rmsf", "radius_of_gyration", "free_energy", "free_energy_pca"}

// drawDynamics writes the figures of an analysis. Profiles are the RMSF by chain.
func (r *report) drawDynamics(subtitle string, a *calvados.Analysis, profiles []plot.Profile) error {
	l := plot.Labels{Subtitle: subtitle}
	energy := func(v calvados.Landscape) (*plot.Figure, error) {
		axis := func(x calvados.Axis) plot.Axis {
			return plot.Axis{Label: x.Label, Min: x.Min, Max: x.Max, Bins: x.Bins}
		}
		return plot.FreeEnergy(l, axis(v.X), axis(v.Y), v.Energy)
	}
	var all []drawing
	for i, figure := range []func() (*plot.Figure, error){
		func() (*plot.Figure, error) { return plot.RMSD(l, a.TimesNs, a.RMSDNm, plot.Nanometre) },
		func() (*plot.Figure, error) { return plot.RMSF(l, profiles, plot.Nanometre) },
		func() (*plot.Figure, error) { return plot.Rg(l, a.TimesNs, a.RgNm, plot.Nanometre) },
		func() (*plot.Figure, error) { return energy(a.ByRMSDAndRg) },
		func() (*plot.Figure, error) { return energy(a.ByPC) },
	} {
		fig, err := figure()
		if err != nil {
			return err
		}
		all = append(all, drawing{pleat.ArtifactDynamics, dynamicsFigures[i], fig})
	}
	return r.draw(nil, all)
}

// temperature is the mean kinetic temperature over the frames, in K, as a table of energies has it; 0 where it has none.
func temperature(path string) float64 {
	in, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer in.Close()
	rows := csv.NewReader(in)
	rows.ReuseRecord = true
	sum, n, column := 0.0, 0, -1
	for {
		rec, err := rows.Read()
		if err != nil {
			break
		}
		if column < 0 {
			if column = slices.Index(rec, "temperature_k"); column < 0 {
				return 0
			}
			continue
		}
		if v, err := strconv.ParseFloat(rec[column], 64); err == nil {
			sum += v
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return math.Round(sum/float64(n)*100) / 100
}

// measures reports whether a runner left the measuring of its trajectory to the service.
func (c *piece) measures() bool { return c.result.Metrics["rmsd"] == nil }

// moved is a runner's trajectory, measured.
type moved struct {
	analysis *calvados.Analysis
	profiles []plot.Profile // RMSF by chain
	metrics  map[string]any // those of the row, the runner's own among them
}

// measure analyses the trajectory that a runner has written, by the residues of its topology.
func (r *report) measure(ctx context.Context, c *piece, top *structure.Structure) (*moved, error) {
	subject, lengths := subjectOf(top, r.work.MD)
	traj, _ := c.file("trajectory", 0)
	in, err := os.Open(filepath.Join(c.dir, traj.Path))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	t, err := calvados.OpenTrajectory(in, traj.Bytes)
	if err != nil {
		return nil, err
	}
	a, err := calvados.Measure(ctx, subject, t)
	if err != nil {
		return nil, err
	}
	m := summary(a)
	own := map[string]any{"rmsd": m.RMSD, "rmsf": m.RMSF, "radius_of_gyration": m.Rg, "end_to_end": m.EndToEnd, "free_energy_landscape": m.Landscape, "principal_components": m.PCA,
		"frames": t.Frames(), "residues": len(a.RMSFNm)}
	if energies, ok := c.file("energies", 0); ok {
		if v := temperature(filepath.Join(c.dir, energies.Path)); v > 0 {
			own["mean_temperature"] = v
		}
	}
	maps.Copy(own, c.result.Metrics)
	out := &moved{analysis: a, metrics: own}
	at := 0
	for _, n := range lengths {
		out.profiles = append(out.profiles, plot.Profile{Name: n.Name, Values: a.RMSFNm[at : at+n.Length]})
		at += n.Length
	}
	return out, nil
}

// subjectOf is what to measure of a topology: the alpha carbon stands for its residue, C1' in a nucleic acid; where there is
// neither, every atom for itself. The chains are those of the sites, in order.
func subjectOf(top *structure.Structure, in *pleat.MDInput) (*calvados.Subject, []plot.Chain) {
	s := &calvados.Subject{FramePs: in.StepNs * 1000, Temp: in.Temp}
	var chains []plot.Chain
	var all []structure.Vec
	for _, c := range top.Chains {
		before := len(s.Sites)
		for i := range c.Residues {
			centre, ok := c.Residues[i].Centre()
			for _, a := range c.Residues[i].Atoms {
				if ok && c.Kind.Polymer() && a.Pos == centre {
					s.Sites, s.Reference, ok = append(s.Sites, len(all)), append(s.Reference, a.Pos), false
				}
				all = append(all, a.Pos)
				m, known := structure.Mass(a.Element)
				if !known {
					m = 12.011
				}
				s.Masses = append(s.Masses, m)
			}
		}
		if n := len(s.Sites) - before; n > 0 {
			chains = append(chains, plot.Chain{Name: c.ID, Length: n})
		}
	}
	if s.Sites == nil {
		s.Reference, s.End = all, len(all)-1
		return s, []plot.Chain{{Name: "", Length: len(all)}}
	}
	s.End = chains[0].Length - 1
	return s, chains
}

// dynamics makes the output of a simulation that a runner has done; the service measures it where the runner has not.
func (t *turn) dynamics(ctx context.Context, c *piece) pleat.Output {
	rep := &report{work: t.work, engine: t.name(), result: pleat.Result{Timings: t.timings, Notes: t.notes}}
	row, err := rep.writeDynamics(ctx, c, t.about())
	switch {
	case ctx.Err() != nil:
		return pleat.Output{Failure: Interrupted(ctx), Engine: t.name()}
	case err != nil:
		return pleat.Output{Failure: invalidOutput(err), Engine: t.name()}
	}
	return pleat.Output{Files: rep.files, Result: &rep.result, Row: row, Engine: rep.engine, MSA: pleat.StatePending}
}

func (r *report) writeDynamics(ctx context.Context, c *piece, about map[string]any) (json.RawMessage, error) {
	for _, kind := range []string{"topology", "trajectory"} {
		if _, ok := c.file(kind, 0); !ok {
			return nil, fmt.Errorf("it has no %s", kind)
		}
	}
	file, _ := c.file("topology", 0)
	top, err := readStructure(c.dir, file.Path)
	if err == nil && top.Atoms() == 0 {
		err = errors.New("it has no atoms")
	}
	if err != nil {
		return nil, fmt.Errorf("its topology cannot be read: %w", err)
	}
	doc := map[string]any{"engine": r.engine, "model": r.work.Model.Name, "notice": r.work.Model.Notice, "notes": r.result.Notes, "timings_seconds": r.result.Timings, "runner": about}
	metrics := any(c.result.Metrics)
	if c.measures() {
		r.files = c.others(figureNames()...)
		m, err := r.measure(ctx, c, top)
		if err != nil {
			return nil, err
		}
		in := r.work.MD
		if err := r.drawDynamics(fmt.Sprintf("%s, %s, %v K, %v ns", r.engine, in.Preset, in.Temp, in.LengthNs), m.analysis, m.profiles); err != nil {
			return nil, err
		}
		metrics, doc = m.metrics, detail(m.analysis, doc)
	} else {
		r.files = c.others()
	}
	raw, err := json.Marshal(metrics)
	if err != nil {
		return nil, err
	}
	doc["summary"] = json.RawMessage(raw)
	if err := r.json(pleat.ArtifactMetrics, flow.MetricsFile, doc); err != nil {
		return nil, err
	}
	set := map[string]any{"service": "pleat " + pleat.Version, "engine": r.engine, "model": r.work.Model.Name, "parameters": r.work.MD.Parameters, "seed": fmt.Sprint(r.work.MD.Seed), "runner": about}
	if err := r.json(pleat.ArtifactConfig, "config.json", set); err != nil {
		return nil, err
	}
	if err := r.file(nil, pleat.ArtifactCitations, "citations.bib", "application/x-bibtex", r.citations); err != nil {
		return nil, err
	}
	rows, err := r.archive()
	if err != nil {
		return nil, err
	}
	return flow.MeasuredRow(rows, raw)
}

func figureNames() []string {
	var out []string
	for _, name := range dynamicsFigures {
		out = append(out, name+".svg", name+".png")
	}
	return out
}
