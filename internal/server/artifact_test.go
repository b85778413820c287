package server_test

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"pleat/api"
	"pleat/internal/server"
)

func artifact(t *testing.T, r api.Results, name string) api.Artifact {
	t.Helper()
	for _, a := range r.Artifacts {
		if a.Name == name {
			return a
		}
	}
	t.Fatalf("no %s in %+v", name, r.Artifacts)
	return api.Artifact{}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := context.Background(), h.client(h.key)
	j := h.completed(trp)
	a := artifact(t, h.results(h.key, j.JobID), "structure.cif")
	var b bytes.Buffer
	if err := c.Download(ctx, a, &b); err != nil || b.String() != cif {
		t.Errorf("%v %q", err, b.String())
	}
	r := h.ask("GET", a.URL, nil)
	for name, want := range map[string]string{
		"Content-Type": "chemical/x-mmcif", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "sandbox; default-src 'none'",
		"Content-Disposition":     "attachment; filename=Trp-cage-structure.cif", "ETag": `"` + a.SHA256 + `"`,
		"Content-Length": "24",
		"Cache-Control":  "private, max-age=300, must-revalidate", "Accept-Ranges": "bytes",
		"Referrer-Policy": "no-referrer",
	} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if r := h.ask("GET", a.URL, nil, "Range", "bytes=5-8"); r.status != 206 || r.body != "fold" {
		t.Errorf("a range: %d %q", r.status, r.body)
	}
	if r := h.ask("GET", a.URL, nil, "Range", "bytes=99-"); r.status != 416 ||
		r.message(t) != "the Range is outside the file" {
		t.Errorf("a range outside: %d %q", r.status, r.body)
	}
	if r := h.ask("GET", a.URL, nil, "If-None-Match", `"`+a.SHA256+`"`); r.status != 304 || r.body != "" {
		t.Errorf("unchanged: %d %q", r.status, r.body)
	}
	if r := h.ask("HEAD", a.URL, nil); r.status != 200 || r.body != "" || r.header.Get("Content-Length") != "24" {
		t.Errorf("HEAD: %d %v", r.status, r.header)
	}
	if r := h.ask("PUT", a.URL, "x"); r.status != 405 {
		t.Errorf("PUT: %d", r.status)
	}
	b.Reset()
	if err := c.Archive(ctx, j.JobID, &b); err != nil || b.String() != "PK-zip" {
		t.Errorf("%v %q", err, b.String())
	}
	if strings.Contains(h.log.String(), a.URL[strings.LastIndex(a.URL, "s=")+2:]) ||
		strings.Contains(h.log.String(), h.key) {
		t.Error("the log holds a signature or a key")
	}
	wrong := a
	wrong.SHA256 = strings.Repeat("0", 64)
	if err := c.Download(ctx, wrong, &b); err == nil || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("a wrong digest: %v", err)
	}
	wrong.Bytes = 10
	if err := c.Download(ctx, wrong, &b); err == nil || !strings.Contains(err.Error(), "10 bytes") {
		t.Errorf("a wrong length: %v", err)
	}
}

