package report

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"pleat"
	"pleat/api"
	"pleat/internal/clock"
	"pleat/internal/engine"
	"pleat/internal/flow"
	"pleat/internal/plot"
	"pleat/internal/structure"
	"pleat/internal/words"
)

// Designs turns the result of a design into the artifacts of its run. Fill in the exported fields and call Write once.
type Designs struct {
	Work   pleat.Work
	Engine string           // name and version
	Rows   []flow.DesignRow // of every design that was considered, the best first
	Set    []flow.DesignRow // the final set, by rank
	// Read reads the structure of a design of the final set. An error says how it contradicts its row.
	Read    func(row flow.DesignRow) (*Design, error)
	Files   []pleat.File       // of the engine, handed on unchanged
	Metrics flow.DesignMetrics // counts
	Params  pleat.DesignParams // as they took effect, as far as the engine says
	Timings map[string]float64 // seconds, by stage; not nil
	Notes   []string
	Runner  map[string]any // what ran in a process of its own

	folder
}

// Design is a design of the final set.
type Design struct {
	Row       flow.DesignRow
	Structure *structure.Structure // with the chains of the spec
	PLDDT     [][]float64          // 0 to 100, by chain and residue; nil: the engine gives none
}

// NewDesign returns a design of the final set from a structure as an engine wrote it. names maps the engine's chains to
// those of the spec, which chains has in their order; the structure changes. B-factors are pLDDT from 0 to 100; all 0:
// there is none. An error, which completes a sentence about the design, says that its chains have the same names, or
// that the designed chain has another sequence than the row.
func NewDesign(
	s *structure.Structure, row flow.DesignRow, names map[string]string, chains []pleat.DesignChain,
) (*Design, error) {
	model := &Structure{Structure: s}
	if err := model.rename(names); err != nil {
		return nil, err
	}
	place := func(id string) int {
		i := slices.IndexFunc(chains, func(c pleat.DesignChain) bool { return c.Name == id })
		if i < 0 {
			return len(chains) // drawn with one of several nested specs
		}
		return i
	}
	slices.SortStableFunc(s.Chains, func(a, b structure.Chain) int { return place(a.ID) - place(b.ID) })
	if i := slices.IndexFunc(chains, func(c pleat.DesignChain) bool { return c.Designed }); i >= 0 {
		chain, want := s.Chain(chains[i].Name), row.Text("designed_chain_sequence")
		if chain != nil && want != "" && structure.Letters(chain) != want {
			return nil, fmt.Errorf("has a chain %s of another sequence than its row", chain.ID)
		}
	}
	out := &Design{Row: row, Structure: s}
	known := false
	for i := range s.Chains {
		s.Chains[i].Entity = 0
		var values []float64
		for j := range s.Chains[i].Residues {
			b := meanB(&s.Chains[i].Residues[j])
			if b < 0 || b > 100.01 {
				return nil, fmt.Errorf("has the pLDDT %v in chain %s; it must be 0 to 100", b, s.Chains[i].ID)
			}
			known = known || b > 0
			values = append(values, b)
		}
		out.PLDDT = append(out.PLDDT, values)
	}
	if !known {
		out.PLDDT = nil
	}
	return out, nil
}

// Names of the files of a design.
const (
	designsFile    = "designs.jsonl"
	designSpecFile = "spec.yaml"
	designScatter  = "scatter"
	designFilters  = "filters"
)

// DesignFigures lists the files that Write makes of the figures.
func DesignFigures() []string {
	return append(figureFiles(designScatter, designFilters), designsFile, designSpecFile)
}

// Write writes the structures, the table of all designs, the figures and the record of the run, and returns the output.
// When ctx ends, it is a failure.
func (d *Designs) Write(ctx context.Context, sink pleat.Sink) pleat.Output {
	watch := clock.Start()
	d.folder.dir = d.Work.Dir
	for i := range d.Set {
		sink.Progress("write", i, len(d.Set)+1)
		if ctx.Err() != nil {
			return pleat.Output{Failure: engine.Interrupted(ctx)}
		}
		one, err := d.Read(d.Set[i])
		if err != nil {
			return pleat.Output{Failure: engine.InvalidOutput(err), Engine: d.Engine}
		}
		if err := d.writeStructure(one); err != nil {
			return notWritten(err)
		}
	}
	d.files = append(d.files, d.Files...)
	row, err := d.writeRun()
	if err != nil {
		return notWritten(err)
	}
	d.Timings[pleat.StageWrite] += watch.Seconds()
	sink.Progress("write", len(d.Set)+1, len(d.Set)+1)
	return pleat.Output{
		Files:  d.files,
		Result: &pleat.Result{Timings: d.Timings, Notes: d.Notes},
		Row:    row,
		Engine: d.Engine,
		MSA:    pleat.StatePending,
	}
}

