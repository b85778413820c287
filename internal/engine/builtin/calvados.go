package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"pleat"
	"pleat/internal/calvados"
	"pleat/internal/clock"
	"pleat/internal/engine"
	"pleat/internal/flow"
	"pleat/internal/plot"
	"pleat/internal/report"
)

// Calvados is the embedded dynamics engine: package calvados with the files and failures of a run. The zero value uses
// all cores.
type Calvados struct {
	Workers int // threads; 0: one per core
	// CheckpointInterval is the minimum time between two checkpoints that are stored outside this machine. 0: 20 s, or
	// longer, so that checkpoints take at most a twentieth of the time. Negative: every checkpoint is stored.
	CheckpointInterval time.Duration
}

const (
	// The engine as results name it, and when checkpoints are stored.
	calvadosVersion           = "1"
	calvadosEngine            = "calvados " + calvadosVersion
	checkpointArchive         = "checkpoint.tar"
	defaultCheckpointInterval = 20 * time.Second
	maxShutdownCheckpoint     = 16 << 20 // bytes of a trajectory that is still stored when the worker shuts down
	equilibriumNs             = 100      // length from which averages describe equilibrium
)

// Models lists the one model, calvados.
func (e Calvados) Models() []pleat.Model {
	const stepsPerNs = 1000 / calvados.DefaultStep
	return []pleat.Model{{
		Name:      "calvados",
		Kind:      pleat.TaskMD,
		Title:     "Calvados, the embedded dynamics engine",
		Engine:    "calvados",
		Version:   calvadosVersion,
		WeightSet: "calvados2, calvados3",
		Method:    "one bead per residue, implicit salt water, Langevin dynamics",
		Licence:   "Apache-2.0",
		WeightUse: pleat.CommercialUse,
		Device:    "cpu",
		Cores:     coresOf(e.Workers),
		Entities:  []pleat.EntityKind{pleat.Protein},
		MinTokens: 2,
		MaxTokens: calvados.MaxBeads,
		Memory:    pleat.MemoryModel{Base: 100e6, Linear: 100e3, Square: 40},
		Speed: pleat.SpeedModel{
			Linear: calvados.StepBead * stepsPerNs,
			Square: calvados.StepPair / 2 * stepsPerNs,
		},
		Confidence: "restraints follow the prediction's pLDDT and PAE",
		Notice: "A coarse-grained model with one bead per residue in implicit salt water. It is good for the size" +
			" and flexibility of disordered chains and of folds that are predicted with confidence. It has no" +
			" side chains, ligands, nucleic acids or breaking bonds, and its time runs faster than real time.",
		Citations: report.Cite("tesei2022", "cao2024", "zhang2019"),
	}}
}

// Run builds the system, simulates it, analyses the trajectory and writes the artifacts. It continues from the
// checkpoint of an earlier attempt if the work has one. When ctx ends, it leaves a checkpoint and returns a failure.
func (e Calvados) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
	s := &simulation{engine: e, work: w, sink: sink}
	out, err := s.run(ctx)
	switch {
	case ctx.Err() != nil:
		s.checkpointAtShutdown(ctx)
		return pleat.Output{Failure: engine.Interrupted(ctx)}
	case err != nil:
		return pleat.Output{Failure: simulationFailure(err)}
	}
	return out
}

// simulationFailure returns the failure of a simulation. A file that cannot be written is worth another try elsewhere.
func simulationFailure(err error) *pleat.Failure {
	var full *os.PathError
	if errors.As(err, &full) {
		message := "the simulation could not be written: " + engine.PublicMessage(err)
		return pleat.Failed(pleat.FailStorage, message)
	}
	return failure(err)
}

// simulation is one attempt. Its fields are set by the stages of run, in their order.
type simulation struct {
	engine   Calvados
	work     pleat.Work
	sink     pleat.Sink
	system   *calvados.System
	skipped  []string // what the structure has and the model cannot simulate
	assumed  string   // of the structure's confidence, as a sentence; empty: nothing
	result   calvados.Result
	analysis *calvados.Analysis

	storedStep     int64           // of the last stored checkpoint
	stored         clock.Stopwatch // since the last checkpoint
	checkpointTime time.Duration   // that the last checkpoint took
}

