package work

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"pleat"
)

const maxLine = 2000 // bytes of a log line

// sink receives what an engine reports about one attempt.
type sink struct {
	p   *Pool
	t   *runningTask
	dir string
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

// Publish stores a file and makes it readable at once.
func (s *sink) Publish(f pleat.File) error {
	a, err := s.p.storeFile(s.t, s.dir, f)
	if err != nil {
		return err
	}
	return s.p.store.AddArtifact(s.t.ctx, s.t.lease.Lease, a)
}

// Checkpoint stores a file from which another attempt can resume. It does so while the worker shuts down, too.
func (s *sink) Checkpoint(path string, step int64) error {
	key := fmt.Sprintf("runs/%s/%d/checkpoint-%d%s", s.t.Task.Run, s.t.Task.Attempt, step, filepath.Ext(path))
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	ctx, done := context.WithTimeout(context.WithoutCancel(s.t.ctx), time.Minute)
	defer done()
	if _, err := s.p.blobs.Put(ctx, key, in); err != nil {
		return err
	}
	return s.p.store.SaveCheckpoint(ctx, s.t.lease.Lease, pleat.Checkpoint{Key: key, Step: step})
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
