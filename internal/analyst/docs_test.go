package analyst

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated parts of docs/analyst.md")

const page = "../../docs/analyst.md"

// The lists and examples of the page are what the program says.
func TestPageIsTrue(t *testing.T) {
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, p := range []struct{ name, body string }{{"topics", topicsTable()}, {"outside", outsideList()}, {"examples",
		examples(t)}} {
		begin, end := "<!-- "+p.name+" -->\n", "<!-- /"+p.name+" -->\n"
		i, j := strings.Index(text, begin), strings.Index(text, end)
		if i < 0 || j < i {
			t.Fatalf("%s has no part %q", page, p.name)
		}
		if i += len(begin); text[i:j] != p.body {
			if !*update {
				t.Errorf("the part %q of %s is out of date; run go test ./internal/analyst -update", p.name, page)
			}
			text = text[:i] + p.body + text[j:]
		}
	}
	for _, path := range append(slices.Clone(tables), caseTables...) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n := len(regexp.MustCompile(`(?m)^(Q .*|[^#|\n]+ \| .* \| .*)$`).FindAll(raw, -1))
		row := regexp.MustCompile("`" + filepath.Base(path) + "`[^|]*\\| (\\d+) \\|").FindStringSubmatch(text)
		if row == nil || row[1] != strconv.Itoa(n) {
			t.Errorf("%s has %d questions; %s says %q", path, n, page, row)
		}
	}
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func topicsTable() string {
	var b strings.Builder
	b.WriteString("| Topic | Answer |\n|---|---|\n")
	for _, in := range intents() {
		fmt.Fprintf(&b, "| %s | %s |\n", in.Name, in.About)
	}
	return b.String()
}

func outsideList() string {
	var list []string
	for about, why := range vocabulary().lines {
		if strings.HasPrefix(about, "reason ") {
			list = append(list, "- "+why+".\n")
		}
	}
	slices.Sort(list)
	return strings.Join(list, "")
}

func examples(t *testing.T) string {
	var b strings.Builder
	for _, q := range []asked{
		{"predicted", "Is this prediction any good?", ""},
		{"2jof", "What could I mutate?", ""},
		{"2jof", "Is any tryptophan exposed?", ""},
		{"2jof", "Is it like a known fold?", ""},
		{"1crn", "How many disulfide bonds are there?", ""},
		{"2jof", "What packs against W6?", ""},
		{"dimer", "Which residues form the interface between chain A and chain B?", ""},
		{"ligand", "Which residue is closest to the zinc?", ""},
		{"predicted", "Can I rely on residues 60 to 76?", ""},
		{"1ubi", "Is it toxic, and how many lysines does it have?", ""},
		{"1ubi", "What is the charge of the helix?", ""},
		{"1ubi", "Is every lysine exposed?", ""},
		{"ligand", "Which charged residues in helices are within 8 Å of the ligand?", ""},
		{"1ubi", "Are there any salt bridges or clashes, and what about the Ramachandran plot?", ""},
		{"1ubi", "Is Arg48 exposed?", ""},
		{"1ubi", "How many helices does insulin have?", ""},
	} {
		r := Answer(digest(t, q.structure), q.question)
		said := strings.Split(strings.TrimSuffix(r.Text, "\n— "+Name+"."), "\n")
		fmt.Fprintf(&b, "**%s** (%s)\n\n", q.question, q.structure)
		for _, line := range said {
			fmt.Fprintf(&b, "> %s\n>\n", line)
		}
		fmt.Fprintf(&b, "\n")
	}
	return b.String()
}
