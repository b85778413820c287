// Package enginetest has what the tests of several engines share: a sink that records what a run reports, and the work
// that the engines are tested with.
package enginetest

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"pleat"
	"pleat/internal/engine"
)

// Sink is a pleat.Sink that records what a run reports. It is safe for concurrent use; its fields may be read once the
// run has ended. The zero value is ready.
type Sink struct {
	Stages map[string]int // last progress of each stage
	Lines  []string       // of the log
	// OnProgress and OnCheckpoint are called with what the run reports; nil: nothing is called.
	OnProgress   func(stage string)
	OnCheckpoint func(path string, step int64) error

	mu sync.Mutex
}

// Progress records the progress of a stage.
func (s *Sink) Progress(stage string, done, _ int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Stages == nil {
		s.Stages = map[string]int{}
	}
	s.Stages[stage] = done
	if s.OnProgress != nil {
		s.OnProgress(stage)
	}
}

// Log records a line.
func (s *Sink) Log(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Lines = append(s.Lines, line)
}

// Publish does nothing.
func (s *Sink) Publish(pleat.File) error { return nil }

// Checkpoint calls OnCheckpoint.
func (s *Sink) Checkpoint(path string, step int64) error {
	if s.OnCheckpoint == nil {
		return nil
	}
	return s.OnCheckpoint(path, step)
}

// Registry returns a registry of engines. Two engines with a model of the same name end the test.
func Registry(t *testing.T, engines ...engine.Engine) *engine.Registry {
	t.Helper()
	r, err := engine.New(slog.New(slog.DiscardHandler), engines...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TrpCage returns the folder of a task, with the Trp-cage (20 residues) in input/2jof.pdb.
func TrpCage(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "task-1")
	WriteFile(t, filepath.Join(dir, "input", "2jof.pdb"), trpCage(t))
	return dir
}

// trpCage returns the measured structure as a PDB file.
func trpCage(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root(t), "internal", "structure", "testdata", "2jof.pdb"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// root returns the root folder of the module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod in this folder or above")
		}
		dir = filepath.Dir(dir)
	}
}

// WriteFile writes a file that only this user can read, and makes its folder.
func WriteFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Question returns a question to an engine about the structure that TrpCage put into the folder, as the worker would
// hand it on.
func Question(dir, question string, e engine.Engine) pleat.Work {
	return pleat.Work{
		Kind:    pleat.TaskQnA,
		Task:    "task",
		Attempt: 1,
		Model:   e.Models()[0],
		Dir:     dir,
		QnA:     &pleat.QnAInput{Question: question, Source: "pdb", Reference: "pdb/2JOF", File: "input/2jof.pdb"},
	}
}

// Row returns the row of a run, result_raw_json, as decoded JSON. The run must have succeeded.
func Row(t *testing.T, out pleat.Output) map[string]any {
	t.Helper()
	if out.Failure != nil {
		t.Fatal(out.Failure)
	}
	var v map[string]any
	if err := json.Unmarshal(out.Row, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
