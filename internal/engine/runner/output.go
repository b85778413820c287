package runner

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/engine"
	"pleat/internal/facts"
	"pleat/internal/mini"
	"pleat/internal/pae"
	"pleat/internal/report"
	"pleat/internal/structure"
)

// maxResultFile is the largest file of a result in bytes; long trajectories have some gigabytes.
const maxResultFile = 8 << 30 // bytes of one file of a result

// collect makes the output of a runner's results. It hashes and reads their files before it uses them. A result that
// does not pass the checks is a failure of kind output_invalid.
func (a *runnerAttempt) collect(ctx context.Context, requests []*predictRequest) pleat.Output {
	watch := clock.Start()
	for _, q := range requests {
		a.sink.Progress("check", 0, len(q.result.Files))
		if err := q.check(ctx); err != nil {
			if ctx.Err() != nil {
				return pleat.Output{Failure: engine.Interrupted(ctx)}
			}
			return a.invalid(err)
		}
		a.addParts(q.result.Timings)
		for _, n := range q.result.Notes[:min(len(q.result.Notes), maxNotes)] {
			a.notes = append(a.notes, engine.OneLine(n, maxWireText))
		}
	}
	a.timings["check"] = watch.Seconds()
	a.timings[pleat.StageWrite] = a.timings["check"]
	switch a.work.Kind {
	case pleat.TaskQnA:
		return a.answer(ctx, requests[0])
	case pleat.TaskMD:
		return a.dynamics(ctx, requests[0])
	case pleat.TaskDesign:
		return a.designs(ctx, requests[0])
	}
	rep := &report.Report{
		Work:    a.work,
		Engine:  a.name(),
		Timings: a.timings,
		Notes:   a.notes,
		Runner:  a.describe(),
	}
	for _, q := range requests {
		p, err := q.prediction()
		if err != nil {
			return a.invalid(err)
		}
		if a.predictsBackbones() {
			if f := dress(ctx, p); f != nil {
				return pleat.Output{Failure: f, Engine: a.name()}
			}
		}
		rep.Predictions = append(rep.Predictions, *p)
	}
	return rep.Write(ctx, a.sink)
}

// predictsBackbones reports whether the model leaves the side chains to the service.
func (a *runnerAttempt) predictsBackbones() bool {
	return slices.ContainsFunc(a.Manifest.Models, func(m ManifestModel) bool {
		return m.Name == a.work.Model.Name && m.SideChains
	})
}

// dress builds the side chains of a predicted structure.
func dress(ctx context.Context, p *report.Prediction) *pleat.Failure {
	chains, ok, err := mini.SideChains(p.Structure.Chains, func() bool { return ctx.Err() != nil })
	switch {
	case err != nil:
		return engine.InvalidOutput(err)
	case !ok:
		return engine.Interrupted(ctx)
	}
	p.Structure.Chains = chains
	return nil
}

// addParts adds what the runner says of its time, all of which is a part of infer. The names of the service's own
// stages get a prefix.
func (a *runnerAttempt) addParts(timings map[string]float64) {
	for _, part := range slices.Sorted(maps.Keys(timings)) {
		s := timings[part]
		if part = engine.OneLine(part, 40); slices.Contains(pleat.Stages, part) {
			part = "runner-" + part
		}
		if len(a.timings) < 30 && s >= 0 && s < 1e9 {
			a.timings[part] += s
		}
	}
}

// invalid returns the output of a result that does not pass the checks.
func (a *runnerAttempt) invalid(err error) pleat.Output {
	return pleat.Output{Failure: engine.InvalidOutput(err), Engine: a.name()}
}

// describe describes what ran, for the run configuration: versions, device and the hash of the weights, as the process
// states them.
func (a *runnerAttempt) describe() map[string]any {
	out := map[string]any{
		"engine_version": engine.OneLine(a.ready.Version, 100),
		"runner":         a.Manifest.Engine + " " + a.Manifest.Version,
		"device":         engine.OneLine(a.ready.Device, 100),
	}
	if a.ready.Weights != "" {
		out["weights_sha256"] = engine.OneLine(a.ready.Weights, 100)
	}
	if len(a.ready.Detail) > 0 {
		out["detail"] = a.ready.Detail
	}
	return out
}

// answer returns the output of a question. Its facts and files are those of every Q&A engine.
func (a *runnerAttempt) answer(ctx context.Context, q *predictRequest) pleat.Output {
	if q.result.Answer == "" {
		return a.invalid(errors.New("it has no answer"))
	}
	reply := report.Reply{
		Text:   q.result.Answer,
		Detail: map[string]any{"runner": a.describe(), "metrics": q.result.Metrics},
	}
	generate := func(context.Context, *facts.Facts) (report.Reply, *pleat.Failure) { return reply, nil }
	out := report.Answer(ctx, a.work, a.sink, generate)
	if out.Result != nil {
		for stage, s := range a.timings { // both compute: the runner the answer, the service the facts
			out.Result.Timings[stage] += s
		}
		out.Result.Notes = append(out.Result.Notes, a.notes...)
	}
	return out
}

