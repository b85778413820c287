package engines

import (
	"fmt"
	"io"
	"sync"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
)

// checkScreen shows the stages of one run after the other, as bars on a terminal, else as lines, and between them the
// log lines of the run and what the runner writes on standard error. It ignores files and checkpoints.
type checkScreen struct {
	out io.Writer

	mu   sync.Mutex
	show *cli.Progress // of the current run; nil: there is none
}

// begin starts the progress of a run, and end ends it.
func (s *checkScreen) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.show = cli.NewProgress(s.out)
}

func (s *checkScreen) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.show.Finish()
	s.show.Close()
	s.show = nil
}

// Progress shows how much of a stage is done.
func (s *checkScreen) Progress(stage string, done, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.show != nil {
		s.show.Event(api.Event{Kind: "stage", Stage: stage, Done: done, Total: total})
	}
}

// Log prints a line of the run's log.
func (s *checkScreen) Log(line string) { fmt.Fprintln(s, "  "+line) }

func (s *checkScreen) Publish(pleat.File) error       { return nil }
func (s *checkScreen) Checkpoint(string, int64) error { return nil }

// Write prints text above the bars.
func (s *checkScreen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.show != nil {
		return s.show.Write(text)
	}
	return s.out.Write(text)
}
