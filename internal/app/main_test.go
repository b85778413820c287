package app

import (
	"os"
	"testing"

	"pleat/internal/engine/apart"
	"pleat/internal/sandbox"
)

// In the tests of runners this binary is the program that starts their processes.
func TestMain(m *testing.M) {
	sandbox.Main()
	apart.Main()
	os.Exit(m.Run())
}