// check hashes every file of a result, at most maxWireFiles, after the folder was moved back. Only regular files inside
// the folder are valid: an os.Root follows no link out of it. The error says which file is not what the message says,
// or that ctx ended.
func (q *predictRequest) check(ctx context.Context) error {
	if len(q.result.Files) > maxWireFiles {
		return fmt.Errorf("it names %d files; at most %d are allowed", len(q.result.Files), maxWireFiles)
	}
	root, err := os.OpenRoot(q.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range q.result.Files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := checkFile(root, f); err != nil {
			return fmt.Errorf("the %s file %q %w", engine.OneLine(f.Kind, 40), pleat.Clip(f.Path), err)
		}
	}
	return nil
}

// checkFile checks that a file is what the message says: a regular file with the announced size and SHA-256. The error
// completes a sentence about the file.
func checkFile(root *os.Root, f wireFile) error {
	in, info, err := openRegular(root, f.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	switch {
	case info.Size() != f.Bytes:
		return fmt.Errorf("has %d bytes, and %d were announced", info.Size(), f.Bytes)
	case info.Size() > maxResultFile:
		return fmt.Errorf("has more than %d bytes", int64(maxResultFile))
	}
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return errors.New("cannot be read")
	}
	if hex.EncodeToString(h.Sum(nil)) != f.SHA256 {
		return errors.New("does not have the hash that was announced")
	}
	return nil
}

// file returns the result's file of a kind and rank.
func (q *predictRequest) file(kind string, rank int) (wireFile, bool) {
	i := slices.IndexFunc(q.result.Files, func(f wireFile) bool { return f.Kind == kind && f.Rank == rank })
	if i < 0 {
		return wireFile{}, false
	}
	return q.result.Files[i], true
}

// prediction reads what a request predicted, in the job's names and order. An error says how the result contradicts the
// request: a chain is missing, or an array has another length than the structure.
func (q *predictRequest) prediction() (*report.Prediction, error) {
	s, err := q.structure()
	if err != nil {
		return nil, err
	}
	if err := q.readArrays(s); err != nil {
		return nil, err
	}
	return s.Prediction(q.sequences, q.result.scores(), q.others())
}

// scores returns what the model says of its own prediction, in the names of its chains; package report checks the
// ranges.
func (r *wireResult) scores() *report.Scores {
	out := &report.Scores{ChainMap: r.ChainMap, Metrics: r.Metrics}
	s := r.Scores
	if s == nil {
		return out
	}
	out.PTM, out.IPTM, out.MaxPAE, out.Affinity = s.PTM, s.IPTM, s.MaxPAE, s.Affinity
	for _, p := range s.Pairs {
		out.Pairs = append(out.Pairs, pleat.PairScore{A: p.A, B: p.B, IPTM: p.IPTM})
	}
	return out
}

// structure reads the structure of rank 0, an mmCIF file. Its chains still have the runner's names.
func (q *predictRequest) structure() (*report.Structure, error) {
	file, ok := q.file("structure", 0)
	if !ok {
		return nil, errors.New("it has no structure")
	}
	in, err := os.Open(filepath.Join(q.dir, file.Path))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	s, err := structure.ReadCIF(in, structure.Limits{})
	return &report.Structure{Structure: s}, err
}

// readArrays reads pLDDT (0 to 100, one value per token), predicted RMSD (Å, one value per token) and PAE (Å, a square
// of tokens) into s, and counts the tokens of the residues. Each may be missing; all must have the same number of
// tokens.
func (q *predictRequest) readArrays(s *report.Structure) (err error) {
	if s.PLDDT, err = q.row("plddt", 100, 0.01); err != nil {
		return err
	}
	if s.PredictedRMSD, err = q.row("predicted_rmsd", structure.MaxPredictedRMSD, 0); err != nil {
		return err
	}
	n := max(len(s.PLDDT), len(s.PredictedRMSD))
	if s.PLDDT != nil && s.PredictedRMSD != nil && len(s.PLDDT) != len(s.PredictedRMSD) {
		return fmt.Errorf("the predicted_rmsd file has %d values, and plddt %d; they must be of the same tokens",
			len(s.PredictedRMSD), len(s.PLDDT))
	}
	pae, square, err := q.array("pae")
	if err != nil {
		return err
	}
	if pae != nil {
		if len(square) != 2 || square[0] != square[1] || n > 0 && square[0] != n {
			return fmt.Errorf("the pae file has the shape %v, and there are %d values of tokens; it must be a square "+
				"of the same tokens", square, n)
		}
		n = square[0]
		s.PAE = &structure.Matrix{N: n, V: pae}
	}
	return s.CountTokens(n, q.result.Tokens)
}

