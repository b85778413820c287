package component

import (
	"strings"
	"testing"

	"pleat"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"data_A\n_x 1\n", "A:data_A\n_x 1\n"},
		{"# two\n\ndata_MY-X7F\n_x 1\nDATA_b c\n_y\n;\ndata_no\n;\n", "MY-X7F:data_MY-X7F\n_x 1\n|b:DATA_b c\n_y\n;\ndata_no\n;\n"},
		{"", "has no data block; a component begins with one, such as data_LIG"},
		{"data_\n", "does not begin with a data block, such as data_LIG"},
		{"loop_\n_x\n", "does not begin with a data block, such as data_LIG"},
		{"data_A\n_x 1\ndata_A\n", `has two data blocks called "A"`},
	} {
		blocks, err := Split(c.text)
		var all []string
		for _, b := range blocks {
			all = append(all, b.Code+":"+b.Text)
		}
		got := strings.Join(all, "|")
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}

// The blocks are the text, from the first one on.
func FuzzSplit(f *testing.F) {
	f.Add("# x\ndata_A\n_x\n;\ndata_B\n;\ndata_C\n")
	f.Fuzz(func(t *testing.T, text string) {
		blocks, err := Split(text)
		if err != nil {
			if pleat.CodeOf(err) != pleat.CodeInvalid {
				t.Error(err)
			}
			return
		}
		var all strings.Builder
		for _, b := range blocks {
			all.WriteString(b.Text)
		}
		if !strings.HasSuffix(text, all.String()) || all.Len() == 0 {
			t.Errorf("%q became %q", text, all.String())
		}
	})
}
