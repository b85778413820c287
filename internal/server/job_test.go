package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pleat"
	"pleat/api"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
)

var update = os.Getenv("UPDATE_GOLDEN") != ""

// golden compares with a file in testdata, which UPDATE_GOLDEN=1 writes anew.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

var volatile = []struct{ re, with string }{
	{`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`, "UUID"},
	{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}`, "TIME"},
	{`http://127\.0\.0\.1:\d+`, "http://HOST"},
	{`\?e=\d+&s=[^"]+`, "?e=END&s=SIGNATURE"},
	{`\?s=[^"]+`, "?s=SIGNATURE"},
	{`((?:executionTimeInMinutes|execution_time_in_minutes|executionSeconds)": )[0-9.e-]+`, "${1}0"},
}

// steady takes from an answer what differs between runs.
func steady(t *testing.T, body string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(body), "", "  "); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	s := b.String()
	for _, v := range volatile {
		s = regexp.MustCompile(v.re).ReplaceAllString(s, v.with)
	}
	return s
}

// The main road: the answers of the interface, letter by letter.
func TestResultsOnTheWire(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	created := h.as(h.key, "POST", "/v1/jobs", trp)
	golden(t, "created.json", steady(t, created.body))
	var j api.CreatedJob
	if err := json.Unmarshal([]byte(created.body), &j); err != nil {
		t.Fatal(err)
	}
	path := "/v1/jobs/" + j.JobID
	golden(t, "waiting.json", steady(t, h.as(h.key, "GET", path+"/results", nil).body))
	c := h.claim()
	if got := h.results(h.key, j.JobID); got.Job.Status != api.Running || got.Prediction.JobRunStatus != api.Running ||
		got.Prediction.Prediction {
		t.Errorf("running: %+v", got)
	}
	h.finish(c)
	done := h.as(h.key, "GET", path+"/results", nil)
	golden(t, "completed.json", steady(t, done.body))
	golden(t, "view.json", steady(t, h.as(h.key, "GET", path, nil).body))
	if again := h.as(h.key, "GET", path+"/results", nil); again.body != done.body {
		t.Error("the second read differs from the first")
	}
	if got := h.as(h.key, "GET", "/metrics", nil).body; !strings.Contains(got, "pleat_results_cached_total 1") {
		t.Error("the second read did not come from the cache")
	}
}

