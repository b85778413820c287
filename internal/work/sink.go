package work

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/store/runs"
)

// maxLine bounds a log line and the name of a stage, in bytes. A longer name is cut off.
const maxLine = 2000

// sink receives what an engine reports about one attempt. It implements pleat.Sink. Progress and Log only add to the
// next heartbeat; Publish and Checkpoint write to the blob store and the database before they return.
type sink struct {
	p   *Pool
	t   *runningTask
	dir string // of the attempt: published files must be inside
}

// Progress keeps the newest report of each stage for the next heartbeat.
func (s *sink) Progress(stage string, done, total int) {
	s.t.lease.Report(pleat.Progress{
		At:    s.p.cfg.Clock().UTC(),
		Kind:  pleat.ProgressStage,
		Stage: clip(stage),
		Done:  done,
		Total: total,
	})
}

// Log keeps a line for the next heartbeat.
func (s *sink) Log(line string) {
	s.t.lease.Report(pleat.Progress{At: s.p.cfg.Clock().UTC(), Kind: pleat.ProgressLog, Line: clip(line)})
}

// Publish stores a file and makes it readable at once, before the run has ended. It fails if the lease was lost.
func (s *sink) Publish(f pleat.File) error {
	a, err := s.p.storeFile(s.t.ctx, s.t, s.dir, f)
	if err != nil {
		return err
	}
	return s.p.service.AddArtifact(s.t.ctx, s.t.lease.Lease, a)
}

// Checkpoint stores a file from which another attempt can resume at a step. It replaces the last checkpoint, and works
// while the worker shuts down, too. The blob store and the database have engine.CheckpointTime. The run's context may
// end then: the attempt yields if another user's task waits.
func (s *sink) Checkpoint(path string, step int64) error {
	key := runs.CheckpointKey(&s.t.Task, step, filepath.Ext(path))
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	ctx, done := context.WithTimeout(context.WithoutCancel(s.t.ctx), engine.CheckpointTime)
	defer done()
	if _, err := s.p.files.Put(ctx, key, in); err != nil {
		return err
	}
	err = s.p.service.SaveCheckpoint(ctx, s.t.lease.Lease, pleat.Checkpoint{Key: key, Step: step})
	if err == nil {
		s.p.yieldIfOthersWait(s.t, step)
	}
	return err
}

// clip bounds a line, and makes it printable and valid UTF-8.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) > maxLine {
		cut := maxLine
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return s
}
