package mcp_test

import (
	"bufio"
	"encoding/base64"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pleat"
	"pleat/api"
	"pleat/internal/config"
	"pleat/internal/mcp"
)

// do sends a request and reads its response.
func do(t testing.TB, req *http.Request) (*http.Response, string) {
	t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

func TestModels(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.connect(t, s.key)
	type models struct {
		Models []struct {
			Name, Kind, Notice string
			Params             []struct{ Name string }
		}
	}
	var all []string
	for _, m := range call[models](c, "list_models", `{"kind": "fold"}`).Models {
		all = append(all, m.Name)
		if len(m.Params) > 0 || m.Kind != "fold" {
			t.Errorf("%s is %+v", m.Name, m)
		}
	}
	if slices.Sort(all); !cmp.Equal(all, []string{"mini", "null"}) {
		t.Errorf("the fold models are %v", all)
	}
	if one := call[models](c, "list_models", `{"name": "mini"}`); len(one.Models) != 1 || len(one.Models[0].Params) == 0 {
		t.Errorf("mini is %+v", one)
	}
	got := c.refuses("list_models", `{"name": "minni"}`)
	if got.Code != "invalid" || got.Field != "name" || !strings.Contains(got.Message, `did you mean "mini"?`) {
		t.Errorf("an unknown model is refused by %+v", got)
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.connect(t, s.key)
	checked := call[struct {
		Valid bool
		Cost  struct{ Tokens int }
	}](c, "validate", job("peptide", "mini", ""))
	if !checked.Valid || checked.Cost.Tokens != len(sequence) {
		t.Errorf("validate says %+v", checked)
	}
	w := c.folded("peptide")
	if w.Scores == nil || w.Scores.MeanPLDDT == nil ||
		!slices.Contains(w.Files, "model.cif") {
		t.Fatalf("the fold is %+v", w)
	}
	own, err := s.client().Job(t.Context(), w.ID)
	if err != nil {
		t.Fatal(err)
	}
	scores := call[struct {
		Structures []struct{ MeanPLDDT *float64 }
	}](c, "get_scores", `{"jobId": "`+w.ID+`"}`)
	if len(scores.Structures) != 1 || *scores.Structures[0].MeanPLDDT != *own.Predictions[0].MeanPLLDT {
		t.Errorf("the scores are %+v; the service has %v", scores, *own.Predictions[0].MeanPLLDT)
	}
	asked := call[work](c, "ask", `{"source_job_id": "`+w.ID+`", "question": "How many residues does it have?"}`)
	if asked.Kind != "workflow" || asked.Answer == nil || !strings.Contains(*asked.Answer, "6") {
		t.Errorf("the answer is %+v", asked)
	}
	residues(c, w.ID)
}

// residues reads the residues of sequence in parts.
func residues(c *agent, id string) {
	c.t.Helper()
	type page struct {
		Chain    string
		Length   int
		Residues []struct {
			N     int
			PLDDT float64
		}
		NextFrom *int
	}
	args := `{"jobId": "` + id + `", `
	first := call[page](c, "get_residues", args+`"limit": 4}`)
	if first.Chain != "A" || first.Length != len(sequence) || len(first.Residues) != 4 || first.NextFrom == nil ||
		*first.NextFrom != 5 {
		c.t.Fatalf("the first page is %+v", first)
	}
	rest := call[page](c, "get_residues", args+`"from": 5}`)
	if len(rest.Residues) != 2 || rest.Residues[0].N != 5 || rest.NextFrom != nil {
		c.t.Errorf("the rest is %+v", rest)
	}
	all := append(first.Residues, rest.Residues...)
	slices.SortFunc(all, func(a, b struct {
		N     int
		PLDDT float64
	}) int {
		return int(100 * (a.PLDDT - b.PLDDT))
	})
	below := call[page](c, "get_residues", args+`"below": `+string(encode(c.t, all[3].PLDDT))+`}`)
	for _, r := range below.Residues {
		if r.PLDDT >= all[3].PLDDT {
			c.t.Errorf("residue %d has %v, which is not below %v", r.N, r.PLDDT, all[3].PLDDT)
		}
	}
	for args, field := range map[string]string{`"chain": "Z"`: "chain", `"structure": 2`: "structure",
		`"from": 7`: "from", `"limit": 201`: "limit"} {
		if got := c.refuses("get_residues", `{"jobId": "`+id+`", `+args+`}`); got.Field != field {
			c.t.Errorf("%s is refused by %+v", args, got)
		}
	}
}

// A refusal is the service's own: its sentence, its code and its field.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.connect(t, s.key)
	_, err := s.client().CreateJob(t.Context(), api.CreateJob{Name: "x", Params: &api.Params{ModelName: "minni"},
		Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: "ACD"}}}}, api.CreateOptions{})
	own := err.(*api.Error)
	got := c.refuses("fold", `{"name":"x","params":{"modelName":"minni"},"sequences":[{"proteinChain":{"sequence":"ACD"}}]}`)
	if d := cmp.Diff(refusal{"invalid", own.Faults[0].Field, own.Message, 400, own.Faults}, got); d != "" {
		t.Errorf("the service (-) and the tool (+) differ:\n%s", d)
	}
	const nobody = "01890a5d-ac96-774b-bcce-b302099a8057"
	for _, test := range []struct {
		tool, arguments, code, field, message string
	}{
		{"fold", `{"name": "x", "sequenses": []}`, "invalid", "sequenses", `did you mean "sequences"?`},
		{"fold", `[]`, "invalid", "", "the arguments must be"},
		{"fold", job("x", "null", `, "waitSeconds": 21`), "invalid", "waitSeconds", "it must be 0 to 20"},
		{"get_job", `{"id": "` + nobody + `"}`, "not_found", "", "Job not found"},
		{"get_job", `{"id": "` + nobody + `", "kind": "batch"}`, "not_found", "", ""},
		{"get_job", `{"id": "../keys"}`, "invalid", "id", `"../keys"; it must be a UUID`},
		{"get_job", `{"id": "` + nobody + `", "kind": "key"}`, "invalid", "kind", "job, workflow or batch"},
		{"get_scores", `{"jobId": "1"}`, "invalid", "jobId", "UUID"},
		{"list_jobs", `{"status": "HAPPY"}`, "invalid", "status", "HAPPY"},
		{"list_jobs", `{"limit": 51}`, "invalid", "limit", "1 to 50"},
		{"ask", `{"source_job_id": "` + nobody + `", "question": "Why?"}`, "not_found", "", "Job not found"},
		{"simulate", `{"sequence": "GSGSGS", "sim_length_ns": -1}`, "invalid", "workflow_input.sim_length_ns", ""},
		{"design", `{"target": {"sequence": "ACDEFGHIKL"}}`, "invalid", "workflow_name", "boltzgen"},
		{"design", `{"target": {"pdbId": "1igy"}, "numbering": "author", "epitope": [{"chain_id": "H", "res_idx": ["82A", "H82"]}]}`,
			"invalid", "workflow_input.epitope[0].res_idx[1]", `"H82"; it must be a whole number, or a text such as "52A"`},
		{"batch_rows", `{"batchId": "1"}`, "invalid", "batchId", "UUID"},
		{"cancel", `{"id": "` + nobody + `"}`, "not_found", "", "Job not found"},
		{"get_file", `{"id": "` + nobody + `", "name": "model.cif"}`, "not_found", "", "Job not found"},
		{"submit_batch", `{"name": "x", "kind": "lots", "params": {"modelName": "null"}}`, "invalid", "kind", "list"},
		{"submit_batch", `{"name": "x", "kind": "lots", "params": {"modelName": "null"}, "checkOnly": true}`, "invalid",
			"kind", "list"},
	} {
		got := c.refuses(test.tool, test.arguments)
		if got.Code != test.code || got.Field != test.field || !strings.Contains(got.Message, test.message) {
			t.Errorf("%s %s is refused by %+v", test.tool, test.arguments, got)
		}
	}
}