// writeStructure writes the structure of a design.
func (d *Designs) writeStructure(one *Design) error {
	m, id := &d.Work.Model, one.Row.Text("id")
	meta := structure.Meta{
		ID:         words.Slug(id, 64),
		Title:      fmt.Sprintf("%s, design %s: %s, by %s", d.Work.Design.Name, id, d.what(), m.Title),
		Software:   m.Engine,
		Version:    m.Version,
		Model:      m.Name,
		Disclaimer: m.Notice,
		PLDDT:      one.PLDDT,
		PTM:        one.Row.Number("ptm"),
		IPTM:       one.Row.Number("iptm"),
	}
	for _, c := range m.Citations {
		meta.Citations = append(meta.Citations, paperOf(c))
	}
	name := pleat.DesignFileName(one.Row.Rank(), id)
	return d.file(pleat.ArtifactDesign, name, "chemical/x-mmcif", func(w io.Writer) error {
		return structure.WriteCIF(w, one.Structure, meta)
	})
}

// what says in words what the structures are.
func (d *Designs) what() string {
	if d.Work.Design.Params.Protocol == pleat.SequenceOnly {
		return "given backbone with a designed sequence"
	}
	return "designed structure, refolded"
}

// writeRun writes the files of the run as a whole, and returns its row.
func (d *Designs) writeRun() (json.RawMessage, error) {
	err := d.file(pleat.ArtifactDesigns, designsFile, "application/jsonl", func(w io.Writer) error {
		for _, r := range d.Rows {
			line, err := api.Encode(r)
			if err != nil {
				return err
			}
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	from := len(d.files)
	if err := d.figures(); err != nil {
		return nil, err
	}
	plots := slices.Clone(d.files[from:])
	result := &flow.DesignResult{
		Metrics:    d.Metrics,
		Parameters: flow.DesignedBy{DesignParams: d.Params, Seed: fmt.Sprint(d.Work.Design.Seed)},
		Columns:    flow.DesignColumns(d.Rows),
		Chains:     d.Work.Design.Chains,
		Designs:    []flow.DesignRow{},
		Notes:      append([]string{}, d.Notes...),
		Model:      d.Work.Model.Name,
		Notice:     d.Work.Model.Notice,
	}
	result.Designs = append(result.Designs, d.Set...)
	if err := d.record(result); err != nil {
		return nil, err
	}
	if err := d.zip(pleat.ArtifactPlots, "plots.zip", plots); err != nil {
		return nil, err
	}
	inside := slices.DeleteFunc(slices.Clone(d.files), func(f pleat.File) bool { return f.Kind == pleat.ArtifactPlots })
	// The files that the spec names are in the same folder, so that the folder can be run again.
	for _, f := range d.Work.Design.Sent.Own {
		inside = append(inside, pleat.File{Name: "input/" + f.Name, Path: filepath.Join(d.Work.Dir, f.Path)})
	}
	if err := d.zip(pleat.ArtifactArchive, "results.zip", inside); err != nil {
		return nil, err
	}
	for _, f := range d.files {
		row, err := rowFile(f)
		if err != nil {
			return nil, err
		}
		result.Artifacts = append(result.Artifacts, row)
	}
	return flow.DesignRaw(result)
}

// record writes what was run and what came of it: metrics.json, the spec, config.json and the citations.
func (d *Designs) record(result *flow.DesignResult) error {
	in := d.Work.Design
	err := d.json(pleat.ArtifactMetrics, flow.MetricsFile, map[string]any{
		"engine":          d.Engine,
		"model":           d.Work.Model.Name,
		"notice":          d.Work.Model.Notice,
		"notes":           result.Notes,
		"timings_seconds": d.Timings,
		"metrics":         d.Metrics,
		"columns":         result.Columns,
	})
	if err != nil {
		return err
	}
	err = d.file(pleat.ArtifactDesignSpec, designSpecFile, "application/yaml", content([]byte(in.Sent.Spec)))
	if err != nil {
		return err
	}
	config := map[string]any{
		"service":     "pleat " + pleat.Version,
		"engine":      d.Engine,
		"model":       d.Work.Model.Name,
		"weight_set":  d.Work.Model.WeightSet,
		"parameters":  result.Parameters,
		"plan_sha256": in.Sent.Plan,
		"input_files": in.Sent.Files,
		"chains":      in.Chains,
	}
	if d.Runner != nil {
		config["runner"] = d.Runner
	}
	if err := d.json(pleat.ArtifactConfig, "config.json", config); err != nil {
		return err
	}
	return d.citations(d.Engine, d.Work.Model.Citations)
}

// designAxis is a column that a figure draws.
type designAxis struct {
	column string
	plot.Axis
}

// designScatters are what a figure draws over what, the first of which rows have both.
var designScatters = []struct {
	title string
	x, y  designAxis
}{
	{
		"Designs: ipTM against the lowest PAE",
		designAxis{"min_design_to_target_pae", plot.Axis{Label: "Lowest PAE of design and target (Å)"}},
		designAxis{"design_to_target_iptm", plot.Axis{Label: "ipTM of design and target", Max: 1}},
	},
	{
		"Designs: how much of the sequence is kept, against its score",
		designAxis{"sequence_score", plot.Axis{Label: "Mean negative log-likelihood of the designed residues"}},
		designAxis{"sequence_recovery", plot.Axis{Label: "Share of designed residues that are as given", Max: 1}},
	},
}

// figures draws two scores of all designs that have both, and how many designs each filter lets through.
func (d *Designs) figures() error {
	labels := plot.Labels{Subtitle: d.Work.Model.Title + ", " + d.Work.Design.Params.Protocol}
	bars, known := filterBars(d.Rows)
	var all []figure
	for _, axes := range designScatters {
		x, y := axes.x, axes.y
		points, most := d.points(x.column, y.column, known > 0)
		if len(points) == 0 {
			continue
		}
		labels.Title, x.Max = axes.title, math.Ceil(most*1.05)
		filled, encircled := "passes every filter", "in the final set"
		if known == 0 {
			filled, encircled = encircled, ""
		}
		fig, err := plot.Scatter(labels, x.Axis, y.Axis, points, filled, encircled)
		if err != nil {
			return err
		}
		all = append(all, figure{pleat.ArtifactDesignPlot, designScatter, fig})
		break
	}
	if known > 0 && len(bars) > 1 {
		labels.Title = "Designs that each filter lets through"
		fig, err := plot.Bars(labels, bars, known)
		if err != nil {
			return err
		}
		all = append(all, figure{pleat.ArtifactDesignPlot, designFilters, fig})
	}
	return d.draw(all)
}

// points returns the designs that have both columns, and the largest x. The final set is encircled; without filters it
// is what is filled.
func (d *Designs) points(x, y string, filters bool) (points []plot.Point, most float64) {
	returned := map[string]bool{}
	for i := range d.Set {
		returned[d.Set[i].Text("id")] = true
	}
	most = 1
	for _, r := range d.Rows {
		px, py := r.Number(x), r.Number(y)
		if px == nil || py == nil {
			continue
		}
		p := plot.Point{X: *px, Y: *py, Filled: returned[r.Text("id")]}
		if filters {
			p.Encircle = p.Filled
			p.Filled, _ = r["pass_filters"].(bool)
		}
		points = append(points, p)
		most = max(most, *px)
	}
	return points, most
}

// maxFilters is how many filters the figure shows.
const maxFilters = 40

// filterBars counts the designs that each filter lets through, of those whose filters are known. The first bar is of
// those that pass all. Filters that let everything through are not known by name.
func filterBars(rows []flow.DesignRow) (bars []plot.Bar, known int) {
	failed := map[string]int{}
	passed := 0
	for _, r := range rows {
		all, is := r["pass_filters"].(bool)
		names, listed := r["failed_filters"].([]string)
		if !is || !listed {
			continue
		}
		known++
		if all {
			passed++
		}
		for _, name := range names {
			failed[name]++
		}
	}
	bars = []plot.Bar{{Name: "all filters", Value: passed}}
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		if len(bars) < maxFilters {
			bars = append(bars, plot.Bar{Name: name, Value: known - failed[name]})
		}
	}
	return bars, known
}
