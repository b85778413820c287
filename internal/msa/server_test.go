package msa_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat/internal/msa"
	"pleat/internal/msa/msatest"
)

const seqA, seqB = "MKTAYIAK", "GSHMLEDP"

// client calls a server, the seconds of its pauses being milliseconds.
func client(c *msatest.Server) *msa.Server {
	s := &msa.Server{URL: c.URL, Agent: "pleat/test"}
	s.Hurry(time.Millisecond)
	return s
}

func search(t *testing.T, s *msa.Server, pairing msa.Pairing, sequences ...string) ([]*msa.Alignment, []string, error) {
	t.Helper()
	ctx, done := context.WithTimeout(context.Background(), time.Minute)
	defer done()
	var said []string
	out, err := s.Search(ctx, sequences, pairing, func(line string) { said = append(said, line) })
	return out, said, err
}

func texts(a *msa.Alignment) []string {
	var out []string
	for _, r := range a.Rows {
		out = append(out, r.Text)
	}
	return out
}

func TestSearch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode msa.Mode
		want []string // rows of seqA
	}{
		{msa.ModeEnv, []string{seqA, "Mins-TAYIAK", "GGGGGGGG"}},
		{msa.ModeAll, []string{seqA, "Mins-TAYIAK"}},
		{msa.ModeEnvNoFilter, []string{seqA, "Mins-TAYIAK", "GGGGGGGG"}},
		{msa.ModeNoFilter, []string{seqA, "Mins-TAYIAK"}},
	} {
		server := msatest.New(t)
		s := client(server)
		s.Mode = c.mode
		out, _, err := search(t, s, msa.PairNone, seqB, seqA)
		if err != nil {
			t.Fatal(c.mode, err)
		}
		if d := cmp.Diff(c.want, texts(out[1])); d != "" {
			t.Error(c.mode, d)
		}
		if out[0].Query() != seqB {
			t.Errorf("%s: the first alignment is that of %s", c.mode, out[0].Query())
		}
		want := msatest.Submission{Path: "/ticket/msa", Mode: string(c.mode), Sequences: []string{seqB, seqA}}
		if len(server.Tickets) != 1 || cmp.Diff(want, server.Tickets[0]) != "" {
			t.Errorf("%s: submitted %v", c.mode, server.Tickets)
		}
		if len(server.Agents) != 1 || server.Agents["pleat/test"] == 0 {
			t.Errorf("user agents are %v", server.Agents)
		}
	}
}

func TestSearchForPairs(t *testing.T) {
	t.Parallel()
	for pairing, mode := range map[msa.Pairing]string{msa.PairGreedy: "pairgreedy", msa.PairComplete: "paircomplete"} {
		server := msatest.New(t)
		out, _, err := search(t, client(server), pairing, seqA, seqB)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([][]string{{seqA, "Mins-TAYIAK"}, {seqB, "Gins-HMLEDP"}},
			[][]string{texts(out[0]), texts(out[1])}); d != "" {
			t.Error(d)
		}
		if s := server.Tickets[0]; s.Path != "/ticket/pair" || s.Mode != mode {
			t.Errorf("submitted %v", s)
		}
	}
	server := msatest.New(t)
	server.Files = func(s msatest.Submission) map[string]string {
		f := msatest.Align(s)
		f["pair.a3m"] = strings.TrimSuffix(f["pair.a3m"], "\x00") + ">more\n--------\n\x00"
		return f
	}
	_, _, err := search(t, client(server), msa.PairGreedy, seqA, seqB)
	wantError(t, err, "the paired alignment of the sequence 102 has 3 rows, that of the sequence 101 has 2", false)
}

func wantError(t *testing.T, err error, want string, retry bool) {
	t.Helper()
	var e *msa.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, want) || e.Retry != retry {
		t.Errorf("error is %#v; want %q, retry %v", err, want, retry)
	}
}

func ticketOf(status string) msatest.Answer {
	return msatest.Answer{Body: fmt.Sprintf(`{"id":"ticket-0","status":%q}`, status)}
}

func times(n int, a msatest.Answer) []msatest.Answer {
	var out []msatest.Answer
	for range n {
		out = append(out, a)
	}
	return out
}

