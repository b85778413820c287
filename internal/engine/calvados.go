package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"pleat"
	"pleat/internal/calvados"
	"pleat/internal/flow"
	"pleat/internal/plot"
)

// Calvados is the embedded dynamics engine.
type Calvados struct {
	Workers int // threads; 0: one per core
	// Every is the least time between two checkpoints that outlive this machine; 0: 20 s, and never so often that they take more
	// than a twentieth of the time. Negative: every one.
	Every time.Duration
}

const (
	calvadosVersion   = "1"
	checkpointArchive = "checkpoint.tar"
	maxLastCheckpoint = 16 << 20  // bytes of a checkpoint that is still kept when the worker shuts down
	maxZipped         = 256 << 20 // bytes of a trajectory beyond which results.zip goes without it
)

// Models has the one model, calvados.
func (Calvados) Models() []pleat.Model {
	return []pleat.Model{{
		Name: "calvados", Kind: pleat.TaskMD, Title: "Calvados, the embedded dynamics engine",
		Engine: "calvados", Version: calvadosVersion, WeightSet: "calvados2, calvados3", Method: "one bead per residue, implicit solvent, Langevin dynamics",
		Licence: "Apache-2.0", Device: "cpu", Entities: []pleat.EntityKind{pleat.Protein},
		MinTokens: 2, MaxTokens: calvados.MaxBeads,
		Memory:     pleat.MemoryModel{Base: 100e6, Linear: 100e3, Square: 40},
		Confidence: "restraints follow the prediction's pLDDT and PAE",
		Notice: "A coarse-grained model of one bead per residue without solvent: good for the size and flexibility of disordered chains and of folds that the prediction is sure of. " +
			"It knows no side chains, ligands, nucleic acids or bonds that break, and its time runs faster than real time.",
		Citations: []pleat.Citation{
			{Key: "tesei2022", BibTeX: "@article{tesei2022,\n  author  = {Tesei, Giulio and Lindorff-Larsen, Kresten},\n  title   = {Improved predictions of phase behaviour of intrinsically disordered proteins by tuning the interaction range},\n  journal = {Open Research Europe},\n  volume  = {2},\n  pages   = {94},\n  year    = {2022},\n  doi     = {10.12688/openreseurope.14967.2}\n}"},
			{Key: "cao2024", BibTeX: "@article{cao2024,\n  author  = {Cao, Fan and von B{\\\"u}low, S{\\\"o}ren and Tesei, Giulio and Lindorff-Larsen, Kresten},\n  title   = {A coarse-grained model for disordered and multi-domain proteins},\n  journal = {Protein Science},\n  volume  = {33},\n  pages   = {e5172},\n  year    = {2024},\n  doi     = {10.1002/pro.5172}\n}"},
			{Key: "zhang2019", BibTeX: "@article{zhang2019,\n  author  = {Zhang, Zhijun and Liu, Xinzijian and Yan, Kangyu and Tuckerman, Mark E. and Liu, Jian},\n  title   = {Unified efficient thermostat scheme for the canonical ensemble with holonomic or isokinetic constraints via molecular dynamics},\n  journal = {Journal of Physical Chemistry A},\n  volume  = {123},\n  pages   = {6056--6079},\n  year    = {2019}\n}"},
		},
	}}
}

// Run simulates, measures and writes.
func (e Calvados) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
	r := &dynamics{report: report{work: w, engine: "calvados " + calvadosVersion}, engine: e, sink: sink}
	out, err := r.run(ctx)
	switch {
	case ctx.Err() != nil:
		r.lastCheckpoint(ctx)
		return pleat.Output{Failure: Interrupted(ctx)}
	case err != nil:
		return pleat.Output{Failure: r.failure(err)}
	}
	return out
}

// dynamics is one attempt.
type dynamics struct {
	report
	engine   Calvados
	sink     pleat.Sink
	system   *calvados.System
	result   calvados.Result
	analysis *calvados.Analysis
	left     []string
	metrics  flow.Metrics

	kept int64     // step of the last checkpoint that was handed on
	at   time.Time // when that was
	cost time.Duration
}

func (r *dynamics) failure(err error) *pleat.Failure {
	var full *os.PathError
	if errors.As(err, &full) {
		return pleat.Failed(pleat.FailStorage, "the simulation could not be written: "+clean(err))
	}
	return failure(err)
}

