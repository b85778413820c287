package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"pleat/internal/mini"
)

// refolded are the peptides that the test folds again at the first seed: one with coordinates, and one that the engine
// gets wrong. The others take minutes.
var refolded = []string{"CLN025", "GB1 41–56"}

// The table of peptides in docs/mini.md is that of this version of the engine.
func TestDocumentedPeptides(t *testing.T) {
	text, err := os.ReadFile("../../../docs/mini.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	if !strings.Contains(page, peptideHead()) {
		t.Fatalf("docs/mini.md does not have this head; run go run ./tools/mini/bench -peptides:\n%s", peptideHead())
	}
	targets, err := parse(targetsText)
	if err != nil {
		t.Fatal(err)
	}
	peptides, err := parsePeptides(peptidesText, targets)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, p := range peptides {
		at, err := documented(page, p)
		if err != nil {
			t.Error(err)
			continue
		}
		if row := p.row(at[:]); !strings.Contains(page, "\n"+row+"\n") {
			t.Errorf("docs/mini.md does not have the row\n%s", row)
		}
		for _, name := range refolded {
			if p.name == name {
				found++
				refold(t, p, at[0])
			}
		}
	}
	if found != len(refolded) {
		t.Errorf("%d of %v are peptides of the table", found, refolded)
	}
}

// documented reads the models of a peptide from the page: the states below its sequence, the RMSD from its row.
func documented(page string, p peptide) (at [peptideSeeds]folded, err error) {
	_, block, ok := strings.Cut(page, "\n"+p.name+"\n         "+p.seq+"\n")
	if !ok {
		return at, fmt.Errorf("docs/mini.md does not show the models of %s", p.name)
	}
	for i := range at {
		var line string
		line, block, _ = strings.Cut(block, "\n")
		seed := fmt.Sprintf("seed %d   ", i+1)
		at[i].states = strings.TrimPrefix(line, seed)
		if !strings.HasPrefix(line, seed) || len(at[i].states) != len(p.seq) {
			return at, fmt.Errorf("docs/mini.md, %s: %q is not the model of seed %d", p.name, line, i+1)
		}
	}
	if p.ca == nil {
		return at, nil
	}
	_, row, _ := strings.Cut(page, "\n| "+p.name+" |")
	row, _, _ = strings.Cut(row, "\n")
	cells := strings.Split(strings.Trim(row, " |"), " | ")
	for i, v := range strings.Split(cells[len(cells)-1], ", ") {
		if i < len(at) {
			at[i].rmsd, err = strconv.ParseFloat(v, 64)
		}
		if i >= len(at) || err != nil {
			return at, fmt.Errorf("docs/mini.md, %s: the RMSD are %q", p.name, cells[len(cells)-1])
		}
	}
	return at, nil
}

func refold(t *testing.T, p peptide, want folded) {
	if testing.Short() {
		t.Log("not folded again: seconds of work")
		return
	}
	got, err := p.foldAt(t.Context(), mini.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got.states != want.states || fmt.Sprintf("%.1f", got.rmsd) != fmt.Sprintf("%.1f", want.rmsd) {
		t.Errorf("%s at seed 1 is %s, %.1f Å; docs/mini.md says %s, %.1f Å", p.name, got.states, got.rmsd, want.states,
			want.rmsd)
	}
}
