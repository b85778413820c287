//go:build !race

// The race detector is too slow for what is measured: connections of the 64 clients would time out.

package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// In the scenario this test binary is the program.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"pleat-bench": main})
}

// TestBench runs short measurements on SQLite.
func TestBench(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
	})
}