func TestQuota(t *testing.T) {
	t.Parallel()
	s := alone(t, func(c *config.Config) { c.Quota, c.Engines = 1, []string{"null"} })
	c := s.connect(t, s.key)
	if w := call[work](c, "fold", job("first", "null", "")); w.Status != api.Completed || w.Cost == nil || w.Cost.QuotaRemaining != 1 || w.Cost.Tokens != len(sequence) {
		t.Errorf("the cost is %+v", w.Cost)
	}
	got := c.refuses("fold", job("second", "null", ""))
	if got.Code != "limited" || got.Status != http.StatusTooManyRequests ||
		!strings.HasPrefix(got.Message, "Daily quota exceeded") {
		t.Errorf("a fold above the quota is refused by %+v", got)
	}
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.connect(t, s.key)
	first := call[work](c, "fold", job("once", "null", `, "idempotencyKey": "a"`))
	if again := call[work](c, "fold", job("once", "null", `, "idempotencyKey": "a"`)); again.ID != first.ID {
		t.Errorf("the same key made %s and %s", first.ID, again.ID)
	}
	if other := call[work](c, "fold", job("once", "null", "")); other.ID == first.ID || other.IdempotencyKey == "" {
		t.Errorf("without a key the fold is %+v", other)
	}
	if got := c.refuses("fold", job("another", "null", `, "idempotencyKey": "a"`)); got.Code != "conflict" {
		t.Errorf("another job under the key is refused by %+v", got)
	}
	const run = `{"sequence": "GSGSGS", "sim_length_ns": 0.01, "step_size_ns": 0.001, "waitSeconds": 0, "idempotencyKey": "b"}`
	started := call[work](c, "simulate", run)
	if again := call[work](c, "simulate", run); again.ID != started.ID || again.IdempotencyKey != "b" {
		t.Errorf("the same key made the simulations %s and %+v", started.ID, again)
	}
	if got := c.refuses("simulate", strings.Replace(run, "GSGSGS", "GSGSGSGS", 1)); got.Code != "conflict" {
		t.Errorf("another simulation under the key is refused by %+v", got)
	}
}

