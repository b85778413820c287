package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Any line decodes to a message, nothing or an error. A message that is encoded again decodes to the same message.
func FuzzDecodeWire(f *testing.F) {
	for _, line := range []string{
		`{"type":"pong"}`,
		`{"type":"result","id":"x","files":[{"kind":"pae","shape":[2,2]}],"scores":{"ptm":0.5}}`,
		`{"type":"x"}`,
		`[]`,
		`{"type":null}`,
		`{"type":"error","code":"oom","message":"m","retryable":true}`,
		"{\"type\":\"log\",\"line\":\"\xff\"}",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := decodeWire(line)
		if err != nil || m == nil {
			return
		}
		again, err := encodeWire(m, nil)
		if err != nil {
			return // a predict's input is another's JSON
		}
		back, err := decodeWire(again)
		if err != nil {
			t.Fatalf("%q became %q: %v", line, again, err)
		}
		third, err := encodeWire(back, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(again), string(third)); diff != "" {
			t.Error(diff)
		}
		if e, ok := m.(*wireError); ok && e.failure().Message == "" && e.Message == "" {
			t.Error("an error without a sentence")
		}
	})
}
