package report

import (
	"strings"
	"testing"
)

// Every embedded entry has the key of its file, and ends as citations.bib needs it.
func TestCite(t *testing.T) {
	files, err := bibliography.ReadDir("citations")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		key := strings.TrimSuffix(f.Name(), ".bib")
		c := Cite(key)[0]
		if !strings.Contains(c.BibTeX, "{"+key+",\n") || !strings.HasSuffix(c.BibTeX, "}") {
			t.Errorf("%s: %s", key, c.BibTeX)
		}
	}
}