// A link opens one file, while it lasts; nothing about it can be changed.
func TestLinksCannotBeForged(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	j := h.completed(trp)
	res := h.results(h.key, j.JobID)
	a, other := artifact(t, res, "structure.cif"), artifact(t, res, "pae.svg")
	u, err := url.Parse(a.URL)
	if err != nil {
		t.Fatal(err)
	}
	o, err := url.Parse(other.URL)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	with := func(path string, change map[string]string) string {
		v := url.Values{"e": {q.Get("e")}, "s": {q.Get("s")}}
		for name, value := range change {
			v.Set(name, value)
			if value == "" {
				v.Del(name)
			}
		}
		return path + "?" + v.Encode()
	}
	for name, c := range map[string]struct {
		link string
		want int
	}{
		"as given":               {with(u.Path, nil), 200},
		"no signature":           {with(u.Path, map[string]string{"s": ""}), 401},
		"no end":                 {with(u.Path, map[string]string{"e": ""}), 401},
		"later end":              {with(u.Path, map[string]string{"e": "99999999999"}), 401},
		"other end's spelling":   {with(u.Path, map[string]string{"e": "0" + q.Get("e")}), 401},
		"other signature":        {with(u.Path, map[string]string{"s": o.Query().Get("s")}), 401},
		"signature of otherwise": {with(u.Path, map[string]string{"s": strings.ToUpper(q.Get("s"))}), 401},
		"longer signature":       {with(u.Path, map[string]string{"s": q.Get("s") + "0"}), 401},
		"other file":             {with(o.Path, nil), 401},
		"other name":             {with(strings.Replace(u.Path, "structure.cif", "x.html", 1), nil), 404},
		"no such file":           {with("/v1/artifacts/01234567-89ab-7def-8123-456789abcdef/structure.cif", nil), 404},
		"not a UUID":             {with("/v1/artifacts/1/structure.cif", nil), 404},
	} {
		r := h.ask("GET", c.link, nil)
		if r.status != c.want {
			t.Errorf("%s: %d, want %d", name, r.status, c.want)
		}
		if r.status >= 400 {
			r.message(t)
		}
	}
	if !strings.HasPrefix(a.URL, h.http.URL+"/v1/artifacts/") {
		t.Error("the link is not on the public address")
	}
	if r := h.as(h.key, "GET", "/v1/jobs/"+j.JobID+"/results", nil, "Host", "evil.example"); strings.Contains(r.body,
		"evil") {
		t.Error("a link follows the Host header")
	}
	h.clock.Advance(22 * time.Hour)
	if r := h.ask("GET", a.URL, nil); r.status != 200 {
		t.Errorf("after 22 hours: %d", r.status)
	}
	h.clock.Advance(2 * time.Hour)
	if r := h.ask("GET", a.URL, nil); r.status != 401 ||
		r.message(t) != "This link has expired; the job's results have a new one" {
		t.Errorf("after 24 hours: %d %s", r.status, r.body)
	}
	if fresh := artifact(t, h.results(h.key, j.JobID), "structure.cif"); fresh.URL == a.URL ||
		h.ask("GET", fresh.URL, nil).status != 200 {
		t.Error("the results hold no fresh link")
	}
}

// Public links hold as long as the job is public, and hiding it or deleting it kills all.
func TestLinksDie(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := context.Background(), h.client(h.key)
	j := h.completed(trp)
	private := artifact(t, h.results(h.key, j.JobID), "structure.cif").URL
	if v, err := c.SetPublic(ctx, j.JobID, true); err != nil || !v.IsPublic {
		t.Fatal(err)
	}
	public := artifact(t, h.results("", j.JobID), "structure.cif").URL
	if strings.Contains(public, "e=") {
		t.Errorf("a public link ends: %s", public)
	}
	h.clock.Advance(23 * time.Hour)
	if r := h.ask("GET", public, nil); r.status != 200 ||
		r.header.Get("Cache-Control") != "public, max-age=300, must-revalidate" {
		t.Errorf("%d %v", r.status, r.header)
	}
	if _, err := c.SetPublic(ctx, j.JobID, false); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{private, public} {
		if r := h.ask("GET", link, nil); r.status != 401 {
			t.Errorf("after hiding: %d", r.status)
		}
	}
	if r := h.ask("GET", "/v1/jobs/"+j.JobID+"/results", nil); r.status != 401 {
		t.Errorf("results after hiding: %d", r.status)
	}
	fresh := artifact(t, h.results(h.key, j.JobID), "structure.cif").URL
	if r := h.ask("GET", fresh, nil); r.status != 200 {
		t.Errorf("a fresh link after hiding: %d", r.status)
	}
	if _, err := c.Delete(ctx, j.JobID); err != nil {
		t.Fatal(err)
	}
	if r := h.ask("GET", fresh, nil); r.status != 404 {
		t.Errorf("after deletion: %d", r.status)
	}
}