// A key needs for a tool what it needs for the routes that the tool calls.
func TestScopes(t *testing.T) {
	t.Parallel()
	s := serve(t)
	reader := s.connect(t, s.newKey(t, "bob", pleat.ScopeRead))
	if got := reader.refuses("fold", job("x", "null", "")); got.Code != "forbidden" {
		t.Errorf("a key that may only read is refused by %+v", got)
	}
	ended := strings.Replace(job("stop", "null", ""), sequence, sequence+"*", 1)
	stop := s.connect(t, s.newKey(t, "cara"))
	const note = "sequences[0].proteinChain.sequence: the end sign * was dropped"
	if v := call[struct{ Notes []string }](stop, "validate", ended); !slices.Equal(v.Notes, []string{note}) {
		t.Errorf("the check of a sequence that ends in * has the notes %q", v.Notes)
	}
	if w := call[work](stop, "fold", ended); len(w.Notes) == 0 || w.Notes[0] != note {
		t.Errorf("the fold of a sequence that ends in * has the notes %q", w.Notes)
	}
	submitter := s.connect(t, s.newKey(t, "bob", pleat.ScopeSubmit))
	w := call[work](submitter, "fold", job("unseen", "null", ""))
	if w.ID == "" || len(w.Notes) != 1 || !strings.Contains(w.Notes[0], "it needs the scope read") {
		t.Errorf("a fold that its key may not see is %+v", w)
	}
	if got := submitter.refuses("get_job", w.handle("")); got.Code != "forbidden" {
		t.Errorf("a key that may only submit is refused by %+v", got)
	}
	if seen := call[work](reader, "get_job", w.handle(`, "waitSeconds": 20`)); seen.Status != api.Completed {
		t.Errorf("the fold is %+v", seen)
	}
	stranger := s.connect(t, s.newKey(t, "eve"))
	for _, tool := range []string{"get_job", "cancel"} {
		if got := stranger.refuses(tool, w.handle("")); got.Code != "not_found" {
			t.Errorf("%s by a stranger is refused by %+v", tool, got)
		}
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.connect(t, s.newKey(t, "cleo")) // who has one batch
	batch := `{"name": "two", "kind": "variants", "params": {"modelName": "null"}, "mutations": ["WT", "G1A", "G1A"], ` +
		`"sequences": [{"proteinChain": {"sequence": "` + sequence + `"}}]`
	checked := call[work](c, "submit_batch", `{"name": "two", "kind": "seeds", "params": {"modelName": "null"}, `+
		`"seedCount": 2, "checkOnly": true, "sequences": [{"proteinChain": {"sequence": "`+sequence+`"}}]}`)
	if checked.ID != "" || checked.Cost == nil || checked.Cost.Rows != 2 || checked.Status != "NOT_STARTED" {
		t.Errorf("a batch that is only checked is %+v", checked)
	}
	if got := c.refuses("submit_batch", batch+`}`); got.Field != "mutations[2]" {
		t.Errorf("a repeated mutation is refused by %+v", got)
	}
	w := call[work](c, "submit_batch", strings.Replace(batch, `, "G1A"]`, "]", 1)+`}`)
	for !w.Ended {
		w = call[work](c, "get_job", w.handle(`, "waitSeconds": 20`))
	}
	if w.Counts[api.Completed] != 2 {
		t.Fatalf("the batch is %+v", w)
	}
	rows := call[struct {
		Columns []struct{ Name string }
		Rows    []struct {
			CustomID string
			JobID    *string
			Scores   map[string]*float64
		}
		NextCursor *string
	}](c, "batch_rows", `{"batchId": "`+w.ID+`", "limit": 1, "columns": ["meanPLDDT"]}`)
	if len(rows.Rows) != 1 || rows.Rows[0].CustomID != "WT" || rows.Rows[0].JobID == nil || rows.NextCursor == nil ||
		len(rows.Rows[0].Scores) != len(rows.Columns) {
		t.Errorf("the rows are %+v", rows)
	}
	file := call[part](c, "get_file", w.handle(`, "name": "table.csv"`))
	if file.Text == nil || !strings.Contains(*file.Text, "G1A") || file.NextOffset != nil {
		t.Errorf("the table is %+v", file)
	}
	listed := call[struct{ Data []work }](c, "list_jobs", `{"kind": "batch"}`)
	if len(listed.Data) == 0 || listed.Data[0].ID != w.ID {
		t.Errorf("the batches are %+v", listed)
	}
}

func TestSimulate(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.connect(t, s.key)
	w := call[work](c, "simulate",
		`{"sequence": "GSGSGSGSGS", "sim_length_ns": 0.02, "step_size_ns": 0.001, "seed": "1", "name": "short"}`)
	for !w.Ended {
		w = call[work](c, "get_job", w.handle(`, "waitSeconds": 20`))
	}
	if w.Status != api.Completed || w.Name != "short" || len(w.Files) == 0 {
		t.Fatalf("the simulation is %+v", w)
	}
	if n := len(w.Result); n < 100 || n > 20_000 {
		t.Errorf("the result has %d bytes: %.300s", n, w.Result)
	}
	if !strings.Contains(string(w.Result), "radius_of_gyration") || strings.Contains(string(w.Result), "http") {
		t.Errorf("the result is %.2000s", w.Result)
	}
	if got := call[part](c, "get_file", w.handle(`, "name": "`+w.Files[0]+`", "limit": 10`)); got.Bytes == nil {
		t.Errorf("%s is %+v", w.Files[0], got)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.connect(t, s.key)
	w := call[work](c, "fold", slow(`, "waitSeconds": 0`))
	if w.Ended {
		t.Fatalf("the fold is %+v", w)
	}
	call[work](c, "get_job", w.handle("")) // does not wait
	got := call[struct{ Kind, ID, Status string }](c, "cancel", w.handle(""))
	if got.ID != w.ID {
		t.Errorf("cancel says %+v", got)
	}
	if w = call[work](c, "get_job", w.handle(`, "waitSeconds": 20`)); w.Status != api.Stopped {
		t.Errorf("the cancelled job is %+v", w)
	}
	if got := c.refuses("cancel", w.handle("")); got.Code != "conflict" {
		t.Errorf("a job that has ended is refused by %+v", got)
	}
}

// part is the result of get_file.
type part struct {
	Name, MediaType, URL string
	Bytes                *int64
	Text                 *string
	NextOffset           *int64
}

func TestFiles(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.connect(t, s.key)
	w := c.folded("files")
	res := c.ask("get_job", w.handle(""))
	var cif *sdk.ResourceLink
	for _, content := range res.Content {
		if link, ok := content.(*sdk.ResourceLink); ok && link.Name == "model.cif" {
			cif = link
		}
	}
	if cif == nil || cif.URI != "pleat://jobs/"+w.ID+"/model.cif" || cif.Size == nil {
		t.Fatalf("the links are %+v", res.Content)
	}
	read, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: cif.URI})
	if err != nil {
		t.Fatal(err)
	}
	whole := read.Contents[0].Text
	if int64(len(whole)) != *cif.Size || !strings.HasPrefix(whole, "data_") {
		t.Errorf("the resource has %d bytes of %d", len(whole), *cif.Size)
	}
	joined, parts := "", 0
	for at := int64(0); ; parts++ {
		p := call[part](c, "get_file", w.handle(`, "name": "model.cif", "limit": 3000, "offset": `+string(encode(t, at))))
		joined += *p.Text
		if p.NextOffset == nil {
			break
		}
		at = *p.NextOffset
	}
	if joined != whole || parts < 2 {
		t.Errorf("%d parts have %d bytes; the file has %d", parts, len(joined), len(whole))
	}
	past := call[part](c, "get_file", w.handle(`, "name": "model.cif", "offset": 999999999`))
	if past.Text == nil || *past.Text != "" || past.NextOffset != nil {
		t.Errorf("past the end there is %+v", past)
	}
	if got := c.refuses("get_file", w.handle(`, "name": "modle.cif"`)); got.Code != "not_found" ||
		!strings.Contains(got.Message, `did you mean "model.cif"?`) {
		t.Errorf("a file that is not there is refused by %+v", got)
	}
	for _, uri := range []string{
		"pleat://jobs/" + w.ID + "/nothing", "pleat://jobs/" + w.ID + "/", "pleat://jobs/x/model.cif",
		"pleat://keys/" + w.ID + "/model.cif", "pleat://jobs/" + w.ID + "/../../keys", "file:///etc/passwd",
		"http://127.0.0.1/", "pleat://batches/" + w.ID + "/table.csv",
	} {
		if got, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s is %+v", uri, got)
		}
	}
	stranger := s.connect(t, s.newKey(t, "eve"))
	if got, err := stranger.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: cif.URI}); err == nil {
		t.Errorf("a stranger reads %+v", got)
	}
}

