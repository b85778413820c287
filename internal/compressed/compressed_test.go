package compressed

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pleat"
)

// zipped returns texts as members of one compressed file.
func zipped(t *testing.T, texts ...string) string {
	t.Helper()
	var out bytes.Buffer
	for _, text := range texts {
		w := gzip.NewWriter(&out)
		_, err := w.Write([]byte(text))
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func TestReader(t *testing.T) {
	whole := zipped(t, "ATOM 1\n", "", "ATOM 2\n") // bgzip ends a file with an empty member
	const broken = `the compressed file "a.gz" is damaged or incomplete`
	for _, c := range []struct{ text, want, fault string }{
		{"", "", ""},
		{"A", "A", ""},
		{"ATOM 1\n", "ATOM 1\n", ""},
		{whole, "ATOM 1\nATOM 2\n", ""},
		{whole[:len(whole)-1], "", broken + " (unexpected EOF)"},
		{whole[:4], "", broken + " (unexpected EOF)"},
		{whole + "more", "", broken},
		{whole[:12] + "x" + whole[13:], "", broken},
	} {
		var got []byte
		r, err := Reader("a.gz", strings.NewReader(c.text))
		if err == nil {
			got, err = io.ReadAll(r)
		}
		if c.fault == "" && (err != nil || string(got) != c.want) {
			t.Errorf("%q: %q, %v", c.text, got, err)
		}
		if c.fault != "" && (pleat.CodeOf(err) != pleat.CodeInvalid || !strings.HasPrefix(err.Error(), c.fault)) {
			t.Errorf("%q: %v; want %s", c.text, err, c.fault)
		}
	}
	// An error of the reader stays what it is.
	for _, text := range []string{"AT", whole[:20]} {
		r, err := Reader("a.gz", io.MultiReader(strings.NewReader(text), iotest.ErrReader(io.ErrClosedPipe)))
		if err == nil {
			_, err = io.ReadAll(r)
		}
		if !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
