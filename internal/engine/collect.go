package engine

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
	"time"

	"pleat"
	"pleat/internal/facts"
	"pleat/internal/flow"
)

const maxResultFile = 8 << 30 // bytes of one file of a result

// collect makes the output of a runner's results: their files are hashed and read before anything is believed.
func (t *turn) collect(ctx context.Context, pieces []*piece) pleat.Output {
	began := time.Now()
	for _, c := range pieces {
		t.sink.Progress("check", 0, len(c.result.Files))
		if err := c.check(ctx); err != nil {
			if ctx.Err() != nil {
				return pleat.Output{Failure: Interrupted(ctx)}
			}
			return pleat.Output{Failure: invalidOutput(err), Engine: t.name()}
		}
		for stage, s := range c.result.Timings {
			if len(t.timings) < 30 && s >= 0 && s < 1e9 {
				t.timings[oneLine(stage, 40)] += s
			}
		}
		for _, n := range c.result.Notes[:min(len(c.result.Notes), maxNotes)] {
			t.notes = append(t.notes, oneLine(n, maxWireText))
		}
	}
	t.timings["check"] = time.Since(began).Seconds()
	switch t.work.Kind {
	case pleat.TaskQnA:
		return t.answer(ctx, pieces[0])
	case pleat.TaskMD:
		return t.dynamics(ctx, pieces[0])
	}
	rep := &report{work: t.work, engine: t.name(), timings: t.timings, about: t.about()}
	for _, c := range pieces {
		m, err := c.model()
		if err != nil {
			return pleat.Output{Failure: invalidOutput(err), Engine: t.name()}
		}
		rep.models = append(rep.models, *m)
	}
	rep.notes = t.notes
	return rep.write(ctx, t.sink)
}

// about says what ran, for the record of the run.
func (t *turn) about() map[string]any {
	out := map[string]any{"engine_version": oneLine(t.ready.Version, 100), "runner": t.Manifest.Engine + " " + t.Manifest.Version, "device": oneLine(t.ready.Device, 100)}
	if t.ready.Weights != "" {
		out["weights_sha256"] = oneLine(t.ready.Weights, 100)
	}
	if len(t.ready.Detail) > 0 {
		out["detail"] = t.ready.Detail
	}
	return out
}

func invalidOutput(err error) *pleat.Failure {
	return pleat.Failed(pleat.FailOutputInvalid, "the engine's result cannot be used: "+clean(err))
}

// check hashes every file of a result. Only plain files inside the folder count: an os.Root follows no way out of it.
func (c *piece) check(ctx context.Context) error {
	if len(c.result.Files) > maxWireFiles {
		return fmt.Errorf("it names %d files; at most %d are taken", len(c.result.Files), maxWireFiles)
	}
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range c.result.Files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := checkFile(root, f); err != nil {
			return fmt.Errorf("the %s file %q %w", oneLine(f.Kind, 40), pleat.Clip(f.Path), err)
		}
	}
	return nil
}

func checkFile(root *os.Root, f wireFile) error {
	if !local(f.Path) {
		return errors.New("is outside the folder of the work")
	}
	info, err := root.Lstat(f.Path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return errors.New("does not exist")
	case err != nil:
		return errors.New("cannot be reached inside the folder of the work")
	case !info.Mode().IsRegular():
		return errors.New("is no plain file")
	case info.Size() != f.Bytes:
		return fmt.Errorf("has %d bytes, and %d were announced", info.Size(), f.Bytes)
	case info.Size() > maxResultFile:
		return fmt.Errorf("has more than %d bytes", int64(maxResultFile))
	}
	in, err := root.Open(f.Path)
	if err != nil {
		return errors.New("cannot be read")
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return errors.New("cannot be read")
	}
	if hex.EncodeToString(h.Sum(nil)) != f.SHA256 {
		return errors.New("does not have the hash that was announced")
	}
	return nil
}

// file is the result's file of a kind and rank.
func (c *piece) file(kind string, rank int) (wireFile, bool) {
	i := slices.IndexFunc(c.result.Files, func(f wireFile) bool { return f.Kind == kind && f.Rank == rank })
	if i < 0 {
		return wireFile{}, false
	}
	return c.result.Files[i], true
}

