package workers_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store/storetest"
	"pleat/internal/workerapi"
)

// list is a JSON list of n times an element.
func list(n int, element string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
}

// Every refusal of a request that is wrong: its status, its code and its whole sentence stand in testdata/refusals.txt.
// None changes anything.
func TestRefusals(t *testing.T) {
	t.Parallel()
	f := onSQLite(t)
	f.create()
	f.create(inQueue(pleat.SearchQueue("null")))
	session := f.session("gpu", "01234567-89ab-4def-8123-456789abcdef")
	task, search := f.claim(session, storetest.FoldQueue), f.claim(session, pleat.SearchQueue("null"))
	if a := f.store(&task); a.status != 204 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	const id = `"01234567-89ab-4def-8123-456789abcdef"`
	class := f.tokens["gpu"]
	long := strings.Repeat("x", 5000)
	var out strings.Builder
	before := storetest.Tables(t, f.s)
	for _, c := range []struct {
		name, token, method, path string
		body                      string
	}{
		{"nothing there", session, "POST", "nothing", "{}"},
		{"wrong method", session, "GET", "claim", ""},
		{"no body", session, "POST", "claim", ""},
		{"no JSON", session, "POST", "claim", "asks=1"},
		{"half a JSON", session, "POST", "claim", `{"asks":[`},
		{"a list", session, "POST", "claim", `[]`},
		{"a text", session, "POST", "heartbeat", `"x"`},
		{"two documents", session, "POST", "watch", `{} {}`},
		{"over the limit", session, "POST", "watch", `{"x":"` + strings.Repeat("x", workerapi.MaxSmall) + `"}`},
		{"over the limit of a claim", session, "POST", "claim", strings.Repeat(" ", 16*workerapi.MaxSmall+1)},

		{"register: nothing", class, "POST", "register", `{}`},
		{"register: too old", class, "POST", "register", `{"protocol":0,"worker":` + id + `,"version":"0.1"}`},
		{"register: too new", class, "POST", "register", `{"protocol":9,"protocol_oldest":8,"version":"a\u0000b"}`},
		{"register: no worker", class, "POST", "register", `{"protocol":1}`},
		{"register: worker is a name", class, "POST", "register", `{"protocol":1,"worker":"node/1"}`},
		{"register: worker is a number", class, "POST", "register", `{"protocol":1,"worker":5}`},
		{"register: protocol is text", class, "POST", "register", `{"protocol":"1"}`},
		{"register: host with a line", class, "POST", "register",
			`{"protocol":1,"worker":` + id + `,"host":"a\nb"}`},
		{"register: long host", class, "POST", "register",
			`{"protocol":1,"worker":` + id + `,"host":"` + long + `"}`},
		{"register: cluster_job with a NUL", class, "POST", "register",
			`{"protocol":1,"worker":` + id + `,"cluster_job":"\u0000"}`},
		{"register: negative memory", class, "POST", "register", `{"protocol":1,"worker":` + id + `,"memory":-1}`},
		{"register: foreign queue", class, "POST", "register",
			`{"protocol":1,"worker":` + id + `,"queues":["fold/null","qna/analyst"]}`},
		{"register: queue with a control character", class, "POST", "register",
			`{"protocol":1,"worker":` + id + `,"queues":["a\u0007"]}`},
		{"register: many queues", class, "POST", "register",
			`{"protocol":1,"worker":` + id + `,"queues":` + list(1025, `"fold/null"`) + `}`},
		{"register: many models", class, "POST", "register",
			`{"protocol":1,"worker":` + id + `,"models":` + list(257, `{}`) + `}`},
		{"register: many devices", class, "POST", "register",
			`{"protocol":1,"worker":` + id + `,"devices":` + list(65, `{}`) + `}`},
		{"register: model is a text", class, "POST", "register", `{"protocol":1,"models":["x"]}`},

		{"claim: asks is an object", session, "POST", "claim", `{"asks":{}}`},
		{"claim: n is text", session, "POST", "claim", `{"asks":[{"n":"5"}]}`},
		{"claim: n is a fraction", session, "POST", "claim", `{"asks":[{"n":1.5}]}`},
		{"claim: n is too large for a number", session, "POST", "claim", `{"asks":[{"n":1e30}]}`},
		{"claim: n is negative", session, "POST", "claim", `{"asks":[{"queues":["fold/null"],"n":-1}]}`},
		{"claim: n is too large", session, "POST", "claim", `{"asks":[{"n":1},{"n":257}]}`},
		{"claim: negative memory", session, "POST", "claim", `{"asks":[{"n":1,"memory":-5}]}`},
		{"claim: negative time", session, "POST", "claim", `{"asks":[{"n":1,"left_s":-5}]}`},
		{"claim: negative wait", session, "POST", "claim", `{"asks":[{"n":1,"waited_s":-1}]}`},
		{"claim: time is text", session, "POST", "claim", `{"asks":[{"n":1,"left_s":"5s"}]}`},
		{"claim: owner is a name", session, "POST", "claim", `{"asks":[{"n":1,"owner":"ada"}]}`},
		{"claim: foreign queue", session, "POST", "claim", `{"asks":[{"queues":["deliver/x"],"n":1}]}`},
		{"claim: many asks", session, "POST", "claim", `{"asks":` + list(33, `{}`) + `}`},
		{"claim: many queues", session, "POST", "claim", `{"asks":[{"queues":` + list(1025, `"fold/null"`) + `}]}`},
		{"claim: many held", session, "POST", "claim", `{"repeat":true,"held":` + list(8193, `{}`) + `}`},
		{"fresh: negative n", session, "POST", "fresh", `{"own":{"n":-1}}`},
		{"fresh: foreign queue", session, "POST", "fresh", `{"fresh":{"queues":["x"]}}`},

		{"heartbeat: many tasks", session, "POST", "heartbeat", `{"tasks":` + list(257, `{}`) + `}`},
		{"heartbeat: no task", session, "POST", "heartbeat", `{"tasks":[{}]}`},
		{"heartbeat: task with a NUL", session, "POST", "heartbeat", `{"tasks":[{"task":"a\u0000"}]}`},
		{"heartbeat: attempt is text", session, "POST", "heartbeat", `{"tasks":[{"attempt":"1"}]}`},
		{"heartbeat: progress is a text", session, "POST", "heartbeat", `{"tasks":[{"progress":"x"}]}`},
		{"heartbeat: much progress", session, "POST", "heartbeat",
			`{"tasks":[{"task":` + id + `,"progress":` + list(513, `{"kind":"log"}`) + `}]}`},
		{"heartbeat: no kind", session, "POST", "heartbeat", `{"tasks":[{"task":` + id + `,"progress":[{}]}]}`},
		{"heartbeat: a state", session, "POST", "heartbeat",
			`{"tasks":[{"task":` + id + `,"progress":[{"kind":"state","state":"COMPLETED"}]}]}`},
		{"heartbeat: long line", session, "POST", "heartbeat",
			`{"tasks":[{"task":` + id + `,"progress":[{"kind":"log","line":"` + long + `"}]}]}`},
		{"heartbeat: no time", session, "POST", "heartbeat", `{"tasks":[{"task":` + id + `,"now":"noon"}]}`},
		{"searches/pause: no server", session, "POST", "searches/pause", `{"pause_s":60}`},
		{"searches/pause: long server", session, "POST", "searches/pause", `{"server":"` + long[:301] + `"}`},
		{"searches/pause: server with a NUL", session, "POST", "searches/pause", `{"server":"a\u0000"}`},
		{"searches/pause: pause is text", session, "POST", "searches/pause", `{"server":"a","pause_s":"1h"}`},
		{"watch: cancelled is a text", session, "POST", "watch", `{"cancelled":"x"}`},
		{"watch: draining is a number", session, "POST", "watch", `{"draining":1}`},

		{"blobs: no link", session, "GET", "blobs/x", ""},
		{"alignments: a name with a dot", session, "GET", "alignments/a/.b", ""},
		{"alignments: none", session, "GET", "alignments/a/b", ""},
		{"alignments: no digest", session, "PUT", "alignments/a/b", "x"},

		{"files: no name", task.Token, "POST", about(&task, "files"), `{}`},
		{"files: name with a slash", task.Token, "POST", about(&task, "files"), `{"name":"../2/x"}`},
		{"files: name with a dot", task.Token, "POST", about(&task, "files"), `{"name":".x"}`},
		{"files: name with a control character", task.Token, "POST", about(&task, "files"), `{"name":"a\u0000"}`},
		{"files: long name", task.Token, "POST", about(&task, "files"), `{"name":"` + long + `"}`},
		{"files: negative size", task.Token, "POST", about(&task, "files"), `{"name":"x","bytes":-1}`},
		{"files: too large", task.Token, "POST", about(&task, "files"), `{"name":"x","bytes":68719476737}`},
		{"files: no digest", task.Token, "POST", about(&task, "files"), `{"name":"x"}`},
		{"files: half a digest", task.Token, "POST", about(&task, "files"), `{"name":"x","sha256":"abcd"}`},
		{"upload: a name with a dot", task.Token, "PUT", about(&task, "files/.x"), "x"},
		{"upload: no digest", task.Token, "PUT", about(&task, "files/x"), "x"},

		{"publish: nothing", task.Token, "POST", about(&task, "publish"), `{}`},
		{"publish: no digest", task.Token, "POST", about(&task, "publish"), `{"name":"model.cif","kind":"cif","bytes":3}`},
		{"publish: not stored", task.Token, "POST", about(&task, "publish"),
			`{"name":"x","kind":"cif","sha256":"` + sha("abc") + `"}`},
		{"publish: another size", task.Token, "POST", about(&task, "publish"),
			`{"name":"model.cif","kind":"cif","bytes":4,"sha256":"` + sha("abc") + `"}`},
		{"publish: no kind of artifact", task.Token, "POST", about(&task, "publish"), `{"name":"x","kind":"secret"}`},
		{"publish: kind with a line", task.Token, "POST", about(&task, "publish"), `{"name":"x","kind":"a\n"}`},
		{"publish: content type with a line", task.Token, "POST", about(&task, "publish"),
			`{"name":"x","content_type":"a\r\nb: c"}`},
		{"publish: sequence is a name", task.Token, "POST", about(&task, "publish"), `{"name":"x","kind":"cif","sequence":"A"}`},
		{"checkpoint: no name", task.Token, "POST", about(&task, "checkpoint"), `{}`},
		{"checkpoint: not stored", task.Token, "POST", about(&task, "checkpoint"), `{"name":"x"}`},
		{"checkpoint: negative step", task.Token, "POST", about(&task, "checkpoint"),
			`{"name":"model.cif","step":-1}`},
		{"msa: nothing", task.Token, "POST", about(&task, "msa"), `{}`},
		{"msa: no state", task.Token, "POST", about(&task, "msa"), `{"state":"DRAFT\u0000"}`},

		{"finish: nothing", task.Token, "POST", about(&task, "finish"), `{}`},
		{"finish: no end", task.Token, "POST", about(&task, "finish"), `{"state":"RUNNING"}`},
		{"finish: no result", task.Token, "POST", about(&task, "finish"), `{"state":"COMPLETED"}`},
		{"finish: no failure", task.Token, "POST", about(&task, "finish"), `{"state":"FAILED"}`},
		{"finish: failure is a text", task.Token, "POST", about(&task, "finish"), `{"failure":"oom"}`},
		{"finish: failure of a kind with a NUL", task.Token, "POST", about(&task, "finish"),
			`{"state":"FAILED","failure":{"kind":"\u0000"}}`},
		{"finish: msa is no state", task.Token, "POST", about(&task, "finish"),
			`{"state":"COMPLETED","result":{},"msa":"x"}`},
		{"finish: engine with a line", task.Token, "POST", about(&task, "finish"),
			`{"state":"COMPLETED","result":{},"engine":"a\nb"}`},
		{"finish: hash with a NUL", task.Token, "POST", about(&task, "finish"),
			`{"state":"COMPLETED","result":{},"input_hash":"\u0000"}`},
		{"finish: hash of a request is long", task.Token, "POST", about(&task, "finish"),
			`{"state":"COMPLETED","result":{},"request_hash":"` + long + `"}`},
		{"finish: source is a name", task.Token, "POST", about(&task, "finish"),
			`{"state":"COMPLETED","result":{},"source":"x"}`},
		{"finish: source is gone", task.Token, "POST", about(&task, "finish"),
			`{"state":"COMPLETED","result":{},"source":` + id + `}`},
		{"finish: many files", task.Token, "POST", about(&task, "finish"),
			`{"state":"COMPLETED","result":{},"artifacts":` + list(8193, `{}`) + `}`},
		{"finish: file with a slash", task.Token, "POST", about(&task, "finish"),
			`{"state":"COMPLETED","result":{},"artifacts":[{"name":"a/b"}]}`},
		{"finish: file without a digest", task.Token, "POST", about(&task, "finish"),
			`{"state":"COMPLETED","result":{},"artifacts":[{"name":"model.cif","kind":"cif","bytes":3,"sha256":"X"}]}`},
		{"finish: size is text", task.Token, "POST", about(&task, "finish"), `{"artifacts":[{"bytes":"3"}]}`},
		{"searched: no search", task.Token, "POST", about(&task, "searched"), `{"fold_queue":"fold/null"}`},
		{"searched: no queue", search.Token, "POST", about(&search, "searched"), `{}`},
		{"searched: another queue", search.Token, "POST", about(&search, "searched"), `{"fold_queue":"fold/other"}`},
		{"release: pause is text", task.Token, "POST", about(&task, "release"), `{"pause_s":"1m"}`},
		{"release: a state", task.Token, "POST", about(&task, "release"), `{"progress":[{"kind":"artifact"}]}`},
		{"yield: foreign queue", task.Token, "POST", about(&task, "yield"), `{"queues":["qna/analyst"]}`},
		{"yield: negative memory", task.Token, "POST", about(&task, "yield"), `{"memory":-1}`},
		{"others-wait: negative memory", task.Token, "POST", about(&task, "others-wait"), `{"memory":-1}`},
		{"cached-result: hash with a NUL", task.Token, "POST", about(&task, "cached-result"),
			`{"input_hash":"\u0000"}`},
		{"source: no workflow", task.Token, "GET", about(&task, "source"), ""},
	} {
		var body any
		if c.body != "" {
			body = c.body
		}
		a := f.ask(c.method, c.path, c.token, body)
		if a.status < 400 || a.status >= 500 {
			t.Errorf("%s: %d %s", c.name, a.status, a.body)
		}
		if m := a.message(); m == "" || len(m) > 400 {
			t.Errorf("%s: a sentence of %d letters", c.name, len(m))
		}
		fmt.Fprintf(&out, "%-42s %d %-12s %s\n", c.name, a.status, a.code,
			strings.ReplaceAll(a.message(), pleat.Version, "VERSION"))
	}
	golden(t, "refusals.txt", out.String())
	if d := cmp.Diff(before, storetest.Tables(t, f.s)); d != "" {
		t.Errorf("a refused call has changed something:\n%s", d)
	}
	if strings.Contains(f.log.String(), "level=ERROR") {
		t.Errorf("a refusal is logged as a fault:\n%s", f.log)
	}
}

