package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
)

// TestPrefixes names the files of several structures, of which no two may share one.
func TestPrefixes(t *testing.T) {
	for name, c := range map[string]struct{ labels, want []string }{
		"one structure":                  {[]string{"GB1"}, []string{""}},
		"by their records":               {[]string{"GB1", "my villin HP35"}, []string{"GB1-", "my-villin-HP35-"}},
		"without names":                  {[]string{"", ""}, []string{"A-", "B-"}},
		"of one name, but for case":      {[]string{"gb1", "GB1", "x"}, []string{"gb1-A-", "GB1-B-", "x-"}},
		"a name like two with a chain":   {[]string{"x", "x", "x-B"}, []string{"A-", "B-", "C-"}},
		"a name like a chain without it": {[]string{"b", ""}, []string{"A-", "B-"}},
	} {
		var all []Prediction
		for i, label := range c.labels {
			chain := []string{string(rune('A' + i))}
			all = append(all, Prediction{Sequence: pleat.Sequence{Label: label, Chains: chain}, Chains: chain})
		}
		if diff := cmp.Diff(c.want, prefixes(all)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
