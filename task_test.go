package pleat_test

import (
	"testing"

	"pleat"
)

// Workers claim folds, questions, simulations and MSA searches, and nothing of the service's own.
func TestIsWorkerQueue(t *testing.T) {
	for name, want := range map[string]bool{
		pleat.Queue(pleat.TaskFold, "mini"):   true,
		pleat.Queue(pleat.TaskQnA, "analyst"): true,
		pleat.Queue(pleat.TaskMD, "calvados"): true,
		pleat.SearchQueue("boltz"):            true,
		pleat.Queue(pleat.TaskFollow, ""):     false,
		pleat.Queue(pleat.TaskDeliver, "x"):   false,
		"search":                              false,
		"":                                    false,
	} {
		if got := pleat.IsWorkerQueue(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
