package batch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
)

// protein is a protein of a chain name; empty: none was given.
func protein(text, chain string) pleat.Sequence {
	return pleat.Sequence{Kind: pleat.Protein, Text: text, ChainID: chain, Count: 1}
}

func entry(id string, sequences ...pleat.Sequence) Entry {
	return Entry{CustomID: id, Sequences: sequences}
}

// described shows the rows of a batch: custom id, name, sequences with their chain names, and seed.
func described(s *Spec) []string {
	var out []string
	for row := range s.Rows() {
		text := fmt.Sprint(row.Number, " ", row.CustomID, " «", row.Job.Name, "»")
		for _, q := range row.Job.Sequences {
			text += " " + q.ChainID + ":" + q.Text
			if q.PropertyType != "" {
				text += "/" + q.PropertyType
			}
		}
		if seed, given := row.Job.Params.Seed(); given {
			text += " seed " + seed
		}
		out = append(out, text+" at "+row.Path)
	}
	return out
}

// Each kind becomes the rows that docs/interface.md describes.
func TestRows(t *testing.T) {
	a, b := protein("GYD", "A"), protein("gs gs", "B")
	for name, c := range map[string]struct {
		spec Spec
		want []string
	}{
		"list": {
			Spec{Kind: pleat.BatchList, Jobs: []Entry{entry("x", a), {Name: "own", Sequences: []pleat.Sequence{a, b}}}},
			[]string{"1 x «n x» A:GYD at jobs[0]", "2 2 «own» A:GYD B:gs gs at jobs[1]"},
		},
		"matrix": {
			Spec{Kind: pleat.BatchMatrix, Binders: []Entry{entry("x", a), entry("", b)}, Targets: []Entry{entry("t", a)}},
			[]string{"1 x:t «n x:t» A:GYD :GYD at binders[0]", "2 2:t «n 2:t» B:gs gs A:GYD at binders[1]"},
		},
		"matrix with itself": {
			Spec{Kind: pleat.BatchMatrix, Binders: []Entry{entry("x", a), entry("y", b)}},
			[]string{"1 x:y «n x:y» A:GYD B:gs gs at binders[0]", "2 y:x «n y:x» B:gs gs A:GYD at binders[1]"},
		},
		"upper triangle": {
			Spec{Kind: pleat.BatchMatrix, UpperTriangle: true, Self: true,
				Binders: []Entry{entry("x", a), entry("y", b)}},
			[]string{"1 x:x «n x:x» A:GYD :GYD at binders[0]", "2 x:y «n x:y» A:GYD B:gs gs at binders[0]",
				"3 y:y «n y:y» B:gs gs :gs gs at binders[1]"},
		},
		"ligands": {
			Spec{Kind: pleat.BatchLigands, Sequences: []pleat.Sequence{a},
				Ligands: []Ligand{{Text: "CCO", Affinity: true}, {CustomID: "atp", Text: "ATP", CCD: true}}},
			[]string{"1 1 «n 1» A:GYD :CCO/affinity at ligands[0]", "2 atp «n atp» A:GYD :ATP at ligands[1]"},
		},
		"variants": {
			Spec{Kind: pleat.BatchVariants, Sequences: []pleat.Sequence{a, b}, Chain: "B",
				Mutations: []string{"wt", "g1a:S4T"}, Scan: &Scan{From: 2, To: 2, Residues: "asT"}},
			[]string{"1 WT «n WT» A:GYD B:GSGS at mutations[0]", "2 G1A:S4T «n G1A:S4T» A:GYD B:ASGT at mutations[1]",
				"3 S2A «n S2A» A:GYD B:GAGS at scan", "4 S2T «n S2T» A:GYD B:GTGS at scan"},
		},
		"seeds": {
			Spec{Kind: pleat.BatchSeeds, Sequences: []pleat.Sequence{a}, Seeds: []string{"5", "3"}},
			[]string{"1 seed-5 «n seed-5» A:GYD seed 5 at seeds[0]", "2 seed-3 «n seed-3» A:GYD seed 3 at seeds[1]"},
		},
		"counted seeds": {
			Spec{Kind: pleat.BatchSeeds, Sequences: []pleat.Sequence{a}, SeedCount: 2,
				Params: pleat.Params{Values: map[string]any{"seed": "4294967294"}}},
			[]string{"1 seed-4294967294 «n seed-4294967294» A:GYD seed 4294967294 at seedCount",
				"2 seed-4294967295 «n seed-4294967295» A:GYD seed 4294967295 at seedCount"},
		},
	} {
		c.spec.Name = "n"
		if err := c.spec.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, described(&c.spec)); diff != "" || c.spec.Count() != len(c.want) {
			t.Errorf("%s: %d rows: %s", name, c.spec.Count(), diff)
		}
	}
}

