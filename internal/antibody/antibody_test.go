package antibody

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The Fab of PDB entry 12e8, chains H and L.
const (
	heavyFab = "EVQLQQSGAEVVRSGASVKLSCTASGFNIKDYYIHWVKQRPEKGLEWIGWIDPEIGDTEYVPKFQGKATMTADTSSNTAYLQLSSLTSEDTAVYYC" +
		"NAGHDYDRGRFPYWGQGTLVTVSAAKTTPPSVYPLAPGSAAQTNSMVTLGCLVKGYFPEPVTVTWNSGSLSSGVHTFPAVLQSDLYTLSSSVTVPS" +
		"STWPSETVTCNVAHPASSTKVDKKIVPRD"
	lightFab = "DIVMTQSQKFMSTSVGDRVSITCKASQNVGTAVAWYQQKPGQSPKLMIYSASNRYTGVPDRFTGSGSGTDFTLTISNMQSEDLADYFCQQYSSYPL" +
		"TFGAGTKLELKRADAAPTVSIFPPSSEQLTSGGASVVCFLNNFYPKDINVKWKIDGSERQNGVLNSATDQDSKDSTYSMSSTLTLTKDEYERHNSY" +
		"TCEATHKTSTSPIVKSFNRNEC"
)

// describe returns the domains of a sequence, each as kind, range, CDR3 and what it lacks.
func describe(sequence string) (out []string) {
	for _, d := range Find(sequence) {
		out = append(out, fmt.Sprint(d.Kind, " ", d.Start, "-", d.End, " ", d.Part(sequence, "CDR3", IMGT), " ", d.Lacks()))
	}
	return out
}

func TestFind(t *testing.T) {
	vh, vl := heavyFab[:120], lightFab[:107]
	linker := "GGGGSGGGGSGGGGS"
	const heavy, kappa = "heavy 0-120 NAGHDYDRGRFPY []", "kappa 0-107 QQYSSYPLT []"
	for _, c := range []struct {
		name, sequence string
		want           []string
	}{
		{"a heavy chain with its constant domain", heavyFab, []string{heavy}},
		{"a light chain with its constant domain", lightFab, []string{kappa}},
		{"a single-chain Fv", vh + linker + vl, []string{heavy, "kappa 135-242 QQYSSYPLT []"}},
		{"the other order", vl + linker + vh, []string{kappa, "heavy 122-242 NAGHDYDRGRFPY []"}},
		{"two heavy domains of a diabody", vh + "GGGGS" + vh, []string{heavy, "heavy 125-245 NAGHDYDRGRFPY []"}},
		{"no linker", vh + vl, []string{heavy, "kappa 120-227 QQYSSYPLT []"}},
		{"a tag", "MKHHHHHH" + vh, []string{"heavy 8-128 NAGHDYDRGRFPY []"}},
		{"small letters", strings.ToLower(vh), []string{"heavy 0-120 naghdydrgrfpy []"}},
		{"unknown residues", vh[:50] + "XXXXX" + vh[55:], []string{heavy}},
		{"a stop", vh + "*" + vl, []string{heavy, "kappa 121-228 QQYSSYPLT []"}},
		{"the end lacks", vh[:100], []string{"heavy 0-100 NAGH [CDR3 FR4]"}},
		{"the beginning lacks", vh[30:], []string{"heavy 0-90 NAGHDYDRGRFPY [FR1 CDR1]"}},
		{"nothing", "", nil},
	} {
		if diff := cmp.Diff(c.want, describe(c.sequence)); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
	}
}

func TestCut(t *testing.T) {
	d := Find(heavyFab)[0]
	if _, note := d.Cut(heavyFab); note != "residues 1 to 120 of 221" {
		t.Errorf("the note is %q", note)
	}
	residues := heavyFab[:120]
	if got, note := (&Find(residues)[0]).Cut(residues); got != residues || note != "" {
		t.Errorf("a sequence that is a domain is cut to %s with the note %q", got, note)
	}
}

func BenchmarkFind(b *testing.B) {
	for b.Loop() {
		Find(heavyFab)
	}
}
