package format

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The page reads pasted FASTA itself; web/src/submit/sequences.test.ts checks its reader against the same file.
func TestSharedFASTA(t *testing.T) {
	type item struct {
		Kind     string `json:"kind"`
		Sequence string `json:"sequence"`
		Label    string `json:"label"`
		CCD      bool   `json:"ccd"`
	}
	var cases []struct {
		Name  string `json:"name"`
		Text  string `json:"text"`
		Items []item `json:"items"`
	}
	b, err := os.ReadFile("testdata/fasta.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			imported, err := Import(c.Text, FASTA, Options{Name: "given", Model: "m"})
			if err != nil {
				t.Fatal(err)
			}
			var got []item
			for _, job := range imported.Jobs {
				for _, s := range job.Sequences {
					got = append(got, item{string(s.Kind), s.Text, s.Label, s.CCD})
				}
			}
			if diff := cmp.Diff(c.Items, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
