// Package report writes everything that the service keeps of a result: structures, arrays, figures, metrics, run
// configurations, citations and archives. The same prediction always gives the same bytes.
//
// It owns the names, formats and contents of these files, the reading of the files that it writes itself, and what
// all engines of a kind share on the way from a prediction to files (chain order, pair scores, trajectory analysis).
// It must not run a model, talk to a process or a remote endpoint, or know the store.
//
// Files:
package report

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/engine"
	"pleat/internal/plot"
	"pleat/internal/structure"
	"pleat/internal/words"
)

// Prediction is what a folding engine predicts for one structure, before it becomes files. A nil field means that the
// engine does not give this value.
type Prediction struct {
	Sequence  pleat.Sequence // the zero value: the whole complex
	Chains    []string       // chain names of the job
	Structure *structure.Structure
	PLDDT     [][]float64 // 0 to 100, by chain and residue
	// PredictedRMSD is the error in Å that the model expects of each residue, by chain: lower is better, unlike pLDDT.
	PredictedRMSD [][]float64
	PAE           *structure.Matrix
	MaxPAE        float64  // Å: the largest error that the engine can state
	PTM           *float64 // 0 to 1
	IPTM          *float64 // 0 to 1
	Affinity      *pleat.Affinity
	Metrics       map[string]any // further values for metrics.json

	// The following fields are for engines that count in tokens, or that predict several samples.

	// BFactors are written as the B-factor of each residue; nil: PLDDT. In a chain whose entry is nil, such as a
	// ligand, each atom keeps its own.
	BFactors  [][]float64
	MeanPLDDT *float64     // over tokens; nil: the mean over residues
	PAEChains []plot.Chain // number of PAE rows of each chain; nil: one row per residue
	Pairs     []pleat.PairScore
	Others    []pleat.File // handed on unchanged
}

// Report turns the predictions of a run into its artifacts. Fill in the exported fields and call Write once.
type Report struct {
	Work        pleat.Work
	Engine      string // name and version
	Predictions []Prediction
	Timings     map[string]float64 // seconds, by stage; not nil
	Notes       []string
	Runner      map[string]any // what ran in a process of its own, for config.json; nil: nothing did

	folder
	result pleat.Result
}

// Write writes every artifact into the folder of the work and returns the output of the run: structures, PAE, figures,
// metrics.json, config.json, citations.bib, plots.zip and results.zip. The same predictions give the same bytes, apart
// from the timings. It reports the stage "write" to the sink. When ctx ends, the output is a failure.
func (r *Report) Write(ctx context.Context, sink pleat.Sink) pleat.Output {
	watch := clock.Start()
	r.folder.dir = r.Work.Dir
	r.result = pleat.Result{Timings: r.Timings, Notes: r.Notes}
	prefix := prefixes(r.Predictions)
	for i := range r.Predictions {
		sink.Progress("write", i, len(r.Predictions)+1)
		if ctx.Err() != nil {
			return pleat.Output{Failure: engine.Interrupted(ctx)}
		}
		if err := r.writePrediction(&r.Predictions[i], prefix[i]); err != nil {
			return notWritten(err)
		}
	}
	if err := r.writeRun(); err != nil {
		return notWritten(err)
	}
	r.result.Timings[pleat.StageWrite] += watch.Seconds()
	sink.Progress("write", len(r.Predictions)+1, len(r.Predictions)+1)
	return pleat.Output{Files: r.files, Result: &r.result, Engine: r.Engine, MSA: pleat.StatePending}
}

// notWritten returns the output of a run whose files could not be written.
func notWritten(err error) pleat.Output {
	message := "the results could not be written: " + engine.PublicMessage(err)
	return pleat.Output{Failure: pleat.Failed(pleat.FailStorage, message)}
}

