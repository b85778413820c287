package calvados

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

func BenchmarkStep(b *testing.B) {
	for _, n := range []int{24, 50, 147, 450} {
		for _, w := range []int{1, 2} {
			b.Run(fmt.Sprintf("%d/%d", n, w), func(b *testing.B) {
				d := relaxed(b, n, w)
				defer d.Close()
				b.ResetTimer()
				d.Advance(b.N)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
			})
		}
	}
}

func relaxed(tb testing.TB, n, workers int) *Dynamics {
	tb.Helper()
	p := Defaults()
	p.Box, p.Workers = 40, workers
	m, err := FromSequence(mixture(n))
	if err != nil {
		tb.Fatal(err)
	}
	s, err := NewSystem(p, m)
	if err != nil {
		tb.Fatal(err)
	}
	d := NewDynamics(s)
	if err := d.Minimise(context.Background()); err != nil {
		tb.Fatal(err)
	}
	d.Heat()
	d.Advance(20000)
	return d
}

// mixture is a sequence of n residues with the composition of disordered regions.
func mixture(n int) string {
	const stretch = "MSKGEELFTGSVPQDNSEERQKASPGSTKDLEAGYSPTNQRESHPAVKDG"
	return strings.Repeat(stretch, n/len(stretch)+1)[:n]
}