func (r *dynamics) run(ctx context.Context) (pleat.Output, error) {
	if r.work.MD.Preset == flow.PresetAllAtom {
		return pleat.Output{Failure: pleat.Failed(pleat.FailUnsupported, "preset all_atom needs the OpenMM engine; this engine has one bead per residue")}, nil
	}
	began := time.Now()
	if err := r.build(); err != nil {
		return pleat.Output{}, err
	}
	p := r.system.Params()
	r.sink.Log(fmt.Sprintf("%d residues, %d restraints; %d steps of %v ps at %v K, %d frames", r.system.Len(), r.restraints(), p.Steps(), p.Step, p.Temp, p.Frames()))
	if err := r.simulate(ctx); err != nil {
		return pleat.Output{}, err
	}
	simulated := time.Now()
	r.sink.Progress("analyse", 0, 1)
	if err := r.analyse(ctx); err != nil {
		return pleat.Output{}, err
	}
	r.report.result = pleat.Result{Notes: r.notes(), Timings: map[string]float64{"simulate": simulated.Sub(began).Seconds(), "analyse": time.Since(simulated).Seconds()}}
	r.measure(simulated.Sub(began))
	r.sink.Progress("write", 0, 1)
	row, err := r.writeAll(ctx)
	if err != nil {
		return pleat.Output{}, err
	}
	r.sink.Progress("write", 1, 1)
	return pleat.Output{Files: r.files, Result: &r.report.result, Row: row, Engine: r.report.engine, MSA: pleat.StatePending}, nil
}

// build makes the system from the work's sequence or files.
func (r *dynamics) build() error {
	in := r.work.MD
	p := calvados.Defaults()
	p.Preset, p.Residues, p.Termini = calvados.Preset(in.Preset), calvados.Profile(in.Profile), calvados.Termini(in.Termini)
	p.Temp, p.Ionic, p.PH, p.SaveNs, p.LengthNs, p.Box, p.Seed, p.Workers = in.Temp, in.Ionic, in.PH, in.StepNs, in.LengthNs, in.BoxNm, in.Seed, r.engine.Workers
	m, err := r.molecule()
	if err != nil {
		return err
	}
	r.left = m.Left
	r.system, err = calvados.NewSystem(p, m)
	return err
}

func (r *dynamics) molecule() (*calvados.Molecule, error) {
	in := r.work.MD
	if in.Preset == flow.PresetIDR {
		return calvados.FromSequence(in.Sequence)
	}
	s, err := readStructure(r.work.Dir, in.File)
	if err != nil {
		if f := unreadable("structure", err); !f.Retry {
			return nil, pleat.Invalidf("%s", f.Message)
		}
		return nil, err
	}
	if in.PAE == "" {
		return nil, pleat.Invalidf("preset %s needs the predicted aligned errors, and the source has none", in.Preset)
	}
	pae, err := readPAE(filepath.Join(r.work.Dir, in.PAE))
	if err != nil {
		return nil, err
	}
	if pae, err = proteinPAE(s, pae); err != nil {
		return nil, err
	}
	return calvados.FromStructure(s, pae)
}

// simulate runs from the last attempt's checkpoint where there is one that fits.
func (r *dynamics) simulate(ctx context.Context) error {
	dir := r.work.Dir
	if r.work.Resume != "" {
		if err := unpack(r.work.Resume, dir); err != nil {
			r.sink.Log("the last attempt's checkpoint cannot be read; starting anew")
			forget(dir)
		}
	}
	r.at = time.Now()
	hooks := calvados.Hooks{
		Progress: func(done, total int64) { r.sink.Progress("simulate", int(done), int(total)) },
		Saved:    func(step int64) error { r.keep(step); return nil },
	}
	res, err := calvados.Run(ctx, r.system, dir, hooks)
	if pleat.CodeOf(err) == pleat.CodeConflict && err != nil && r.work.Resume != "" {
		r.sink.Log("the last attempt's checkpoint is of another version; starting anew")
		forget(dir)
		res, err = calvados.Run(ctx, r.system, dir, hooks)
	}
	r.result = res
	if err == nil && res.Resumed > 0 {
		r.sink.Log(fmt.Sprintf("continued from step %d of an earlier attempt", res.Resumed))
	}
	return err
}

func unpack(path, dir string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(calvados.Unpack(in, dir), in.Close())
}

// forget removes what an earlier attempt left.
func forget(dir string) {
	for _, name := range []string{calvados.TopologyFile, calvados.TrajectoryFile, calvados.EnergyFile, calvados.CheckpointFile} {
		_ = os.Remove(filepath.Join(dir, name))
	}
}

// keep hands a checkpoint on, not too often. A run does not fail because its checkpoint could not be kept.
func (r *dynamics) keep(step int64) {
	every := r.engine.Every
	if every == 0 {
		every = 20 * time.Second
	}
	if since := time.Since(r.at); every > 0 && since < max(every, 20*r.cost) {
		return
	}
	began := time.Now()
	if err := r.pack(step); err != nil {
		r.sink.Log("a checkpoint could not be kept: " + clean(err))
	}
	r.at = time.Now()
	r.cost = r.at.Sub(began)
}

func (r *dynamics) pack(step int64) error {
	path := filepath.Join(r.work.Dir, checkpointArchive)
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(calvados.Pack(out, r.work.Dir), out.Close()); err != nil {
		return err
	}
	if err := r.sink.Checkpoint(path, step); err != nil {
		return err
	}
	r.kept = step
	return nil
}

// lastCheckpoint keeps what Run left when the worker shuts down, so that the next attempt loses nothing; where that is much,
// the one before must do.
func (r *dynamics) lastCheckpoint(ctx context.Context) {
	if !errors.Is(context.Cause(ctx), ErrShutdown) {
		return
	}
	info, err := os.Stat(filepath.Join(r.work.Dir, calvados.TrajectoryFile))
	if err != nil || info.Size() > maxLastCheckpoint || r.result.Steps <= r.kept {
		return
	}
	if err := r.pack(r.result.Steps); err != nil {
		r.sink.Log("the last checkpoint could not be kept: " + clean(err))
	}
}

