package webhooks

import "testing"

// TestDefaults checks the size that only the time of a claim shows.
func TestDefaults(t *testing.T) {
	t.Parallel()
	if s := New(nil, nil, Options{}); s.endpoints != 256 {
		t.Errorf("a claim looks at %d endpoints", s.endpoints)
	}
}
