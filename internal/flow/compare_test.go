package flow

import (
	"encoding/json"
	"strings"
	"testing"

	"pleat"
)

const someID = "01890a5d-ac96-774b-bcce-b302099a8057"

func TestParseComparison(t *testing.T) {
	p, err := ParseComparison(json.RawMessage(`{"of":["job:` + strings.ToUpper(someID) + `/2","library:` + someID +
		`/a b.pdb","pdb:1ubq","job:` + someID + `"],"reference":3,"isPublic":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if p.Kind != pleat.TaskCompare || p.Compare.Reference != 3 || !p.Public || len(p.Sources()) != 4 ||
		p.Name() != "Comparison of 4 structures" {
		t.Errorf("%+v", p)
	}
	want := []string{"job:" + someID + "/2", "library:" + someID + "/a b.pdb", "pdb:1UBQ", "job:" + someID}
	for i, s := range p.Compare.Of {
		if of, kind := s.Compared(); of != want[i] || !strings.HasPrefix(of, kind+":") {
			t.Errorf("%d: %s %s", i, of, kind)
		}
	}
}

// Every fault says where it is; of several entries each has its own.
func TestBadComparisons(t *testing.T) {
	two := `"job:` + someID + `","job:` + someID + `"`
	for input, want := range map[string]string{
		`{}`:                                 `of is required; it must be a list such as ["job:ID", "library:ID"]`,
		`{"of":"job:x"}`:                     `of must be a list of strings such as job:ID`,
		`{"of":[` + two + `],"reference":0}`: `reference is 0; it must be a whole number from 1 to 2, the position of a structure`,
		`{"of":[` + two + `],"reference":1.5}`: `reference is 1.5; it must be a whole number from 1 to 2, the position of a ` +
			`structure`,
		`{"of":[` + two + `],"reference":"a"}`: `reference is "a"; it must be a number`,
		`{"of":["job:` + someID + `/../x",` + two + `]}`: `of[0] is "job:` + someID +
			`/../x"; after / it must have the plain name of a file`,
		`{"of":["x",` + two + `,"pdb:"]}`: `of[0] is "x"; it must be job:ID, job:ID/SAMPLE, library:ID, library:ID/FILE or ` +
			`pdb:ID; of[3] is "pdb:"; after pdb: it must have a PDB id such as 1UBQ`,
		`{"of":["job:` + strings.Repeat("9", 600) + `",` + two + `]}`: `of[0] has 604 bytes; at most 512 are allowed`,
		`[]`: `the body must be a JSON object`,
	} {
		_, err := ParseComparison(json.RawMessage(input))
		var all []string
		for _, e := range pleat.ErrorsOf(err) {
			all = append(all, e.Message)
		}
		if got := strings.Join(all, "; "); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", input, got, want)
		}
	}
}

// Whatever an entry is, it is refused or names one structure, whose name on a disk cannot leave its folder.
func FuzzCompared(f *testing.F) {
	for _, s := range []string{"job:" + someID, "job:" + someID + "/sample-2.cif", "library:" + someID + "/a", "pdb:1UBQ",
		"job:", "job:" + someID + "/..", "pdb:/etc", ":", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseCompared([]string{text, text}, "of")
		if err != nil {
			return
		}
		of, _ := all[0].Compared()
		again, err := ParseCompared([]string{of, of}, "of")
		if err != nil || again[0] != all[0] {
			t.Errorf("%q was read as %q: %v", text, of, err)
		}
		for _, part := range []string{all[0].Sample, all[0].Structure.Name, all[0].ID} {
			if strings.ContainsAny(part, "/\\\x00") || part == ".." {
				t.Errorf("%q has the part %q", text, part)
			}
		}
	})
}