func (r *dynamics) analyse(ctx context.Context) (err error) {
	in, err := os.Open(filepath.Join(r.work.Dir, calvados.TrajectoryFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	t, err := calvados.OpenTrajectory(in, info.Size())
	if err != nil {
		return err
	}
	r.analysis, err = calvados.Analyse(ctx, r.system, t)
	return err
}

func (r *dynamics) restraints() int { return len(r.system.Describe().Restraints) }

// notes say what a reader of the figures should know.
func (r *dynamics) notes() []string {
	var out []string
	for _, l := range r.left {
		out = append(out, "Not simulated: "+l+".")
	}
	if r.work.MD.Preset == flow.PresetGo && r.restraints() == 0 {
		out = append(out, "The prediction is sure of no pair of residues (pLDDT, PAE), so nothing holds the fold: the chain moved as a disordered one, and says nothing about the fold's stability.")
	}
	if r.work.MD.LengthNs < 100 {
		out = append(out, fmt.Sprintf("%v ns is short for this model: averages and free energies describe this run, not equilibrium.", r.work.MD.LengthNs))
	}
	return out
}

// measure sums the analysis up.
func (r *dynamics) measure(took time.Duration) {
	r.metrics = summary(r.analysis)
	m := &r.metrics
	m.Temperature, m.SimulatedNs = temperature(filepath.Join(r.work.Dir, calvados.EnergyFile)), r.work.MD.LengthNs
	m.Frames, m.Steps, m.ResumedSteps = r.result.Frames, r.result.Steps, r.result.Resumed
	m.Residues, m.Restraints = r.system.Len(), r.restraints()
	if s := took.Seconds(); s > 0 {
		r.metrics.StepsPerSec = math.Round(float64(r.result.Steps-r.result.Resumed) / s)
	}
}

// writeAll writes every file but those the simulation wrote, and the row.
func (r *dynamics) writeAll(ctx context.Context) (json.RawMessage, error) {
	for _, f := range []pleat.File{
		{Kind: pleat.ArtifactTopology, Name: calvados.TopologyFile, ContentType: "chemical/x-pdb"},
		{Kind: pleat.ArtifactTrajectory, Name: calvados.TrajectoryFile, ContentType: "application/octet-stream"},
		{Kind: pleat.ArtifactEnergies, Name: calvados.EnergyFile, ContentType: "text/csv"},
	} {
		f.Path = filepath.Join(r.work.Dir, f.Name)
		r.files = append(r.files, f)
	}
	in, at := r.work.MD, 0
	var profiles []plot.Profile
	for _, c := range r.system.Molecule().Chains {
		profiles = append(profiles, plot.Profile{Name: c.ID, Values: r.analysis.RMSFNm[at : at+len(c.Sites)]})
		at += len(c.Sites)
	}
	if err := r.drawDynamics(fmt.Sprintf("%s, %s, %v K, %v ns; coarse-grained", in.Preset, in.Profile, in.Temp, in.LengthNs), r.analysis, profiles); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := r.json(pleat.ArtifactMetrics, flow.MetricsFile, r.document()); err != nil {
		return nil, err
	}
	if err := r.json(pleat.ArtifactConfig, "config.json", r.settings()); err != nil {
		return nil, err
	}
	if err := r.file(nil, pleat.ArtifactCitations, "citations.bib", "application/x-bibtex", r.citations); err != nil {
		return nil, err
	}
	rows, err := r.archive()
	if err != nil {
		return nil, err
	}
	return flow.DynamicsRow(rows, r.metrics)
}

func sizeOf(f pleat.File) (flow.RowFile, error) {
	info, err := os.Stat(f.Path)
	if err != nil {
		return flow.RowFile{}, err
	}
	return flow.RowFile{Path: f.Name, SizeBytes: info.Size()}, nil
}

// document is metrics.json: the summary, then the series that it sums up.
func (r *dynamics) document() map[string]any {
	return detail(r.analysis, map[string]any{
		"engine": r.report.engine, "model": r.work.Model.Name, "notice": r.work.Model.Notice, "notes": r.report.result.Notes, "timings_seconds": r.report.result.Timings,
		"summary": r.metrics,
	})
}

// settings is config.json: what ran, every parameter in its effective value.
func (r *dynamics) settings() map[string]any {
	in, p := r.work.MD, r.system.Params()
	parameters := map[string]any{}
	for k, v := range in.Parameters {
		parameters[k] = v
	}
	parameters["seed"] = fmt.Sprint(in.Seed)
	return map[string]any{
		"service": "pleat " + pleat.Version, "engine": r.report.engine, "model": r.work.Model.Name,
		"parameters": parameters, "friction_per_ps": p.Friction, "step_ps": p.Step, "steps": p.Steps(), "frames": p.Frames(), "residues": r.system.Len(),
	}
}
