package batches

import "testing"

// TestDefaults checks the sizes that only the time of a query shows.
func TestDefaults(t *testing.T) {
	t.Parallel()
	if s := New(nil, nil, nil, Options{}); s.open != 100 || s.inputRows != 500 || s.driving != 2000 {
		t.Errorf("the sizes are %d, %d and %d", s.open, s.inputRows, s.driving)
	}
	if s := New(nil, nil, nil, Options{Driving: -1}); s.driving != -1 {
		t.Errorf("%d rows may drive a query, where none may", s.driving)
	}
}
