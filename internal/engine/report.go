package engine

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pleat"
	"pleat/internal/plot"
	"pleat/internal/structure"
)

// model is what a folding engine predicts for one structure, before it becomes files. What is nil the engine does not give.
type model struct {
	sequence  pleat.Sequence // the zero value: the whole complex
	chains    []string
	structure *structure.Structure
	plddt     [][]float64 // 0–100, by chain and residue
	pae       *structure.Matrix
	paeCap    float64 // Å: the largest value the engine can state
	ptm, iptm *float64
	affinity  *pleat.Affinity
	extra     map[string]any // into the metrics

	// Of engines that count in tokens, or predict several samples.
	bfactors  [][]float64  // what the files say of each residue; nil: plddt. A chain without, as a ligand, keeps its atoms' own
	meanPLDDT *float64     // over tokens; nil: over residues
	paeChains []plot.Chain // rows of the errors by chain; nil: residues
	pairs     []pleat.PairScore
	others    []pleat.File
}

// report turns what an engine predicted into the artifacts of a run.
type report struct {
	work    pleat.Work
	engine  string
	models  []model
	timings map[string]float64
	notes   []string
	about   map[string]any // what ran, in more detail; nil: nothing more

	files  []pleat.File
	result pleat.Result
}

// write makes every artifact in the work's folder.
func (r *report) write(ctx context.Context, sink pleat.Sink) pleat.Output {
	began := time.Now()
	r.result = pleat.Result{Timings: r.timings, Notes: r.notes}
	for i := range r.models {
		sink.Progress("write", i, len(r.models)+1)
		if ctx.Err() != nil {
			return pleat.Output{Failure: Interrupted(ctx)}
		}
		if err := r.writeModel(&r.models[i]); err != nil {
			return pleat.Output{Failure: pleat.Failed(pleat.FailStorage, "the results could not be written: "+clean(err))}
		}
	}
	if err := r.writeRun(); err != nil {
		return pleat.Output{Failure: pleat.Failed(pleat.FailStorage, "the results could not be written: "+clean(err))}
	}
	r.result.Timings["write"] = time.Since(began).Seconds()
	sink.Progress("write", len(r.models)+1, len(r.models)+1)
	return pleat.Output{Files: r.files, Result: &r.result, Engine: r.engine, MSA: pleat.StatePending}
}