// A scan without letters tries those of the kind of its chain, without the residue that is there.
func TestScanLetters(t *testing.T) {
	for kind, want := range map[pleat.EntityKind]int{pleat.Protein: 19, pleat.RNA: 3, pleat.DNA: 3} {
		s := Spec{Kind: pleat.BatchVariants, Name: "n", Scan: &Scan{From: 1, To: 1},
			Sequences: []pleat.Sequence{{Kind: kind, Text: "GACG", Count: 1}}}
		if err := s.Check(); err != nil || s.Count() != want {
			t.Errorf("%s: %d rows, want %d: %v", kind, s.Count(), want, err)
		}
	}
}

// The check of a batch with faults does not go over its rows, whatever the length of the chain that is scanned. Before,
// it made a text of each mutation.
func TestFaultyScanIsNotCounted(t *testing.T) {
	long := protein(strings.Repeat("A", 50_000), "")
	for want, s := range map[string]Spec{
		"sequences[0].proteinChain.sequence has 50000 residues; at most 20000 are allowed": {
			Kind: pleat.BatchVariants, Name: "n", Sequences: []pleat.Sequence{long}, Scan: &Scan{From: 1, To: 50_000},
		},
		"scan.residues, position 2: A is there already": {
			Kind: pleat.BatchVariants, Name: "n", Sequences: []pleat.Sequence{protein(long.Text[:20_000], "")},
			Scan: &Scan{From: 1, To: 20_000, Residues: "AA"},
		},
	} {
		allocations := testing.AllocsPerRun(1, func() {
			if err := s.Check(); err == nil || err.Error() != want {
				t.Errorf("%v; want %s", err, want)
			}
		})
		if allocations > 100 {
			t.Errorf("%s: %.0f allocations", want, allocations)
		}
	}
}

// A scan is counted without making its rows, and looks up whether a residue has a modification.
func TestCountOfScan(t *testing.T) {
	q := protein(strings.Repeat("A", 20_000), "")
	for i := range 20_000 {
		q.Modifications = append(q.Modifications, pleat.Modification{Residue: i + 1, CCD: "SEP"})
	}
	s := Spec{Kind: pleat.BatchVariants, Name: "n", Sequences: []pleat.Sequence{q}, Scan: &Scan{From: 1, To: 20_000}}
	if n := s.Count(); n != 0 {
		t.Errorf("%d rows of modified residues", n)
	}
	s.Sequences[0].Modifications, s.Mutations = nil, []string{"A1C"}
	allocations := testing.AllocsPerRun(1, func() {
		if n := s.Count(); n != 19*20_000 {
			t.Errorf("%d rows", n)
		}
	})
	if allocations > 100 {
		t.Errorf("%.0f allocations", allocations)
	}
}

