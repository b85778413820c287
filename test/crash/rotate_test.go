package crash

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pleat/internal/testprogram"
)

// rotation is two servers on one database whose secret key is replaced.
type rotation struct {
	t       *testing.T
	nodes   [2]*testprogram.Node
	links   []string // paths of links of both nodes, with their signatures
	cookie  string   // of a session
	changed int      // webhook settings so far
}

// restart starts a node anew with secret keys.
func (r *rotation) restart(i int, keys string) {
	r.t.Helper()
	if r.nodes[i].Cmd != nil {
		r.nodes[i].Stop()
	}
	r.nodes[i].Env = append(r.nodes[i].Env, "PLEAT_SECRET_KEY="+keys)
	r.nodes[i].Serve()
}

// refuses checks that a node that has secret keys does not start, and says why.
func (r *rotation) refuses(keys, why string) {
	r.t.Helper()
	n := testprogram.NewNode(r.t, r.nodes[0].Database)
	n.Env = append(n.Env, "PLEAT_SECRET_KEY="+keys)
	out, err := n.Command("worker").CombinedOutput()
	if err == nil || !strings.Contains(string(out), why) {
		r.t.Errorf("a node with other keys: %v %s; want %q", err, out, why)
	}
}

// call sends a request with the key to a node and returns the body; want is the status.
func (r *rotation) call(i int, method, path, body string, want int) []byte {
	r.t.Helper()
	status, raw := r.nodes[i].Request(method, path, body)
	if status != want {
		r.t.Fatalf("node %d: %s %s: %d %s", i, method, path, status, raw)
	}
	return raw
}

// use makes a link and changes the webhook settings on every node, and checks that everything works on every node.
func (r *rotation) use(job string) {
	r.t.Helper()
	for i := range r.nodes {
		results, err := r.nodes[i].Client().Results(r.t.Context(), job)
		if err != nil || len(results.Artifacts) == 0 {
			r.t.Fatalf("%+v %v", results, err)
		}
		link, err := url.Parse(results.Artifacts[0].URL)
		if err != nil {
			r.t.Fatal(err)
		}
		r.links = append(r.links, link.RequestURI())
		r.works()
		r.changed++
		r.call(i, "PUT", "/v1/webhooks/custom-http-config", fmt.Sprintf(
			`{"target_url":"https://example.org/hook","token_value":"a token of length %04d"}`, r.changed), 200)
		r.works()
	}
}

// works checks all links, the session and the webhook settings on every node.
func (r *rotation) works() {
	r.t.Helper()
	for i, n := range r.nodes {
		for _, link := range r.links {
			res, err := http.Get(n.URL + link)
			if err != nil {
				r.t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusOK {
				r.t.Errorf("node %d answers %d to a link", i, res.StatusCode)
			}
		}
		if status, raw := n.Request("GET", "/v1/session", "", "Authorization", "", "Cookie", r.cookie); status != 200 ||
			!strings.Contains(string(raw), "ada") {
			r.t.Errorf("node %d does not know the session: %d %s", i, status, raw)
		}
		if r.changed > 0 {
			want := fmt.Sprintf("%04d", r.changed)
			if raw := r.call(i, "GET", "/v1/webhooks/custom-http-config", "", 200); !strings.Contains(string(raw), want) {
				r.t.Errorf("node %d: the token of the webhook does not end in %s: %s", i, want, raw)
			}
		}
	}
}

// The secret key is replaced on one node after the other, in the steps of docs/operations.md. At every step links,
// webhook secrets and sessions of each node work on the other. A step that is skipped is refused.
func TestSecretRotation(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	database := testprogram.Postgres(t)
	t.Setenv("PLEAT_BLOBS", filepath.Join(t.TempDir(), "blobs"))
	t.Setenv("PLEAT_PUBLIC_URL", "http://127.0.0.1:1")
	first, second := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	r := &rotation{t: t}
	for i := range r.nodes {
		r.nodes[i] = testprogram.NewNode(t, database)
	}
	r.nodes[0].CreateKey()
	r.nodes[1].Key = r.nodes[0].Key
	for i := range r.nodes {
		r.restart(i, first)
	}
	c := &testprogram.Cluster{T: t, Server: r.nodes[0]}
	job, _ := c.Call("POST", "/v1/jobs", testprogram.NullJob(`"recyclingSteps":1`))["jobId"].(string)
	c.Await(job, "COMPLETED", time.Minute)
	res, err := http.Post(r.nodes[0].URL+"/v1/session", "application/json",
		strings.NewReader(`{"key":"`+r.nodes[0].Key+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	for _, cookie := range res.Cookies() {
		r.cookie = cookie.Name + "=" + cookie.Value
	}
	r.use(job)
	r.refuses(second, "has another secret key than the nodes of this database")
	for _, keys := range []string{first + "," + second, second + "," + first} {
		for i := range r.nodes {
			r.restart(i, keys)
			r.use(job)
		}
	}
	r.refuses(second, "run: pleat secrets rotate")
	rotate := r.nodes[0].Command("secrets", "rotate")
	if out, err := rotate.CombinedOutput(); err != nil || !strings.Contains(string(out), "secrets of 1 endpoint with") {
		t.Fatalf("secrets rotate: %v %s", err, out)
	}
	r.works()
	r.links = nil // those that the old key signed have expired; the results have new ones
	r.use(job)
	for i := range r.nodes {
		r.restart(i, second)
		r.use(job)
	}
	r.refuses(first, "has another secret key than the nodes of this database")
}
