package msa

import (
	"errors"
	"fmt"
	"testing"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	first := map[string]string{"a.a3m": "AAA", "b.A3M": "CCC", "again.a3m": "AAA", "other.a3m": "GGG"}
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"a.a3m", "x.pdb", "b.A3M"}, "<nil>"},
		{[]string{"a.a3m", "b.A3M", "again.a3m"}, "again.a3m is the second alignment of its sequence"},
		{[]string{"other.a3m", "broken.a3m"}, "other.a3m begins with none of the job's proteins"},
		{[]string{"broken.a3m", "other.a3m"}, "broken"},
	} {
		err := Match(c.names, []string{"AAA", "CCC"}, func(i int) (string, error) {
			if q := first[c.names[i]]; q != "" {
				return q, nil
			}
			return "", errors.New("broken")
		})
		if got := fmt.Sprint(err); got != c.want {
			t.Errorf("%v: %s, want %s", c.names, got, c.want)
		}
	}
}
