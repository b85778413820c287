// Package crash tests that nothing is lost, done twice or left over however processes end: they are killed, stopped and
// suspended, their database and disk go away, their keys are replaced. make soak does the same for long.
package crash

import (
	"testing"

	"pleat/internal/testprogram"
)

func TestMain(m *testing.M) { testprogram.Main(m) }
