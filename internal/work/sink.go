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

const (
	maxPending = 500 // entries not told yet
	maxLine    = 2000
)

// sink takes what an engine says about one attempt and keeps it for the next heartbeat.
type sink struct {
	p   *Pool
	h   *runningTask
	dir string
}

// Progress keeps the newest word on each stage.
func (s *sink) Progress(stage string, done, total int) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	n := pleat.Progress{At: s.p.cfg.Clock().UTC(), Kind: pleat.ProgressStage, Stage: clip(stage), Done: done, Total: total}
	for i := len(s.h.pending) - 1; i >= 0; i-- {
		if s.h.pending[i].Kind == pleat.ProgressStage {
			if s.h.pending[i].Stage == n.Stage {
				s.h.pending[i] = n
				return
			}
			break
		}
	}
	s.add(n)
}

// Log keeps a line.
func (s *sink) Log(line string) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	s.add(pleat.Progress{At: s.p.cfg.Clock().UTC(), Kind: pleat.ProgressLog, Line: clip(line)})
}

func (s *sink) add(n pleat.Progress) {
	if len(s.h.pending) < maxPending {
		s.h.pending = append(s.h.pending, n)
	}
}

// Publish stores a file and makes it readable at once.
func (s *sink) Publish(f pleat.File) error {
	a, err := s.p.storeFile(s.h, s.dir, f)
	if err != nil {
		return err
	}
	return s.p.store.AddArtifact(s.h.ctx, s.h.task.ID, s.h.task.Attempt, s.p.cfg.ID, a)
}

// Checkpoint stores a file from which another attempt may go on. It is also kept while the worker shuts down.
func (s *sink) Checkpoint(path string, step int64) error {
	key := fmt.Sprintf("runs/%s/%d/checkpoint-%d%s", s.h.task.Subject, s.h.task.Attempt, step, filepath.Ext(path))
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	ctx, done := context.WithTimeout(context.WithoutCancel(s.h.ctx), time.Minute)
	defer done()
	if _, err := s.p.blobs.Put(ctx, key, in); err != nil {
		return err
	}
	return s.p.store.SaveCheckpoint(ctx, s.h.task.ID, s.h.task.Attempt, s.p.cfg.ID, pleat.Checkpoint{Key: key, Step: step})
}

// clip bounds a line and keeps it printable and valid UTF-8.
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
