package report

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/internal/engine"
)

// The facts have a time of their own. A run that its owner stopped is not one that was slow.
func TestFactsHaveATimeLimit(t *testing.T) {
	crambin, err := os.ReadFile("../structure/testdata/1crn.pdb")
	if err != nil {
		t.Fatal(err)
	}
	w := pleat.Work{Dir: t.TempDir(), QnA: &pleat.QnAInput{File: "crambin.pdb"}}
	if err := os.WriteFile(filepath.Join(w.Dir, w.QnA.File), crambin, 0o600); err != nil {
		t.Fatal(err)
	}
	if f, _, failure := digest(t.Context(), w, time.Minute); failure != nil || f.Residues != 46 {
		t.Fatalf("%v", failure)
	}
	_, _, failure := digest(t.Context(), w, -time.Minute)
	if failure == nil || failure.Kind != pleat.FailTimeout || failure.Retry ||
		!strings.Contains(failure.Message, "ask about a smaller structure") {
		t.Errorf("beyond the limit: %v", failure)
	}
	stopped, stop := context.WithCancelCause(t.Context())
	stop(engine.ErrShutdown)
	if _, _, failure := digest(stopped, w, time.Minute); failure == nil || failure.Kind != pleat.FailCrashed {
		t.Errorf("at a shutdown: %v", failure)
	}
}
