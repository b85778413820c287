// Package engines tests real engines with random weights: make test-engines. Without them its tests are skipped.
package engines

import (
	"testing"

	"pleat/internal/testprogram"
)

func TestMain(m *testing.M) { testprogram.Main(m) }