// row reads an array with one value per token, from 0 to a limit, which values may exceed by a little where the model
// rounds; nil if the result has no file of the kind.
func (q *predictRequest) row(kind string, limit, excess float32) ([]float32, error) {
	values, shape, err := q.array(kind)
	if err != nil {
		return nil, err
	}
	if values != nil && len(shape) != 1 {
		return nil, fmt.Errorf("the %s file has the shape %v; it must be a row", kind, shape)
	}
	for i, v := range values {
		if v > limit+excess {
			return nil, fmt.Errorf("the %s of token %d is %v; it must be 0 to %v", kind, i+1, v, limit)
		}
	}
	return values, nil
}

// array reads an array of finite numbers from 0, and its shape; nil if the result has no file of the kind. The numbers
// of a matrix are in row-major order.
func (q *predictRequest) array(kind string) ([]float32, []int, error) {
	f, ok := q.file(kind, 0)
	if !ok {
		return nil, nil, nil
	}
	in, err := os.Open(filepath.Join(q.dir, f.Path))
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	v, err := readFloat32s(io.LimitReader(in, f.Bytes), f.Shape)
	if err != nil {
		return nil, nil, fmt.Errorf("the %s file %w", kind, err)
	}
	for i, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) || x < 0 {
			return nil, nil, fmt.Errorf("the %s file has %v at index %d; it must be a number from 0", kind, x, i)
		}
	}
	return v, f.Shape, nil
}

// readFloat32s reads little-endian numbers of a shape, a row or a matrix. The input must end with them. An error
// completes a sentence about the file.
func readFloat32s(in io.Reader, shape []int) ([]float32, error) {
	n := 1
	for _, d := range shape {
		if d < 0 || d > pae.MaxRows {
			return nil, fmt.Errorf("has the shape %v; a dimension has at most %d values", shape, pae.MaxRows)
		}
		n *= d
	}
	if len(shape) < 1 || len(shape) > 2 {
		return nil, fmt.Errorf("has the shape %v; it must be a row or a matrix", shape)
	}
	raw := make([]byte, 4*n)
	if _, err := io.ReadFull(in, raw); err != nil {
		return nil, fmt.Errorf("is shorter than its shape %v", shape)
	}
	if extra, _ := in.Read(make([]byte, 1)); extra > 0 {
		return nil, fmt.Errorf("is longer than its shape %v", shape)
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out, nil
}

// reservedNames are the names that the service gives to its own files.
var reservedNames = []string{
	"model.cif", "model.pdb", "pae.json", "pae.svg", "pae.png", "plddt.svg", "plddt.png",
	"predicted_rmsd.svg", "predicted_rmsd.png", "metrics.json", "config.json", "citations.bib", "plots.zip",
	"results.zip",
}

// others returns the files that become artifacts unchanged: further samples, and kinds that the service does not read.
// They get none of the reserved names, nor a name twice; a name that is in use gets the prefix x-.
func (q *predictRequest) others(reserved ...string) []pleat.File {
	var out []pleat.File
	used := map[string]bool{}
	for _, name := range append(slices.Clone(reservedNames), reserved...) {
		used[name] = true
	}
	for _, f := range q.result.Files {
		if f.Rank == 0 && slices.Contains([]string{"structure", "plddt", "predicted_rmsd", "pae"}, f.Kind) {
			continue
		}
		name := safeName(filepath.Base(f.Path))
		if f.Kind == "structure" {
			name = "sample-" + strconv.Itoa(f.Rank) + ".cif"
		}
		for used[name] {
			name = "x-" + name
		}
		used[name] = true
		out = append(out, pleat.File{
			Kind:        artifactKind(f.Kind),
			Name:        name,
			Path:        filepath.Join(q.dir, f.Path),
			ContentType: contentType(name),
		})
	}
	return out
}

// artifactKind returns the kind of artifact that a file of the protocol becomes.
func artifactKind(kind string) pleat.ArtifactKind {
	switch kind {
	case "topology":
		return pleat.ArtifactTopology
	case "trajectory":
		return pleat.ArtifactTrajectory
	case "energies":
		return pleat.ArtifactEnergies
	case "dynamics_plot":
		return pleat.ArtifactDynamics
	case "designs":
		return pleat.ArtifactDesigns
	case "design":
		return pleat.ArtifactDesign
	case "table":
		return pleat.ArtifactDesignTable
	case "report":
		return pleat.ArtifactDesignReport
	}
	return pleat.ArtifactOther
}

// contentType returns the media type of a file by the extension of its name.
func contentType(name string) string {
	switch filepath.Ext(name) {
	case ".cif":
		return "chemical/x-mmcif"
	case ".pdb":
		return "chemical/x-pdb"
	case ".csv":
		return "text/csv"
	case ".pdf":
		return "application/pdf"
	case ".json":
		return "application/json"
	case ".png":
		return "image/png"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}

// safeName replaces the characters of a runner's file name that an artifact's name must not have.
func safeName(name string) string {
	out := []byte(name)
	for i, b := range out {
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
		if !letter && (b < '0' || b > '9') && b != '.' && b != '-' && b != '_' {
			out[i] = '_'
		}
	}
	if len(out) > 100 {
		out = out[len(out)-100:]
	}
	return string(out)
}
