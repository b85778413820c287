package words

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	for _, c := range []struct{ got, names, want string }{
		{"modle", "name modelName model", "model"},
		{"model", "name modelName", "modelName"}, // a name that begins with it
		{"Name", "modelName seed", "modelName"},  // or ends with it, in any case
		{"sequense", "sequence sequences", "sequence"},
		{"abd", "abz aba", "aba"}, // equally near: the first by the alphabet
		{"zzzzzz", "name model", ""},
		{strings.Repeat("x", 100), "x name", ""},
		{"x", "", ""},
	} {
		if got := Nearest(c.got, strings.Fields(c.names)); got != c.want {
			t.Errorf("Nearest(%q, %s) = %q; want %q", c.got, c.names, got, c.want)
		}
	}
}

func TestClip(t *testing.T) {
	for got, want := range map[string]string{
		"plain": "plain", "": "", "a\x1b[2J\nb\u2028c\x7f": "a\ufffd[2J\ufffdb\ufffdc\ufffd",
		strings.Repeat("é", 61): strings.Repeat("é", 60) + "…",
	} {
		if s := Clip(got); s != want {
			t.Errorf("Clip(%q) = %q; want %q", got, s, want)
		}
	}
}