// The page's cookie: from a key, for reads anywhere of ours, for writes from our own pages alone.
func TestSession(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	c := h.client(h.key)
	key, err := c.CreateKey(context.Background(), api.CreateKey{Label: "page"})
	if err != nil {
		t.Fatal(err)
	}
	open := h.ask("POST", "/v1/session", `{"key":"`+key.Secret+`"}`, "Origin", h.http.URL)
	if open.status != 200 || !strings.Contains(open.body, `"user":"ann"`) {
		t.Fatalf("%d %s", open.status, open.body)
	}
	set := open.header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Max-Age=43200", "Path=/"} {
		if !strings.Contains(set, want) {
			t.Errorf("%s is not in %q", want, set)
		}
	}
	if strings.Contains(set, key.Secret) || strings.Contains(h.log.String(), key.Secret) {
		t.Error("the key is in the cookie or the log")
	}
	cookie, _, _ := strings.Cut(set, ";")
	j := h.completed(trp)
	path, again := "/v1/jobs/"+j.JobID, "/v1/jobs/"+h.completed(trp).JobID
	for name, r := range map[string]struct {
		method, path string
		headers      []string
		want         int
	}{
		"read":                    {"GET", "/v1/jobs", nil, 200},
		"read a job":              {"GET", path + "/results", nil, 200},
		"stream":                  {"GET", path + "/events", nil, 200},
		"read under another name": {"GET", "/v1/jobs", []string{"Host", "rebound.example"}, 401},
		"read under a name behind a colon": {
			"GET", "/v1/jobs", []string{"Host", "127.0.0.1:80.evil.example"}, 401,
		},
		"write without an Origin": {"POST", again + "/runs", nil, 401},
		"write from elsewhere":    {"POST", again + "/runs", []string{"Origin", "https://evil.example"}, 401},
		"write from null":         {"POST", again + "/runs", []string{"Origin", "null"}, 401},
		"write from our page":     {"POST", again + "/runs", []string{"Origin", h.http.URL}, 200},
		"write, both names rebound": {
			"POST", again + "/runs", []string{"Origin", "http://rebound.example", "Host", "rebound.example"}, 401,
		},
		"wrong cookie":          {"GET", "/v1/jobs", []string{"Cookie", "pleat_session=nonsense"}, 401},
		"end it from elsewhere": {"DELETE", "/v1/session", []string{"Origin", "https://evil.example"}, 401},
	} {
		if got := h.ask(r.method, r.path, nil,
			append([]string{"Cookie", cookie}, r.headers...)...); got.status != r.want {
			t.Errorf("%s: %d %s, want %d", name, got.status, got.body, r.want)
		}
	}
	stands := func(want string, headers ...string) {
		t.Helper()
		if r := h.ask("GET", "/v1/session", nil, headers...); r.status != 200 ||
			strings.TrimSpace(r.body) != `{"user":`+want+`,"byIssuer":false,"fetchPdb":false}` {
			t.Errorf("who it stands for: %d %s, want %s", r.status, r.body, want)
		}
	}
	stands(`"ann"`, "Cookie", cookie)
	stands("null", "Cookie", cookie, "Host", "rebound.example")
	stands("null", "Cookie", "pleat_session=nonsense")
	stands("null")
	if r := h.ask("POST", "/v1/session", `{"key":"`+key.Secret+`"}`, "Origin",
		"https://evil.example"); r.status != 400 || r.header.Get("Set-Cookie") != "" ||
		!strings.Contains(r.body, "a page of https://evil.example sent this to the host 127.0.0.1:") ||
		!strings.Contains(r.body, "public-url") {
		t.Errorf("opened from elsewhere: %d %s", r.status, r.body)
	}
	second, _, _ := strings.Cut(h.ask("POST", "/v1/session", `{"key":"`+key.Secret+`"}`).header.Get("Set-Cookie"), ";")
	if r := h.ask("DELETE", "/v1/session", nil, "Cookie", cookie, "Origin", h.http.URL); r.status != 200 ||
		!strings.Contains(r.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("%d %v", r.status, r.header)
	}
	if r := h.ask("GET", "/v1/jobs", nil, "Cookie", cookie); r.status != 401 {
		t.Errorf("after its end: %d", r.status)
	}
	stands("null", "Cookie", cookie)
	if _, err := c.RevokeKey(context.Background(), key.ID); err != nil {
		t.Fatal(err)
	}
	if r := h.ask("GET", "/v1/jobs", nil, "Cookie", second); r.status != 401 {
		t.Errorf("after its key: %d", r.status)
	}
	third, _, _ := strings.Cut(h.ask("POST", "/v1/session", `{"key":"`+h.key+`"}`).header.Get("Set-Cookie"), ";")
	h.clock.Advance(13 * time.Hour)
	if r := h.ask("GET", "/v1/jobs", nil, "Cookie", third); r.status != 401 {
		t.Errorf("after 13 hours: %d", r.status)
	}
}