// run does the stages of the simulation in order: build, simulate, analyse, write.
func (s *simulation) run(ctx context.Context) (pleat.Output, error) {
	if s.work.MD.Preset == flow.PresetAllAtom {
		message := "preset all_atom needs the OpenMM engine; this engine has one bead per residue"
		return pleat.Output{Failure: pleat.Failed(pleat.FailUnsupported, message)}, nil
	}
	watch := clock.Start()
	if err := s.build(ctx); err != nil {
		return pleat.Output{}, err
	}
	p := s.system.Params()
	s.sink.Log(fmt.Sprintf("%d residues, %d restraints; %d steps of %v ps at %v K, %d frames",
		s.system.Len(), s.restraints(), p.Steps(), p.Step, p.Temp, p.Frames()))
	if err := s.simulate(ctx); err != nil {
		return pleat.Output{}, err
	}
	simulated := watch.Elapsed()
	s.sink.Progress("analyse", 0, 1)
	if err := s.analyse(ctx); err != nil {
		return pleat.Output{}, err
	}
	analysed := watch.Elapsed()
	result := &pleat.Result{Notes: s.notes(), Timings: map[string]float64{
		"simulate":       simulated.Seconds(),
		"analyse":        (analysed - simulated).Seconds(),
		pleat.StageInfer: analysed.Seconds(),
	}}
	metrics := s.metrics(simulated)
	s.sink.Progress("write", 0, 1)
	files, row, err := s.write(ctx, result, metrics)
	if err != nil {
		return pleat.Output{}, err
	}
	result.Timings[pleat.StageWrite] = (watch.Elapsed() - analysed).Seconds()
	s.sink.Progress("write", 1, 1)
	return pleat.Output{Files: files, Result: result, Row: row, Engine: calvadosEngine, MSA: pleat.StatePending}, nil
}

// build makes the system from the work's sequence or files. An error with CodeInvalid says why it cannot be simulated.
func (s *simulation) build(ctx context.Context) error {
	in := s.work.MD
	p := calvados.Defaults()
	p.Preset = calvados.Preset(in.Preset)
	p.Residues = calvados.Profile(in.Profile)
	p.Termini = calvados.Termini(in.Termini)
	p.Temp, p.Ionic, p.PH = in.Temp, in.Ionic, in.PH
	p.SaveNs, p.LengthNs, p.Box = in.StepNs, in.LengthNs, in.BoxNm
	p.Seed, p.Workers = in.Seed, s.engine.Workers
	m, err := s.molecule(ctx)
	if err != nil {
		return err
	}
	s.skipped, s.assumed = m.Left, m.Note
	s.system, err = calvados.NewSystem(p, m)
	return err
}

// molecule reads what is simulated: a sequence, or a structure with its PAE. An error with CodeInvalid says what is
// wrong with the files.
func (s *simulation) molecule(ctx context.Context) (*calvados.Molecule, error) {
	in := s.work.MD
	if in.Preset == flow.PresetIDR {
		return calvados.FromSequence(in.Sequence)
	}
	source, err := report.ReadStructure(ctx, s.work.Dir, in.File)
	if err != nil {
		if f := report.StructureFailure(err); !f.Retry {
			return nil, pleat.Invalidf("%s", f.Message)
		}
		return nil, err
	}
	if in.PAE == "" {
		return nil, pleat.Invalidf("preset %s needs the predicted aligned errors, and the source has none", in.Preset)
	}
	all, err := report.ReadPAE(ctx, filepath.Join(s.work.Dir, in.PAE))
	if err != nil {
		return nil, err
	}
	protein, err := report.ProteinPAE(source, all)
	if err != nil {
		return nil, err
	}
	return calvados.FromStructure(source, protein)
}

