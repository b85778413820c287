package antibody

import (
	"fmt"
	"slices"
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

// cowHeavy is a heavy domain of a cow, whose CDR3 has 58 residues.
const cowHeavy = "QVQLRESGPSLVKPSQTLSLTCTASGFSLSDKAVGWVRQAPGKALEWLGGIDTGGSTGYNPGLKSRLSITKDNSKSQVSLSVSSVTTEDSATYYC" +
	"TTVHQETRKTCSDGYIAVDSCGRGQSDGCVNDCNSCYYGWRNCRRQPAIHSYEFHVDAWGRGLLVTVSS"

// describe returns the domains of a sequence, each as kind, range, CDR3 and what it lacks.
func describe(sequence string) (out []string) {
	for _, d := range Find(sequence) {
		loop := d.Part(sequence, "CDR3", IMGT)
		out = append(out, fmt.Sprintf("%s %d-%d %s %v", d.Kind, d.Start, d.End, loop, d.Lacks()))
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
		{"a long CDR3 of a cow", cowHeavy, []string{"heavy 0-164 " + cowHeavy[95:153] + " []"}},
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

// TestRefused has proteins that are no variable domains, most of them with immunoglobulin folds. VpreB, a part of the
// surrogate light chain, is the nearest.
func TestRefused(t *testing.T) {
	for name, sequence := range map[string]string{
		"ubiquitin": "MQIFVKTLTGKTITLEVEPSDTIENVKAKIQDKEGIPPDQQRLIFAGKQLEDGRTLSDYNIQKESTLHLVLRLRGG",
		"CH1 and hinge": "ASTKGPSVFPLAPSSKSTSGGTAALGCLVKDYFPEPVTVSWNSGALTSGVHTFPAVLQSSGLYSLSSVVTVPSSSLGTQTYICNVNHKPS" +
			"NTKVDKKVEPKSC",
		"C kappa": "RTVAAPSVFIFPPSDEQLKSGTASVVCLLNNFYPREAKVQWKVDNALQSGNSQESVTEQDSKDSTYSLSSTLTLSKADYEKHKVYACEVTHQGLS" +
			"SPVTKSFNRGEC",
		"C lambda": lambdaConstant,
		"Fc": "CPPCPAPELLGGPSVFLFPPKPKDTLMISRTPEVTCVVVDVSHEDPEVKFNWYVDGVEVHNAKTKPREEQYNSTYRVVSVLTVLHQDWLNGKEYKCKVS" +
			"NKALPAPIEKTISKAKGQPREPQVYTLPPSREEMTKNQVSLTCLVKGFYPSDIAVEWESNGQPENNYKTTPPVLDSDGSFFLYSKLTVDKSRWQQGNV" +
			"FSCSVMHEALHNHYTQKSLSLSPGK",
		"B2M": "IQRTPKIQVYSRHPAENGKSNFLNCYVSGFHPSDIEVDLLKNGERIEKVEHSDLSFSKDWSFYLLYYTEFTPTEKDEYACRVNHVTLSQPKIVKWDRDM",
		"MHC class I": "GSHSMRYFFTSVSRPGRGEPRFIAVGYVDDTQFVRFDSDAASQRMEPRAPWIEQEGPEYWDGETRKVKAHSQTHRVDLGTLRGYYNQSEAGS" +
			"HTVQRMYGCDVGSDWRFLRGYHQYAYDGKDYIALKEDLRSWTAADMAAQTTKHKWEAAHVAEQLRAYLEGTCVEWLRRYLENGKETLQRTDAPKTHMT" +
			"HHAVSDHEATLRCWALSFYPAEITLTWQRDGEDQTQDTELVETRPAGDGTFQKWAAVVVPSGQEQRYTCHVQHEGLPKPLTLRWE",
		"CD2": "KEITNALETWGALGQDINLDIPSFQMSDDIDDIKWEKTSDKKKIAQFRKEKETFKEKDTYKLFKNGTLKIKHLKTDDQDIYKVSIYDTKGKNVLEKIF" +
			"DLKIQERVSKPKISWTCINTTLTCEVMNGTDPELNLYQDGKHLKLSQRVITHKWTTSLSAKFKCTAGNKVSKESSVEPVSCPEKGLD",
		"CD4": "KKVVLGKKGDTVELTCTASQKKSIQFHWKNSNQIKILGNQGSFLTKGPSKLNDRADSRRSLWDQGNFPLIIKNLKIEDSDTYICEVEDQKEEVQLLVF" +
			"GLTANSDTHLLQGQSLTLTLESPPGSSPSVQCRSPRGKNIQGGKTLSVSQLELQDSGTWTCTVLQNQKKVEFKIDIVVLA",
		"CD8": "SQFRVSPLDRTWNLGETVELKCQVLLSNPTSGCSWLFQPRGAAASPTFLLYLSQNKPKAAEGLDTQRFSGKRLGDTFVLTLSDFRRENEGYYFCSALS" +
			"NSIMYFSHFVPVFLPAKPTTTPAPRPPTPAPTIASQPLSLRPEACRPAAGGAVHTRGLDFACD",
		"PD-1": "PGWFLDSPDRPWNPPTFSPALLVVTEGDNATFTCSFSNTSESFVLNWYRMSPSNQTDKLAAFPEDRSQPGQDCRFRVTQLPNGRDFHMSVVRARRND" +
			"SGTYLCGAISLAPKAQIKESLRAELRVTERRAEVPTAHPSPSPRPAGQFQ",
		"fibronectin": "VSDVPRDLEVVAATPTSLLISWDAPAVTVRYYRITYGETGGNSPVQEFTVPGSKSTATISGLKPGVDYTITVYAVTGRGDSPASSKPISINYRT",
		"C alpha":     "IQNPDPAVYQLRDSKSSDKSVCLFTDFDSQTNVSQSKDSDVYITDKCVLDMRSMDFKSNSAVAWSNKSDFACANAFNNSIIPEDTFFPSPESS",
		"C beta": "EDLNKVFPPEVAVFEPSEAEISHTQKATLVCLATGFYPDHVELSWWVNGKEVHSGVSTDPQPLKEQPALNDSRYCLSSRLRVSATFWQNPRNHFRC" +
			"QVQFYGLSENDEWTQDRAKPVTQIVSAEAWGRAD",
		"VpreB": "QPVLHQPPAMSSALGTTIRLTCTLRNDHDIGVYSVYWYQQRPGHPPRFLLRYFSQSDKSQGPQVPPRFSGSKDVARNRGYLSISELQPEDEAMYYCA" +
			"MGARSSEKEEREREWEEEMEPTAARTRVP",
		"nothing": "",
	} {
		if d := describe(sequence); d != nil || Reason(sequence) == "" {
			t.Errorf("%s: found %q, reason %q", name, d, Reason(sequence))
		}
	}
	if why := Reason(heavyFab); why != "" {
		t.Errorf("a heavy chain is refused: %s", why)
	}
	if kind, score := closest(encode(lambdaConstant)); score > threshold/3 {
		t.Errorf("a constant domain is near to a %s domain: %d of %d", kind, score, threshold)
	}
}

// lambdaConstant is the constant domain of a human light chain.
const lambdaConstant = "GQPKAAPSVTLFPPSSEELQANKATLVCLISDFYPGAVTVAWKADSSPVKAGVETTTPSKQSNNKYAASSYLSLTPEQWKS" +
	"HRSYSCQVTHEGSTVEKTVAPTECS"

// TestLongLoops numbers CDR3 longer than the scheme has letters for, and a sequence that could hide in one.
func TestLongLoops(t *testing.T) {
	long := heavyFab[:100] + strings.Repeat("GY", 40) + heavyFab[100:120]
	d := Find(long)
	if len(d) != 1 || d[0].End != len(long) {
		t.Fatalf("found %q", describe(long))
	}
	for i, want := range map[int]string{102: "111", 103: "111A", 128: "111Z", 129: "111AA"} {
		if got := d[0].Number(i, IMGT); got != want {
			t.Errorf("residue %d has the number %s, not %s", i, got, want)
		}
	}
	far := heavyFab[:100] + strings.Repeat("A", 5000) + heavyFab[100:120]
	if d := Find(far); len(d) != 1 || d[0].End > 200 {
		t.Errorf("found %q", describe(far))
	}
}

// TestOutside asks for what is not defined.
func TestOutside(t *testing.T) {
	d := Find(heavyFab)[0]
	for _, i := range []int{-1, d.End - d.Start, 1 << 40} {
		for _, s := range Schemes {
			if n, r := d.Number(i, s), d.Region(i, s); n != "" || r != "" {
				t.Errorf("residue %d has the number %q and the region %q in %s", i, n, r, s)
			}
		}
	}
	if n := d.Number(0, "pleat"); n != "" {
		t.Errorf("a scheme that is none gives %s", n)
	}
}

// FuzzFind checks what must hold of the domains of any string.
func FuzzFind(f *testing.F) {
	vh := heavyFab[:120]
	for _, s := range []string{heavyFab, lightFab + vh, vh[:50] + "\xff*" + vh[50:], vh[:99] + "---------", "ä"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		end := 0
		for _, d := range Find(s) {
			if d.Start < end || d.End <= d.Start || d.End > len(s) || len(d.positions) != d.End-d.Start {
				t.Fatalf("a domain at %d to %d, after %d, with %d numbers", d.Start, d.End, end, len(d.positions))
			}
			end = d.End
			for _, scheme := range Schemes {
				checkNumbers(t, &d, scheme)
			}
		}
	})
}

// checkNumbers checks that each residue of a domain has a number of its own, and that the regions are in their order.
func checkNumbers(t *testing.T, d *Domain, s Scheme) {
	if !d.Kind.Antibody() && (s == Chothia || s == Kabat) {
		return
	}
	seen, region := map[string]bool{}, 0
	for i := range d.End - d.Start {
		n := d.Number(i, s)
		if n == "" || seen[n] {
			t.Fatalf("residue %d has the number %q in %s, after %d others", i, n, s, len(seen))
		}
		seen[n] = true
		if s == AHo {
			continue
		}
		k := slices.Index(Regions, d.Region(i, s))
		if k < region {
			t.Fatalf("residue %d is in region %d in %s, after %d", i, k, s, region)
		}
		region = k
	}
}

func BenchmarkFind(b *testing.B) {
	for b.Loop() {
		Find(heavyFab)
	}
}

// BenchmarkFind10000 has 46 domains in 10,000 residues.
func BenchmarkFind10000(b *testing.B) {
	long := strings.Repeat(heavyFab+lightFab, 23)[:10000]
	for b.Loop() {
		Find(long)
	}
}
