package client

import (
	"encoding/json"
	"testing"
)

// Residues of a flag become res_idx; numbers of authors are left for the service, which has the structure.
func TestChainResidues(t *testing.T) {
	for _, c := range []struct {
		text   string
		author bool
		want   string // empty: refused
	}{
		{"A:3-5,12", false, "[3,4,5,12]"},
		{"A:3-5,12", true, `["3..5",12]`},
		{"H:52A,-3,82A-84,-3--1", true, `["52A",-3,"82A..84","-3..-1"]`},
		{"H:52A", false, ""},
		{"H:3-52A", false, ""},
		{"H:-3", false, ""},
		{"H:5-3", true, ""},
		{"H:52AB", true, ""},
	} {
		out, err := chainResidues(c.text, "epitope", c.author)
		got, _ := json.Marshal(out["res_idx"])
		if err == nil && string(got) != c.want || err != nil && c.want != "" {
			t.Errorf("%s, author %t: %s, %v; want %s", c.text, c.author, got, err, c.want)
		}
	}
}