// The custom id of a variant is its mutations written in one way, as short as that of any row.
func TestIDsOfVariants(t *testing.T) {
	check := func(mutations ...string) (string, []string) {
		s := Spec{Kind: pleat.BatchVariants, Name: "n", Sequences: []pleat.Sequence{protein("ACDEFG", "")},
			Mutations: mutations}
		if err := s.Check(); err != nil {
			return err.Error(), nil
		}
		var ids []string
		for row := range s.Rows() {
			ids = append(ids, row.CustomID)
		}
		return "", ids
	}
	fault, ids := check(" wt", "a"+strings.Repeat("0", 300)+"1c ", "A1C:\nC02D")
	if diff := cmp.Diff([]string{"WT", "A1C", "A1C:C2D"}, ids); diff != "" || fault != "" {
		t.Error(fault, diff)
	}
	var many []string
	long := protein(strings.Repeat("A", 1200), "")
	for i := range 52 {
		many = append(many, fmt.Sprint("A", 1000+i, "C"))
	}
	s := Spec{Kind: pleat.BatchVariants, Name: "n", Sequences: []pleat.Sequence{long},
		Mutations: []string{"WT", strings.Join(many, ":")}}
	const want = "mutations[1] has 363 characters; at most 255 are allowed"
	if err := s.Check(); err == nil || err.Error() != want || pleat.ErrorsOf(err)[0].Field != "mutations[1]" {
		t.Errorf("%v; want %s", err, want)
	}
	for again, want := range map[string]string{
		"A1C ": `mutations[1] is "A1C " like mutations[0]; rows must differ`,
		"A01C": `mutations[1] is "A01C" like mutations[0]; rows must differ`,
		"ſ1C":  `mutations[1] is "ſ1C"; a mutation looks like A23V, and several like A23V:K45R`,
	} {
		if fault, _ := check("A1C", again); fault != want {
			t.Errorf("%s; want %s", fault, want)
		}
	}
}

// A modification would take the place of a mutation of its residue.
func TestModifiedResidues(t *testing.T) {
	a := protein("GYD", "")
	a.Modifications = []pleat.Modification{{Residue: 2, CCD: "PTR"}}
	s := Spec{Kind: pleat.BatchVariants, Name: "n", Sequences: []pleat.Sequence{a}, Mutations: []string{"G1A:Y2F"}}
	const want = `mutations[0] is "G1A:Y2F", but residue 2 of the chain has a modification`
	if err := s.Check(); err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
	s.Mutations, s.Scan = nil, &Scan{From: 1, To: 3, Residues: "A"}
	if err := s.Check(); err != nil || s.Count() != 2 {
		t.Errorf("%d rows: %v", s.Count(), err)
	}
}