// A file that is not text is a blob, and get_file gives its address.
func TestBinaryFile(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.connect(t, s.key)
	w := c.folded("binary")
	at := slices.IndexFunc(w.Files, func(f string) bool { return strings.HasSuffix(f, ".png") })
	if at < 0 {
		t.Fatalf("the files are %v", w.Files)
	}
	p := call[part](c, "get_file", w.handle(`, "name": "`+w.Files[at]+`"`))
	if p.Text != nil || p.URL == "" {
		t.Fatalf("a picture is %+v", p)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, picture := do(t, req)
	read, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "pleat://jobs/" + w.ID + "/" + w.Files[at]})
	if err != nil {
		t.Fatal(err)
	}
	if got := read.Contents[0]; string(got.Blob) != picture || got.MIMEType != "image/png" {
		t.Errorf("the resource is %s of %d bytes: %s", got.MIMEType, len(got.Blob),
			base64.StdEncoding.EncodeToString(got.Blob[:min(20, len(got.Blob))]))
	}
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.connect(t, s.key)
	list, err := c.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Prompts {
		given := map[string]string{}
		for _, a := range p.Arguments {
			given[a.Name] = "given\u202eas " + a.Name
		}
		got, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: p.Name, Arguments: given})
		if err != nil {
			t.Fatal(err)
		}
		text := got.Messages[0].Content.(*sdk.TextContent).Text
		for _, a := range p.Arguments {
			if strings.Contains(text, "{"+a.Name+"}") || !strings.Contains(text, "given<U+202E>as "+a.Name) {
				t.Errorf("%s does not have its argument %s:\n%s", p.Name, a.Name, text)
			}
		}
		for _, tool := range []string{"list_models", "get_job"} {
			if !strings.Contains(text, tool) {
				t.Errorf("%s does not name %s", p.Name, tool)
			}
		}
		if _, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: p.Name}); err == nil {
			t.Errorf("%s does not need its arguments", p.Name)
		}
	}
}

