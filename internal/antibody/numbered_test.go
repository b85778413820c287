package antibody

import (
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// numbered is a sequence as ANARCII 2.0.8 numbers it. tools/antibody/profiles.py wrote the file.
type numbered struct {
	name     string
	kind     Kind
	sequence string
	start    int
	numbers  [4][]string // by Schemes; empty: it was not asked
}

func readNumbered(t *testing.T) (out []numbered) {
	t.Helper()
	f, err := os.Open("testdata/numbered.tsv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		w := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		n := numbered{name: w[0], kind: Kind(w[1]), sequence: w[2]}
		if n.start, err = strconv.Atoi(w[3]); err != nil {
			t.Fatal(err)
		}
		for k := range n.numbers {
			if w[4+k] != "" {
				n.numbers[k] = strings.Split(w[4+k], ",")
			}
		}
		out = append(out, n)
	}
	return out
}

// differ are the sequences that this package numbers in another way than ANARCII.
var differ = map[string]string{
	"1g7l_B": "four residues of framework 1 are not in the file; the first one behind the gap stands before it",
	"3g04_A": "the first residue, which is of no known germline, is left out",
	"7urf_H": "residues of framework 3 are not in the file; the gaps are in other places",
	"6AT6_A": "the first residue is left out",
	"6DFQ_B": "the first residue is left out",
	"7N6E_G": "the first residue is left out",
	"7RK7_D": "the first residue is left out",
	"1H5B_C": "an additional residue of framework 3 is 76A, and not 84A",
	"6BJ2_D": "ANARCII has the first cysteine at 21; ANARCI at 23, as here",
	"6ULR_D": "ANARCII has the first cysteine at 21; ANARCI at 23, as here",
	"8I5D_B": "ANARCII has the first cysteine at 21; ANARCI at 23, as here",
	"3TYF_D": "ANARCII has the second cysteine at 102; ANARCI at 104, as here",
	"6VTC_A": "ANARCII begins CDR2 elsewhere; ANARCI as here",
	"6VTH_E": "ANARCII has CDR2 one residue earlier; ANARCI as here",
	"4MNH_C": "ANARCII begins CDR1 elsewhere; ANARCI as here",
}

// TestAgainstANARCII numbers sequences that are in no profile, and those of 38 chains that may be, in all schemes.
func TestAgainstANARCII(t *testing.T) {
	found := map[string]bool{}
	var residues, equal [2]int // of antibodies, of T-cell receptors
	for _, n := range readNumbered(t) {
		domains := Find(n.sequence)
		if len(domains) != 1 || domains[0].Kind != n.kind {
			t.Errorf("%s has %q, and ANARCII %s", n.name, describe(n.sequence), n.kind)
			continue
		}
		count := 0
		if !n.kind.Antibody() {
			count = 1
		}
		for k, scheme := range Schemes {
			if blocksOf(n.kind, scheme) == nil && scheme != IMGT {
				continue
			}
			others := n.differences(&domains[0], scheme, n.numbers[k])
			residues[count] += len(n.numbers[k])
			equal[count] += len(n.numbers[k]) - len(others)
			if len(others) > 0 {
				found[n.name] = true
			}
			if len(others) > 0 && differ[n.name] == "" {
				t.Errorf("%s in %s: %s", n.name, scheme, others)
			}
			if count == 0 && scheme != AHo {
				n.compareCDRs(t, &domains[0], scheme, n.numbers[k])
			}
		}
	}
	for name := range differ {
		if !found[name] {
			t.Errorf("%s does not differ any more", name)
		}
	}
	t.Logf("equal: %d of %d numbers in antibodies, %d of %d in T-cell receptors", equal[0], residues[0], equal[1],
		residues[1])
}

// differences returns the residues that have another number than ANARCII gives them.
func (n *numbered) differences(d *Domain, s Scheme, numbers []string) (out []string) {
	for i, want := range numbers {
		at := n.start + i
		if got := d.Number(at-d.Start, s); got != want {
			out = append(out, fmt.Sprintf("%c%d is %s, not %s", n.sequence[at], at+1, got, want))
		}
	}
	return out
}

// compareCDRs compares the residues of each CDR with those that ANARCII's numbers say.
func (n *numbered) compareCDRs(t *testing.T, d *Domain, s Scheme, numbers []string) {
	t.Helper()
	want := map[Region]string{}
	for i, number := range numbers {
		value, err := strconv.Atoi(strings.TrimRight(number, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
		if err != nil {
			t.Fatal(err)
		}
		want[regionOf(n.kind, s, value)] += n.sequence[n.start+i : n.start+i+1]
	}
	for _, r := range []Region{"CDR1", "CDR2", "CDR3"} {
		if got := d.Part(n.sequence, r, s); len(numbers) > 0 && got != want[r] {
			t.Errorf("%s: %s is %s in %s, not %s", n.name, r, got, s, want[r])
		}
	}
}

// TestMutated finds domains in sequences with residues added, left out and replaced, and checks their numbers.
func TestMutated(t *testing.T) {
	all, r := readNumbered(t), rand.New(rand.NewPCG(1, 2))
	for range 300 {
		s := all[r.IntN(len(all))].sequence
		for range r.IntN(6) {
			from := r.IntN(len(s))
			to := min(len(s), from+r.IntN(12))
			s = s[:from] + strings.Repeat(letters[r.IntN(len(letters)):][:1], r.IntN(12)) + s[to:] + "A"
		}
		for _, d := range Find(s) {
			for _, scheme := range Schemes {
				checkNumbers(t, &d, scheme)
			}
		}
	}
}
