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

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"éééé", 3, "éé…"},
		{"a\nb", 3, "a\nb"},
		{"ab", 1, "…"},
	} {
		if got := Shorten(c.text, c.n); got != c.want {
			t.Errorf("Shorten(%q, %d) = %q; want %q", c.text, c.n, got, c.want)
		}
	}
}
