package app

import (
	"log"
	"os"
	"testing"

	"pleat/internal/blob/blobtest"
	"pleat/internal/engine/apart"
	"pleat/internal/sandbox"
)

// In the tests of runners this binary is the program that starts their processes.
func TestMain(m *testing.M) {
	sandbox.Main()
	apart.Main()
	os.Exit(run(m))
}

// run runs the tests. Those that serve remove the secrets from the environment, which parallel tests share.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "pleat-app-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = blobtest.KeepCredentials(dir)
	}
	if err != nil {
		log.Fatal(err)
	}
	return m.Run()
}
