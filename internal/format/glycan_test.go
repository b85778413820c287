package format

import (
	"fmt"
	"strings"
	"testing"

	"pleat"
)

// onServer returns a file of the AlphaFold Server with one protein that has glycans.
func onServer(glycans ...string) string {
	return `[{"name": "x", "modelSeeds": [], "sequences": [{"proteinChain": {"sequence": "PREACHINGST", "glycans": [` +
		strings.Join(glycans, ",") + `], "modifications": [{"ptmType": "CCD_HY3", "ptmPosition": 1}]}},
		{"ion": {"ion": "MG"}}]}]`
}

// glycanAt returns one of them.
func glycanAt(position int, residues string) string {
	return fmt.Sprintf(`{"residues": %q, "position": %d}`, residues, position)
}

// bonded returns the ligands and the bonds of a job.
func bonded(j *pleat.Job) string {
	var out []string
	for i := range j.Sequences {
		if q := &j.Sequences[i]; q.Kind == pleat.Ligand {
			out = append(out, strings.Join(q.Chains, " ")+" "+q.Text)
		}
	}
	for _, b := range j.Constraints.Bond {
		out = append(out, fmt.Sprint(b.Atom1.Chain, b.Atom1.Residue, b.Atom1.Atom, "-", b.Atom2.Chain, b.Atom2.Residue,
			b.Atom2.Atom))
	}
	return strings.Join(out, ", ")
}

// GlyLES makes the same molecules of the strings of IUPAC as these components and bonds do.
func TestGlycans(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{onServer(glycanAt(8, "NAG"), glycanAt(10, "BMA"), glycanAt(11, "FUC")),
			"B MG, C NAG, D BMA, E FUC, A8ND2-C1C1, A10OG-D1C1, A11OG1-E1C1"},
		{onServer(glycanAt(8, "NAG(NAG(BMA(MAN)(MAN)))")), "B MG, C NAG, D NAG, E BMA, F MAN, G MAN, " +
			"A8ND2-C1C1, C1O4-D1C1, D1O4-E1C1, E1O3-F1C1, E1O6-G1C1"},
		{`[{"name": "x", "modelSeeds": [], "sequences": [
			{"proteinChain": {"sequence": "NNT", "count": 2, "glycans": [` + glycanAt(2, "NAG ( NAG )") + `]}},
			{"proteinChain": {"sequence": "MKT"}}]}]`,
			"D NAG, E NAG, F NAG, G NAG, A2ND2-D1C1, D1O4-E1C1, B2ND2-F1C1, F1O4-G1C1"},
		{">protein|name=a\nPREACHINGS\n>glycan|name=x\nNAG(4-1 NAG(4-1 BMA(3-1 MAN)(6-1\n MAN)))\n>ligand|y\nCCO",
			"B NAG, C NAG, D BMA, E MAN, F MAN, G CCO, B1O4-C1C1, C1O4-D1C1, D1O3-E1C1, D1O6-F1C1"},
		{">G|glycan\nGAL(6-2SIA)( 3-1 FUC )", "A GAL, B SIA, C FUC, A1O6-B1C2, A1O3-C1C1"},
		{">glycan|x\n99K", "A 99K"},
		{">glycan|x\nNeu5Ac(a2-3)Gal(β1→4)Glc(b1-", "A BGC, B GAL, C SIA, A1O4-B1C1, B1O3-C1C2"},
		{">glycan|x\nMan(a1-3)[Man(a1-6)]Man(b1-4)GlcNAc(b1-4)[Fuc(a1-6)]GlcNAc(b1-", "A NAG, B FUC, C NAG, D BMA, " +
			"E MAN, F MAN, A1O6-B1C1, A1O4-C1C1, C1O4-D1C1, D1O6-E1C1, D1O3-F1C1"},
		{">glycan|x\nXyl(b1-2)[Fuc(a1-3)][Gal(a1->6)]Glc(α1-)",
			"A GLC, B GLA, C FUC, D XYP, A1O6-B1C1, A1O3-C1C1, A1O2-D1C1"},
		{">glycan|x\nFuc(a1-2)[GalNAc(a1-3)[Neu5Gc(a2-6)]Gal(b1-4)]Glc(b1-",
			"A BGC, B GAL, C NGC, D A2G, E FUC, A1O4-B1C1, B1O6-C1C2, B1O3-D1C1, A1O2-E1C1"},
	} {
		got, err := Import(c.text, "", Options{})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if s := bonded(&got.Jobs[0]); s != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, s, c.want)
		}
	}
}

