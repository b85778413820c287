package engine_test

import (
	"io"
	"strings"
	"testing"

	"pleat/internal/engine"
)

// A tail has the end of a stream, however it was written.
func TestTail(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", 10)
	for size := range 30 {
		tail := &engine.Tail{Max: 12}
		for rest := text; rest != ""; {
			n := min(size+1, len(rest))
			_, _ = io.WriteString(tail, rest[:n])
			rest = rest[n:]
		}
		if got := tail.String(); got != "890123456789" {
			t.Errorf("after writes of %d bytes: %q", size+1, got)
		}
	}
	tail := &engine.Tail{Max: 3}
	_, _ = io.WriteString(tail, "aéb\xc3")
	if got := tail.String(); got != "\ufffdb\ufffd" {
		t.Errorf("%q", got)
	}
}