// A complex has one payload; its items have none.
func TestComplexResults(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	j := h.create(`{"name":"pair","sequences":[{"proteinChain":{"sequence":"ACDEF","count":2}},` +
		`{"ligandSequence":{"sequence":"CCO","property_type":"affinity"}}],"params":{"modelName":"big"},
		"constraints":{"contact":[{"chainA":"A","res_idxA":1,"chainB":"B","res_idxB":5,"distance":8.5}],` +
		`"pocket":[{"binder":{"chain_id":"C"},"contacts":[{"chain_id":"A","res_idx":2}]}],
		"bond":[{"atom1":{"chain_id":"A","res_idx":2,"atom_name":"SG"},"atom2":{"chain_id":"B","res_idx":2,` +
		`"atom_name":"SG"}}]}}`)
	c := h.claim()
	err := h.store.Runs.FinishRun(context.Background(), tasks.LeaseOf(&c.Task), runs.RunFinished{
		State: pleat.StateCompleted,
		Result: &pleat.Result{
			Predictions: []pleat.Prediction{
				{Chains: []string{"A", "B", "C"}, MeanPLDDT: f(70), IPTM: f(.5), Affinity: &pleat.Affinity{
					Value: -1.5, Probability: .9,
				}},
			},
		},
		Artifacts: []pleat.Artifact{h.put(c.Fold.Run, pleat.Artifact{
			Kind: pleat.ArtifactCIF, Name: "complex.cif", ContentType: "chemical/x-mmcif",
		}, cif)},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := h.results(h.key, j.JobID)
	if !got.Job.IsComplex || got.Parameters.Count != 2 || len(got.SequencesIDs) != 2 ||
		got.Sequences[0].Prediction != nil {
		t.Errorf("%+v", got)
	}
	want := api.Prediction{
		PredictionStatus: api.Completed,
		JobRunStatus:     api.Completed,
		MSAStatus:        api.Pending,
		Prediction:       true,
		MeanPLLDT:        f(70),
		CIF:              &got.Artifacts[0].URL,
		IPTM:             f(.5),
		Affinity:         &api.Affinity{Value: -1.5, Probability: .9},
	}
	changing := cmpopts.IgnoreFields(api.Prediction{}, "Seed", "ExecutionMinutes", "ExecutionSnake")
	if d := cmp.Diff(want, got.Prediction, changing); d != "" {
		t.Error(d)
	}
	constraints := &api.Constraints{
		Pocket: []api.Pocket{{
			Binder:   api.ChainRef{ChainID: "C"},
			Contacts: []api.ResidueRef{{ChainID: "A", ResIdx: 2}},
		}},
		Bond: []api.Bond{{
			Atom1: api.AtomRef{ChainID: "A", ResIdx: 2, AtomName: "SG"},
			Atom2: api.AtomRef{ChainID: "B", ResIdx: 2, AtomName: "SG"},
		}},
		Contact: []api.Contact{{ChainA: "A", ResIdxA: 1, ChainB: "B", ResIdxB: 5, Distance: f(8.5)}},
	}
	if d := cmp.Diff(constraints, got.Constraints); d != "" {
		t.Error(d)
	}
}

func TestFailedRun(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	j := h.create(trp)
	c := h.claim()
	if err := h.store.Runs.FinishRun(context.Background(), tasks.LeaseOf(&c.Task), runs.RunFinished{
		State:   pleat.StateFailed,
		Failure: pleat.Failed(pleat.FailOOM, "out of memory at 20 residues"),
	}); err != nil {
		t.Fatal(err)
	}
	got := h.results(h.key, j.JobID)
	if p := got.Prediction; p.JobRunStatus != api.Failed || p.Prediction || p.Error == nil ||
		*p.Error != "out of memory at 20 residues" {
		t.Errorf("%+v", p)
	}
	v, err := h.client(h.key).Job(context.Background(), j.JobID)
	if err != nil || v.Run.Failure == nil || v.Run.Failure.Kind != "oom" {
		t.Errorf("%+v %v", v.Run, err)
	}
}

// The readers of jobs. Ben owns nothing here.
func TestVisibility(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	_, ben := h.newUser("ben")
	private := h.completed(
		strings.Replace(trp, `"params"`,
			`"constraints":{"webhooks":{"qna":{"enabled":true,"initial_question":"why?"}}},"params"`, 1)).JobID
	public := h.completed(
		strings.Replace(trp, `"params"`,
			`"isPublic":true,"chatId":"11111111-2222-4333-8444-555555555555",`+
				`"constraints":{"webhooks":{"evolla":{"enabled":false}}},"params"`, 1)).JobID
	none := "01234567-89ab-7def-8123-456789abcdef"
	for _, c := range []struct {
		who, key, job string
		want          int
	}{
		{"owner", h.key, private, 200}, {"owner", h.key, public, 200}, {"owner", h.key, none, 404},
		{"stranger", ben, private, 404}, {"stranger", ben, public, 200}, {"stranger", ben, none, 404},
		{"nobody", "", private, 401}, {"nobody", "", public, 200}, {"nobody", "", none, 404},
		{"bad key", "nonsense", private, 401}, {"bad key", "nonsense", public, 200}, {"bad key", "nonsense", none, 401},
	} {
		for _, path := range []string{"/results", "", "/events", "/archive.zip", "/export?format=boltz"} {
			var headers []string
			if c.key != "" {
				headers = []string{"X-API-Key", c.key}
			}
			if r := h.ask("GET", "/v1/jobs/"+c.job+path, nil, headers...); r.status != c.want {
				t.Errorf("%s, %q: %d %s, want %d", c.who, path, r.status, r.body, c.want)
			}
		}
		// acting is for owners alone
		if c.who == "owner" {
			continue
		}
		want := 404
		if c.key == "" || c.key == "nonsense" {
			want = 401
		}
		for _, act := range []string{"POST /cancel", "POST /runs", "DELETE ", "PATCH /public"} {
			method, path, _ := strings.Cut(act, " ")
			var body any
			if method == "PATCH" {
				body = `{"isPublic":true}`
			}
			if r := h.as(c.key, method, "/v1/jobs/"+c.job+path, body); r.status != want {
				t.Errorf("%s, %s: %d %s, want %d", c.who, act, r.status, r.body, want)
			}
		}
	}
	if r := h.ask("GET", "/v1/jobs/"+public+"/results", nil); strings.Contains(r.body, "webhooks") {
		t.Error("the anonymous see webhooks")
	}
	if r := h.ask("GET", "/v1/jobs/"+public, nil); strings.Contains(r.body, "webhooks") ||
		strings.Contains(r.body, "11111111") {
		t.Error("the anonymous see webhooks or the chat")
	}
	if r := h.as(h.key, "GET", "/v1/jobs/"+public+"/results", nil); !strings.Contains(r.body,
		`"webhooks":{"evolla":{"enabled":false}}`) {
		t.Errorf("the owner does not see webhooks: %s", r.body)
	}
	if r := h.as(ben, "GET", "/v1/jobs", nil); strings.Contains(r.body, "Trp-cage") {
		t.Error("a stranger's list shows the job")
	}
}

func TestListing(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := context.Background()
	var want []string
	for i := range 7 {
		j := h.create(strings.Replace(trp, "Trp-cage", fmt.Sprintf("Fold %d_%%", i), 1))
		want = append([]string{j.JobID}, want...)
	}
	h.finish(h.claim())
	c := h.client(h.key)
	var got []string
	filter := api.JobsFilter{Limit: 3}
	for pages := 0; ; pages++ {
		list, err := c.Jobs(ctx, filter)
		if err != nil || pages > 3 {
			t.Fatal(err, pages)
		}
		for _, r := range list.Data {
			got = append(got, r.ID)
		}
		if list.NextCursor == nil {
			break
		}
		filter.Cursor = *list.NextCursor
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	one, err := c.Jobs(ctx, api.JobsFilter{Status: api.Completed})
	if err != nil || len(one.Data) != 1 || *one.Data[0].MeanPLLDT != 81.5 || one.Data[0].FinishedAt == nil {
		t.Errorf("%+v %v", one, err)
	}
	named, err := c.Jobs(ctx, api.JobsFilter{Query: "fOLD 3_%"})
	if err != nil || len(named.Data) != 1 || named.Data[0].Name != "Fold 3_%" {
		t.Errorf("%+v %v", named, err)
	}
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := context.Background()
	first := h.as(h.key, "POST", "/v1/jobs", trp, "Idempotency-Key", "k1")
	// the same request, its keys in another order
	same := h.as(h.key, "POST", "/v1/jobs",
		`{"params":{"seed":"7","modelName":"mini"},"sequences":[{"proteinChain":{"label":"cage",`+
			`"sequence":"DAYAQWLKDGGPSSGRPPPS"}}],"name":"Trp-cage"}`, "Idempotency-Key", "k1")
	if first.body != same.body || same.status != 200 {
		t.Errorf("%d\n%s\n%s", same.status, first.body, same.body)
	}
	other := h.as(h.key, "POST", "/v1/jobs", strings.Replace(trp, "Trp", "Trq", 1), "Idempotency-Key", "k1")
	if other.status != 409 {
		t.Errorf("another body: %d", other.status)
	}
	if r := h.as(h.key, "POST", "/v1/jobs?from="+h.item(h.key, "x", ""), trp, "Idempotency-Key",
		"k1"); r.status != 409 {
		t.Errorf("another library item: %d", r.status)
	}
	if u, err := h.client(h.key).Usage(ctx); err != nil || u.Used != 1 {
		t.Errorf("used %d, want 1: %v", u.Used, err)
	}
	_, ben := h.newUser("ben")
	if r := h.as(ben, "POST", "/v1/jobs", trp, "Idempotency-Key", "k1"); r.status != 200 || r.body == first.body {
		t.Errorf("another user's key: %d", r.status)
	}
}

// The quota is exact under concurrency, refusals cost nothing and say what the interface says.
func TestQuota(t *testing.T) {
	t.Parallel()
	h := newLimitedFixture(t, people.Limits{Jobs: 5})
	for range 10 {
		if r := h.as(h.key, "POST", "/v1/jobs", strings.Replace(trp, "mini", "minx", 1)); r.status != 400 {
			t.Fatal(r.status)
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	count := map[int]int{}
	for range 12 {
		wg.Go(func() {
			r := h.as(h.key, "POST", "/v1/jobs", trp)
			mu.Lock()
			count[r.status]++
			mu.Unlock()
		})
	}
	wg.Wait()
	if count[200] != 5 || count[429] != 7 {
		t.Errorf("%v", count)
	}
	r := h.as(h.key, "POST", "/v1/jobs", trp)
	if got := r.message(t); r.status != 429 ||
		got != "Daily quota exceeded. Limit: 5 calls per day. Current: 5 calls." {
		t.Errorf("%d %s", r.status, got)
	}
	wait, err := strconv.Atoi(r.header.Get("Retry-After"))
	if err != nil || wait < 1 || wait > 86400 {
		t.Errorf("Retry-After %q", r.header.Get("Retry-After"))
	}
	if r.header.Get("X-RateLimit-Limit") != "5" || r.header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("%v", r.header)
	}
	reset, err := strconv.ParseInt(r.header.Get("X-RateLimit-Reset"), 10, 64)
	if at := time.Unix(reset, 0).UTC(); err != nil || at.Hour() != 0 || at.Minute() != 0 || at.Before(time.Now()) {
		t.Errorf("X-RateLimit-Reset %v", at)
	}
	v, err := h.client(h.key).Validate(context.Background(), mustJob(t, trp))
	if err != nil || v.Valid || len(v.Errors) != 1 || !strings.HasPrefix(v.Errors[0].Message, "Daily quota") {
		t.Errorf("%+v %v", v, err)
	}
	h.clock.Advance(24 * time.Hour)
	h.register(testModel)
	if r := h.as(h.key, "POST", "/v1/jobs", trp); r.status != 200 || r.header.Get("X-RateLimit-Remaining") != "4" {
		t.Errorf("the next day: %d %s", r.status, r.body)
	}
}

func mustJob(t *testing.T, body string) api.CreateJob {
	t.Helper()
	var v api.CreateJob
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSeed(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	seeds := map[string]bool{}
	for range 4 {
		j := h.create(strings.Replace(trp, `,"seed":"7"`, ``, 1))
		s := h.results(h.key, j.JobID).Prediction.Seed
		if n, err := strconv.ParseUint(s, 10, 32); err != nil {
			t.Errorf("seed %q: %v, %d", s, err, n)
		}
		seeds[s] = true
	}
	if len(seeds) < 2 {
		t.Error("the same seed each time")
	}
	if s := h.results(h.key, h.create(strings.Replace(trp, `"7"`, `"007"`, 1)).JobID).Prediction.Seed; s != "7" {
		t.Errorf("seed %q, want 7", s)
	}
}

func TestCancelRerunDelete(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := context.Background(), h.client(h.key)
	j := h.create(trp)
	if got, err := c.Cancel(ctx, j.JobID); err != nil || got.JobStatus != api.Stopped {
		t.Fatalf("%+v %v", got, err)
	}
	if r := h.as(h.key, "POST", "/v1/jobs/"+j.JobID+"/cancel", nil); r.status != 409 {
		t.Errorf("cancel twice: %d %s", r.status, r.body)
	}
	steps, seed := int64(50), "9"
	again, err := c.Rerun(ctx, j.JobID, &api.Params{ModelName: "mini", SamplingSteps: &steps, Seed: &seed},
		api.RerunOptions{})
	want := j
	want.JobRunID = again.JobRunID
	if d := cmp.Diff(want, again); d != "" || err != nil || again.JobRunID == j.JobRunID {
		t.Fatalf("run %s after %s: %v\n%s", again.JobRunID, j.JobRunID, err, d)
	}
	var refused *api.Error
	if _, err := c.Rerun(ctx, j.JobID, nil, api.RerunOptions{}); !errors.As(err, &refused) || refused.Status != 409 {
		t.Errorf("run again while it waits: %v", err)
	}
	v, err := c.Job(ctx, j.JobID)
	if err != nil || v.Run.Number != 2 || v.Run.Seed != "9" || len(v.Runs) != 2 || v.Params["samplingSteps"] != 50. {
		t.Errorf("%+v %v", v, err)
	}
	position := 1
	if d := cmp.Diff(api.RunProgress{Stage: "queued", QueuePosition: &position}, v.Progress); d != "" {
		t.Error(d)
	}
	h.finish(h.claim())
	// no body, no Content-Type: the job's own parameters
	if r := h.as(h.key, "POST", "/v1/jobs/"+j.JobID+"/runs", nil); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if v, err = c.Job(ctx, j.JobID); err != nil || v.Run.Number != 3 || v.Params["samplingSteps"] != 50. {
		t.Errorf("%+v %v", v.Run, err)
	}
	if u, err := c.Usage(ctx); err != nil || u.Used != 3 || u.Remaining != 997 {
		t.Errorf("%+v %v", u, err)
	}
	if got, err := c.Delete(ctx, j.JobID); err != nil || !got.Deleted {
		t.Fatal(err)
	}
	for _, path := range []string{"", "/results", "/events"} {
		if r := h.as(h.key, "GET", "/v1/jobs/"+j.JobID+path, nil); r.status != 404 || r.message(t) != "Job not found" {
			t.Errorf("%s after deletion: %d", path, r.status)
		}
	}
	if r := h.as(h.key, "DELETE", "/v1/jobs/"+j.JobID, nil); r.status != 404 {
		t.Errorf("delete twice: %d", r.status)
	}
}

// Earlier runs keep their results, and only the owner reads them.
func TestEarlierRuns(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := context.Background(), h.client(h.key)
	j := h.completed(strings.Replace(trp, `"name"`, `"isPublic":true,"name"`, 1))
	first := h.results(h.key, j.JobID)
	seed := "9"
	again, err := c.Rerun(ctx, j.JobID, &api.Params{ModelName: "mini", Seed: &seed}, api.RerunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	of := "?jobRunId=" + j.JobRunID
	read := func(when string) {
		t.Helper()
		got, err := c.RunResults(ctx, j.JobID, j.JobRunID)
		if err != nil || got.JobRunID != j.JobRunID || got.Job.JobRunID != again.JobRunID ||
			got.Prediction.PredictionStatus != api.Completed {
			t.Errorf("%s: %+v %v", when, got, err)
		}
		if d := cmp.Diff(first.Artifacts, got.Artifacts); d != "" || len(got.Artifacts) == 0 {
			t.Errorf("%s: %s", when, d)
		}
		var v api.JobView
		if err := json.Unmarshal([]byte(h.as(h.key, "GET", "/v1/jobs/"+j.JobID+of, nil).body), &v); err != nil {
			t.Fatal(err)
		}
		if v.Run.ID != j.JobRunID || len(v.Predictions) != 1 || v.Run.MeanPLDDT == nil || v.Params["seed"] == "9" {
			t.Errorf("%s: %+v", when, v)
		}
		if r := h.as(h.key, "GET", "/v1/jobs/"+j.JobID+"/archive.zip"+of, nil); r.body != "PK-zip" {
			t.Errorf("%s: %d %s", when, r.status, r.body)
		}
	}
	read("while the second run waits")
	h.finish(h.claim())
	read("after the second run")
	if got := h.results(h.key, j.JobID); got.JobRunID != again.JobRunID || got.Prediction.Seed != "9" {
		t.Errorf("the latest: %+v", got)
	}
	_, stranger := h.newUser("bob")
	other := h.completed(trp)
	for _, r := range []struct {
		key, job, query, message string
		status                   int
	}{
		{stranger, j.JobID, of, "Run not found", 404},
		{"", j.JobID, of, "Run not found", 404},
		{stranger, j.JobID, "?jobRunId=" + again.JobRunID, "", 200},
		{stranger, j.JobID, "", "", 200},
		{h.key, other.JobID, of, "Run not found", 404},
		{h.key, j.JobID, "?jobRunId=2", `jobRunId is "2"; it must be a UUID`, 400},
	} {
		for _, path := range []string{"", "/results", "/archive.zip"} {
			got := h.as(r.key, "GET", "/v1/jobs/"+r.job+path+r.query, nil)
			if got.status != r.status || r.message != "" && got.message(t) != r.message {
				t.Errorf("%+v %s: %d %s", r, path, got.status, got.body)
			}
		}
	}
}

// The items that a job shows make the same job again.
func TestItemsComeBack(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	const sequences = `[{"proteinChain":{"sequence":"ACDEFGHIK","chain_id":"P","label":"bait","count":2,` +
		`"cyclic":true,"modifications":[{"res_idx":2,"ccd":"CSO"}]},
		"sourceSequenceId":"018f4c1a-5b1c-7d9e-8a54-1c0a3f2b9d10"},{"rnaSequence":{"sequence":"ACGU"}},` +
		`{"dnaSequence":{"sequence":"ACGT"}},
		{"ligandSequence":{"sequence":"ATP","is_ccd":true,"property_type":"affinity"}},` +
		`{"ligandSequence":{"sequence":"CCO","label":"ethanol"}}]`
	j := h.create(`{"name":"x","sequences":` + sequences + `,"params":{"modelName":"big"}}`)
	var want, got []api.SequenceItem
	if err := json.Unmarshal([]byte(sequences), &want); err != nil {
		t.Fatal(err)
	}
	var v api.JobView
	if err := json.Unmarshal([]byte(h.as(h.key, "GET", "/v1/jobs/"+j.JobID, nil).body), &v); err != nil {
		t.Fatal(err)
	}
	for i := range v.Sequences {
		got = append(got, v.Sequences[i].Item)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAssociations(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	const chat = "11111111-2222-4333-8444-555555555555"
	item := h.item(h.key, "x", "")
	c := h.client(h.key)
	in := mustJob(t, trp)
	in.ChatID = chat
	j, err := c.CreateJob(context.Background(), in, api.CreateOptions{From: item, IdempotencyKey: "a"})
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.Job(context.Background(), j.JobID)
	if err != nil || v.Job.ChatID == nil || *v.Job.ChatID != chat || *v.Job.LibraryItemID != item || !v.Job.IsOwner {
		t.Errorf("%+v %v", v.Job, err)
	}
	_, ben := h.newUser("ben")
	if r := h.as(ben, "POST", "/v1/jobs?from="+item, trp); r.status != 404 || r.message(t) != "Library item not found" {
		t.Errorf("somebody else's item: %d %s", r.status, r.body)
	}
}

func TestWebhookSettings(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	with := func(hooks string) string {
		return strings.Replace(trp, `"params"`, `"constraints":{"webhooks":`+hooks+`},"params"`, 1)
	}
	// what is inside a destination is kept as given, secrets apart
	j := h.create(with(
		`{"openmm":{"enabled":true,"preset":"single_af_go","temp":300,"mine":[1]},"qna":null,` +
			`"custom_http":{"enabled":false,"target_url":"https://x.example","token_value":"hush"}}`))
	got := h.results(h.key, j.JobID)
	var hooks map[string]map[string]any
	if err := json.Unmarshal(got.Constraints.Webhooks, &hooks); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]map[string]any{"qna": nil, "custom_http": {"enabled": false},
		"openmm": {"enabled": true, "preset": "single_af_go", "temp": 300., "mine": []any{1.}}}, hooks); d != "" {
		t.Error(d)
	}
	if r := h.as(h.key, "POST", "/v1/jobs", with(`{"custom_http":{"enabled":true}}`)); r.status != 400 ||
		!strings.Contains(r.message(t), "PUT /v1/webhooks/custom-http-config") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if strings.Contains(h.log.String(), "hush") {
		t.Error("the log holds a token")
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := context.Background(), h.client(h.key)
	v, err := c.Validate(ctx, mustJob(t, strings.Replace(trp, "S\"", " s\"", 1)))
	if err != nil {
		t.Fatal(err)
	}
	want := api.Validation{
		Valid:      true,
		Errors:     []api.FieldError{},
		ModelName:  "mini",
		Params:     map[string]any{"seed": "7", "samplingSteps": 400.},
		Chains:     []api.ValidatedItem{{Type: "protein", Chains: []string{"A"}, Residues: 20, Tokens: 20}},
		Notes:      []string{},
		Tokens:     20,
		MaxTokens:  200,
		Memory:     1_000_200,
		Seconds:    11,
		Remaining:  1000,
		Confidence: "estimated",
		Notice:     "Short chains only.",
	}
	if d := cmp.Diff(want, v); d != "" {
		t.Error(d)
	}
	many, err := c.Validate(ctx,
		mustJob(t, `{"name":" ","sequences":[{"proteinChain":{"sequence":"ACDEB"}},`+
			`{"proteinChain":{"sequence":"ACDEF"}},{"proteinChain":{"sequence":"ACD"}},`+
			`{"rnaSequence":{"sequence":"ACGUA"}}],
		"params":{"modelName":"mini","samplingSteps":9999},"chatId":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, e := range many.Errors {
		fields = append(fields, e.Field)
	}
	if d := cmp.Diff([]string{"name", "chatId", "sequences[0].proteinChain.sequence", "sequences[3].rnaSequence",
		"sequences[2].proteinChain.sequence", "params.samplingSteps"}, fields); d != "" || many.Valid {
		t.Errorf("%s\n%+v", d, many.Errors)
	}
	unknown, err := c.Validate(ctx,
		mustJob(t, `{"name":"x","sequences":[{"proteinChain":{"sequence":"ACDEF"}}],"params":{"modelName":"minni"}}`))
	if err != nil || unknown.Valid || unknown.Errors[0].Field != "params.modelName" {
		t.Errorf("%+v %v", unknown, err)
	}
	// what is too much together is said once, with its own number
	large, err := c.Validate(ctx, mustJob(t, `{"name":"x","sequences":[{"proteinChain":{"sequence":"`+
		strings.Repeat("A", 1600)+`","count":2}},{"rnaSequence":{"sequence":"ACGU"}}],"params":{"modelName":"big"}}`))
	if err != nil || len(large.Errors) != 1 || !strings.Contains(large.Errors[0].Message, "the job has 3204 residues") {
		t.Errorf("%+v %v", large.Errors, err)
	}
	if list, err := c.Jobs(ctx, api.JobsFilter{}); err != nil || len(list.Data) != 0 {
		t.Error("validate created a job")
	}
	if u, err := c.Usage(ctx); err != nil || u.Used != 0 {
		t.Error("validate cost a call")
	}
	// what is valid is taken, and what is not is refused with the first of the sentences
	if r := h.as(h.key, "POST", "/v1/jobs", trp); r.status != http.StatusOK {
		t.Errorf("%d %s", r.status, r.body)
	}
}