// clean keeps the host's paths out of a sentence for the owner.
func clean(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// prefix keeps the files of several structures apart.
func (r *report) prefix(m *model) string {
	if len(r.models) == 1 {
		return ""
	}
	return m.chains[0] + "-"
}

// chainsOf names the chains of a structure. The job's name is not in its files: equal jobs share them, whatever they are called.
func chainsOf(s *structure.Structure) string {
	var names []string
	for i := range s.Chains[:min(len(s.Chains), 12)] {
		names = append(names, s.Chains[i].ID)
	}
	if len(s.Chains) > 12 {
		names = append(names, "…")
	}
	if len(names) == 1 {
		return "chain " + names[0]
	}
	return "chains " + strings.Join(names, ", ")
}

func (r *report) writeModel(m *model) error {
	pre := r.prefix(m)
	meta := structure.Meta{
		ID: "pleat", Title: fmt.Sprintf("Predicted structure of %s, by %s", chainsOf(m.structure), r.work.Model.Title), Software: r.work.Model.Engine, Version: r.work.Model.Version,
		Model: r.work.Model.Name, Disclaimer: r.work.Model.Notice, PLDDT: m.plddt,
	}
	if m.bfactors != nil {
		meta.PLDDT = m.bfactors
	}
	err := r.file(m, pleat.ArtifactCIF, pre+"model.cif", "chemical/x-mmcif", func(w io.Writer) error {
		return structure.WriteCIF(w, m.structure, meta)
	})
	if err != nil {
		return err
	}
	err = r.file(m, pleat.ArtifactPDB, pre+"model.pdb", "chemical/x-pdb", func(w io.Writer) error {
		return structure.WritePDB(w, m.structure, meta)
	})
	var tooBig *structure.PDBLimitError
	if errors.As(err, &tooBig) {
		r.drop(pre + "model.pdb")
		r.result.Notes = append(r.result.Notes, "no PDB file: "+tooBig.Reason)
	} else if err != nil {
		return err
	}
	if m.pae != nil {
		if err := r.file(m, pleat.ArtifactPAE, pre+"pae.json", "application/json", func(w io.Writer) error { return writePAE(w, m.pae, m.paeCap) }); err != nil {
			return err
		}
	}
	if err := r.plots(m, pre); err != nil {
		return err
	}
	for _, f := range m.others {
		f.Sequence, f.Name = m.sequence.ID, pre+f.Name
		r.files = append(r.files, f)
	}
	r.result.Predictions = append(r.result.Predictions, r.prediction(m))
	return nil
}

// prediction sums a model up.
func (r *report) prediction(m *model) pleat.Prediction {
	p := pleat.Prediction{Sequence: m.sequence.ID, Chains: m.chains, PTM: rounded(m.ptm, 4), IPTM: rounded(m.iptm, 4), Affinity: m.affinity, Confidence: r.work.Model.Confidence, Pairs: m.pairs}
	var all []float64
	for _, c := range m.plddt {
		all = append(all, c...)
	}
	switch {
	case m.meanPLDDT != nil:
		p.MeanPLDDT = rounded(m.meanPLDDT, 2)
	case len(all) > 0:
		v := mean(all)
		p.MeanPLDDT = rounded(&v, 2)
	}
	if m.pae != nil {
		most := 0.0
		for _, v := range m.pae.V {
			most = max(most, float64(v))
		}
		p.MaxPAE = rounded(&most, 2)
	}
	return p
}

// rounded leaves the digits that mean something; nil stays nil.
func rounded(v *float64, digits int) *float64 {
	if v == nil {
		return nil
	}
	scale := math.Pow10(digits)
	r := math.Round(*v*scale) / scale
	return &r
}

func (r *report) plots(m *model, pre string) error {
	labels := plot.Labels{Subtitle: r.work.Model.Title + ": " + r.work.Model.Confidence}
	var all []drawing
	if m.plddt != nil {
		var profiles []plot.Profile
		for i, c := range m.plddt {
			profiles = append(profiles, plot.Profile{Name: m.structure.Chains[i].ID, Values: c})
		}
		fig, err := plot.PLDDT(labels, profiles)
		if err != nil {
			return err
		}
		all = append(all, drawing{pleat.ArtifactPLDDTPlot, pre + "plddt", fig})
	}
	if m.pae != nil {
		chains := m.paeChains
		if chains == nil {
			for _, c := range m.structure.Chains {
				chains = append(chains, plot.Chain{Name: c.ID, Length: len(c.Residues)})
			}
		}
		fig, err := plot.PAE(labels, chains, func(i, j int) float64 { return float64(m.pae.V[i*m.pae.N+j]) })
		if err != nil {
			return err
		}
		all = append(all, drawing{pleat.ArtifactPAEPlot, pre + "pae", fig})
	}
	return r.draw(m, all)
}

// writeRun makes the files of the whole run: metrics, configuration, citations, and the archives.
func (r *report) writeRun() error {
	if err := r.json(pleat.ArtifactMetrics, "metrics.json", r.metrics()); err != nil {
		return err
	}
	if err := r.json(pleat.ArtifactConfig, "config.json", r.config()); err != nil {
		return err
	}
	if err := r.file(nil, pleat.ArtifactCitations, "citations.bib", "application/x-bibtex", r.citations); err != nil {
		return err
	}
	all := r.files
	var figures []pleat.File
	for _, f := range all {
		if f.Kind == pleat.ArtifactPLDDTPlot || f.Kind == pleat.ArtifactPAEPlot || f.Kind == pleat.ArtifactCoverage {
			figures = append(figures, f)
		}
	}
	if len(figures) > 0 {
		if err := r.file(nil, pleat.ArtifactPlots, "plots.zip", "application/zip", func(w io.Writer) error { return pack(w, figures) }); err != nil {
			return err
		}
	}
	return r.file(nil, pleat.ArtifactArchive, "results.zip", "application/zip", func(w io.Writer) error { return pack(w, all) })
}

type metricsFile struct {
	Model       string              `json:"model"`
	Engine      string              `json:"engine"`
	Confidence  string              `json:"confidence"`
	Notice      string              `json:"notice,omitempty"`
	Predictions []predictionMetrics `json:"predictions"`
	Timings     map[string]float64  `json:"timings_seconds"`
	Notes       []string            `json:"notes,omitempty"`
}

type predictionMetrics struct {
	pleat.Prediction
	PLDDT              map[string][]float64 `json:"plddt"` // by chain
	SecondaryStructure map[string]string    `json:"secondary_structure"`
	RadiusOfGyration   float64              `json:"radius_of_gyration_angstrom"`
	Extra              map[string]any       `json:"engine_metrics,omitempty"`
}

func (r *report) metrics() metricsFile {
	out := metricsFile{Model: r.work.Model.Name, Engine: r.engine, Confidence: r.work.Model.Confidence, Notice: r.work.Model.Notice,
		Timings: r.timings, Notes: r.result.Notes}
	for i, m := range r.models {
		pm := predictionMetrics{Prediction: r.result.Predictions[i], PLDDT: map[string][]float64{}, SecondaryStructure: map[string]string{}, Extra: m.extra}
		second := m.structure.SecondaryStructure()
		var all []structure.Vec
		for k, c := range m.structure.Chains {
			if m.plddt != nil {
				pm.PLDDT[c.ID] = round2(m.plddt[k])
			}
			if k < len(second) && len(second[k]) > 0 {
				pm.SecondaryStructure[c.ID] = string(second[k])
			}
			all = append(all, c.Centres()...)
		}
		pm.RadiusOfGyration = math.Round(structure.RadiusOfGyration(all)*100) / 100
		out.Predictions = append(out.Predictions, pm)
	}
	return out
}

func round2(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = *rounded(&x, 2)
	}
	return out
}

