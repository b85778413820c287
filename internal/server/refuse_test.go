package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pleat/api"
	"pleat/internal/blob"
	"pleat/internal/server"
	"pleat/internal/server/route"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
)

// zeros is a body of a length that is not kept in memory.
type zeros struct{ left int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.left)
	for i := range p[:n] {
		p[i] = ' '
	}
	z.left -= n
	return int(n), nil
}

// Every refusal, by real HTTP: its status and its whole sentence stand in testdata/refusals.txt.
func TestRefusals(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	job := func(seqs, params, rest string) string {
		return `{"name":"x","sequences":[` + seqs + `],"params":` + params + rest + `}`
	}
	const protein, mini, big = `{"proteinChain":{"sequence":"ACDEF"}}`, `{"modelName":"mini"}`, `{"modelName":"big"}`
	con := func(c string) string { return job(protein, big, `,"constraints":`+c) }
	id := h.completed(trp).JobID
	pair := h.completed(strings.Replace(trp, `}}],`, `}},`+protein+`],`, 1)).JobID
	waiting := h.create(trp).JobID
	good := []string{"Authorization", "Bearer " + h.key}
	other := []string{"Authorization", "Bearer " + h.userKey("ben")}
	var out strings.Builder
	for _, c := range []struct {
		name, method, path string
		body               any
		headers            []string
	}{
		{"no key", "POST", "/v1/jobs", trp, nil},
		{"bad key", "POST", "/v1/jobs", trp, []string{"Authorization", "Bearer nonsense"}},
		{"not bearer", "POST", "/v1/jobs", trp, []string{"Authorization", "Basic YTpi"}},
		{"a key without its scheme", "POST", "/v1/jobs", trp, []string{"Authorization", h.key}},
		{"a key with another scheme", "POST", "/v1/jobs", trp, []string{"Authorization", "Token " + h.key}},
		{"a token without its scheme", "POST", "/v1/jobs", trp, []string{"Authorization", "eyJh.eyJz.c2ln"}},
		{"the scheme twice", "POST", "/v1/jobs", trp, []string{"Authorization", "Bearer Bearer " + h.key}},
		{"a key in two parts", "POST", "/v1/jobs", trp, []string{"Authorization", "Bearer " + h.key[:9] + " " + h.key[9:]}},
		{"a key in quotation marks", "GET", "/v1/usage", nil, []string{"X-API-Key", `"` + h.key + `"`}},
		{"a token with many groups", "GET", "/v1/usage", nil,
			[]string{"Authorization", "Bearer a." + strings.Repeat("b", 20<<10) + ".c"}},
		{"a token larger than any header", "GET", "/v1/usage", nil,
			[]string{"Authorization", "Bearer a." + strings.Repeat("b", 33<<10) + ".c"}},
		{"cookies of others", "GET", "/v1/usage", nil, []string{"Cookie", "x=" + strings.Repeat("b", 33<<10)}},
		{"empty bearer", "POST", "/v1/jobs", trp, []string{"Authorization", "Bearer "}},
		{"bad X-API-Key", "GET", "/v1/usage", nil, []string{"X-API-Key", "nonsense"}},
		{"bad key where none is needed", "GET", "/v1/models", nil, []string{"X-API-Key", "nonsense"}},
		{"query with a NUL byte", "GET", "/v1/jobs?q=a%00b", nil, good},
		{"query with a NUL byte, where nothing is read of it", "GET", "/healthz?x=%00", nil, nil},
		{"label of a sequence with a control character", "POST", "/v1/jobs",
			job(`{"proteinChain":{"sequence":"ACDEF","label":"a\u001b[2Jb"}}`, mini, ""), good},
		{"origin of an item with a control character", "POST", "/v1/library/create",
			`{"name":"x","origin":"a\u0000b"}`, good},
		{"address and header too large", "GET", "/v1/jobs", nil,
			append([]string{"X-Large", strings.Repeat("x", 33<<10)}, good...)},
		{"query with half an escape", "GET", "/v1/jobs?q=%", nil, good},
		{"misspelt parameter of a query", "POST", "/v1/jobs?form=x", trp, good},
		{"unknown parameter of a query", "GET", "/v1/jobs?page=2", nil, good},
		{"parameter where there are none", "GET", "/v1/keys?day=1", nil, good},
		{"query with half an escape, where nothing is read of it", "GET", "/healthz?%zz", nil, nil},
		{"query with a semicolon", "GET", "/v1/jobs?limit=1;q=x", nil, good},
		{"no body", "POST", "/v1/jobs", nil, good},
		{"blank body", "POST", "/v1/jobs", " \n", good},
		{"not JSON", "POST", "/v1/jobs", "name=x", good},
		{"half a document", "POST", "/v1/jobs", `{"name": `, good},
		{"not labelled JSON", "POST", "/v1/jobs", trp, append(good, "Content-Type", "text/plain")},
		{"form", "POST", "/v1/jobs", "a=b", append(good, "Content-Type", "application/x-www-form-urlencoded")},
		{"no label", "POST", "/v1/jobs", trp, append(good, "Content-Type", "")},
		{"latin-1", "POST", "/v1/jobs", trp, append(good, "Content-Type", "application/json; charset=iso-8859-1")},
		{"compressed", "POST", "/v1/jobs", trp, append(good, "Content-Encoding", "gzip")},
		{"array", "POST", "/v1/jobs", "[]", good},
		{"null", "POST", "/v1/jobs", "null", good},
		{"empty object", "POST", "/v1/jobs", "{}", good},
		{"name is a number", "POST", "/v1/jobs", `{"name":5}`, good},
		{"name is null", "POST", "/v1/jobs", `{"name":null,"sequences":[` + protein + `],"params":` + mini + `}`, good},
		{"name is blank", "POST", "/v1/jobs", strings.Replace(trp, "Trp-cage", " ", 1), good},
		{"name is too long", "POST", "/v1/jobs", strings.Replace(trp, "Trp", strings.Repeat("é", 256), 1), good},
		{"name has a control character", "POST", "/v1/jobs", strings.Replace(trp, "Trp", `a\u0000b`, 1), good},
		{"isPublic is text", "POST", "/v1/jobs", `{"isPublic":"yes"}`, good},
		{"unknown field", "POST", "/v1/jobs", `{"title":"x"}`, good},
		{"unknown parameter", "POST", "/v1/jobs", job(protein, `{"model":"mini"}`, ""), good},
		{"duplicate key", "POST", "/v1/jobs", `{"name":"a","name":"b"}`, good},
		{"two documents", "POST", "/v1/jobs", trp + trp, good},
		{"two keys in an item", "POST", "/v1/jobs",
			job(`{"proteinChain":{"sequence":"A"},"ligandSequence":{"sequence":"C"}}`, mini, ""), good},
		{"no key in an item", "POST", "/v1/jobs", job(`{}`, mini, ""), good},
		{"item is null", "POST", "/v1/jobs", job(`null`, mini, ""), good},
		{"no sequences", "POST", "/v1/jobs", `{"name":"x","params":` + mini + `}`, good},
		{"sequences is empty", "POST", "/v1/jobs", job(``, mini, ""), good},
		{"empty sequence", "POST", "/v1/jobs", job(`{"proteinChain":{"sequence":""}}`, mini, ""), good},
		{"blank sequence", "POST", "/v1/jobs", job(`{"proteinChain":{"sequence":" \n"}}`, mini, ""), good},
		{"no sequence", "POST", "/v1/jobs", job(`{"proteinChain":{}}`, mini, ""), good},
		{"illegal letter", "POST", "/v1/jobs", job(protein+`,{"proteinChain":{"sequence":"ACD EFB"}}`, mini, ""), good},
		{"letter beyond ASCII", "POST", "/v1/jobs", job(`{"proteinChain":{"sequence":"ACDÉF"}}`, mini, ""), good},
		{"unknown residue", "POST", "/v1/jobs", job(`{"proteinChain":{"sequence":"ACXEF"}}`, mini, ""), good},
		{"T in RNA", "POST", "/v1/jobs", job(`{"rnaSequence":{"sequence":"ACGT"}}`, big, ""), good},
		{"100,000 residues", "POST", "/v1/jobs", job(`{"proteinChain":{"sequence":"`+strings.Repeat("A", 100_000)+`"}}`,
			mini, ""), good},
		{"too long for the model", "POST", "/v1/jobs",
			job(`{"proteinChain":{"sequence":"`+strings.Repeat("A", 201)+`"}}`, mini, ""), good},
		{"too short for the model", "POST", "/v1/jobs", job(`{"proteinChain":{"sequence":"AAAA"}}`, mini, ""), good},
		{"too many tokens", "POST", "/v1/jobs",
			job(`{"proteinChain":{"sequence":"ACDEF","count":500}},{"proteinChain":{"sequence":"`+
				strings.Repeat("A", 1000)+`"}}`, big, ""), good},
		{"10,000 items", "POST", "/v1/jobs", job(strings.Repeat(protein+",", 9999)+protein, mini, ""), good},
		{"257 items", "POST", "/v1/jobs", job(strings.Repeat(protein+",", 256)+protein, mini, ""), good},
		{"20 MB body", "POST", "/v1/jobs", &zeros{20 << 20}, good},
		{"body over the bound", "POST", "/v1/jobs", strings.Repeat(" ", 10_000_001), good},
		{"small body over its bound", "POST", "/v1/keys", strings.Repeat(" ", 65<<10), good},
		{"deep nesting", "POST", "/v1/jobs", `{"constraints":{"webhooks":` + strings.Repeat(`{"a":`, 50_000), good},
		{"deep lists", "POST", "/v1/jobs",
			`{"name":"x","sequences":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, good},
		{"deep webhooks", "POST", "/v1/jobs",
			job(protein, mini, `,"constraints":{"webhooks":{"qna":{"enabled":true,"x":`+strings.Repeat("[", 30)+
				strings.Repeat("]", 30)+`}}}`), good},
		{"invalid UTF-8", "POST", "/v1/jobs", "{\"name\":\"a\xff\"}", good},
		{"half a surrogate", "POST", "/v1/jobs", `{"name":"\ud800"}`, good},
		{"no params", "POST", "/v1/jobs", `{"name":"x","sequences":[` + protein + `]}`, good},
		{"no model", "POST", "/v1/jobs", job(protein, `{}`, ""), good},
		{"unknown model", "POST", "/v1/jobs", job(protein, `{"modelName":"minni"}`, ""), good},
		{"known model that is not here", "POST", "/v1/jobs", job(protein, `{"modelName":"boltz-2"}`, ""), good},
		{"parameter the model lacks", "POST", "/v1/jobs", job(protein, `{"modelName":"mini","recyclingSteps":3}`, ""),
			good},
		{"parameter out of range", "POST", "/v1/jobs", job(protein, `{"modelName":"mini","samplingSteps":0}`, ""),
			good},
		{"fraction of a step", "POST", "/v1/jobs", job(protein, `{"modelName":"mini","samplingSteps":1.5}`, ""), good},
		{"seed is a number", "POST", "/v1/jobs", job(protein, `{"modelName":"mini","seed":7}`, ""), good},
		{"seed is no number", "POST", "/v1/jobs", job(protein, `{"modelName":"mini","seed":"x"}`, ""), good},
		{"seed is negative", "POST", "/v1/jobs", job(protein, `{"modelName":"mini","seed":"-1"}`, ""), good},
		{"seed is too large", "POST", "/v1/jobs", job(protein, `{"modelName":"mini","seed":"4294967296"}`, ""), good},
		{"count is 0", "POST", "/v1/jobs", job(`{"proteinChain":{"sequence":"ACDEF","count":0}}`, mini, ""), good},
		{"count is -1", "POST", "/v1/jobs", job(`{"proteinChain":{"sequence":"ACDEF","count":-1}}`, mini, ""), good},
		{"count is text", "POST", "/v1/jobs", job(`{"proteinChain":{"sequence":"ACDEF","count":"2"}}`, mini, ""), good},
		{"chain_id twice", "POST", "/v1/jobs",
			job(`{"proteinChain":{"sequence":"ACDEF","chain_id":"A"}},{"proteinChain":{"sequence":"ACDEF",`+
				`"chain_id":"A"}}`, mini, ""), good},
		{"chain_id too long", "POST", "/v1/jobs", job(`{"proteinChain":{"sequence":"ACDEF","chain_id":"ABCDE"}}`, mini,
			""), good},
		{"ligand the model lacks", "POST", "/v1/jobs", job(`{"ligandSequence":{"sequence":"CCO"}}`, mini, ""), good},
		{"bad CCD code", "POST", "/v1/jobs", job(`{"ligandSequence":{"sequence":"not-a-code","is_ccd":true}}`, big, ""),
			good},
		{"bad property", "POST", "/v1/jobs", job(`{"ligandSequence":{"sequence":"CCO","property_type":"taste"}}`, big,
			""), good},
		{"affinity of a protein", "POST", "/v1/jobs",
			job(`{"proteinChain":{"sequence":"ACDEF","property_type":"affinity"}}`, big, ""), good},
		{"modification past the end", "POST", "/v1/jobs",
			job(`{"proteinChain":{"sequence":"ACDEF","modifications":[{"res_idx":6,"ccd":"SEP"}]}}`, big, ""), good},
		{"sourceSequenceId is no UUID", "POST", "/v1/jobs",
			job(`{"proteinChain":{"sequence":"ACDEF"},"sourceSequenceId":"x"}`, mini, ""), good},
		{"chatId is no UUID", "POST", "/v1/jobs", job(protein, mini, `,"chatId":"x"`), good},
		{"from is no UUID", "POST", "/v1/jobs?from=x", trp, good},
		{"Idempotency-Key is too long", "POST", "/v1/jobs", trp,
			append(good, "Idempotency-Key", strings.Repeat("k", 256))},
		{"constraints on a model without", "POST", "/v1/jobs",
			job(protein, mini, `,"constraints":{"contact":[{"chainA":"A","res_idxA":1,"chainB":"A","res_idxB":2}]}`),
			good},
		{"pocket names nothing", "POST", "/v1/jobs",
			con(`{"pocket":[{"binder":{"chain_id":"Z"},"contacts":[{"chain_id":"A","res_idx":1}]}]}`), good},
		{"pocket without contacts", "POST", "/v1/jobs", con(`{"pocket":[{"binder":{"chain_id":"A"}}]}`), good},
		{"contact past the end", "POST", "/v1/jobs",
			con(`{"contact":[{"chainA":"A","res_idxA":1,"chainB":"A","res_idxB":6}]}`), good},
		{"contact at no distance", "POST", "/v1/jobs",
			con(`{"contact":[{"chainA":"A","res_idxA":1,"chainB":"A","res_idxB":2,"distance":-1}]}`), good},
		{"bond without an atom", "POST", "/v1/jobs",
			con(`{"bond":[{"atom1":{"chain_id":"A","res_idx":1},"atom2":{"chain_id":"A","res_idx":2,` +
				`"atom_name":"CA"}}]}`), good},
		{"unknown constraint", "POST", "/v1/jobs", con(`{"pockets":[]}`), good},
		{"unknown destination", "POST", "/v1/jobs", con(`{"webhooks":{"qnaa":{"enabled":true}}}`), good},
		{"destination twice", "POST", "/v1/jobs",
			con(`{"webhooks":{"qna":{"enabled":true},"evolla":{"enabled":true}}}`), good},
		{"webhooks is an array", "POST", "/v1/jobs", con(`{"webhooks":[]}`), good},
		{"enabled is text", "POST", "/v1/jobs", con(`{"webhooks":{"qna":{"enabled":"yes"}}}`), good},
		{"custom endpoint not set up", "POST", "/v1/jobs", con(`{"webhooks":{"custom_http":{"enabled":true}}}`), good},
		{"webhooks too large", "POST", "/v1/jobs",
			con(`{"webhooks":{"qna":{"enabled":true,"x":"` + strings.Repeat("y", 70_000) + `"}}}`), good},
		{"id is no UUID", "GET", "/v1/jobs/1/results", nil, good},
		{"id is no UUID, anonymous", "GET", "/v1/jobs/1/results", nil, nil},
		{"id is no UUID, to cancel", "POST", "/v1/jobs/1/cancel", nil, good},
		{"id is a NUL byte", "GET", "/v1/jobs/%00/results", nil, good},
		{"somebody else's job", "GET", "/v1/jobs/" + id + "/results", nil, other},
		{"somebody else's job, to show", "PATCH", "/v1/jobs/" + id + "/public", `{"isPublic":true}`, other},
		{"no such job", "GET", "/v1/jobs/01234567-89ab-7def-8123-456789abcdef/results", nil, nil},
		{"private job, anonymous", "GET", "/v1/jobs/" + id + "/results", nil, nil},
		{"limit is 0", "GET", "/v1/jobs?limit=0", nil, good},
		{"limit is 201", "GET", "/v1/jobs?limit=201", nil, good},
		{"limit is text", "GET", "/v1/jobs?limit=ten", nil, good},
		{"bad cursor", "GET", "/v1/jobs?cursor=!!", nil, good},
		{"bad status", "GET", "/v1/jobs?status=DONE", nil, good},
		{"q is not UTF-8", "GET", "/v1/jobs?q=%ff", nil, good},
		{"isPublic is missing", "PATCH", "/v1/jobs/" + id + "/public", `{}`, good},
		{"cancel what has ended", "POST", "/v1/jobs/" + id + "/cancel", nil, good},
		{"run again what waits", "POST", "/v1/jobs/" + waiting + "/runs", nil, good},
		{"run again on an unknown model", "POST", "/v1/jobs/" + id + "/runs", `{"params":{"modelName":"minni"}}`, good},
		{"run again on a model of another form", "POST", "/v1/jobs/" + pair + "/runs", `{"params":{"modelName":"big"}}`,
			good},
		{"archive of what waits", "GET", "/v1/jobs/" + waiting + "/archive.zip", nil, good},
		{"bad Last-Event-ID", "GET", "/v1/jobs/" + id + "/events", nil, append(good, "Last-Event-ID", "x")},
		{"no such artifact", "GET", "/v1/artifacts/01234567-89ab-7def-8123-456789abcdef/x.cif", nil, nil},
		{"no such key", "DELETE", "/v1/keys/01234567-89ab-7def-8123-456789abcdef", nil, good},
		{"label with a control character", "POST", "/v1/keys", `{"label":"\u0007"}`, good},
		{"session without a key", "POST", "/v1/session", `{}`, nil},
		{"session with a bad key", "POST", "/v1/session", `{"key":"nonsense"}`, nil},
		{"session with two lines", "POST", "/v1/session", `{"key":"` + h.key[:9] + `\n` + h.key[9:] + `"}`, nil},
		{"session with the scheme", "POST", "/v1/session", `{"key":"Bearer ` + h.key + `"}`, nil},
		{"session with white space", "POST", "/v1/session", `{"key":" \n"}`, nil},
		{"session under another name", "POST", "/v1/session", `{"key":"x"}`, []string{"Host", "rebound.example"}},
		{"nothing there", "GET", "/v1/nothing", nil, nil},
		{"nothing there either", "GET", "/favicon.ico", nil, nil},
		{"no version", "GET", "/jobs", nil, good},
		{"wrong method", "PUT", "/v1/jobs", trp, good},
		{"wrong method on a job", "POST", "/v1/jobs/" + id + "/results", trp, good},
	} {
		r := h.ask(c.method, c.path, c.body, c.headers...)
		if r.status < 400 || r.status == 422 {
			t.Errorf("%s: %d %s", c.name, r.status, r.body)
			continue
		}
		message := r.message(t)
		if len(message) > 700 {
			t.Errorf("%s: a sentence of %d letters", c.name, len(message))
		}
		fmt.Fprintf(&out, "%-40s %d %s\n", c.name, r.status, message)
	}
	golden(t, "refusals.txt", out.String())
	// none of it cost anything
	if u, err := h.client(h.key).Usage(context.Background()); err != nil || u.Used != 3 {
		t.Errorf("used %d, want the 3 that were good: %v", u.Used, err)
	}
}

// A broken handler, a database that is gone, a file that is gone: one sentence, and nothing of the cause.
func TestOurFaults(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	id := h.completed(trp).JobID
	link := h.results(h.key, id).Artifacts[0].URL
	if err := h.blobs.Delete(context.Background(), "runs/"+h.results(h.key, id).JobRunID+
		"/1/structure.cif"); err != nil {
		t.Fatal(err)
	}
	if r := h.ask("GET", link, nil); r.status != 503 || r.message(t) != "the file cannot be read now; try again" {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := h.ask("GET", "/readyz", nil); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if err := h.store.DB.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/usage", "/v1/jobs", "/v1/jobs/" + id + "/results", "/readyz"} {
		r := h.as(h.key, "GET", path, nil)
		if m := r.message(t); r.status != 503 || strings.Contains(m, "sql") || r.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", path, r.status, m)
		}
	}
	if r := h.ask("GET", "/healthz", nil); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if !strings.Contains(h.log.String(), "database is closed") {
		t.Error("the log does not say why")
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.http.Config.Handler = nil
	bad, err := server.New(server.Config{Config: route.Config{PublicURL: h.http.URL}}, server.Deps{
		Store: h.store,
		Blobs: h.blobs,
		Ring:  newRing(t),
		UI:    http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oh") }),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	bad.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 500 || strings.TrimSpace(w.Body.String()) != `{"message":"internal error"}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// No body makes the server answer anything but 200 or one sentence about the request.
func FuzzCreateJob(fz *testing.F) {
	fz.Add([]byte(trp))
	fz.Add([]byte(`{"name":"x","sequences":[{"ligandSequence":{"sequence":"ATP","is_ccd":true}}],` +
		`"params":{"modelName":"big"},"constraints":{"webhooks":{"openmm":{"enabled":true}},` +
		`"bond":[{"atom1":{"chain_id":"A","res_idx":1,"atom_name":"C"},"atom2":{"chain_id":"A","res_idx":1,` +
		`"atom_name":"C"}}]}}`))
	fz.Add([]byte(`{"name":"x","sequences":[{"proteinChain":{"sequence":"ACDEF","count":3,` +
		`"modifications":[{"res_idx":2,"ccd":"cso"}]}}],"params":{"modelName":"big","relaxPrediction":false}}`))
	h := newFixture(fz)
	fz.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest("POST", "/v1/jobs/validate", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-API-Key", h.key)
		w := httptest.NewRecorder()
		h.srv.Handler().ServeHTTP(w, r)
		switch w.Code {
		case 200:
			var v api.Validation
			if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || v.Valid != (len(v.Errors) == 0) {
				t.Fatalf("%v %s", err, w.Body)
			}
		case 400:
		default:
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	})
}

// Readiness says what is missing.
func TestReady(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	empty, err := store.Open(context.Background(), "sqlite:"+t.TempDir()+"/empty.db", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer empty.DB.Close()
	dir := t.TempDir() + "/files"
	files, err := blob.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	newServer := func(d server.Deps) *server.Server {
		s, err := server.New(server.Config{Config: route.Config{PublicURL: h.http.URL}}, d)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	ask := func(s *server.Server) (int, string) {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
		return w.Code, w.Body.String()
	}
	if code, body := ask(newServer(server.Deps{Store: empty, Blobs: h.blobs})); code != 503 ||
		!strings.Contains(body, "pleat migrate") {
		t.Errorf("not migrated: %d %s", code, body)
	}
	if code, body := ask(newServer(server.Deps{Store: h.store, Blobs: files})); code != 200 {
		t.Errorf("ready: %d %s", code, body)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	// A server that cannot store files accepts jobs, so a load balancer must go on sending requests.
	failing := newServer(server.Deps{Store: h.store, Blobs: files})
	storetest.Eventually(t, "/readyz says that files cannot be stored", func() bool { // it waits a second for its probe
		code, body := ask(failing)
		return code == 200 && strings.Contains(body, `"artifacts":"failing"`)
	})
}

// Every refusal of one value names it in errors, so that a client can point at it.
func TestRefusedFields(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	id := h.completed(trp).JobID
	item, full := h.item(h.key, "empty", ""), h.item(h.key, "full", "a.pdb", smallPDB)
	// form is a multipart body with the boundary x.
	form := func(field, name, content string, n int) string {
		part := "--x\r\nContent-Disposition: form-data; name=\"" + field + "\"; filename=\"" + name + "\"\r\n\r\n" +
			content + "\r\n"
		return strings.Repeat(part, n) + "--x--\r\n"
	}
	upload, multipart := "/v1/library/"+item+"/upload-files", []string{
		"Content-Type", "multipart/form-data; boundary=x",
	}
	for _, c := range []struct {
		name, method, path string
		body               any
		headers            []string
		status             int
		field              string
	}{
		{"no files", "POST", upload, "--x--\r\n", multipart, 400, "files"},
		{"many files", "POST", upload, form("files", "a.fasta", ">x\nGS", 17), multipart, 400, "files"},
		{"half a form", "POST", upload, "--x\r\nContent-", multipart, 400, "files"},
		{"unknown form field", "POST", upload, form("file", "a.pdb", smallPDB, 1), multipart, 400, "files"},
		{"empty file", "POST", upload, form("files", "a.pdb", "", 1), multipart, 400, "files"},
		{"no structure", "POST", upload, form("files", "a.pdb", "text", 1), multipart, 400, "files"},
		{"event id", "GET", "/v1/jobs/" + id + "/events", nil, []string{"Last-Event-ID", "x"}, 400, "Last-Event-ID"},
		{"form of an export", "GET", "/v1/jobs/" + id + "/export?format=fasta&as=xml", nil, nil, 400, "as"},
		{"long key", "POST", "/v1/jobs", trp, []string{"Idempotency-Key", strings.Repeat("k", 256)}, 400,
			"Idempotency-Key"},
		{"unprintable key", "POST", "/v1/jobs", trp, []string{"Idempotency-Key", "é"}, 400, "Idempotency-Key"},
		{"no source", "GET", "/v1/workflows/qna/linked-previews", nil, nil, 400, "source_job_id"},
		{"no filter", "POST", "/v1/webhooks/deliveries/redeliver", `{}`, nil, 400, "status"},
		{"a running delivery", "POST", "/v1/webhooks/deliveries/redeliver", `{"status":"RUNNING"}`, nil, 400,
			"status"},
		{"a file as parent", "POST", "/v1/library/create", `{"name":"x","parent_id":"` + full + `"}`, nil, 400,
			"parent_id"},
		{"no engine of a preset", "POST", "/v1/workflows", `{"workflow_name":"md","name":"x","workflow_input":{` +
			`"preset":"all_atom","source_job_id":"` + id + `"}}`, nil, 400, "workflow_input.preset"},
	} {
		r := h.as(h.key, c.method, c.path, c.body, append(c.headers, "Accept", "application/problem+json")...)
		var got api.Problem
		if err := json.Unmarshal([]byte(r.body), &got); err != nil || r.status != c.status || len(got.Errors) != 1 ||
			got.Errors[0].Field != c.field {
			t.Errorf("%s: %d %s, want %d and the field %s", c.name, r.status, r.body, c.status, c.field)
		}
	}
}

// TestRefusedBody sends bodies that are refused before they are read. Their clients must get the message, not a reset,
// and may go on with the connection. A client that asks before it sends is refused without its body.
func TestRefusedBody(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	const size = 10_000_001
	for _, c := range []struct {
		line, key string
		status    int
	}{
		{"POST /v1/jobs", h.key, 413},
		{"POST /v1/jobs", "nonsense", 401},
		{"POST /v1/nothing", h.key, 404},
		{"PUT /v1/jobs", h.key, 405},
	} {
		header := fmt.Sprintf("%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n", c.line, h.http.Listener.Addr(), c.key, size)
		for _, asks := range []bool{false, true} {
			conn, err := net.Dial("tcp", h.http.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			sent := header + "\r\n" + strings.Repeat(" ", size) + "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
			if asks {
				sent = header + "Expect: 100-continue\r\n\r\n"
			}
			if _, err := io.WriteString(conn, sent); err != nil {
				t.Errorf("%s, %d: %v", c.line, c.status, err)
			}
			r := bufio.NewReader(conn)
			if got := nextStatus(t, r); got != c.status {
				t.Errorf("%s: %d, want %d", c.line, got, c.status)
			}
			if !asks {
				if got := nextStatus(t, r); got != 200 {
					t.Errorf("the request after %s, %d: %d, want 200", c.line, c.status, got)
				}
			}
			_ = conn.Close()
		}
	}
}

// nextStatus reads a response; 0: there is none.
func nextStatus(t *testing.T, r *bufio.Reader) int {
	t.Helper()
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Error(err)
	}
	return res.StatusCode
}
