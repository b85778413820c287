package server_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/api"
	"pleat/internal/store/storetest"
)

// trpBatch is a batch of one row.
const trpBatch = `{"name":"screen","kind":"list","params":{"modelName":"mini","seed":"1"},"jobs":[` +
	`{"customId":"cage","sequences":[{"proteinChain":{"sequence":"DAYAQWLKDGGPSSGRPPPS"}}]}]}`

// advanceBatches makes and ends the jobs of batches, as Upkeep does.
func (h *fixture) advanceBatches() {
	h.t.Helper()
	for more := true; more; {
		var err error
		if more, err = h.store.Batches.AdvanceBatches(context.Background()); err != nil {
			h.t.Fatal(err)
		}
	}
}

// A client that reconnects to the stream of a batch with the last event's id hears of later changes alone, and nothing
// more after the end.
func TestBatchEvents(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	created := read[api.CreatedBatch](t, h.as(h.key, "POST", "/v1/batches", trpBatch))
	path := "/v1/batches/" + created.BatchID + "/events"
	id := func(text string) string {
		_, text, _ = strings.Cut(text, "id: ")
		text, _, _ = strings.Cut(text, "\n")
		return text
	}
	open := readStream(t, h.http.URL+path, "X-API-Key", h.key)
	begun := ""
	for line := range open {
		if strings.HasPrefix(line, "id: ") {
			begun = id(line)
			break
		}
	}
	again := readStream(t, h.http.URL+path, "X-API-Key", h.key, "Last-Event-ID", begun)
	for line := range again {
		if line == ": open" {
			break
		}
	}
	if r := h.as(h.key, "POST", strings.TrimSuffix(path, "events")+"cancel", nil); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	h.advanceBatches()
	ended := ""
	for line := range again {
		if strings.HasPrefix(line, "id: ") {
			ended = id(line)
			if ended == begun {
				t.Errorf("the event %s came again", begun)
			}
		}
	}
	if r := h.as(h.key, "GET", path, nil, "Last-Event-ID", ended); r.status != 204 {
		t.Errorf("after the end: %d %s", r.status, r.body)
	}
	for _, other := range []string{begun, "2", "01a230f6-7c26-75f9-8f01-bae4f43d1d35:1"} {
		if r := h.as(h.key, "GET", path, nil, "Last-Event-ID", other); r.status != 200 || id(r.body) != ended {
			t.Errorf("after %s: %d %s", other, r.status, r.body)
		}
	}
	if r := h.as(h.key, "GET", path, nil, "Last-Event-ID", "x"); r.status != 400 {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// Every fault of a batch says where in the request it stands, and nothing is created.
func TestBatchFaults(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	const protein = `{"proteinChain":{"sequence":"GSGSG"}}`
	job := func(fields string) string {
		return `{"name":"x","kind":"list","params":{"modelName":"mini"},"jobs":[{"sequences":[` + protein + `]},` + fields +
			`]}`
	}
	kind := func(kind, fields string) string {
		return `{"name":"x","kind":"` + kind + `","params":{"modelName":"mini"},` + fields + `}`
	}
	for body, want := range map[string]string{
		`{}`: "name is required and must not be empty",
		job(`{"sequences":[{"proteinChain":{"sequence":"GSBSG"}}]}`): "Invalid sequence format: " +
			"jobs[1].sequences[0].proteinChain.sequence, residue 3: 'B' stands for D or N; the model \"mini\" accepts the letters ACDEFGHIKLMNPQRSTVWY",
		job(`{"sequences":[{"proteinChain":{"sequence":"GSGSG","count":0}}]}`): "jobs[1].sequences[0].proteinChain.count " +
			"is 0; it must be 1 to 512",
		job(`{"customId":"1","sequences":[` + protein + `]}`): "jobs[1].customId is \"1\" like that of jobs[0]; " +
			"custom ids must differ",
		job(`{"sequences":[` + protein + `],"params":{"modelName":"null"}}`): "jobs[1].params.modelName is \"null\"; all " +
			"rows of a batch have one model, here \"mini\"",
		job(`{"sequences":[` + protein + `],"constraints":{"webhooks":{}}}`): "jobs[1].constraints.webhooks is not for " +
			"the rows of a batch; webhooks with rows: true gives each row an event",
		job(`{"sequences":[]}`): "jobs[1].sequences is required and must have an item",
		job(`{"seqs":[]}`):      "unknown field \"seqs\" in jobs[1]; it may have customId, name, sequences, params, constraints",
		kind("list", `"binders":[{"sequences":[`+protein+`]}]`):   "binders is a field of the kind matrix; the kind of this batch is list",
		kind("pairs", `"jobs":[]`):                                "kind is \"pairs\"; it may be list, matrix, ligands, variants or seeds",
		kind("matrix", `"binders":[{"sequences":[`+protein+`]}]`): "the batch has 0 rows; it must have 1 to 100000",
		kind("matrix", `"binders":[{"sequences":[`+protein+`]},{"sequences":[`+protein+`]}],"targets":[]`): "targets is " +
			"empty; it must have an item, or be left out to combine the binders with one another",
		kind("matrix", `"binders":[{"sequences":[`+protein+`]}],"targets":[{"sequences":[{"proteinChain":`+
			`{"sequence":"1"}}]}]`): "Invalid sequence format: targets[0].sequences[0].proteinChain.sequence, residue 1: '1' is " +
			"not an amino acid; " +
			"the model \"mini\" accepts the letters ACDEFGHIKLMNPQRSTVWY",
		kind("variants", `"sequences":[`+protein+`],"mutations":["G1A","A2V"]`): "mutations[1] is \"A2V\", but residue 2 " +
			"of the chain is S",
		kind("variants", `"sequences":[`+protein+`],"scan":{"from":3,"to":9}`): "scan.to is 9; it must be 3 to 5",
		kind("seeds", `"sequences":[`+protein+`],"seeds":["1","-1"]`): "seeds[1] is \"-1\"; it must be a whole number " +
			"from 0 to 4294967295",
		kind("seeds", `"sequences":[`+protein+`],"seedCount":2,"webhooks":{"md":{}}`): "unknown destination \"md\" in " +
			"webhooks; it may be custom_http",
		kind("seeds", `"sequences":[`+protein+`],"seedCount":2,"webhooks":{"rows":1}`): "webhooks.rows must be true or false",
	} {
		r := h.as(h.key, "POST", "/v1/batches", body)
		if r.status != 400 || r.message(t) != want {
			t.Errorf("%s: %d %s; want %s", body, r.status, r.body, want)
		}
		v := read[api.BatchValidation](t, h.as(h.key, "POST", "/v1/batches/validate", body))
		if v.Valid || len(v.Errors) == 0 || v.Errors[0].Message != want {
			t.Errorf("%s: %+v; want %s", body, v, want)
		}
	}
	list := read[api.List[api.Batch]](t, h.as(h.key, "GET", "/v1/batches", nil))
	u, err := h.client(h.key).Usage(context.Background())
	if err != nil || u.BatchRows.Used != 0 || len(list.Data) != 0 {
		t.Errorf("%+v %+v %v", list, u, err)
	}
}

// The end sign of a sequence is dropped from bodies in JSON and CSV, with a note.
func TestEndSign(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.register(testModel, calvadosModel, pleat.AlignmentModel())
	const note = ".sequence: the end sign * was dropped"
	body := strings.Replace(trp, "PPPS", "PPPS*", 1)
	made := h.create(body)
	if !slices.Equal(made.Notes, []string{"sequences[0].proteinChain" + note}) {
		t.Errorf("the job has the notes %q", made.Notes)
	}
	view := read[api.JobView](t, h.as(h.key, "GET", "/v1/jobs/"+made.JobID, nil))
	if view.Sequences[0].Sequence != "DAYAQWLKDGGPSSGRPPPS" {
		t.Errorf("the sequence is %q", view.Sequences[0].Sequence)
	}
	v := read[api.Validation](t, h.as(h.key, "POST", "/v1/jobs/validate", body))
	if !v.Valid || !slices.Equal(v.Notes, made.Notes) || v.Tokens != 20 {
		t.Errorf("the validation is %+v", v)
	}
	r := h.as(h.key, "POST", "/v1/alignments", `{"sequences":["ACDEF","GHIKL*"]}`)
	alignment := read[api.Alignment](t, r)
	if !slices.Equal(alignment.Notes, []string{"sequences[1]: the end sign * was dropped"}) ||
		alignment.Proteins[1].Sequence != "GHIKL" {
		t.Errorf("the alignment is %d %s", r.status, r.body)
	}
	r = h.as(h.key, "GET", "/v1/alignments/"+alignment.ID, nil)
	if again := read[api.Alignment](t, r); !slices.Equal(again.Notes, alignment.Notes) {
		t.Errorf("the alignment is read as %d %s", r.status, r.body)
	}
	r = h.as(h.key, "POST", "/v1/workflows", `{"workflow_name":"md","workflow_input":`+
		`{"preset":"single_idr_fasta","sequence":"DAYAQWLKDGGPSS*"}}`)
	if !slices.Equal(read[api.Workflow](t, r).Notes, []string{"workflow_input" + note}) {
		t.Errorf("the workflow is %d %s", r.status, r.body)
	}
	for what, c := range map[string]struct{ body, note string }{
		"a list":   {strings.Replace(trpBatch, "PPPS", "PPPS*", 1), "jobs[0].sequences[0].proteinChain" + note},
		"variants": {variantsOfEnd, "sequences[0].proteinChain" + note},
		"CSV": {`{"name":"x","kind":"list","params":{"modelName":"mini"},"content":"id,sequence\na,GGGAAA*\n"}`,
			"line 2, column sequence: the end sign * was dropped"},
	} {
		b := read[api.BatchValidation](t, h.as(h.key, "POST", "/v1/batches/validate", c.body))
		if !b.Valid || !slices.Equal(b.Notes, []string{c.note}) {
			t.Errorf("%s: %+v", what, b)
		}
		r := h.as(h.key, "POST", "/v1/batches", c.body)
		if r.status != 200 || !slices.Equal(read[api.CreatedBatch](t, r).Notes, []string{c.note}) {
			t.Errorf("%s: the answer is %d %s", what, r.status, r.body)
		}
	}
}

// variantsOfEnd is a batch of two variants of one sequence that ends in a stop codon.
const variantsOfEnd = `{"name":"v","kind":"variants","params":{"modelName":"mini"},"mutations":["G1A","G2A"],` +
	`"sequences":[{"proteinChain":{"sequence":"GGGAAA*"}}]}`

// A short request that describes a lot of work is refused by what it describes, before any of it is stored.
func TestBatchOfLongRows(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	long := strings.Repeat("G", 1400)
	var entries []string
	for range 300 {
		entries = append(entries, `{"sequences":[{"proteinChain":{"sequence":"`+long+`"}}]}`)
	}
	body := `{"name":"x","kind":"matrix","params":{"modelName":"big"},"self":true,"binders":[` +
		strings.Join(entries, ",") + `]}`
	r := h.as(h.key, "POST", "/v1/batches", body)
	const want = "more than 100000000 letters of sequences, copies counted; split the batch"
	if r.status != 400 || !strings.HasSuffix(r.message(t), want) {
		t.Errorf("%d %.300s", r.status, r.body)
	}
}

// A short request whose constraints are stored with each of many rows is refused, too.
func TestBatchOfManyConstraints(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	contacts := strings.Repeat(`{"chain_id":"B","res_idx":1},`, 999) + `{"chain_id":"B","res_idx":2}`
	pocket := `{"binder":{"chain_id":"A"},"contacts":[` + contacts + `]}`
	entries := func(chain string, n int) string {
		var list []string
		for i := range n {
			list = append(list, `{"sequences":[{"proteinChain":{"chain_id":"`+chain+`","sequence":"GS`+
				strings.Repeat("A", i)+`"}}]}`)
		}
		return strings.Join(list, ",")
	}
	r := h.as(h.key, "POST", "/v1/batches", `{"name":"x","kind":"matrix","params":{"modelName":"big"},"binders":[`+
		entries("A", 8)+`],"targets":[`+entries("B", 12)+`],"constraints":{"pocket":[`+strings.Repeat(pocket+",", 99)+
		pocket+`]}}`)
	const want = ": the different rows up to this one have inputs of more than 200000000 bytes; split the batch"
	if r.status != 400 || !strings.HasPrefix(r.message(t), "binders[") || !strings.HasSuffix(r.message(t), want) {
		t.Errorf("%d %.300s", r.status, r.body)
	}
	if left := storetest.Count(t, h.store, "batch"); left != 0 {
		t.Errorf("%d batches", left)
	}
}

// Modifications count as letters, since each row has its own copy of them.
func TestBatchOfManyModifications(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	body := `{"name":"x","kind":"seeds","params":{"modelName":"big"},"sequences":[{"proteinChain":{"sequence":"GSGSG",` +
		`"modifications":[` + strings.Repeat(
		`{"res_idx":1,"ccd":"SEP"},`,
		20_000-1,
	) + `{"res_idx":1,"ccd":"SEP"}]}}],` +
		`"seedCount":100000}`
	r := h.as(h.key, "POST", "/v1/batches", body)
	if r.status != 400 || !strings.Contains(r.message(t), "more than 100000000 letters of sequences") {
		t.Errorf("%d %.300s", r.status, r.body)
	}
}

// A rerun that is sent again with its Idempotency-Key makes no second batch.
func TestRerunIsIdempotent(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	created := read[api.CreatedBatch](t, h.as(h.key, "POST", "/v1/batches", trpBatch))
	rerun := func(body string) reply {
		return h.as(h.key, "POST", "/v1/batches/"+created.BatchID+"/rerun", body, "Idempotency-Key", "again")
	}
	const body = `{"params":{"modelName":"mini","seed":"2"}}`
	first, second := read[api.CreatedBatch](t, rerun(body)), read[api.CreatedBatch](t, rerun(body))
	if !cmp.Equal(first, second) || first.BatchID == created.BatchID {
		t.Errorf("%+v, then %+v", first, second)
	}
	if r := rerun(`{"params":{"modelName":"mini","seed":"3"}}`); r.status != 409 {
		t.Errorf("another body: %d %s", r.status, r.body)
	}
}

// The rows of a rerun are called by the new batch, unless they have names of their own, and it is private unless it is
// to be public.
func TestNamesOfRerun(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	const jobs = `"jobs":[{"customId":"a","sequences":[{"proteinChain":{"sequence":"GSGSG"}}]},` +
		`{"customId":"b","name":"first c","sequences":[{"proteinChain":{"sequence":"GAGAG"}}]}]}`
	created := read[api.CreatedBatch](t, h.as(h.key, "POST", "/v1/batches",
		`{"name":"first","kind":"list","isPublic":true,"params":{"modelName":"mini"},`+jobs))
	path := "/v1/batches/" + created.BatchID + "/rerun"
	for body, want := range map[string]string{
		`{"name":"second","params":{"seed":"2"}}`:                "private: second a, first c",
		`{"name":"third","isPublic":true,"params":{"seed":"2"}}`: "public: third a, first c",
		`{"params":{"seed":"2"}}`:                                "private: first a, first c",
	} {
		again := read[api.CreatedBatch](t, h.as(h.key, "POST", path, body))
		h.advanceBatches()
		b := read[api.Batch](t, h.as(h.key, "GET", "/v1/batches/"+again.BatchID, nil))
		rows := read[api.BatchRows](t, h.as(h.key, "GET", "/v1/batches/"+again.BatchID+"/rows", nil))
		got := map[bool]string{true: "public: ", false: "private: "}[b.IsPublic] + rows.Data[0].Name + ", " +
			rows.Data[1].Name
		if got != want {
			t.Errorf("%s: %s; want %s", body, got, want)
		}
	}
	r := h.as(h.key, "POST", path, `{"name":" ","params":{}}`)
	if r.status != 400 || r.message(t) != "name is required and must not be empty" {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// A row of a batch is run again by the model of the batch alone.
func TestRowIsRunAgainByTheModelOfTheBatch(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	other := testModel
	other.Name = "other"
	h.register(testModel, other) // before the server reads what there is
	read[api.CreatedBatch](t, h.as(h.key, "POST", "/v1/batches", trpBatch))
	h.advanceBatches()
	task := h.claim()
	h.finish(task)
	path := "/v1/jobs/" + string(task.Fold.Job) + "/runs"
	r := h.as(h.key, "POST", path, `{"params":{"modelName":"other"}}`)
	if r.status != 409 ||
		r.message(t) != `the job is a row of a batch, whose rows have one model, "mini"; run the batch `+
			"again with other parameters, or create a new job" {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := h.as(h.key, "POST", path, `{"params":{"seed":"2"}}`); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// HEAD of a file of a batch has the header alone, and reads no rows for it.
func TestHeadOfBatchFiles(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	created := read[api.CreatedBatch](t, h.as(h.key, "POST", "/v1/batches", trpBatch))
	h.advanceBatches()
	h.finish(h.claim())
	for _, name := range []string{"table.csv", "table.jsonl", "table.parquet", "archive.zip"} {
		path := "/v1/batches/" + created.BatchID + "/" + name
		whole := h.as(h.key, "GET", path, nil)
		head := h.as(h.key, "HEAD", path, nil, "X-Request-ID", name)
		if head.status != 200 || head.header.Get("Content-Type") != whole.header.Get("Content-Type") ||
			head.header.Get("Content-Disposition") != whole.header.Get("Content-Disposition") {
			t.Errorf("%s: %d %v, but GET has %v", name, head.status, head.header, whole.header)
		}
		if line := h.logLine(name); !strings.Contains(line, " bytes=0 ") {
			t.Errorf("%s: a body was made: %s", name, line)
		}
	}
	if r := h.as(h.key, "HEAD", "/v1/batches/"+created.BatchID+"/table.csv?sort=x", nil); r.status != 400 {
		t.Errorf("a wrong query: %d", r.status)
	}
}

// The files of a batch hold the rows that the filter selects; the archive their structures.
func TestBatchFiles(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	var jobs []string
	for i := range 3 {
		jobs = append(jobs, fmt.Sprintf(`{"customId":"../%d","sequences":[{"proteinChain":{"sequence":"GSGSG%s"}}]}`, i,
			strings.Repeat("A", i)))
	}
	created := read[api.CreatedBatch](t, h.as(h.key, "POST", "/v1/batches",
		`{"name":"files","kind":"list","params":{"modelName":"mini","seed":"1"},"jobs":[`+strings.Join(jobs, ",")+`]}`))
	h.advanceBatches()
	for range 2 {
		h.finish(h.claim())
	}
	path := "/v1/batches/" + created.BatchID
	r := h.as(h.key, "GET", path+"/table.csv?filter=status=COMPLETED", nil)
	records, err := csv.NewReader(strings.NewReader(r.body)).ReadAll()
	if err != nil || len(records) != 3 || records[1][1] != "../0" {
		t.Errorf("%v %q", err, records)
	}
	r = h.as(h.key, "GET", path+"/archive.zip", nil)
	z, err := zip.NewReader(bytes.NewReader([]byte(r.body)), int64(len(r.body)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
		if strings.Contains(f.Name, "..") {
			t.Errorf("%s leaves the folder", f.Name)
		}
	}
	if len(names) != 2 || !strings.HasPrefix(names[0], "1-0/") || !strings.HasPrefix(names[1], "2-1/") {
		t.Errorf("%q", names)
	}
}