// A fault that passes by itself is waited out, and said.
func TestPatience(t *testing.T) {
	t.Parallel()
	limited := msatest.Answer{Code: 429, Body: `{"status":"RATELIMIT","reason":"too much"}`}
	for name, c := range map[string]struct {
		submit, look, download []msatest.Answer
		said                   string
		tickets                int
	}{
		"rate limit storm": {submit: times(30, limited), said: "limits the rate", tickets: 1},
		"rate limit by word": {
			submit: times(3, msatest.Answer{Body: `{"status":"RATELIMIT"}`}), said: "limits the rate", tickets: 1,
		},
		"bare 429": {submit: times(3, msatest.Answer{Code: 429, Body: "slow down"}), said: "limits the rate",
			tickets: 1},
		"short pauses": {
			submit: times(20, msatest.Answer{Code: 429, Header: [2]string{"Retry-After", "1"}}),
			said:   "asked for a short pause; waiting", tickets: 1,
		},
		"limited looks": {look: times(20, limited), said: "limits the rate", tickets: 1},
		"maintenance": {submit: times(4, ticketOf("MAINTENANCE")), said: "in maintenance; trying again",
			tickets: 1},
		"bad gateway": {
			submit: times(4, msatest.Answer{Code: 502, Body: "<html>"}), said: "answered 502; trying again", tickets: 1,
		},
		"unknown at first": {submit: times(3, msatest.Answer{Body: `{"id":"","status":"UNKNOWN"}`}), tickets: 1},
		"queued, running": {
			look: []msatest.Answer{ticketOf("PENDING"), ticketOf("RUNNING"), ticketOf("UNKNOWN"), ticketOf("RUNNING")},
			said: "is searching", tickets: 1,
		},
		"empty":    {look: times(3, msatest.Answer{}), said: "answer is empty; trying again", tickets: 1},
		"too slow": {look: times(3, msatest.Answer{Code: 408}), said: "answered 408; trying again", tickets: 1},
		"lost ticket": {look: times(9, ticketOf("UNKNOWN")), said: "has lost the search; submitting it again",
			tickets: 2},
		"broken downloads": {
			download: []msatest.Answer{{Code: 503}, {Code: 408}, {Body: ""}, {Body: "\x1f"},
				{Body: string(msatest.Pack(map[string]string{"uniref.a3m": "x"})[:40])}},
			said: "could not be fetched whole; trying again", tickets: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := msatest.New(t)
			server.Submit, server.Look, server.Download = c.submit, c.look, c.download
			out, said, err := search(t, client(server), msa.PairNone, seqA)
			if err != nil {
				t.Fatal(err)
			}
			if len(out[0].Rows) != 3 || !strings.Contains(strings.Join(said, "\n"), c.said) ||
				len(server.Tickets) != c.tickets {
				t.Errorf("%d rows, %d tickets, said %q", len(out[0].Rows), len(server.Tickets), said)
			}
			if len(said) > 6 {
				t.Errorf("%d lines for one search: %q", len(said), said)
			}
		})
	}
}

// A fault that does not pass ends the search with one sentence.
func TestServerFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		submit, look, download []msatest.Answer
		want                   string
		retry                  bool
		hangs                  bool // the client must hang up
	}{
		"error at once": {submit: times(1, ticketOf("ERROR")), want: "the alignment server refused the search",
			retry: true},
		"error": {look: times(1, ticketOf("ERROR")), want: "the alignment server failed on the search",
			retry: true},
		"maintenance": {
			submit: times(99, ticketOf("MAINTENANCE")), want: "the alignment server is in maintenance", retry: true,
		},
		"down": {submit: times(99, msatest.Answer{Code: 500}), want: "the alignment server answered 500",
			retry: true},
		"wrong address": {
			submit: times(99, msatest.Answer{Code: 404}), want: "answered 404; the operator has to check its address",
		},
		"page": {
			submit: times(99, msatest.Answer{Body: "<html>sign in to the network</html>"}),
			want:   `is no ticket but text/html that begins with "<html>sign in to the network</html>"`,
		},
		"page, later": {look: times(99, msatest.Answer{Body: "<html>"}), want: "is no ticket but text/html"},
		"other JSON": {
			submit: times(99, msatest.Answer{Body: `{"detail":"x"}`, Header: [2]string{"Content-Type", "a/b; c=d"}}),
			want:   `is no ticket but a/b that begins with "{\"detail\":\"x\"}"`,
		},
		"list": {
			submit: times(99, msatest.Answer{Body: `[]`, Header: [2]string{"Content-Type", ";"}}),
			want:   "is no ticket but data without a type",
		},
		"banned": {submit: times(99, msatest.Answer{Code: 403}), want: "answered 403; the operator has to check"},
		"no gzip": {
			download: times(99, msatest.Answer{Body: "<html>sign in"}),
			want:     `is no gzipped archive but text/html that begins with "<html>sign in"`,
		},
		"no tar": {download: times(99, msatest.Answer{Body: zipped(strings.Repeat("no tar ", 99))}),
			want: "the gzip file holds no tar archive"},
		"new word": {look: times(1, ticketOf("DANCING")), want: `has the status "DANCING"`},
		"bad id": {submit: times(1, msatest.Answer{Body: `{"id":"../../etc","status":"PENDING"}`}),
			want: "no valid ticket id"},
		"no valid ticket id": {submit: times(1, msatest.Answer{Body: `{"status":"PENDING"}`}),
			want: "no valid ticket id"},
		"always lost": {look: times(999, ticketOf("UNKNOWN")), want: "lost the search several times",
			retry: true},
		"result gone": {download: times(1, msatest.Answer{Code: 404}), want: "has no result: it answered 404"},
		"always truncated": {
			download: times(99, msatest.Answer{
				Body: string(msatest.Pack(map[string]string{"uniref.a3m": strings.Repeat("x", 999)})[:60]),
			}), want: "could not be fetched whole", retry: true,
		},
		"hangs": {submit: times(99, msatest.Answer{Hang: true}), want: "cannot be reached", retry: true, hangs: true},
		"download hangs": {download: times(99, msatest.Answer{Hang: true}), want: "could not be fetched whole",
			retry: true, hangs: true},
		"redirected": {
			submit: times(1, msatest.Answer{Code: 302, Header: [2]string{"Location", "http://127.0.0.1:1/"}}),
			want:   "answered 302",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := msatest.New(t)
			server.Submit, server.Look, server.Download = c.submit, c.look, c.download
			s := client(server)
			if c.hangs { // elsewhere a slow machine must not make a request end early
				s.HangUp(time.Millisecond)
			}
			_, _, err := search(t, s, msa.PairNone, seqA)
			wantError(t, err, c.want, c.retry)
			if strings.Contains(err.Error(), server.URL) {
				t.Errorf("the error %q names the address", err)
			}
			server.Lock() // it may still answer what was given up
			defer server.Unlock()
			used := len(c.submit) + len(c.look) + len(c.download) -
				len(server.Submit) - len(server.Look) - len(server.Download)
			if !c.retry && used != 1 {
				t.Errorf("%d requests for what does not change", used)
			}
		})
	}
}