// Whatever a call is sent, it answers 200 or a sentence about the request.
func FuzzCalls(fz *testing.F) {
	f := onSQLite(fz)
	f.create()
	session := f.session("gpu", newID())
	task := f.claim(session, storetest.FoldQueue)
	paths := [][2]string{{"register", f.tokens["gpu"]}}
	for _, c := range calls {
		paths = append(paths, [2]string{c[1], session})
	}
	for _, v := range verbs {
		paths = append(paths, [2]string{about(&task, v.call), task.Token})
	}
	for i := range paths {
		fz.Add(i, []byte(`{}`))
	}
	fz.Add(0, []byte(`{"protocol":1,"worker":"01234567-89ab-4def-8123-456789abcdef","queues":["fold/null"],"left_s":1e300}`))
	fz.Add(1, []byte(`{"asks":[{"queues":["fold/null"],"n":1,"memory":5,"left_s":7}],"wait_s":0,"repeat":true}`))
	fz.Add(2, []byte(`{"tasks":[{"task":"`+string(task.ID)+`","attempt":1,"now":"2026-01-01T00:00:00Z",`+
		`"progress":[{"kind":"stage","stage":"a","done":1,"total":2,"at":"2025-01-01T00:00:00Z"}]}]}`))
	fz.Add(len(paths)-1, []byte(`{"state":"COMPLETED","result":{"predictions":[{}]},"artifacts":[{"name":"a"}]}`))
	g := f.gateway()
	ctx := fz.Context()
	go g.Run(ctx)
	fz.Fuzz(func(t *testing.T, i int, body []byte) {
		p := paths[uint(i)%uint(len(paths))]
		method := "POST"
		if strings.Contains(p[0], "files/") || strings.HasPrefix(p[0], "alignments") {
			method = "PUT"
		}
		r := httptest.NewRequestWithContext(t.Context(), method, workerapi.Path+p[0], strings.NewReader(string(body)))
		r.Header.Set("Authorization", "Bearer "+p[1])
		g.EndWaits() // no call waits
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		unknown := strings.Contains(w.Body.String(), "register again") // another input has taken its place
		if w.Code >= 500 && w.Code != 503 || w.Code == 401 && !unknown {
			t.Errorf("%s: %d %s", p[0], w.Code, w.Body)
		}
	})
}

// No token but one of the gateway's is read, and reading one never panics.
func FuzzTokens(fz *testing.F) {
	f := onSQLite(fz)
	f.create()
	session := f.session("gpu", newID())
	task := f.claim(session, storetest.FoldQueue)
	fz.Add(session)
	fz.Add(task.Token)
	fz.Add(f.tokens["gpu"])
	fz.Add("pleatsession_.")
	fz.Add("pleattask_e30." + strings.Repeat("A", 43))
	g := f.gateway()
	fz.Fuzz(func(t *testing.T, token string) {
		for _, c := range [][2]string{{"files", session}, {about(&task, "alignments"), task.Token}, {"class", f.tokens["gpu"]}} {
			r := httptest.NewRequestWithContext(t.Context(), "GET", workerapi.Path+c[0], nil)
			r.Header["Authorization"] = []string{"Bearer " + token}
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			if (w.Code == 401) == (token == c[1]) {
				t.Errorf("%s with %q: %d", c[0], token, w.Code)
			}
		}
	})
}
