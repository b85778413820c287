package client

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The variable domains of PDB entry 12e8, and the beta chain of a T-cell receptor (1bd2).
const (
	heavyDomain = "EVQLQQSGAEVVRSGASVKLSCTASGFNIKDYYIHWVKQRPEKGLEWIGWIDPEIGDTEYVPKFQGKATMTADTSSNTAYLQLSSLTSEDTAVYYC" +
		"NAGHDYDRGRFPYWGQGTLVTVSA"
	lightDomain = "DIVMTQSQKFMSTSVGDRVSITCKASQNVGTAVAWYQQKPGQSPKLMIYSASNRYTGVPDRFTGSGSGTDFTLTISNMQSEDLADYFCQQYSSYPL" +
		"TFGAGTKLELK"
	betaDomain = "GVTQTPKFQVLKTGQSMTLQCAQDMNHEYMSWYRQDPGMGLRLIHYSVGAGITDQGEVPNGYNVSRSTTEDFPLRLLSAAPSQTSVYFCASSYPGGG" +
		"FYEQYFGPGTRLTVTE"
)

// antibodyOutput runs the command with an input, and returns what it prints and its notes.
func antibodyOutput(t *testing.T, input string, args ...string) (out, notes string, err error) {
	t.Helper()
	cmd := antibodyCmd()
	var stdout, stderr bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetIn(strings.NewReader(input))
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

func TestAntibodyTable(t *testing.T) {
	t.Parallel()
	input := ">scFv of 12e8\n" + heavyDomain + "GGGGSGGGGSGGGGS" + lightDomain + "\n>beta\n" + betaDomain + "\n"
	out, notes, err := antibodyOutput(t, input, "-", "--regions", "chothia", "--numbering", "kabat")
	if err != nil {
		t.Fatal(err)
	}
	tables := strings.Split(out, "\n\n")
	want := `CHAIN  KIND   RESIDUES        CDR1         CDR2    CDR3           LACKS
scFv   heavy  1-120 of 242    GFNIKDY      DPEIGD  GHDYDRGRFPY    -
scFv   kappa  136-242 of 242  KASQNVGTAVA  SASNRYT  QQYSSYPLT     -
beta   beta   1-112 of 113    MNHEY        SVGAGI  ASSYPGGGFYEQY  -`
	if diff := cmp.Diff(fields(want), fields(tables[0])); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	numbers := fields(tables[1])
	if len(numbers) != 1+len(heavyDomain)+len(lightDomain) {
		t.Errorf("%d lines have numbers", len(numbers))
	}
	if diff := cmp.Diff([]string{"scFv", "53", "P", "52A", "CDR-H2"}, numbers[53]); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if notes != "note: beta has no numbers in kabat: it is of a T-cell receptor\n" {
		t.Errorf("notes: %q", notes)
	}
}

// fields returns the cells of a table.
func fields(table string) (out [][]string) {
	for line := range strings.Lines(table) {
		out = append(out, strings.Fields(line))
	}
	return out
}

func TestAntibodyJSON(t *testing.T) {
	t.Parallel()
	out, _, err := antibodyOutput(t, "", strings.ToLower(lightDomain[:80]), "--json")
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	delete(got[0], "score")
	delete(got[0], "regions")
	want := map[string]any{
		"chain": "-", "kind": "kappa", "start": 1., "end": 80., "length": 80., "regionScheme": "imgt",
		"lacks": []any{"CDR3", "FR4"},
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestAntibodyStructure reads a structure with a protein that has no variable domain.
func TestAntibodyStructure(t *testing.T) {
	t.Parallel()
	_, _, err := antibodyOutput(t, "", filepath.Join("..", "engines", "chignolin.pdb"))
	if err == nil || !strings.HasPrefix(err.Error(), "no part of the sequence resembles a variable domain") {
		t.Errorf("the error is %v", err)
	}
}

func TestAntibodyRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "empty.fasta")
	if err := os.WriteFile(file, []byte(">a\nGGGG\n>b\nAAAA\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{`--regions is "aho"; it must be one of imgt, chothia, kabat`, []string{lightDomain, "--regions", "aho"}},
		{`--numbering is "eu"; it must be one of imgt, chothia, kabat, aho`, []string{lightDomain, "--numbering", "eu"}},
		{"none of the 2 proteins has a variable domain of an antibody or T-cell receptor", []string{file}},
		{"antibody needs a file or a sequence; see antibody --help", nil},
	} {
		if _, _, err := antibodyOutput(t, "", c.args...); err == nil || err.Error() != c.want {
			t.Errorf("%q: the error is %v", c.args, err)
		}
	}
}
