package submit

import (
	"strings"
	"testing"
)

// The check of a large JSON file does no work for each of its values but to read it.
func TestLargeJSONIsCheckedAtOnce(t *testing.T) {
	kind, err := KindOfFile("pae.json")
	if err != nil {
		t.Fatal(err)
	}
	const values = 400_000
	text := `{"predicted_aligned_error":[[` + strings.Repeat("1,", values) + `0]]}`
	n := testing.AllocsPerRun(2, func() {
		if err := kind.Check(strings.NewReader(text)); err != nil {
			t.Error(err)
		}
	})
	if n > 1000 {
		t.Errorf("%.0f allocations for %d values", n, values)
	}
}

func BenchmarkCheckJSON(b *testing.B) {
	text := `[` + strings.Repeat("1.25,", 12<<20/5) + `0]`
	kind, _ := KindOfFile("a.json")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := kind.Check(strings.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}