// simulate runs the simulation, from the last attempt's checkpoint if there is one that fits. A checkpoint that cannot
// be read, or is of another version, is dropped with a line in the log.
func (s *simulation) simulate(ctx context.Context) error {
	dir := s.work.Dir
	if s.work.Resume != "" {
		if err := unpack(s.work.Resume, dir); err != nil {
			s.sink.Log("the last attempt's checkpoint cannot be read; starting from the beginning")
			removeSimulation(dir)
		}
	}
	s.stored = clock.Start()
	hooks := calvados.Hooks{
		CheckpointWithin: s.checkpointInterval().Seconds() / 2, // so that one is there when it is to be stored
		Progress:         func(done, total int64) { s.sink.Progress("simulate", int(done), int(total)) },
		Saved:            func(step int64) error { s.checkpoint(step); return nil },
	}
	res, err := calvados.Run(ctx, s.system, dir, hooks)
	if err != nil && pleat.CodeOf(err) == pleat.CodeConflict && s.work.Resume != "" {
		s.sink.Log("the last attempt's checkpoint is of another version; starting from the beginning")
		removeSimulation(dir)
		res, err = calvados.Run(ctx, s.system, dir, hooks)
	}
	s.result = res
	if err == nil && res.Resumed > 0 {
		s.sink.Log(fmt.Sprintf("continued from step %d of an earlier attempt", res.Resumed))
	}
	return err
}

// unpack extracts the checkpoint of an earlier attempt into a folder.
func unpack(path, dir string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(calvados.Unpack(in, dir), in.Close())
}

// removeSimulation removes the files of an earlier attempt.
func removeSimulation(dir string) {
	for _, name := range []string{
		calvados.TopologyFile, calvados.TrajectoryFile, calvados.EnergyFile, calvados.CheckpointFile,
	} {
		_ = os.Remove(filepath.Join(dir, name))
	}
}

// checkpointInterval is the minimum time between two stored checkpoints; negative: every checkpoint is stored.
func (s *simulation) checkpointInterval() time.Duration {
	return cmp.Or(s.engine.CheckpointInterval, defaultCheckpointInterval)
}

// checkpoint stores a checkpoint, unless the last one is recent, or the simulation is at its end: the run then has no
// reason to yield. A run does not fail because its checkpoint could not be stored.
func (s *simulation) checkpoint(step int64) {
	interval, params := s.checkpointInterval(), s.system.Params()
	if step == params.Steps() {
		return
	}
	if since := s.stored.Elapsed(); interval > 0 && since < max(interval, 20*s.checkpointTime) {
		return
	}
	watch := clock.Start()
	if err := s.storeCheckpoint(step); err != nil {
		s.sink.Log("a checkpoint could not be stored: " + engine.PublicMessage(err))
	}
	s.stored, s.checkpointTime = clock.Start(), watch.Elapsed()
}

// storeCheckpoint packs the files of the simulation at a step and hands the archive to the sink, which stores it
// outside this machine for the next attempt.
func (s *simulation) storeCheckpoint(step int64) error {
	path := filepath.Join(s.work.Dir, checkpointArchive)
	err := report.WriteFile(path, func(out io.Writer) error { return calvados.Pack(out, s.work.Dir) })
	if err != nil {
		return err
	}
	if err := s.sink.Checkpoint(path, step); err != nil {
		return err
	}
	s.storedStep = step
	return nil
}

// checkpointAtShutdown stores the state of a run that a shutdown interrupts, so that the next attempt repeats
// nothing. If the state is large, the previous checkpoint must suffice.
func (s *simulation) checkpointAtShutdown(ctx context.Context) {
	if !errors.Is(context.Cause(ctx), engine.ErrShutdown) {
		return
	}
	info, err := os.Stat(filepath.Join(s.work.Dir, calvados.TrajectoryFile))
	if err != nil || info.Size() > maxShutdownCheckpoint || s.result.Steps <= s.storedStep {
		return
	}
	if err := s.storeCheckpoint(s.result.Steps); err != nil {
		s.sink.Log("the last checkpoint could not be stored: " + engine.PublicMessage(err))
	}
}

// analyse measures the trajectory: RMSD, RMSF, radius of gyration, free-energy landscapes, see calvados.Measure.
func (s *simulation) analyse(ctx context.Context) (err error) {
	in, err := os.Open(filepath.Join(s.work.Dir, calvados.TrajectoryFile))
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
	s.analysis, err = calvados.Analyse(ctx, s.system, t)
	return err
}

