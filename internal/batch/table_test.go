package batch

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"pleat"
)

var (
	testColumns = Columns([]string{"meanPLDDT", "max_pae_score", "ipsae.A-B"})
	testRows    = []pleat.BatchRow{
		{
			Number: 1, CustomID: "cage", Job: "01a2", Name: "screen cage", State: pleat.StateCompleted,
			Scores: []pleat.Score{{Name: "ipsae.A-B", Value: 0.25}, {Name: "meanPLDDT", Value: 71.5}},
		},
		{
			Number: 2, CustomID: "=1+1", Name: "-screen", State: pleat.StateFailed,
			Failure: &pleat.Failure{Message: "@fault, \"quoted\"\nand more"},
		},
		{
			Number: 3, CustomID: "µ", Job: "01a3", Name: "x", State: pleat.StateCompleted,
			Scores: []pleat.Score{{Name: "max_pae_score", Value: -1e-7}},
		},
	}
	testFormats = map[string]func(io.Writer, []pleat.ScoreColumn) TableWriter{
		"csv": NewCSV, "jsonl": NewJSONL, "parquet": NewParquet,
	}
)

// written writes rows in a format.
func written(t testing.TB, format string, columns []pleat.ScoreColumn, rows []pleat.BatchRow) []byte {
	t.Helper()
	var b bytes.Buffer
	w := testFormats[format](&b, columns)
	for _, r := range rows {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCSV(t *testing.T) {
	got, err := csv.NewReader(bytes.NewReader(written(t, "csv", testColumns, testRows))).ReadAll()
	want := [][]string{
		{"row", "customId", "jobId", "name", "status", "meanPLDDT", "max_pae_score", "ipsae.A-B", "error"},
		{"1", "cage", "01a2", "screen cage", "COMPLETED", "71.5", "", "0.25", ""},
		{"2", "'=1+1", "", "'-screen", "FAILED", "", "", "", "'@fault, \"quoted\"\nand more"},
		{"3", "µ", "01a3", "x", "COMPLETED", "", "-1e-07", "", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestJSONL(t *testing.T) {
	lines := strings.Split(string(written(t, "jsonl", testColumns, testRows)), "\n")
	want := `{"row":2,"customId":"=1+1","jobId":null,"name":"-screen","status":"FAILED","meanPLDDT":null,` +
		`"max_pae_score":null,"ipsae.A-B":null,"error":"@fault, \"quoted\"\nand more"}`
	if len(lines) != 4 || lines[1] != want || lines[3] != "" {
		t.Errorf("%q", lines)
	}
	var row map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &row); err != nil || row["ipsae.A-B"] != 0.25 || len(row) != 9 {
		t.Errorf("%v %v", row, err)
	}
}

func TestParquet(t *testing.T) {
	b := written(t, "parquet", testColumns, testRows)
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, field := range f.Schema().Fields() {
		names = append(names, field.Name())
	}
	want := []string{"row", "customId", "jobId", "name", "status", "meanPLDDT", "max_pae_score", "ipsae.A-B", "error"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	about, ok := f.Lookup(columnsKey)
	if !ok || !strings.Contains(about, `{"name":"max_pae_score","unit":"Å","higherIsBetter":false}`) {
		t.Errorf("metadata %q", about)
	}
	var rows []map[string]any
	r := parquet.NewGenericReader[map[string]any](bytes.NewReader(b), f.Schema())
	for {
		part := []map[string]any{{}}
		n, err := r.Read(part)
		rows = append(rows, part[:n]...)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(rows) != 3 || rows[0]["ipsae.A-B"] != 0.25 || rows[1]["meanPLDDT"] != nil || rows[1]["customId"] != "=1+1" ||
		rows[2]["max_pae_score"] != -1e-7 || rows[0]["row"] != int32(1) || rows[1]["jobId"] != nil {
		t.Errorf("%v", rows)
	}
}

// TestTableFiles writes a table in every format into the folder that PLEAT_TEST_TABLES names, for programs that are to
// read it: scripts/test-tables.
func TestTableFiles(t *testing.T) {
	dir := os.Getenv("PLEAT_TEST_TABLES")
	if dir == "" {
		t.Skip("make test-tables reads the files with pandas and DuckDB")
	}
	for format := range testFormats {
		file := filepath.Join(dir, "table."+format)
		if err := os.WriteFile(file, written(t, format, testColumns, testRows), 0o600); err != nil {
			t.Error(err)
		}
	}
}

func TestQuery(t *testing.T) {
	for text, want := range map[string]Sort{
		"":                   {},
		"meanPLDDT":          {"meanPLDDT", true},
		"meanPLLDT":          {"meanPLDDT", true}, // as results have it
		"mean_plddt.A-B:asc": {"meanPLDDT.A-B", false},
		"max_pae_score":      {"max_pae_score", false},
		"ipsae.A-B:asc":      {"ipsae.A-B", false},
		"max_pae_score:desc": {"max_pae_score", true},
	} {
		if got, err := ParseSort(text); got != want || err != nil {
			t.Errorf("sort %q: %+v %v", text, got, err)
		}
	}
	f, err := ParseFilter(" meanPLLDT >= 80,status=completed,customId ~ a>=b ,ipsae.A-B!=-1e3")
	id := pleat.TextCondition{Text: "a>=b", IsPart: true}
	want := Filter{pleat.StateCompleted, id, []pleat.ScoreCondition{{Name: "meanPLDDT", Op: ">=", Value: 80},
		{Name: "ipsae.A-B", Op: "!=", Value: -1000}}}
	if diff := cmp.Diff(want, f); diff != "" || err != nil {
		t.Error(f, err, diff)
	}
	for text, want := range map[string]string{
		"meanPLDDT":                        "filter, condition 1: \"meanPLDDT\" must be a name, one of >=, <=, >, <, =, != and ~, and a value",
		"customId~":                        "filter, condition 1: customId~ must be followed by a text",
		"customId~\xff":                    "filter is not valid UTF-8",
		"customId=a\x00":                   "filter has a control character at position 2",
		"customId!=a":                      "filter, condition 1: customId takes = and ~ alone",
		"customId=a,customId~b":            "filter, condition 2: there is a condition on customId already",
		"meanPLDDT~8":                      "filter, condition 1: customId alone takes ~",
		"status=COMPLETED,x>1":             "filter, condition 2, names \"x\", which is no score; scores are ",
		"meanPLDT>1":                       "filter, condition 1, names \"meanPLDT\", which is no score; did you mean meanPLDDT?",
		"ipsae>0.5":                        "filter, condition 1, names \"ipsae\", which is a score of two chains; name them after a dot, as in ipsae.A-B",
		"meanPLDDT>NaN":                    "filter, condition 1: \"NaN\" is not a number",
		"status>COMPLETED":                 "filter, condition 1: status takes = alone",
		"status=DONE":                      "filter, condition 1: \"DONE\" is no status; it may be",
		"status=FAILED,status=FAILED":      "filter, condition 2: there is a condition on status already",
		strings.Repeat("a>1,", 10) + "b>1": "filter has 11 conditions; at most 10 are allowed",
		strings.Repeat("a", 1001):          "filter has 1001 bytes; at most 1000 are allowed",
	} {
		_, err := ParseFilter(text)
		if err == nil || !strings.HasPrefix(err.Error(), want) || pleat.ErrorsOf(err)[0].Field != "filter" {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
	if _, err := ParseSort("iptm:asc"); err == nil || err.Error() != `sort names "iptm", which is a score of two chains; `+
		"name them after a dot, as in iptm.A-B" {
		t.Error(err)
	}
	if _, err := ParseSort("meanPLDDT:up"); err == nil || err.Error() != `sort has the direction "up"; it may be asc or desc` {
		t.Error(err)
	}
}

// The numbers of rows are different ones that the batch has.
func TestParseRows(t *testing.T) {
	if got, err := ParseRows("60,3,1", 60); err != nil || !slices.Equal(got, []int{60, 3, 1}) {
		t.Error(got, err)
	}
	if got, err := ParseRows("", 60); err != nil || got != nil {
		t.Error(got, err)
	}
	for text, want := range map[string]string{
		"0":                                `rows has "0", which is no number of a row; rows are 1 to 60`,
		"61":                               `rows has "61", which is no number of a row; rows are 1 to 60`,
		"3,":                               `rows has "", which is no number of a row; rows are 1 to 60`,
		"3,7,3":                            "rows has 3 twice",
		strings.Repeat("1,", 100) + "1":    "rows has more than 100 numbers",
		strings.Repeat("1,", 1000) + "1x ": "rows has more than 100 numbers",
	} {
		_, err := ParseRows(text, 60)
		if err == nil || err.Error() != want || pleat.ErrorsOf(err)[0].Field != "rows" {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}

// A filter that is accepted has few conditions, each on a score, with an operator and a number.
func FuzzFilter(f *testing.F) {
	f.Add("meanPLDDT>=80,status=COMPLETED")
	f.Add("iptm.A-B<1e300")
	f.Add("customId~a_b%")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := ParseRows(text, 60)
		if err == nil && (len(rows) > 60 || slices.ContainsFunc(rows, func(n int) bool {
			return n < 1 || n > 60
		})) {
			t.Errorf("%q: rows %v", text, rows)
		}
		_, _ = ParseSort(text)
		got, err := ParseFilter(text)
		if err != nil {
			return
		}
		if len(got.Conditions) > maxConditions {
			t.Errorf("%q: %d conditions", text, len(got.Conditions))
		}
		for _, c := range got.Conditions {
			column, ok := pleat.ColumnOf(c.Name)
			if !ok || column.OfPair && !strings.Contains(c.Name, ".") ||
				!slices.Contains(operators, c.Op) || c.Op == contains ||
				math.IsNaN(c.Value) || math.IsInf(c.Value, 0) || c.Holds(c.Value) != slices.Contains([]string{">=", "<=", "="}, c.Op) {
				t.Errorf("%q: %+v", text, c)
			}
		}
	})
}

func BenchmarkTables(b *testing.B) {
	for format := range testFormats {
		b.Run(format, func(b *testing.B) {
			var rows []pleat.BatchRow
			for i := range 100_000 {
				rows = append(rows, pleat.BatchRow{Number: i + 1, CustomID: fmt.Sprint("row-", i), Job: "01a2",
					Name: "screen", State: pleat.StateCompleted,
					Scores: []pleat.Score{{Name: "meanPLDDT", Value: float64(i) / 7}}})
			}
			for b.Loop() {
				written(b, format, testColumns, rows)
			}
		})
	}
}
