package runner

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/engine/enginetest"
	"pleat/internal/flow"
	"pleat/internal/report"
)

// designed is a request for designs with the result of a runner: rows, and a structure for each of some ids.
func designed(t *testing.T, rows string, set map[string]int, sequence string, b float64) *predictRequest {
	t.Helper()
	r := &wireResult{
		ChainMap: map[string]string{"A": "B", "B": "A"},
		Metrics:  map[string]any{"generated": 4.0, "duplicates": 1.0},
		Params:   json.RawMessage(`{"alpha":0.01,"filterBiased":null,"more":1}`),
	}
	q := &predictRequest{dir: t.TempDir(), result: r}
	r.Files = append(r.Files, writeResult(q.dir, "designs", "designs.jsonl", rows))
	var text strings.Builder
	text.WriteString("data_x\nloop_\n")
	for _, item := range strings.Fields("group_PDB id type_symbol label_atom_id label_comp_id label_asym_id " +
		"label_seq_id Cartn_x Cartn_y Cartn_z B_iso_or_equiv") {
		text.WriteString("_atom_site." + item + "\n")
	}
	n := 0
	for k, chain := range []string{sequence, "GSGS"} {
		for i := range len(chain) {
			n++
			fmt.Fprintf(&text, "ATOM %d C CA %s %c %d %.1f %d 0 %.2f\n", n, threeLetters[chain[i]], 'A'+k, i+1,
				3.8*float64(i), 9*k, b)
		}
	}
	for id, rank := range set {
		f := writeResult(q.dir, "design", id+".cif", text.String())
		f.ID, f.Rank = id, rank
		r.Files = append(r.Files, f)
	}
	if err := q.check(t.Context()); err != nil {
		t.Fatal(err)
	}
	return q
}

const twoDesigns = `{"id":"x_1","final_rank":1,"designed_chain_sequence":"ACKG","iptm":0.5,"pass_filters":true,"plddt":101}
{"id":"x_2","final_rank":3,"designed_chain_sequence":"ACKG","pass_filters":false,"failed_filters":["rmsd"]}
`

func designWork(t *testing.T) pleat.Work {
	t.Helper()
	return pleat.Work{
		Kind:  pleat.TaskDesign,
		Dir:   t.TempDir(),
		Model: pleat.Model{Name: "boltzgen", Title: "BoltzGen", Engine: "boltzgen"},
		Design: &pleat.DesignInput{
			Name:   "Binders",
			Params: pleat.DesignParams{Protocol: "protein-anything", Designs: 4, Budget: 2},
			Chains: []pleat.DesignChain{{Name: "B", Designed: true}, {Name: "A"}},
			Sent:   pleat.DesignSource{Spec: "entities: []\n"},
		},
	}
}

// The structures get the names and the order of the spec, and a value outside its range becomes null with a note.
func TestReadDesigns(t *testing.T) {
	t.Parallel()
	q := designed(t, twoDesigns, map[string]int{"x_2": 3, "x_1": 1}, "ACKG", 71)
	d := report.Designs{Work: designWork(t), Timings: map[string]float64{}}
	if err := q.readDesigns(&d); err != nil {
		t.Fatal(err)
	}
	if len(d.Rows) != 2 || len(d.Set) != 2 || d.Set[0].Text("id") != "x_1" || d.Set[1].Rank() != 3 {
		t.Fatalf("%+v", d)
	}
	one, err := d.Read(d.Set[0])
	if err != nil {
		t.Fatal(err)
	}
	s := one.Structure
	if s.Chains[0].ID != "B" || s.Chains[1].ID != "A" || len(s.Chains[0].Residues) != 4 {
		t.Errorf("%+v", s.Chains)
	}
	notes, _ := d.Rows[0]["notes"].([]string)
	if d.Rows[0]["plddt"] != nil || len(notes) != 1 || !strings.Contains(notes[0], "plddt was 101") {
		t.Errorf("%v %v", d.Rows[0]["plddt"], notes)
	}
	four, single := 4, 1
	want := flow.DesignMetrics{
		Requested: 4, Generated: &four, Considered: 2, Duplicates: &single, Passed: &single, Returned: 2,
	}
	if diff := cmp.Diff(want, d.Metrics); diff != "" {
		t.Error(diff)
	}
	if p := d.Params; p.Alpha == nil || *p.Alpha != 0.01 || p.FilterBiased != nil || p.Designs != 4 ||
		d.Work.Design.Params.Alpha != nil {
		t.Errorf("the parameters are %+v", p)
	}
	out := d.Write(t.Context(), &enginetest.Sink{})
	if out.Failure != nil {
		t.Fatal(out.Failure)
	}
	var names []string
	for _, f := range out.Files {
		names = append(names, f.Name)
	}
	got := strings.Join(names, " ")
	if got != "rank1_x_1.cif rank3_x_2.cif designs.jsonl filters.svg filters.png metrics.json spec.yaml config.json "+
		"citations.bib plots.zip results.zip" {
		t.Error(got)
	}
}

