package template_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pleat"
	"pleat/internal/structure"
	"pleat/internal/template"
)

// crambin is 1CRN: one chain of 46 residues.
const crambin = "TTCCPSIVARSNFNVCRLPGTPEAICATYTGCIIIPGATCPGDYAN"

func read(t testing.TB, name string) *structure.Structure {
	t.Helper()
	in, err := os.Open("../structure/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	s, err := template.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// written returns the only chain of a template as our own reader reads it, and the sequence of its entity.
func written(t rapid.TB, created *template.Template) (structure.Chain, []string) {
	var b bytes.Buffer
	if err := created.WriteCIF(&b); err != nil {
		t.Fatal(err)
	}
	s, err := structure.ReadCIF(bytes.NewReader(b.Bytes()), structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Chains) != 1 || s.Chains[0].ID != template.Chain || s.Chains[0].Kind != structure.Protein {
		t.Fatalf("the file has the chains %+v", s.Chains)
	}
	_, rest, _ := strings.Cut(b.String(), "_entity_poly_seq.hetero\n")
	rest, _, _ = strings.Cut(rest, "#")
	var sequence []string
	for i, line := range strings.Split(strings.TrimSpace(rest), "\n") {
		fields := strings.Fields(line)
		if fields[1] != fmt.Sprint(i+1) {
			t.Fatalf("position %d of the sequence is numbered %s", i+1, fields[1])
		}
		sequence = append(sequence, fields[2])
	}
	return s.Chains[0], sequence
}

func TestTheWholeChain(t *testing.T) {
	created, err := template.New(t.Context(), read(t, "1crn.pdb"), "", crambin)
	if err != nil {
		t.Fatal(err)
	}
	chain, sequence := written(t, created)
	if got := chain.Sequence(); got != crambin || len(sequence) != len(crambin) || created.Same != len(crambin) {
		t.Errorf("got %s, a sequence of %d and %d the same", got, len(sequence), created.Same)
	}
}

// A job's chain that lacks residues of the template, has others, and begins earlier.
func TestTheFileHasTheAlignment(t *testing.T) {
	query := "GGGG" + crambin[:20] + "WWWWW" + crambin[25:]
	created, err := template.New(t.Context(), read(t, "1crn.pdb"), "A", query)
	if err != nil {
		t.Fatal(err)
	}
	chain, sequence := written(t, created)
	if len(sequence) != len(query) {
		t.Fatalf("the sequence has %d residues; want %d", len(sequence), len(query))
	}
	at := map[int]byte{}
	for i := range chain.Residues {
		at[chain.Residues[i].Seq] = chain.Sequence()[i]
	}
	for i := range query {
		has, ok := at[i+1]
		switch {
		case i < 4 && (ok || sequence[i] != "UNK"):
			t.Errorf("position %d, before the template, has %q and %s", i+1, has, sequence[i])
		case (i >= 4 && i < 24 || i >= 29) && has != query[i]:
			t.Errorf("position %d has %q; want %q", i+1, has, query[i])
		}
	}
}

func TestModifiedResiduesBecomeTheirParents(t *testing.T) {
	pdb := ""
	serial := 0
	add := func(record, atom, comp string, seq int, element string) {
		serial++
		pdb += fmt.Sprintf("%-6s%5d %-4s %-3s A%4d    %8.3f%8.3f%8.3f  1.00  0.00          %2s\n", record, serial, atom,
			comp, seq, float64(serial), 0.0, 0.0, element)
	}
	for seq, comp := range []string{"ALA", "MSE", "SEP", "GLY", "UNK", "TRP"} {
		for _, atom := range []string{" N", " CA", " C", " O", " CB", " H"} {
			add("ATOM", atom, comp, seq+1, strings.TrimSpace(atom)[:1])
		}
		if comp == "MSE" {
			add("ATOM", "SE", comp, seq+1, "SE")
		}
		if comp == "SEP" {
			add("ATOM", " P", comp, seq+1, "P")
		}
	}
	s, err := template.Read(strings.NewReader(pdb))
	if err != nil {
		t.Fatal(err)
	}
	created, err := template.New(t.Context(), s, "", "AMSGXW")
	if err != nil {
		t.Fatal(err)
	}
	chain, sequence := written(t, created)
	if got := fmt.Sprint(sequence); got != "[ALA MET SER GLY UNK TRP]" {
		t.Errorf("the sequence is %s", got)
	}
	want := map[string]string{"ALA": "N CA C O CB", "MET": "N CA C O CB SD", "SER": "N CA C O CB", "GLY": "N CA C O",
		"TRP": "N CA C O CB"}
	for _, r := range chain.Residues {
		var names []string
		for _, a := range r.Atoms {
			names = append(names, a.Name)
		}
		if got := strings.Join(names, " "); got != want[r.Comp] {
			t.Errorf("%s has the atoms %s; want %s", r.Comp, got, want[r.Comp])
		}
	}
}

func TestRefusals(t *testing.T) {
	two := read(t, "1crn.pdb")
	two.Chains = append(two.Chains, two.Chains[0])
	two.Chains[len(two.Chains)-1].ID = "B"
	for _, c := range []struct {
		s          *structure.Structure
		name, want string
		query      string
	}{
		{two, "", "has the protein chains A, B; templateChain must name one", crambin},
		{two, "C", `has no protein chain "C"; it has A, B`, crambin},
		{&structure.Structure{}, "", "has no protein chain", crambin},
		{two, "A", "has 0 residues in common", "WWWWWWWW"},
	} {
		_, err := template.New(t.Context(), c.s, c.name, c.query)
		if err == nil || !strings.Contains(err.Error(), c.want) || pleat.CodeOf(err) != pleat.CodeInvalid {
			t.Errorf("%q: got %v; want %q", c.name, err, c.want)
		}
	}
	for _, text := range []string{"", "hello", "\x1f\x8b", ">a\nMKT\n", "data_x\nloop_\n_atom_site.id\n1\n"} {
		if _, err := template.Read(strings.NewReader(text)); pleat.CodeOf(err) != pleat.CodeInvalid {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// Whatever chain a template is for, its file is one that our own reader reads, with the positions of that chain.
func TestEveryTemplateCanBeRead(t *testing.T) {
	from := read(t, "1ubi.pdb")
	rapid.Check(t, func(t *rapid.T) {
		query := rapid.StringMatching(`[ACDEFGHIKLMNPQRSTVWYX]{1,120}`).Draw(t, "query")
		created, err := template.New(t.Context(), from, "", query)
		if pleat.CodeOf(err) == pleat.CodeInvalid {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		chain, sequence := written(t, created)
		if len(sequence) != len(query) || len(chain.Residues) != len(created.Residues) {
			t.Fatalf("%d positions and %d residues; want %d and %d", len(sequence), len(chain.Residues), len(query),
				len(created.Residues))
		}
		same := 0
		for i := range chain.Residues {
			r := &chain.Residues[i]
			if r.Seq < 1 || r.Seq > len(query) {
				t.Fatalf("residue at position %d of %d", r.Seq, len(query))
			}
			if chain.Sequence()[i] == query[r.Seq-1] {
				same++
			}
		}
		if same != created.Same {
			t.Fatalf("%d residues are the same; want %d", same, created.Same)
		}
	})
}

// FuzzRead checks that whatever file a user gives becomes a template that can be read, or is refused in a sentence.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"1crn.pdb", "2jof.pdb"} {
		text, err := os.ReadFile("../structure/testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text[:min(len(text), 20_000)]))
	}
	f.Add("data_x\nloop_\n_atom_site.label_atom_id\n_atom_site.label_comp_id\n_atom_site.label_asym_id\n" +
		"_atom_site.label_seq_id\n_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n" +
		"CA ALA A 1 1 2 3\nCA MSE A 2 1 2 3\nCA GLY A 3 1 2 3\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := template.Read(strings.NewReader(text))
		if err != nil {
			if pleat.CodeOf(err) != pleat.CodeInvalid {
				t.Fatal(err)
			}
			return
		}
		for i := range s.Chains {
			created, err := template.New(t.Context(), s, s.Chains[i].ID, "AMG"+crambin)
			if err == nil {
				written(t, created)
			} else if pleat.CodeOf(err) != pleat.CodeInvalid {
				t.Fatal(err)
			}
		}
	})
}
