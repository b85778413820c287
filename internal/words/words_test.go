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
		{"qa", "ask md qna jobs", "qna"}, // no word of two letters is near another
		{"qa", "ask md jobs", ""},
		{"md", "qa ad", ""},
		{"flod", "fold md", "fold"},
		{"foo", "log key url", ""},
		{"logs", "jobs models", ""},
		{"max-body", "max_body maxBodies", "max_body"},
		{"pro", "proteinChain", "proteinChain"},
		{"ptm", "ptmPosition ptmType", "ptmType"}, // both begin with it: the shorter one is nearer
		{"pr", "proteinChain", ""},
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

func TestSlug(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"Trp-cage", 80, "Trp-cage"},
		{"GB1 + 2 more", 80, "GB1-2-more"},
		{"../../etc/passwd", 80, "etc-passwd"},
		{"β-lactamase", 80, "lactamase"},
		{"abc def", 4, "abc"},
		{"", 80, ""},
		{"---", 80, ""},
		{"折叠", 80, ""},
	} {
		if got := Slug(c.text, c.most); got != c.want {
			t.Errorf("Slug(%q, %d) = %q; want %q", c.text, c.most, got, c.want)
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

func TestAddress(t *testing.T) {
	for text, want := range map[string]string{
		"https://h.example/a/{id}":             "https://h.example/a/{id}",
		"HTTPS://u:p@h:8/a?key=p&p&b=#p":       "https://h:8/a?key=…&…&b=…",
		"postgres://u@h/x?password=p":          "postgres://h/x?password=…",
		"sqlite:/var/pleat.db":                 "sqlite:/var/pleat.db",
		"sqlite:pleat.db":                      "sqlite:pleat.db",
		"file:///etc":                          "file:///etc",
		"s3://bucket/a?endpoint=https://h&x=p": "s3://bucket/a?endpoint=…&x=…",
		"127.0.0.1:8000":                       "127.0.0.1:8000",
		"a folder":                             "a folder",
		"":                                     "",
		"https://u:p/p@h/x":                    "(not shown)",
		"https://u:p p@h":                      "(not shown)",
		"https://u:p":                          "(not shown)",
		"u:p@h/x":                              "(not shown)",
		"u:p":                                  "(not shown)",
		"https://h/\x7f":                       "(not shown)",
	} {
		if got := Address(text); got != want {
			t.Errorf("%q is shown as %q; want %q", text, got, want)
		}
	}
}

func TestUnique(t *testing.T) {
	u := Unique{}
	for i, want := range []string{"a", "a-2", "b", "a-3", "a-2-2", "abcd…", "abc…-2"} {
		in := []string{"a", "a", "b", "a", "a-2", "abcdefgh", "abcdefgh"}[i]
		if got := u.Name(in, 6); i < 5 && got != want || len([]rune(got)) > 6 {
			t.Errorf("%q became %q; want %q", in, got, want)
		}
	}
	seen := map[string]bool{}
	for range 10_000 {
		name := u.Name("same", 255)
		if seen[name] {
			t.Fatalf("%q came twice", name)
		}
		seen[name] = true
	}
}

func TestLetterName(t *testing.T) {
	for n, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 51: "AZ", 52: "BA", 701: "ZZ", 702: "AAA"} {
		if got := LetterName(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

// A character that is taken for another one has its code point and its name.
func TestCharacter(t *testing.T) {
	for r, want := range map[rune]string{
		'1': "'1'", '\n': `'\n'`, 'É': "'É'", '漢': "'漢'",
		'А': "'А' (U+0410, a Cyrillic letter that looks like A)",
		'Я': "'Я' (U+042F, a Cyrillic letter)",
		'Κ': "'Κ' (U+039A, a Greek letter that looks like K)",
		'Ａ': "'Ａ' (U+FF21, a full-width form of A)",
		'–': "'–' (U+2013, a dash that looks like -)",
		'−': "'−' (U+2212, a dash that looks like -)",
		'”': `'”' (U+201D, a quotation mark that looks like ")`,
		'𝐀': "'𝐀' (U+1D400, a mathematical letter)",

		'\u00a0': "U+00A0 (a no-break space)",
		'\u200b': "U+200B (a zero-width space)",
		'\u00ad': "U+00AD (a soft hyphen)",
		'\ufeff': "U+FEFF (a byte order mark)",
	} {
		if got := Character(r); got != want {
			t.Errorf("%U: %s; want %s", r, got, want)
		}
	}
}

func TestCell(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "",
		"model-1 = best":    "model-1 = best",
		"=1+1":              "'=1+1",
		"-3":                "'-3",
		"x;=HYPERLINK(1)":   "x;'=HYPERLINK(1)",
		"x\t@SUM(A1)":       "x\t'@SUM(A1)",
		"x;;+1;y; =1":       "x;;'+1;y; =1",
		"line\n\n=1; -2;-3": "line\n'\n'=1; -2;'-3",
		`x;"=HYPERLINK(1)`:  `x;"'=HYPERLINK(1)`,
		`"=1+1`:             `"'=1+1`,
		`x";""-1"=1`:        `x";""'-1"=1`,
	} {
		if got := Cell(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestFileName(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 80, ""},
		{"Trp-cage (1L2Y), NMR", 80, "Trp-cage-1L2Y-NMR"},
		{"модель 7", 80, "модель-7"},
		{"蛋白質/折り畳み", 80, "蛋白質-折り畳み"},
		{"../../etc/passwd", 80, "etc-passwd"},
		{"a\u202eb\x00c\xff", 80, "a-b-c"},
		{"one two three four", 10, "one-two-th"},
		{"one two", 4, "one"},
		{strings.Repeat("é", 200), 150, strings.Repeat("é", 99)},
	} {
		if got := FileName(c.text, c.most); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}
