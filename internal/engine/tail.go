package engine

import "strings"

// Tail is an io.Writer that keeps the last Max bytes of a stream: of what a process writes to stderr before it dies. It
// must not be used concurrently.
type Tail struct {
	Max int
	b   []byte
}

// Write appends to the stream. It drops old bytes in batches, so that it copies each byte at most once.
func (t *Tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b...)
	if len(t.b) > 2*t.Max {
		t.b = append(t.b[:0], t.b[len(t.b)-t.Max:]...)
	}
	return len(b), nil
}

// String returns the last Max bytes as valid UTF-8.
func (t *Tail) String() string {
	return strings.ToValidUTF8(string(t.b[max(0, len(t.b)-t.Max):]), "\ufffd")
}