// prefixes returns what the file names of each structure begin with, so that no two structures share a file: nothing
// for one structure, else the name of its record. Records of one name, or without one, have their chain in it. Where a
// name is still that of another, such as the record A-B next to two records A, all begin with their chains alone.
func prefixes(all []Prediction) []string {
	if len(all) == 1 {
		return []string{""}
	}
	records := map[string]int{} // by name, which some file systems compare without case
	for i := range all {
		records[strings.ToLower(recordFileName(&all[i].Sequence))]++
	}
	out, taken := make([]string, len(all)), map[string]bool{}
	for i := range all {
		name, chain := recordFileName(&all[i].Sequence), all[i].Chains[0]
		if name != "" && records[strings.ToLower(name)] > 1 {
			name += "-" + chain
		}
		out[i] = cmp.Or(name, chain) + "-"
		taken[strings.ToLower(out[i])] = true
	}
	if len(taken) < len(all) {
		for i := range all {
			out[i] = all[i].Chains[0] + "-"
		}
	}
	return out
}

// recordFileName returns the name of a record for its files, at most 40 characters; empty if it has none.
func recordFileName(q *pleat.Sequence) string { return words.Slug(q.Label, 40) }

// writePrediction writes the files of one structure, which belong to its sequence, and adds its scores to the result.
func (r *Report) writePrediction(p *Prediction, prefix string) error {
	r.folder.sequence = p.Sequence.ID
	defer func() { r.folder.sequence = "" }()
	if err := r.writeStructure(p, prefix); err != nil {
		return err
	}
	if p.PAE != nil {
		err := r.file(pleat.ArtifactPAE, prefix+"pae.json", "application/json", func(w io.Writer) error {
			return writePAE(w, p.PAE, p.MaxPAE)
		})
		if err != nil {
			return err
		}
	}
	if err := r.drawPrediction(p, prefix); err != nil {
		return err
	}
	for _, f := range p.Others {
		f.Sequence, f.Name = p.Sequence.ID, prefix+f.Name
		r.files = append(r.files, f)
	}
	r.result.Predictions = append(r.result.Predictions, r.summary(p))
	return nil
}

// writeStructure writes a structure as mmCIF, and as PDB if that format can hold it: a structure with too many chains
// or atoms has a note instead.
func (r *Report) writeStructure(p *Prediction, prefix string) error {
	m := &r.Work.Model
	meta := structure.Meta{
		Software:   m.Engine,
		Version:    m.Version,
		Model:      m.Name,
		Disclaimer: m.Notice,
		PLDDT:      p.PLDDT,
	}
	if p.BFactors != nil {
		meta.PLDDT = p.BFactors
	}
	if p.PredictedRMSD != nil {
		meta.PredictedRMSD = polymersOf(p.Structure, p.PredictedRMSD)
	}
	meta.PTM, meta.IPTM, meta.PairIPTM = p.PTM, p.IPTM, pairIPTM(p)
	if p.PAE != nil {
		meta.PAEFile = prefix + "pae.json"
	}
	meta.Components, meta.SMILES = componentsOf(r.Work.Fold)
	for _, c := range m.Citations {
		meta.Citations = append(meta.Citations, paperOf(c))
	}
	meta.ID, meta.Title = titleOf(&r.Work, p.Sequence.ID)
	err := r.file(pleat.ArtifactCIF, prefix+"model.cif", "chemical/x-mmcif", func(w io.Writer) error {
		return structure.WriteCIF(w, p.Structure, meta)
	})
	if err != nil {
		return err
	}
	err = r.file(pleat.ArtifactPDB, prefix+"model.pdb", "chemical/x-pdb", func(w io.Writer) error {
		return structure.WritePDB(w, p.Structure, meta)
	})
	var tooBig *structure.PDBLimitError
	if errors.As(err, &tooBig) {
		r.remove(prefix + "model.pdb")
		r.result.Notes = append(r.result.Notes, "no PDB file: "+tooBig.Reason)
		return nil
	}
	return err
}