// zipped compresses a text.
func zipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return out.String()
}

// entries packs tar entries as they are given.
func entries(heads ...tar.Header) string {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, h := range heads {
		_ = w.WriteHeader(&h)
		_, _ = io.CopyN(w, zeros{}, h.Size)
	}
	_ = w.Close()
	_ = zipped.Close()
	return out.String()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestBadArchives(t *testing.T) {
	t.Parallel()
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
	many := make([]tar.Header, 65)
	for i := range many {
		many[i] = file(fmt.Sprintf("%d.txt", i))
	}
	of := func(files map[string]string) string { return string(msatest.Pack(files)) }
	for name, c := range map[string]struct {
		body, want string
	}{
		"bomb": {entries(tar.Header{Name: "uniref.a3m", Typeflag: tar.TypeReg, Size: 1<<20 + 1}),
			"the archive holds more than 1 MiB"},
		"bomb beside it": {entries(tar.Header{Name: "other", Typeflag: tar.TypeReg, Size: 1<<20 + 1}),
			"the archive holds more than 1 MiB"},
		"path":         {entries(file("../../etc/cron.d/x.a3m")), "contains a file name outside of its folder"},
		"inner path":   {entries(file("a/../../x.a3m")), "contains a file name outside of its folder"},
		"root":         {entries(file("/etc/x.a3m")), "contains a file name outside of its folder"},
		"many entries": {entries(many...), "has more than 64 entries"},
		"twice":        {entries(file("uniref.a3m"), file("./uniref.a3m")), "two files of the same name"},
		"link": {entries(tar.Header{Name: "uniref.a3m", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}),
			"it has no file uniref.a3m"},
		"empty": {of(nil), "it has no file uniref.a3m"},
		"no env": {
			of(map[string]string{"uniref.a3m": ">101\n" + seqA + "\n"}), "can search without them by msa-mode all",
		},
		"other sequence": {of(map[string]string{"uniref.a3m": ">101\n" + seqB + "\n", "e.a3m": ""}),
			"row 1 is not the sequence itself"},
		"other number": {of(map[string]string{"uniref.a3m": ">101\n" + seqA + "\n\x00>107\nMK\n", "e.a3m": ""}),
			`a block begins with ">107"`},
		"nothing in it": {
			of(map[string]string{"uniref.a3m": "", "e.a3m": ""}), "it has no alignment of the sequence 101",
		},
		"twice the same": {
			of(map[string]string{"uniref.a3m": ">101\n" + seqA + "\n\x00>101\n" + seqA + "\n", "e.a3m": ""}),
			"two blocks of the sequence 101",
		},
		"ragged": {of(map[string]string{"uniref.a3m": ">101\n" + seqA + "\n>x\nMK\n", "e.a3m": ""}),
			"row 2 has 2 columns; the sequence has 8 residues"},
		"binary": {of(map[string]string{"uniref.a3m": ">101\n" + seqA + "\n>x\n\x01\x02\n", "e.a3m": ""}),
			`line 4 has '\x01' at position 1`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := msatest.New(t)
			server.Download = []msatest.Answer{{Body: c.body}}
			s := client(server)
			s.Bound(1 << 20)
			_, _, err := search(t, s, msa.PairNone, seqA)
			wantError(t, err, c.want, false)
			if server.Fetched != 1 {
				t.Errorf("%d downloads of what will not change", server.Fetched)
			}
		})
	}
}

