package telemetry

import (
	"io"
	"slices"
	"sync"
)

// The bounds of a RecentLog.
const (
	recentLines = 1000
	recentBytes = 1 << 20
	recentLine  = 16 << 10 // of one line
)

// RecentLog keeps the last lines of a log, at most 1000 and 1 MiB of them, for a report of a fault. It is a writer that
// gets one line with each call, as the handlers of slog write. A nil RecentLog keeps nothing.
type RecentLog struct {
	mu    sync.Mutex
	lines [][]byte // the oldest first
	bytes int
}

// Write keeps a line. It never fails.
func (l *RecentLog) Write(line []byte) (int, error) {
	if l == nil {
		return len(line), nil
	}
	kept := slices.Clone(line[:min(len(line), recentLine)])
	if len(kept) < len(line) {
		kept[len(kept)-1] = '\n'
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines, l.bytes = append(l.lines, kept), l.bytes+len(kept)
	drop := 0
	for len(l.lines)-drop > recentLines || l.bytes > recentBytes {
		l.bytes -= len(l.lines[drop])
		l.lines[drop] = nil
		drop++
	}
	l.lines = l.lines[drop:]
	return len(line), nil
}

// WriteTo writes the lines, the oldest first.
func (l *RecentLog) WriteTo(w io.Writer) (int64, error) {
	if l == nil {
		return 0, nil
	}
	l.mu.Lock()
	lines := slices.Clone(l.lines)
	l.mu.Unlock()
	sum := int64(0)
	for _, line := range lines {
		n, err := w.Write(line)
		if sum += int64(n); err != nil {
			return sum, err
		}
	}
	return sum, nil
}
