package api_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pleat/api"
)

// TestAll reads pages until the last one, an error or the end of the loop.
func TestAll(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, tt := range []struct {
		fails string // the cursor of the page that cannot be read
		most  int
		want  []string
		reads int
		err   error
	}{
		{"none", 9, []string{"a", "b", "c"}, 2, nil},
		{"none", 2, []string{"a", "b"}, 1, nil},
		{"", 9, nil, 1, broken},
		{"next", 9, []string{"a", "b"}, 2, broken},
	} {
		reads := 0
		read := func(cursor string) (api.List[string], error) {
			next, last := "next", ""
			switch reads++; {
			case cursor == tt.fails:
				return api.List[string]{}, broken
			case cursor == next:
				return api.List[string]{Data: []string{"c"}, NextCursor: &last}, nil
			}
			return api.List[string]{Data: []string{"a", "b"}, NextCursor: &next}, nil
		}
		var got []string
		var failed error
		for v, err := range api.All(read) {
			if failed = err; err != nil {
				break
			}
			if got = append(got, *v); len(got) == tt.most {
				break
			}
		}
		if !slices.Equal(got, tt.want) || reads != tt.reads || !errors.Is(failed, tt.err) {
			t.Errorf("page %q fails, at most %d: %q after %d reads, %v", tt.fails, tt.most, got, reads, failed)
		}
	}
}

func TestStatusOf(t *testing.T) {
	t.Parallel()
	refused := fmt.Errorf("fold: %w", &api.Error{Status: 404})
	for err, want := range map[error]int{nil: 0, errors.New("away"): 0, refused: 404} {
		if got := api.StatusOf(err); got != want {
			t.Errorf("%v: %d; want %d", err, got, want)
		}
	}
}