func TestSecureCookie(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(c *server.Config) {
		c.PublicURL, c.Hosts = "https://fold.example.org", []string{"fold.internal"}
	})
	for host, origin := range map[string]string{
		"fold.example.org": "https://fold.example.org", "fold.internal:8080": "http://fold.internal:8080",
	} {
		r := h.ask("POST", "/v1/session", `{"key":"`+h.key+`"}`, "Host", host, "Origin", origin)
		if r.status != 200 || !strings.Contains(r.header.Get("Set-Cookie"), "Secure") {
			t.Errorf("%s: %d %v", host, r.status, r.header)
		}
	}
	if r := h.ask("POST", "/v1/session", `{"key":"`+h.key+`"}`, "Host", "fold.example.org", "Origin",
		"http://fold.example.org"); r.status != 400 {
		t.Errorf("an insecure origin: %d", r.status)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := context.Background(), h.client(h.key)
	created, err := c.CreateKey(ctx, api.CreateKey{Label: "laptop"})
	if err != nil || len(created.Secret) < 40 || created.Current || !strings.HasPrefix(created.Secret, created.Prefix) {
		t.Fatalf("%+v %v", created, err)
	}
	if _, err := h.client(created.Secret).Usage(ctx); err != nil {
		t.Fatal(err)
	}
	list, err := c.Keys(ctx)
	if err != nil || len(list.Data) != 2 || list.Data[0].Label != "laptop" || list.Data[0].LastUsedAt == nil ||
		!list.Data[1].Current {
		t.Errorf("%+v %v", list, err)
	}
	if r := h.as(h.key, "GET", "/v1/keys", nil); strings.Contains(r.body, created.Secret) {
		t.Error("a list shows a key")
	}
	j := h.completed(trp)
	reader, err := c.CreateKey(ctx, api.CreateKey{Label: "reader"})
	if err != nil {
		t.Fatal(err)
	}
	h.results(reader.Secret, j.JobID) // reading a job is a use too
	if list, err = c.Keys(ctx); err != nil || list.Data[0].Label != "reader" || list.Data[0].LastUsedAt == nil {
		t.Errorf("%+v %v", list.Data[0], err)
	}
	_, ben := h.newUser("ben")
	if _, err := h.client(ben).RevokeKey(ctx, created.ID); err == nil || err.(*api.Error).Status != 404 {
		t.Errorf("somebody else's key: %v", err)
	}
	if _, err := c.RevokeKey(ctx, created.ID); err != nil {
		t.Fatal(err)
	}
	_, err = h.client(created.Secret).Usage(ctx)
	if err == nil || err.(*api.Error).Status != http.StatusUnauthorized || err.Error() != "Unauthorized" {
		t.Errorf("revoked: %v", err)
	}
}