// Over standard input and output the tools are the same.
func TestRun(t *testing.T) {
	t.Parallel()
	s := serve(t)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- mcp.Run(t.Context(), s.client(), in, out) }()
	c := newAgent(t, &sdk.IOTransport{Reader: fromServer, Writer: toServer})
	w := c.folded("stdio")
	p := call[part](c, "get_file", w.handle(`, "name": "model.cif", "limit": 5`))
	if p.Text == nil || *p.Text != "data_" {
		t.Errorf("the file is %+v", p)
	}
	remote, err := s.connect(t, s.key).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	local, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(encode(t, remote.Tools)), string(encode(t, local.Tools))); d != "" {
		t.Errorf("the tools of /mcp (-) and of pleat mcp (+) differ:\n%s", d)
	}
	_ = toServer.Close()
	if err := <-ended; err != nil {
		t.Errorf("pleat mcp ends with %v", err)
	}
}

// A line that is no message gets an error, and the next one its answer.
func TestRunAnswersEachLine(t *testing.T) {
	t.Parallel()
	const lines = "hello\n\n[]\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}` + "\r\n" +
		`{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n"
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	in, toServer := io.Pipe()
	go func() { ended <- mcp.Run(t.Context(), serve(t).client(), in, out) }()
	go func() { _, _ = io.WriteString(toServer, lines) }()
	answers := bufio.NewScanner(fromServer)
	for _, want := range []string{`"code":-32700`, `"code":-32600`, `"code":-32602`, `"id":2`} {
		if !answers.Scan() || !strings.Contains(answers.Text(), want) {
			t.Fatalf("%s, want %s, %v", answers.Text(), want, answers.Err())
		}
	}
	_ = toServer.Close()
	if err := <-ended; err != nil {
		t.Errorf("pleat mcp ends with %v", err)
	}
}