// A fault of the batch names the field, and says what would be right.
func TestFaults(t *testing.T) {
	a, b := protein("GYD", ""), protein("GSGS", "")
	complexOf := func(kind pleat.BatchKind, change func(s *Spec)) Spec {
		s := Spec{Kind: kind, Sequences: []pleat.Sequence{a}}
		change(&s)
		return s
	}
	variants := func(change func(s *Spec)) Spec { return complexOf(pleat.BatchVariants, change) }
	seeds := func(change func(s *Spec)) Spec { return complexOf(pleat.BatchSeeds, change) }
	long := strings.Repeat("x", 256)
	for want, s := range map[string]Spec{
		`kind is ""; it may be list, matrix, ligands, variants or seeds`:                                 {},
		"jobs is required for the kind list":                                                             {Kind: pleat.BatchList},
		"jobs[0].sequences is required and must have an item":                                            {Kind: pleat.BatchList, Jobs: []Entry{{}}},
		"sequences is a field of the kind ligands, variants or seeds; the kind of this batch is list":    {Kind: pleat.BatchList, Jobs: []Entry{entry("", a)}, Sequences: []pleat.Sequence{a}},
		`jobs[1].customId is "x" like that of jobs[0]; custom ids must differ`:                           {Kind: pleat.BatchList, Jobs: []Entry{entry("x", a), entry("x", a)}},
		"jobs[0].customId has 256 characters; at most 255 are allowed":                                   {Kind: pleat.BatchList, Jobs: []Entry{entry(long, a)}},
		"jobs[0].customId has a control character at position 2":                                         {Kind: pleat.BatchList, Jobs: []Entry{entry("x\n", a)}},
		"the batch has 0 rows; it must have 1 to 100000":                                                 {Kind: pleat.BatchMatrix, Binders: []Entry{entry("x", a)}},
		"targets cannot be given with upperTriangle or self, which combine the binders with one another": {Kind: pleat.BatchMatrix, Self: true, Binders: []Entry{entry("x", a)}, Targets: []Entry{entry("x", a)}},
		`binders[0].customId is "a:b"; it must not have a colon, which joins the ids of a row`:           {Kind: pleat.BatchMatrix, Binders: []Entry{entry("a:b", a), entry("c", a)}},
		"sequences is required for the kind ligands":                                                     {Kind: pleat.BatchLigands, Ligands: []Ligand{{Text: "C"}}},
		"mutations or scan is required for the kind variants":                                            variants(func(*Spec) {}),
		`mutations[0] is "A1G", but residue 1 of the chain is G`:                                         variants(func(s *Spec) { s.Mutations = []string{"A1G"} }),
		`mutations[0] is "G9A", but the chain has 3 residues`:                                            variants(func(s *Spec) { s.Mutations = []string{"G9A"} }),
		`mutations[0] is "G1G", which changes nothing at residue 1`:                                      variants(func(s *Spec) { s.Mutations = []string{"G1G"} }),
		`mutations[0] is "G1A:G1C", which changes residue 1 twice`:                                       variants(func(s *Spec) { s.Mutations = []string{"G1A:G1C"} }),
		`mutations[0] is "G+1A"; a mutation looks like A23V, and several like A23V:K45R`:                 variants(func(s *Spec) { s.Mutations = []string{"G+1A"} }),
		`mutations[1] is "g1a" like mutations[0]; rows must differ`:                                      variants(func(s *Spec) { s.Mutations = []string{"G1A", "g1a"} }),
		"chain is required, since there are several polymers":                                            variants(func(s *Spec) { s.Sequences, s.Mutations = []pleat.Sequence{a, b}, []string{"WT"} }),
		`chain is "C"; the polymers have the chains A, B`:                                                variants(func(s *Spec) { s.Sequences, s.Chain, s.Mutations = []pleat.Sequence{a, b}, "C", []string{"WT"} }),
		"scan.from is 0; the chain has the residues 1 to 3":                                              variants(func(s *Spec) { s.Scan = &Scan{To: 1} }),
		"scan.to is 1; it must be 2 to 3":                                                                variants(func(s *Spec) { s.Scan = &Scan{From: 2, To: 1} }),
		"scan.residues, position 2: A is there already":                                                  variants(func(s *Spec) { s.Scan = &Scan{From: 1, To: 1, Residues: "Aa"} }),
		"scan.residues, position 1: it must hold one-letter codes":                                       variants(func(s *Spec) { s.Scan = &Scan{From: 1, To: 1, Residues: "é"} }),
		"seeds or seedCount is required for the kind seeds, and not both":                                seeds(func(*Spec) {}),
		`seeds[1] is 7 like seeds[0]; seeds must differ`:                                                 seeds(func(s *Spec) { s.Seeds = []string{"7", "07"} }),
		`seeds[0] is "4294967296"; it must be a whole number from 0 to 4294967295`:                       seeds(func(s *Spec) { s.Seeds = []string{"4294967296"} }),
		"params.seed cannot be given with seeds":                                                         seeds(func(s *Spec) { s.Seeds, s.Params.Values = []string{"1"}, map[string]any{"seed": "1"} }),
		"the batch has 100001 rows; it must have 1 to 100000":                                            seeds(func(s *Spec) { s.SeedCount = 100_001 }),
		"seedCount is 2 from the seed 4294967295; the largest seed is 4294967295":                        seeds(func(s *Spec) { s.SeedCount, s.Params.Values = 2, map[string]any{"seed": "4294967295"} }),
	} {
		s.Name = "n"
		if err := s.Check(); err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// The rows of a large batch are made one after the other.
func TestRowsAreLazy(t *testing.T) {
	s := Spec{Kind: pleat.BatchMatrix, Name: "n"}
	for range 300 {
		s.Binders = append(s.Binders, entry("", protein("GSGS", "")))
	}
	if err := s.Check(); err != nil || s.Count() != 89_700 {
		t.Fatal(s.Count(), err)
	}
	allocations := testing.AllocsPerRun(5, func() {
		n := 0
		for range s.Rows() {
			if n++; n == 10 {
				break
			}
		}
	})
	if allocations > 500 {
		t.Errorf("%.0f allocations for ten rows", allocations)
	}
}

// A fault of a row's job stands where the request has what is wrong.
func TestRelocate(t *testing.T) {
	s := Spec{Kind: pleat.BatchMatrix, Name: "n", Binders: []Entry{entry("", protein("GSGS", "A"))},
		Targets: []Entry{entry("", protein("GSGS", "B"), protein("GSGS", "B"))}}
	for row := range s.Rows() {
		err := row.Relocate(row.Job.NameChains())
		want := `targets[0].sequences[1].proteinChain.chain_id "B" is already used by targets[0].sequences[0]`
		if err == nil || err.Error() != want || pleat.ErrorsOf(err)[0].Field != want[:45] {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// The text that a message quotes from the request stays as it is, whatever it looks like.
func TestRelocateLeavesQuotations(t *testing.T) {
	s := Spec{Kind: pleat.BatchList, Name: "n", Jobs: []Entry{entry("", protein("GYD", "A"))}}
	for row := range s.Rows() {
		for given, want := range map[string]string{
			` is "sequences[0]"; it must not be`:          `jobs[0].sequences[0].x is "sequences[0]"; it must not be`,
			` is "\\\"sequences[0]\" of sequences[0]", x`: `jobs[0].sequences[0].x is "\\\"sequences[0]\" of sequences[0]", x`,
			` is like "a" of sequences[0]`:                `jobs[0].sequences[0].x is like "a" of jobs[0].sequences[0]`,
			` is 5" of sequences[0]`:                      `jobs[0].sequences[0].x is 5" of jobs[0].sequences[0]`,
		} {
			fault := pleat.Invalidf("%s", "sequences[0].x"+given).At("sequences[0].x")
			err := row.Relocate(fault)
			if err.Error() != want || pleat.ErrorsOf(err)[0].Field != "jobs[0].sequences[0].x" {
				t.Errorf("%v; want %s", err, want)
			}
		}
	}
	fault := pleat.InvalidField("x", " is %q", "x")
	if got := Under("jobs[1]", fault); got.Message != `jobs[1].x is "x"` {
		t.Error(got.Message)
	}
}

// The ids of a row of a matrix are as short together as that of any row.
func TestIDsOfMatrix(t *testing.T) {
	a, long := protein("GYD", ""), func(n int) string { return strings.Repeat("é", n) }
	matrix := func(change func(s *Spec)) string {
		s := Spec{Kind: pleat.BatchMatrix, Name: "n", Binders: []Entry{entry("b", a), entry(long(127), a)}}
		change(&s)
		if err := s.Check(); err != nil {
			return err.Error()
		}
		for row := range s.Rows() {
			if err := pleat.CheckName("customId", row.CustomID); err != nil {
				t.Error(err)
			}
		}
		return ""
	}
	const tooLong = " have 256 characters together with their colon; at most 255 are allowed"
	for want, got := range map[string]string{
		"binders[1].customId and that of targets[0]" + tooLong: matrix(func(s *Spec) {
			s.Targets = []Entry{entry(long(128), a), entry("t", a)}
		}),
		"binders[0].customId and that of binders[1]" + tooLong: matrix(func(s *Spec) { s.Binders[1].CustomID = long(254) }),
		"binders[1].customId and that of binders[1] have 257 characters together with their colon; at most 255 are allowed": matrix(
			func(s *Spec) { s.Self, s.Binders[1].CustomID = true, long(128) }),
		"": matrix(func(s *Spec) { s.Targets = []Entry{entry(long(127), a), entry("t", a)} }) +
			matrix(func(s *Spec) { s.Binders[1].CustomID = long(253) }) + matrix(func(s *Spec) { s.Self = true }),
	} {
		if got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
}

// A fault of a ligand and of the parameters of a row stand where the request has them.
func TestRelocateRows(t *testing.T) {
	relocated := func(s Spec, field string) string {
		for row := range s.Rows() {
			return row.Relocate(pleat.InvalidField(field, " is wrong")).Error()
		}
		return ""
	}
	a := protein("GYD", "A")
	ligands := Spec{Kind: pleat.BatchLigands, Sequences: []pleat.Sequence{a}, Ligands: []Ligand{{Text: "C"}}}
	named := Spec{Kind: pleat.BatchList, Jobs: []Entry{{Name: "own", Sequences: []pleat.Sequence{a}}}}
	own := Spec{Kind: pleat.BatchList, Jobs: []Entry{{Params: &pleat.Params{}, Sequences: []pleat.Sequence{a}}}}
	known := Spec{Kind: pleat.BatchList, Jobs: []Entry{{CustomID: "P69905", Sequences: []pleat.Sequence{a}}}}
	for want, got := range map[string]string{
		"ligands[0].sequence is wrong":              relocated(ligands, "sequences[1].ligandSequence.sequence"),
		"sequences[0].proteinChain.cyclic is wrong": relocated(ligands, "sequences[0].proteinChain.cyclic"),
		"jobs[0].name is wrong":                     relocated(named, "name"),
		"params.seed is wrong":                      relocated(named, "params.seed"),
		`jobs[0].sequences[0].proteinChain.sequence is wrong (customId "P69905")`: relocated(known,
			"sequences[0].proteinChain.sequence"),
		"jobs[0].params.seed is wrong":  relocated(own, "params.seed"),
		"jobs[0].sequences has 0 items": strings.Replace(relocated(own, "sequences"), "is wrong", "has 0 items", 1),
	} {
		if got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
}

// No batch makes a panic, and one that is accepted has as many rows as it says.
func FuzzSpec(f *testing.F) {
	f.Add("variants", "GYD", "G1A:Y2F", "A", 1, 3, "AC", "7", 2, uint8(3))
	f.Add("seeds", "GYD", "", "", 0, 0, "", "4294967295", 1, uint8(0))
	f.Add("matrix", "G D", "WT", "A", 0, 0, "", "", 0, uint8(255))
	f.Fuzz(func(
		t *testing.T, kind, text, list, chain string, from, to int, letters, seed string, count int, has uint8,
	) {
		q := pleat.Sequence{Kind: pleat.Protein, Text: text, ChainID: chain, Count: count % 600}
		s := Spec{Kind: pleat.BatchKind(kind), Name: "n", UpperTriangle: has&1 != 0, Self: has&2 != 0, Chain: chain}
		if has&4 != 0 {
			s.Sequences = []pleat.Sequence{q, q}[:1+has>>7]
		}
		if has&8 != 0 {
			s.Mutations = []string{list, letters}
		}
		if has&16 != 0 {
			s.Scan = &Scan{From: from, To: to, Residues: letters}
		}
		if has&32 != 0 {
			s.Binders = []Entry{entry(list, q), entry(chain, q)}
		}
		if has&64 != 0 {
			s.Seeds = []string{seed}
		} else {
			s.SeedCount = count
		}
		if s.Check() != nil {
			return
		}
		n := 0
		for row := range s.Rows() {
			if n++; row.Number != n || row.CustomID == "" || row.Job.Name == "" {
				t.Fatalf("%+v", row)
			}
		}
		if n != s.Count() || n < 1 {
			t.Errorf("%d rows, counted %d", n, s.Count())
		}
	})
}
