package design

import (
	"fmt"
	"strings"
	"testing"
)

// nearMisses is a graph of almost the largest size with fields that nearly are misspellings of known ones.
func nearMisses(nodes, each int) []byte {
	var b strings.Builder
	b.WriteString(strings.Split(example, "  finish: {type: end}\n")[0] + "  finish:\n    type: end\n")
	n := 0
	add := func(indent string) {
		for range each {
			fmt.Fprintf(&b, "%sinput%c%c%c%c: 1\n", indent, 'a'+n%26, 'a'+n/26%26, 'a'+n/676%26, 'a'+n/17576%26)
			n++
		}
	}
	add("    ")
	for i := range nodes {
		fmt.Fprintf(&b, "  n%d:\n    type: input\n    subType: design_specification_yml\n    inputPayload: "+
			"{inputYML: a.yaml, inputYMLLibraryItemId: %s}\n", i, itemA)
		add("    ")
	}
	b.WriteString("workflows:\n  main:\n    jobs: [begin, {what: {requires: [begin")
	for i := range nodes {
		fmt.Fprintf(&b, ", n%d", i)
	}
	b.WriteString("]}}, {make: {requires: [what]}}, {finish: {requires: [make]}}")
	for i := range nodes {
		fmt.Fprintf(&b, ", {n%d: {requires: [begin]}}", i)
	}
	b.WriteString("]\n")
	return []byte(b.String())
}

// A field that nobody knows is compared with those that are known, which must cost little more than to read it: it is
// counted in allocations, which do not depend on the machine.
func TestNearMissesAreCheap(t *testing.T) {
	text := nearMisses(90, 150)
	count := testing.AllocsPerRun(1, func() {
		if _, err := ReadGraph(text); err != nil {
			t.Fatal(err)
		}
	})
	if fields := 91.0 * 150; count > 20*fields {
		t.Errorf("%.0f allocations for %.0f fields", count, fields)
	}
}

func BenchmarkReadGraphOfNearMisses(b *testing.B) {
	text := nearMisses(90, 150)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := ReadGraph(text); err != nil {
			b.Fatal(err)
		}
	}
}
