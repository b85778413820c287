package cli

import (
	"bytes"
	"strings"
	"testing"
)

// A writer other than a terminal gets whole cells, each on its line.
func TestTableIsWhole(t *testing.T) {
	var out bytes.Buffer
	name := strings.Repeat("long ", 40) + "name"
	if err := PrintTable(&out, [][]string{{"NAME", "STATUS"}, {name + "\n\x1b[2J", "DONE"}}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[1], name+" \ufffd[2J  DONE") {
		t.Errorf("%q", lines)
	}
}