// configFile says what ran and holds the request that runs it again: sent to POST /v1/jobs of a service with the same
// engine version, it gives the same bytes where the engine promises so.
type configFile struct {
	Service string `json:"service"`
	// AnsweredFrom is set where nothing was computed: the run that the results came from.
	AnsweredFrom pleat.RunID       `json:"answered_from,omitempty"`
	Input        string            `json:"input_sha256"` // of all that the files depend on
	Files        map[string]string `json:"input_files"`  // SHA-256 of each: alignments, for one
	Engine       string            `json:"engine"`
	Model        string            `json:"model"`
	Weights      string            `json:"weight_set"`
	Method       string            `json:"method"`
	Device       string            `json:"device"`
	Seed         string            `json:"seed"`
	Params       map[string]any    `json:"effective_params"`
	Runner       map[string]any    `json:"runner,omitempty"` // what ran in a process of its own
	Request      request           `json:"request"`
}

type request struct {
	Name        string             `json:"name"`
	Sequences   []map[string]any   `json:"sequences"`
	Params      map[string]any     `json:"params"`
	Constraints *pleat.Constraints `json:"constraints,omitempty"`
}

// request is the job as it could be sent again.
func (r *report) request() request {
	f := r.work.Fold
	params := map[string]any{"modelName": r.work.Model.Name}
	for k, v := range f.Params.Values {
		params[k] = v
	}
	if r.work.Model.TakesParam("seed") {
		params["seed"] = f.Seed
	}
	req := request{Name: f.Name, Params: params}
	for _, s := range f.Sequences {
		req.Sequences = append(req.Sequences, s.Item())
	}
	if !f.Constraints.Empty() {
		c := f.Constraints
		c.Webhooks = nil
		req.Constraints = &c
	}
	return req
}

func (r *report) config() configFile {
	f := r.work.Fold
	effective := f.Params.Effective(r.work.Model)
	if r.work.Model.TakesParam("seed") {
		effective["seed"] = f.Seed
	}
	return configFile{Service: "pleat " + pleat.Version, Input: r.work.Input, Files: r.work.Files, Device: r.work.Model.Device, Engine: r.engine, Model: r.work.Model.Name, Weights: r.work.Model.WeightSet,
		Method: r.work.Model.Method, Seed: f.Seed, Params: effective, Runner: r.about, Request: r.request()}
}

func (r *report) citations(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%% What this run used: %s.\n", r.engine)
	for _, c := range r.work.Model.Citations {
		b.WriteString("\n" + c.BibTeX + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *report) json(kind pleat.ArtifactKind, name string, v any) error {
	return r.file(nil, kind, name, "application/json", func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	})
}

// file writes one artifact into the work's folder.
func (r *report) file(m *model, kind pleat.ArtifactKind, name, contentType string, fill func(io.Writer) error) error {
	f := pleat.File{Kind: kind, Name: name, Path: filepath.Join(r.work.Dir, name), ContentType: contentType}
	if m != nil {
		f.Sequence = m.sequence.ID
	}
	out, err := os.Create(f.Path)
	if err != nil {
		return err
	}
	if err := errors.Join(fill(out), out.Close()); err != nil {
		return err
	}
	r.files = append(r.files, f)
	return nil
}

func (r *report) drop(name string) { _ = os.Remove(filepath.Join(r.work.Dir, name)) }

// pack writes files into a zip whose bytes depend on theirs alone.
func pack(w io.Writer, files []pleat.File) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		method := zip.Deflate
		if strings.HasSuffix(f.Name, ".png") {
			method = zip.Store
		}
		out, err := z.CreateHeader(&zip.FileHeader{Name: f.Name, Method: method})
		if err != nil {
			return err
		}
		in, err := os.Open(f.Path)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, in)
		if err := errors.Join(err, in.Close()); err != nil {
			return err
		}
	}
	return z.Close()
}

// writePAE writes the matrix in the form of the AlphaFold database: one object in a list, errors in Å by aligned residue,
// then scored residue.
func writePAE(w io.Writer, pae *structure.Matrix, most float64) error {
	b := []byte(`[{"predicted_aligned_error":[`)
	for i := range pae.N {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		for j := range pae.N {
			if j > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendFloat(b, math.Round(float64(pae.V[i*pae.N+j])*100)/100, 'f', -1, 64)
		}
		b = append(b, ']')
		if len(b) > 1<<16 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	b = append(b, `],"max_predicted_aligned_error":`...)
	b = strconv.AppendFloat(b, most, 'f', -1, 64)
	b = append(b, "}]\n"...)
	_, err := w.Write(b)
	return err
}
