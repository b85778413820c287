package work

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/msa"
	"pleat/internal/store/storetest"
)

// The pause for which a server of alignments asks delays the next try of the task, by at most MaxRetryAfter.
func TestPauseOfASearchReachesItsFailure(t *testing.T) {
	t.Parallel()
	p := &Pool{cfg: Config{Log: slog.New(slog.DiscardHandler)}}
	a := &alignmentStage{p: p, t: &runningTask{ctx: t.Context()}}
	for pause, want := range map[time.Duration]time.Duration{
		0: 0, time.Minute: time.Minute, 24 * time.Hour: pleat.MaxRetryAfter,
	} {
		f := a.searchFailure(&msa.Error{Message: "busy", Retry: true, RetryAfter: pause})
		if !f.Retry || f.RetryAfter != want {
			t.Errorf("a pause of %s gives %+v; want %s", pause, f, want)
		}
	}
}

// While the service cannot share the pauses of servers, the log says that once.
func TestPausesThatCannotBeSharedAreLoggedOnce(t *testing.T) {
	t.Parallel()
	s := storetest.OpenAt(t, storetest.Databases()["sqlite"](t), &storetest.Clock{})
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(&out, nil))
	engines, err := engine.New(log)
	if err != nil {
		t.Fatal(err)
	}
	p := NewRemote(Config{Log: log}, NewDirect(s.DB, s.People, s.Runs, s.Workers), DirectFiles{}, engines)
	if err := s.DB.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p.sharePause(context.Background(), "msa.example.org", 0)
	}
	if n := strings.Count(out.String(), "pauses of alignment servers cannot be shared"); n != 1 {
		t.Errorf("%d lines:\n%s", n, &out)
	}
}
