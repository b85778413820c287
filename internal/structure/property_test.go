package structure

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// anyStructure draws a structure as the readers promise it, with names and texts
// that are hard to quote.
func anyStructure(t *rapid.T) *Structure {
	odd := rapid.SampledFrom([]string{"A", "B", "AA", "a'", `"b`, "_c", "#", "data_", "loop_", ".", "?", ";", "O5'",
		"H'", `x"y'z`, "$", "[1]", "1"})
	text := rapid.Map(rapid.StringMatching(`[a-z' "#;_\n\t\\éµ]{0,30}`), func(s string) string { return oneLine(s) })
	number := func(low, high, decimals int) float64 {
		scale := math.Pow(10, float64(decimals))
		return math.Round(rapid.Float64Range(float64(low), float64(high)).Draw(t, "x")*scale)/scale + 0
	}
	s := &Structure{Title: text.Draw(t, "title")}
	labels := map[string]bool{}
	for range rapid.IntRange(1, 5).Draw(t, "chains") {
		label := odd.Draw(t, "label")
		if labels[label] {
			continue
		}
		labels[label] = true
		c := Chain{ID: odd.Draw(t, "id"), Label: label, Entity: len(s.Chains) + 1, Name: text.Draw(t, "name"),
			Kind: rapid.SampledFrom([]Kind{Protein, RNA, DNA, Ligand, Water}).Draw(t, "kind")}
		if c.Kind.Polymer() && slices.ContainsFunc(s.Chains, func(o Chain) bool {
			return o.Kind.Polymer() &&
				o.ID == c.ID
		}) {
			continue // the reader tells polymers of one id apart
		}
		if c.Label == c.ID {
			c.Label = ""
		}
		seq := 0
		for range rapid.IntRange(1, 4).Draw(t, "residues") {
			seq += rapid.IntRange(1, 3).Draw(t, "step")
			r := Residue{Comp: odd.Draw(t, "comp"), Seq: seq, Auth: rapid.IntRange(-5, 9999).Draw(t, "auth"),
				Ins: rapid.SampledFrom([]string{"", "A", "'", "#"}).Draw(t, "ins"), Het: rapid.Bool().Draw(t, "het")}
			if !c.Kind.Polymer() {
				r.Seq, r.Het = 0, true
			}
			if slices.ContainsFunc(c.Residues, func(o Residue) bool { return o.Auth == r.Auth && o.Ins == r.Ins }) {
				continue // the reader joins residues of one number
			}
			for k := range rapid.IntRange(1, 3).Draw(t, "atoms") {
				r.Atoms = append(r.Atoms, Atom{
					Name:      odd.Draw(t, "atom") + string(rune('0'+k)), // a residue has each atom once
					Element:   rapid.SampledFrom([]string{"C", "ZN", "X"}).Draw(t, "element"),
					Pos:       Vec{number(-999, 9999, 3), number(-999, 9999, 3), number(-1, 1, 3)},
					B:         number(0, 100, 2),
					Occupancy: number(0, 1, 2),
					Charge:    rapid.IntRange(-3, 3).Draw(t, "charge"),
				})
			}
			c.Residues = append(c.Residues, r)
		}
		// what a ligand of such a name becomes depends on its atoms
		if c.Kind == Ligand && c.Residues[0].guessKind() != Ligand {
			c.Kind = Water
		}
		c.tidy()
		// Where tidy counts the residues, the file that is written has these numbers, which tell them apart: a reader
		// of it has no reason to count.
		c.Counted = false
		s.Chains = append(s.Chains, c)
	}
	return s
}

func TestAnyStructureReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyStructure(t)
		if len(s.Chains) == 0 {
			return
		}
		s.Origin = Prediction // what is written without Meta.Experimental
		var file bytes.Buffer
		if err := WriteCIF(&file, s, Meta{}); err != nil {
			t.Fatal(err)
		}
		got, err := ReadCIF(bytes.NewReader(file.Bytes()), Limits{})
		if err != nil {
			t.Fatalf("%v\n%s", err, file.Bytes())
		}
		if diff := cmp.Diff(s, got); diff != "" {
			t.Fatalf("%s\n%s", diff, file.Bytes())
		}
	})
}