// A result that contradicts itself or the request is refused.
func TestReadDesignsRefuses(t *testing.T) {
	t.Parallel()
	both := map[string]int{"x_1": 1, "x_2": 3}
	for _, c := range []struct {
		name, rows, sequence string
		set                  map[string]int
		b                    float64
		want                 string
	}{
		{"no rows", "", "ACKG", both, 50, "has no line"},
		{"no JSON", "nothing\n", "ACKG", both, 50, "line 1 that is not a JSON object"},
		{"wrong type", `{"id":"x_1","final_rank":1,"iptm":"high"}`, "ACKG", both, 50, "iptm that is no number"},
		{"half a rank", `{"id":"x_1","final_rank":1.5}`, "ACKG", both, 50, "final_rank that is no integer"},
		{"no rank", `{"id":"x_1"}`, "ACKG", both, 50, "without a final_rank"},
		{"a path", `{"id":"../x","final_rank":1}`, "ACKG", both, 50, "whose id is"},
		{"twice", strings.ReplaceAll(twoDesigns, "x_2", "x_1"), "ACKG", both, 50, "whose id is"},
		{"out of order", strings.Replace(twoDesigns, `"final_rank":1`, `"final_rank":4`, 1), "ACKG", both, 50,
			"before one of a better rank"},
		{"unknown design", twoDesigns, "ACKG", map[string]int{"x_3": 1}, 50, "is not among its designs"},
		{"other rank", twoDesigns, "ACKG", map[string]int{"x_1": 2}, 50, "is not among its designs"},
		{"nothing returned", twoDesigns, "ACKG", nil, 50, "returns 0 designs"},
		{"other sequence", twoDesigns, "ACKK", both, 50, "another sequence than its row"},
		{"wrong parameter", twoDesigns, "ACKG", both, 50, "its params.alpha is 3; it must be from 0 to 1"},
		{"no pLDDT", twoDesigns, "ACKG", both, 500, "it must be 0 to 100"},
	} {
		q := designed(t, c.rows, c.set, c.sequence, c.b)
		if c.name == "wrong parameter" {
			q.result.Params = json.RawMessage(`{"alpha":3}`)
		}
		d := report.Designs{Work: designWork(t)}
		err := q.readDesigns(&d)
		if err == nil {
			_, err = d.Read(d.Set[0])
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
}

// The backbone of a sequence may have gaps: the structure has the residues of the whole sequence, which the row names,
// and the figure has the columns that such designs have.
func TestReadSequenceDesigns(t *testing.T) {
	t.Parallel()
	const rows = `{"id":"x_1","final_rank":1,"designed_chain_sequence":"ACKGS","sequence_score":1.5,"sequence_recovery":0.5}
{"id":"x_2","final_rank":2,"designed_chain_sequence":"ACKGG","sequence_score":1.75,"sequence_recovery":0.25}
`
	var text strings.Builder
	text.WriteString("data_x\n_entity.id 1\n_entity.type polymer\n_entity_poly.entity_id 1\n" +
		"_entity_poly.type polypeptide(L)\n_struct_asym.id A\n_struct_asym.entity_id 1\n" +
		"loop_\n_entity_poly_seq.entity_id\n_entity_poly_seq.num\n_entity_poly_seq.mon_id\n" +
		"1 1 ALA\n1 2 CYS\n1 3 LYS\n1 4 GLY\n1 5 SER\nloop_\n")
	for _, item := range strings.Fields("id type_symbol label_atom_id label_comp_id label_asym_id label_seq_id " +
		"Cartn_x Cartn_y Cartn_z") {
		text.WriteString("_atom_site." + item + "\n")
	}
	text.WriteString("1 C CA CYS A 2 0 0 0\n2 C CA LYS A 3 3.8 0 0\n")
	q := &predictRequest{dir: t.TempDir(), result: &wireResult{}}
	q.result.Files = append(q.result.Files, writeResult(q.dir, "designs", "designs.jsonl", rows))
	f := writeResult(q.dir, "design", "x_1.cif", text.String())
	f.ID, f.Rank = "x_1", 1
	q.result.Files = append(q.result.Files, f)
	if err := q.check(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := designWork(t)
	w.Design.Params.Protocol = pleat.SequenceOnly
	w.Design.Chains = []pleat.DesignChain{{Name: "A", Designed: true}}
	d := report.Designs{Work: w, Timings: map[string]float64{}}
	if err := q.readDesigns(&d); err != nil {
		t.Fatal(err)
	}
	one, err := d.Read(d.Set[0])
	if err != nil {
		t.Fatal(err)
	}
	if n := len(one.Structure.Chains[0].Residues); n != 5 || one.PLDDT != nil || d.Metrics.Passed != nil {
		t.Errorf("%d residues, pLDDT %v, passed %v", n, one.PLDDT, d.Metrics.Passed)
	}
	if out := d.Write(t.Context(), &enginetest.Sink{}); out.Failure != nil || out.Files[2].Name != "scatter.svg" {
		t.Errorf("%v %+v", out.Failure, out.Files)
	}
}