func TestCancelIsPrompt(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(*msatest.Server){
		"in a request":  func(c *msatest.Server) { c.Submit = times(9, msatest.Answer{Hang: true}) },
		"in a download": func(c *msatest.Server) { c.Download = times(9, msatest.Answer{Hang: true}) },
		"in a pause": func(c *msatest.Server) {
			c.Submit = times(9, msatest.Answer{Code: 429, Header: [2]string{"Retry-After", "5"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := msatest.New(t)
			script(server)
			stop := errors.New("stopped")
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(100*time.Millisecond, func() { cancel(stop) })
			s := client(server)
			s.Hurry(time.Minute)
			began := time.Now()
			_, err := s.Search(ctx, []string{seqA}, msa.PairNone, func(string) {})
			if took := time.Since(began); took > time.Minute || !errors.Is(err, stop) {
				t.Errorf("ended after %v with %v", took, err)
			}
		})
	}
}

func TestPasswordInTheAddress(t *testing.T) {
	t.Parallel()
	server := msatest.New(t)
	s := client(server)
	s.URL = strings.Replace(server.URL, "http://", "http://ada:hush@", 1)
	if _, _, err := search(t, s, msa.PairNone, seqA); err != nil {
		t.Fatal(err)
	}
	if server.Auth != "ada:hush" {
		t.Errorf("authorised as %q", server.Auth)
	}
	if strings.Contains(s.Database(), "hush") || s.Database() != client(server).Database() {
		t.Errorf("the database is %q", s.Database())
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	s.URL = strings.Replace(gone.URL, "http://", "http://ada:hush@", 1)
	if _, _, err := search(t, s, msa.PairNone, seqA); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("the error is %v", err)
	}
}

// A key goes with every request, and to nobody but the server: neither into an error nor after a redirect.
func TestKey(t *testing.T) {
	t.Parallel()
	server := msatest.New(t)
	server.Key = "hush"
	s := client(server)
	_, _, err := search(t, s, msa.PairNone, seqA)
	wantError(t, err, "answered 401; the operator has to check what it asks for", false)
	s.Key = "hush"
	if _, _, err := search(t, s, msa.PairNone, seqA); err != nil || server.Fetched != 1 {
		t.Error(err)
	}
	if strings.Contains(s.Database(), "hush") {
		t.Errorf("the database is %q", s.Database())
	}

	var bearer string
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect was followed to another origin")
	}))
	defer stranger.Close()
	for _, code := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			bearer = r.Header.Get("Authorization")
			http.Redirect(w, r, stranger.URL, code)
		}))
		s.URL, s.KeyHeader = moved.URL, "authorization"
		_, _, err = search(t, s, msa.PairNone, seqA)
		moved.Close()
		if wantError(t, err, fmt.Sprintf("answered %d", code), false); strings.Contains(fmt.Sprint(err), "hush") ||
			bearer != "Bearer hush" {
			t.Errorf("%v, authorised by %q", err, bearer)
		}
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	s.URL = gone.URL
	if _, _, err := search(t, s, msa.PairNone, seqA); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("the error is %v", err)
	}
}

// A redirect is followed within the origin alone: never from https to http, though on the same host and port, and never
// to another port.
func TestRedirectsStayInTheOrigin(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	var origin *httptest.Server
	origin = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := map[string]string{
			"/plain": "http://" + origin.Listener.Addr().String() + "/there",
			"/port":  other.URL + "/there",
			"/same":  origin.URL + "/there",
			"/loop":  "/loop",
		}[r.URL.Path]
		if to != "" {
			http.Redirect(w, r, to, http.StatusFound)
		}
	}))
	defer origin.Close()
	client := origin.Client()
	client.CheckRedirect = msa.SameOrigin
	for path, want := range map[string]int{"/plain": 302, "/port": 302, "/same": 200, "/loop": 302} {
		resp, err := client.Get(origin.URL + path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if resp.Body.Close(); resp.StatusCode != want {
			t.Errorf("%s: %d; want %d", path, resp.StatusCode, want)
		}
	}
}
