package pleat

import (
	"slices"
	"strings"
	"testing"
)

// Chains of trastuzumab (PDB entry 1N8Z), a constant domain, and a T-cell receptor's beta chain (1AO7).
const (
	testHeavy = "EVQLVESGGGLVQPGGSLRLSCAASGFNIKDTYIHWVRQAPGKGLEWVARIYPTNGYTRYADSVKGRFTISADTSKNTAYLQMNSLRAEDTAVYYC" +
		"SRWGGDGFYAMDYWGQGTLVTVSS"
	testLight = "DIQMTQSPSSLSASVGDRVTITCRASQDVNTAVAWYQQKPGKAPKLLIYSASFLYSGVPSRFSGSRSGTDFTLTISSLQPEDFATYYC" +
		"QQHYTTPPTFGQGTKVEIK"
	testConstant = "ASTKGPSVFPLAPSSKSTSGGTAALGCLVKDYFPEPVTVSWNSGALTSGVHTFPAVLQSSGLYSLSSVVTVPSSSLGTQTYICNVNHKPSNTKVD" +
		"KKVEPKSC"
	testBeta = "NAGVTQTPKFQVLKTGQSMTLQCAQDMNHEYMSWYRQDPGMGLRLIHYSVGAGITDQGEVPNGYNVSRSTTEDFPLRLLSAAPSQTSVYFCASRPGLAGG" +
		"RPEQYFGPGTRLTVTEDL"
)

// domains is a model of variable domains.
var domains = Model{
	Name:      "domains",
	Entities:  []EntityKind{Protein},
	Features:  []Feature{FeatureComplex},
	MinTokens: 1,
	MaxTokens: 2000,
	Limits:    ModelLimits{VariableDomains: true},
}

// What a model of variable domains folds of a job: each chain is cut to its domain, and notes say how.
func TestVariableDomains(t *testing.T) {
	t.Parallel()
	const linker = "GGGGSGGGGSGGGGS"
	for name, c := range map[string]struct {
		given  []string
		chains []string // chain and text, as folded
		first  string   // chain of heavyFirst
		notes  []string
	}{
		"a heavy domain": {[]string{testHeavy}, []string{"A " + testHeavy}, "A", nil},
		"a pair, light first": {
			[]string{testLight, testHeavy}, []string{"A " + testLight, "B " + testHeavy}, "B", nil,
		},
		"a constant domain": {
			[]string{testHeavy + testConstant}, []string{"A " + testHeavy}, "A",
			[]string{"sequences[0].proteinChain.sequence: the residues 1 to 120 of 223 are folded, the variable domain " +
				"of a heavy chain, numbered from 1; all others are left out"},
		},
		"an scFv": {
			[]string{"MA" + testLight + linker + testHeavy + "HHHHHH"}, []string{"L " + testLight, "H " + testHeavy}, "H",
			[]string{"sequences[0].proteinChain.sequence: the residues 3 to 109 (light domain) and 125 to 244 (heavy " +
				"domain) of 250 are folded, as the chains H and L, the heavy one as H; each is numbered from 1, and all other " +
				"residues, such as the linker, are left out"},
		},
		"a long CDR-H3": {
			[]string{strings.Replace(testHeavy, "WGGDGFY", "WGGDYYYGSGSYGFY", 1)},
			[]string{"A " + strings.Replace(testHeavy, "WGGDGFY", "WGGDYYYGSGSYGFY", 1)}, "A",
			[]string{"sequences[0].proteinChain.sequence: CDR-H3 has 21 residues (IMGT); models of antibodies are often " +
				"wrong in one of more than 17"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := jobOf(c.given...)
			if err := j.Validate(domains); err != nil {
				t.Fatal(err)
			}
			folded, heavyFirst, notes := VariableDomains(j.Sequences)
			var chains []string
			for _, s := range folded {
				chains = append(chains, s.Chains[0]+" "+s.Text)
			}
			if !slices.Equal(chains, c.chains) || !slices.Equal(notes.Texts(), c.notes) ||
				!slices.Equal(notes, j.Notes) {
				t.Errorf("folded are %q, with the notes %q", chains, notes.Texts())
			}
			if got := heavyFirst[0].Chains[0]; got != c.first {
				t.Errorf("the first chain is %s", got)
			}
		})
	}
}

func jobOf(chains ...string) Job {
	j := Job{Name: "x", Params: Params{Model: domains.Name}}
	for _, c := range chains {
		j.Sequences = append(j.Sequences, Sequence{Kind: Protein, Text: c})
	}
	return j
}

func TestVariableDomainsRefuse(t *testing.T) {
	t.Parallel()
	copies := jobOf(testHeavy)
	copies.Sequences[0].Count = 2
	for says, j := range map[string]Job{
		"sequences[0].proteinChain.sequence has no variable domain of an antibody; the model \"domains\" folds variable " +
			"domains of antibodies only": jobOf(testConstant),
		"sequences[0].proteinChain.sequence is of a T-cell receptor: the residues 1 to": jobOf(testBeta),
		"sequences[1].proteinChain.sequence has a heavy domain at the residues 1 to 120, and sequences[0] has one " +
			"already": jobOf(testHeavy, testHeavy),
		"sequences[0].proteinChain.sequence, residues 1 to 50: the heavy domain lacks CDR2": jobOf(testHeavy[:50]),
		"and another one at 1 to 120":          jobOf(testHeavy + "GGGGSGGGGS" + testHeavy),
		"has a light domain":                   jobOf(testLight+"GGGGSGGGGS"+testHeavy, testLight),
		"sequences[0].proteinChain.count is 2": copies,
		"has 2040 residues":                    jobOf(strings.Repeat(testHeavy, 17)),
	} {
		if err := j.Validate(domains); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want %q", err, says)
		}
	}
}