// array reads numbers of a result, finite ones; nil where there are none of the kind.
func (c *piece) array(kind string) ([]float32, []int, error) {
	f, ok := c.file(kind, 0)
	if !ok {
		return nil, nil, nil
	}
	in, err := os.Open(filepath.Join(c.dir, f.Path))
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	v, err := float32s(io.LimitReader(in, f.Bytes), f.Shape)
	if err != nil {
		return nil, nil, fmt.Errorf("the %s file %w", kind, err)
	}
	for i, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) || x < 0 {
			return nil, nil, fmt.Errorf("the %s file has %v at place %d; it must be a number from 0", kind, x, i)
		}
	}
	return v, f.Shape, nil
}

// float32s reads little-endian numbers of a shape, and no more.
func float32s(in io.Reader, shape []int) ([]float32, error) {
	n := 1
	for _, d := range shape {
		if d < 0 || d > maxPAE {
			return nil, fmt.Errorf("has the shape %v; at most %d values stand in a row", shape, maxPAE)
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

// ours are the names that the service gives to files of its own.
var ours = []string{"model.cif", "model.pdb", "pae.json", "pae.svg", "pae.png", "plddt.svg", "plddt.png", "metrics.json", "config.json", "citations.bib", "plots.zip", "results.zip"}

// others are the files that are handed on as they are: further samples, and kinds that the service has no use for itself. They get
// none of the reserved names.
func (c *piece) others(reserved ...string) []pleat.File {
	var out []pleat.File
	taken := map[string]bool{}
	for _, name := range append(slices.Clone(ours), reserved...) {
		taken[name] = true
	}
	for _, f := range c.result.Files {
		if f.Rank == 0 && slices.Contains([]string{"structure", "plddt", "pae"}, f.Kind) {
			continue
		}
		name := safeFile(filepath.Base(f.Path))
		if f.Kind == "structure" {
			name = "sample-" + strconv.Itoa(f.Rank) + ".cif"
		}
		for taken[name] {
			name = "x-" + name
		}
		taken[name] = true
		out = append(out, pleat.File{Kind: kindOf(f.Kind), Name: name, Path: filepath.Join(c.dir, f.Path), ContentType: typeOf(name)})
	}
	return out
}

func kindOf(kind string) pleat.ArtifactKind {
	switch kind {
	case "topology":
		return pleat.ArtifactTopology
	case "trajectory":
		return pleat.ArtifactTrajectory
	case "energies":
		return pleat.ArtifactEnergies
	case "dynamics_plot":
		return pleat.ArtifactDynamics
	}
	return pleat.ArtifactOther
}

func typeOf(name string) string {
	switch filepath.Ext(name) {
	case ".cif":
		return "chemical/x-mmcif"
	case ".pdb":
		return "chemical/x-pdb"
	case ".csv":
		return "text/csv"
	case ".json":
		return "application/json"
	case ".png":
		return "image/png"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}

// safeFile makes a runner's file name one of ours.
func safeFile(name string) string {
	out := []byte(name)
	for i, b := range out {
		if (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && (b < '0' || b > '9') && b != '.' && b != '-' && b != '_' {
			out[i] = '_'
		}
	}
	if len(out) > 100 {
		out = out[len(out)-100:]
	}
	return string(out)
}

// answer makes the output of a question: the facts and files are those of every answering engine.
func (t *turn) answer(ctx context.Context, c *piece) pleat.Output {
	if c.result.Answer == "" {
		return pleat.Output{Failure: invalidOutput(errors.New("it has no answer")), Engine: t.name()}
	}
	out := ask(ctx, t.work, t.sink, func(context.Context, *facts.Facts) (reply, *pleat.Failure) {
		return reply{text: c.result.Answer, detail: map[string]any{"runner": t.about(), "metrics": c.result.Metrics}}, nil
	})
	if out.Result != nil {
		maps.Copy(out.Result.Timings, t.timings)
		out.Result.Notes = append(out.Result.Notes, t.notes...)
	}
	return out
}

// archive packs the files so far, a large trajectory apart, and gives the rows of all of them.
func (r *report) archive() ([]flow.RowFile, error) {
	var inside []pleat.File
	var rows []flow.RowFile
	for _, f := range r.files {
		row, err := sizeOf(f)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
		if f.Kind == pleat.ArtifactTrajectory && row.SizeBytes > maxZipped {
			r.result.Notes = append(r.result.Notes, "results.zip is without the trajectory, which is large and has a link of its own.")
			continue
		}
		inside = append(inside, f)
	}
	if err := r.file(nil, pleat.ArtifactArchive, "results.zip", "application/zip", func(w io.Writer) error { return pack(w, inside) }); err != nil {
		return nil, err
	}
	zip, err := sizeOf(r.files[len(r.files)-1])
	return append(rows, zip), err
}