// componentsOf returns the names of the components that a job has of its own, and the SMILES of those that have one,
// without names of atoms, by code.
func componentsOf(f *pleat.FoldInput) (names, smiles map[string]string) {
	names, smiles = map[string]string{}, map[string]string{}
	for i := range f.Constraints.Components {
		c := &f.Constraints.Components[i]
		names[c.Code] = "component of the job"
		if c.SMILES != "" {
			smiles[c.Code], _ = c.Molecule()
		}
	}
	return names, smiles
}

// pairIPTM returns the ipTM of the pairs of chains of a structure that have one.
func pairIPTM(p *Prediction) []structure.PairIPTM {
	index := map[string]int{}
	for i := range p.Structure.Chains {
		index[p.Structure.Chains[i].ID] = i
	}
	var out []structure.PairIPTM
	for _, pair := range p.Pairs {
		a, okA := index[pair.A]
		b, okB := index[pair.B]
		if okA && okB && pair.IPTM != nil {
			out = append(out, structure.PairIPTM{A: a, B: b, IPTM: *pair.IPTM})
		}
	}
	return out
}

// drawPrediction writes the figures of pLDDT and predicted RMSD by residue and of PAE, each if the engine gives the
// values.
func (r *Report) drawPrediction(p *Prediction, prefix string) error {
	labels := plot.Labels{Subtitle: r.Work.Model.Title + ": " + r.Work.Model.Confidence}
	var figures []figure
	for _, of := range []struct {
		kind   pleat.ArtifactKind
		name   string
		values [][]float64
		draw   func(plot.Labels, []plot.Profile) (*plot.Figure, error)
	}{
		{pleat.ArtifactPLDDTPlot, "plddt", p.PLDDT, plot.PLDDT},
		{pleat.ArtifactRMSDPlot, "predicted_rmsd", p.PredictedRMSD, plot.PredictedRMSD},
	} {
		if of.values == nil {
			continue
		}
		var profiles []plot.Profile
		for i, c := range of.values {
			profiles = append(profiles, plot.Profile{Name: p.Structure.Chains[i].ID, Values: c})
		}
		fig, err := of.draw(labels, profiles)
		if err != nil {
			return err
		}
		figures = append(figures, figure{of.kind, prefix + of.name, fig})
	}
	if p.PAE != nil {
		chains := p.PAEChains
		if chains == nil {
			for _, c := range p.Structure.Chains {
				chains = append(chains, plot.Chain{Name: c.ID, Length: len(c.Residues)})
			}
		}
		fig, err := plot.PAE(labels, chains, func(i, j int) float64 { return float64(p.PAE.V[i*p.PAE.N+j]) })
		if err != nil {
			return err
		}
		figures = append(figures, figure{pleat.ArtifactPAEPlot, prefix + "pae", fig})
	}
	return r.draw(figures)
}

// writeRun writes the files of the whole run: metrics, configuration, citations and archives. The last archive holds
// all others, and scripts that show the structures.
func (r *Report) writeRun() error {
	if err := r.json(pleat.ArtifactMetrics, "metrics.json", r.metrics()); err != nil {
		return err
	}
	if err := r.json(pleat.ArtifactConfig, "config.json", r.config()); err != nil {
		return err
	}
	if err := r.citations(r.Engine, slices.Concat(r.Work.Model.Citations, r.Work.Citations)); err != nil {
		return err
	}
	all := r.files
	var figures []pleat.File
	for _, f := range all {
		switch f.Kind {
		case pleat.ArtifactPLDDTPlot, pleat.ArtifactRMSDPlot, pleat.ArtifactPAEPlot, pleat.ArtifactCoverage:
			figures = append(figures, f)
		}
	}
	if len(figures) > 0 {
		if err := r.zip(pleat.ArtifactPlots, "plots.zip", figures); err != nil {
			return err
		}
	}
	scripts, err := r.scripts(all)
	if err != nil {
		return err
	}
	return r.zip(pleat.ArtifactArchive, "results.zip", slices.Concat(all, scripts))
}
