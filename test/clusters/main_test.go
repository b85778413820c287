// Package clusters tests the fleet, which starts workers: as processes of this machine, and, with make test-clusters,
// on Slurm.
package clusters

import (
	"testing"

	"pleat/internal/testprogram"
)

func TestMain(m *testing.M) { testprogram.Main(m) }