func TestServerGlycansAreRefused(t *testing.T) {
	checkRefused(t, onServer, []refused{
		{glycanAt(8, "NAG(NAG)(BMA)"), "residues, character 5: the format does not say by which atoms sugar 2 (NAG) is " +
			"bonded to sugar 1 (NAG), on residue 8; they are certain only in the core of N-glycans"},
		{glycanAt(8, "NAG(FUC)"), "by which atoms sugar 2 (FUC) is bonded to sugar 1 (NAG), on residue 8"},
		{glycanAt(10, "NAG(NAG)"), "by which atoms sugar 2 (NAG) is bonded to sugar 1 (NAG), on residue 10"},
		{glycanAt(8, "NAG(NAG(MAN))"), "by which atoms sugar 3 (MAN) is bonded to sugar 2 (NAG)"},
		{glycanAt(8, "BMA(MAN)(MAN)"), "by which atoms sugar 2 (MAN) is bonded to sugar 1 (BMA)"},
		{glycanAt(8, "NAG(NAG(BMA(MAN)))"), "by which atoms sugar 4 (MAN) is bonded to sugar 3 (BMA)"},
		{glycanAt(8, "NAG(NAG(BMA(MAN)(MAN(MAN))))"), "by which atoms sugar 6 (MAN) is bonded to sugar 5 (MAN)"},
		{glycanAt(8, "ATP"), `residues is "ATP" on residue 8; sugars that are bonded by C1`},
		{glycanAt(10, "SIA"), `residues is "SIA" on residue 10; sugars that are bonded by C1`},
		{glycanAt(8, "NAG(NAG"), "at character 8 it must go on with a sugar in parentheses"},
		{glycanAt(8, "NAG NAG"), "at character 5 it must go on"},
		{glycanAt(8, "NAG)"), "at character 4 it must go on"},
		{glycanAt(8, "NAG()"), "at character 5 there must be a sugar"},
		{glycanAt(8, ""), "at character 1 there must be a sugar by its CCD code"},
		{glycanAt(12, "NAG"), "position is 12; the chain has residues 1 to 11"},
		{glycanAt(2, "NAG"), "position is 2, which is R; glycans are on N, S or T"},
		{glycanAt(1, "NAG"), "position is 1, which is a modified residue"},
		{glycanAt(8, "NAG") + "," + glycanAt(8, "NAG"), "glycans[1].position is 8, which has a glycan already"},
		{glycanAt(8, strings.Repeat("NAG(", 200)), "one sugar too many: at most 100"},
	})
	file := func(chain ...string) string {
		return `[{"name": "x", "modelSeeds": [], "sequences": [{` + strings.Join(chain, "") + `}]}]`
	}
	checkRefused(t, file, []refused{
		{`"rnaSequence": {"sequence": "ACGU", "glycans": [` + glycanAt(1, "NAG") + `]}`,
			"rnaSequence.glycans is on an RNA"},
		{`"proteinChain": {"sequence": "NNT", "count": 500, "glycans": [` + glycanAt(1, "NAG") + `]}`,
			"holds 1 glycans on each of 500 copies; a job has at most 256 items"},
	})
}

func TestGlycanRecordsAreRefused(t *testing.T) {
	fasta := func(glycan ...string) string { return ">G|glycan\n" + strings.Join(glycan, "") }
	const linkage = "at character 4 there must be a linkage with its anomer and both carbons"
	checkRefused(t, fasta, []refused{
		{"NAG(1-4 NAG)", "sugar 2 (NAG) to sugar 1 (NAG), O1 to C4, is not glycosidic: the anomeric carbon of NAG is C1"},
		{"NAG(4-1 NAG)(4-1 NAG)", "O4 to C1, is not possible: another sugar is at that oxygen"},
		{"NAG(5-1 NAG)", "O5 to C1, is not possible: NAG has hydroxyl groups for it at the carbons 3, 4, 6"},
		{"GAL(3-1 SIA)", "O3 to C1, is not glycosidic: the anomeric carbon of SIA is C2"},
		{"NAG(4-1 99K)", "cannot be checked: the sugars whose atoms are known here are 1GN, A2G"},
		{"NAG(NAG)", "at character 5 there must be a linkage, such as 4-1"},
		{"NAG(4-1)", "at character 8 there must be a sugar"},
		{"NAG(4-1 nag)", linkage},
		{"NAG(4-1 NAG) NAG", "at character 14 it must go on"},
		{"Man(a1-3)[Man(a1-6)]Man(b1-4)GlcNAc(b1-4)GlcNAc", "at character 42 GlcNAc has no linkage behind it, which " +
			"says whether it is alpha or beta"},
		{"Man(a1-3)Man(b1-4)", "at character 13 the linkage leads to no sugar"},
		{"[Man(a1-3)]Man(b1-", "it must begin with a sugar, and each bracket must be opened"},
		{"Man(a1-3)]Man(b1-", "it must begin with a sugar, and each bracket must be opened"},
		{"Man(a1-3)[Man(a1-6)Man(b1-", "a bracket must begin with a sugar and end"},
		{"Man(?1-3)Man(b1-", linkage},
		{"Man(a1-?)Man(b1-", linkage},
		{"Man(1-3)Man(b1-", linkage},
		{"Man(a1-3/6)Man(b1-", linkage},
		{"Hex(a1-3)Man(b1-", "at character 1 Hex(a is no sugar that is known here; those are Glc, Gal"},
		{"Neu5Ac(a1-3)Gal(b1-", "at character 7 the linkage begins at C1, and the anomeric carbon of Neu5Ac is C2"},
		{"Man(a1-3)[Man(a1-3)]Man(b1-", "O3 to C1, is not possible: another sugar is at that oxygen"},
		{"Man(a1-3)(a1-3)Man(b1-", "there must be a sugar between two linkages"},
		{"GlcNAc b1-4 GlcNAc(b1-", "at character 7 there must be a sugar such as GlcNAc, a linkage"},
		{strings.Repeat("Man(a1-3)", 150) + "Man(b1-", "at most 100 are allowed"},
		{"NAG\n>G|glycan\nNAG", `has the id "G", which another glycan has already`},
	})
}

// refused is a text that is refused, and a part of the message.
type refused struct{ text, want string }

// checkRefused imports the files of texts.
func checkRefused(t *testing.T, file func(...string) string, list []refused) {
	t.Helper()
	for _, c := range list {
		got, err := Import(file(c.text), "", Options{})
		if err == nil {
			t.Errorf("%s is taken: %s", c.text, bonded(&got.Jobs[0]))
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got %s\nwant %s", c.text, err, c.want)
		}
	}
}