// restraints counts the restraints that keep the folded parts together.
func (s *simulation) restraints() int { return len(s.system.Describe().Restraints) }

// notes returns what a reader of the figures should know: what could not be simulated, and where the time is too short
// for averages.
func (s *simulation) notes() []string {
	var out []string
	for _, what := range s.skipped {
		out = append(out, "Not simulated: "+what+".")
	}
	if s.assumed != "" {
		out = append(out, s.assumed)
	}
	if s.work.MD.Preset == flow.PresetGo && s.restraints() == 0 {
		out = append(out, "The prediction is sure of no pair of residues (pLDDT, PAE), so nothing holds the fold: "+
			"the chain moved as a disordered one, and says nothing about the fold's stability.")
	}
	if s.work.MD.LengthNs < equilibriumNs {
		out = append(out, fmt.Sprintf("%v ns is short for this model: averages and free energies describe this run, "+
			"not equilibrium.", s.work.MD.LengthNs))
	}
	return out
}

// metrics returns the metrics of the row. took is the time of the simulation, for the steps per second.
func (s *simulation) metrics(took time.Duration) flow.Metrics {
	m := report.DynamicsMetrics(s.analysis)
	m.Temperature = report.MeanTemperature(filepath.Join(s.work.Dir, calvados.EnergyFile))
	m.SimulatedNs = s.work.MD.LengthNs
	m.Frames, m.Steps, m.ResumedSteps = s.result.Frames, s.result.Steps, s.result.Resumed
	m.Residues, m.Restraints = s.system.Len(), s.restraints()
	if seconds := took.Seconds(); seconds > 0 {
		m.StepsPerSec = math.Round(float64(s.result.Steps-s.result.Resumed) / seconds)
	}
	return m
}

// write writes every file except those of the simulation itself, and returns all files and the row: report.Dynamics has
// the figures, metrics and archive.
func (s *simulation) write(
	ctx context.Context, result *pleat.Result, metrics flow.Metrics,
) ([]pleat.File, json.RawMessage, error) {
	in := s.work.MD
	var chains []plot.Chain
	for _, c := range s.system.Molecule().Chains {
		chains = append(chains, plot.Chain{Name: c.ID, Length: len(c.Sites)})
	}
	d := report.Dynamics{
		Work:     s.work,
		Engine:   calvadosEngine,
		Result:   result,
		Subtitle: fmt.Sprintf("%s, %s, %v K, %v ns; coarse-grained", in.Preset, in.Profile, in.Temp, in.LengthNs),
		Trajectory: &report.Trajectory{
			Analysis: s.analysis,
			Profiles: report.Profiles(s.analysis.RMSFNm, chains),
			Frames:   int(s.result.Frames),
		},
		Summary: metrics,
		Config:  s.config(),
	}
	for _, f := range []pleat.File{
		{Kind: pleat.ArtifactTopology, Name: calvados.TopologyFile, ContentType: "chemical/x-pdb"},
		{Kind: pleat.ArtifactTrajectory, Name: calvados.TrajectoryFile, ContentType: "application/octet-stream"},
		{Kind: pleat.ArtifactEnergies, Name: calvados.EnergyFile, ContentType: "text/csv"},
	} {
		f.Path = filepath.Join(s.work.Dir, f.Name)
		d.Files = append(d.Files, f)
	}
	files, rows, err := d.Write(ctx)
	if err != nil {
		return nil, nil, err
	}
	row, err := flow.DynamicsRow(rows, metrics)
	return files, row, err
}

// config returns the entries of config.json: every parameter with its effective value and unit, enough to repeat the
// run.
func (s *simulation) config() map[string]any {
	in, p := s.work.MD, s.system.Params()
	parameters := map[string]any{}
	for k, v := range in.Parameters {
		parameters[k] = v
	}
	parameters["seed"] = fmt.Sprint(in.Seed)
	return map[string]any{
		"parameters":      parameters,
		"friction_per_ps": p.Friction,
		"step_ps":         p.Step,
		"steps":           p.Steps(),
		"frames":          p.Frames(),
		"residues":        s.system.Len(),
	}
}
