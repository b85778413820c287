package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/structure"
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

// A structure file cites the paper of a BibTeX entry in plain ASCII.
func TestPaperOf(t *testing.T) {
	got := paperOf(pleat.Citation{Key: "k", BibTeX: `@article{k,
  author  = {Jumper, John and {\v{Z}}{\'i}dek, Augustin and {Chai Discovery} and Müller, Ü and others},
  title   = {Highly accurate {AlphaFold}
             of \"{a} structure},
  journal = {Nature},
  volume  = {596},
  pages   = {583--589},
  year    = {2021},
  doi     = {10.1038/s41586-021-03819-2}
}`})
	want := structure.Citation{
		Title:     "Highly accurate AlphaFold of a structure",
		Journal:   "Nature",
		Volume:    "596",
		FirstPage: "583",
		LastPage:  "589",
		Year:      "2021",
		DOI:       "10.1038/s41586-021-03819-2",
		Authors:   []string{"Jumper, John", "Zidek, Augustin", "Chai Discovery", "Muller, U"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	files, err := bibliography.ReadDir("citations")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		key := strings.TrimSuffix(f.Name(), ".bib")
		p := paperOf(Cite(key)[0])
		if p.Title == "" || len(p.Authors) == 0 || p.Year == "" || strings.ContainsAny(p.Title+strings.Join(p.Authors, ""), "{}\\") {
			t.Errorf("%s: %+v", key, p)
		}
	}
	if p := paperOf(pleat.Citation{BibTeX: "not BibTeX"}); p.Title != "" {
		t.Errorf("%+v", p)
	}
}
