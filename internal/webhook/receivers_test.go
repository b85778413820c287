package webhook

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The receivers of docs/receivers take what Post sends and refuse everything else.
func TestReceivers(t *testing.T) {
	docs := filepath.Join("..", "..", "docs", "receivers")
	goBinary := filepath.Join(t.TempDir(), "receiver")
	tests := []struct {
		name  string
		build []string
		argv  []string
	}{
		{"go", []string{"go", "build", "-o", goBinary, "./" + filepath.Join(docs, "go")}, []string{goBinary}},
		{"python", nil, []string{"python3", filepath.Join(docs, "python", "receiver.py")}},
		{"node", nil, []string{"node", filepath.Join(docs, "node", "receiver.mjs")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			// Other programs read these files. Go keeps the result of a test that has opened a folder as long as the
			// sizes and times of its files are the same.
			if _, err := os.ReadDir(filepath.Join(docs, tt.name)); err != nil {
				t.Fatal(err)
			}
			tool := tt.argv[0]
			if tt.build != nil {
				tool = tt.build[0]
			}
			if _, err := exec.LookPath(tool); err != nil {
				t.Skipf("%s is not installed", tool)
			}
			if tt.build != nil {
				if out, err := exec.Command(tt.build[0], tt.build[1:]...).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			tryReceiver(t, tt.argv)
		})
	}
}

func tryReceiver(t *testing.T, argv []string) {
	key, old := NewKey(), NewKey()
	base, lines := startReceiver(t, key, argv)
	now := time.Now()
	clock := now
	s := newSender(t, Config{Guard: loopback(nil), Timeout: patient, Clock: func() time.Time { return clock }})
	body := []byte(`{"name":"Пептид 🧬"}`)
	send := func(id string, keys ...Key) Attempt {
		return s.Post(t.Context(), Request{URL: base, ID: id, Token: token, Keys: keys, Body: body})
	}
	for id, keys := range map[string][]Key{"plain": {key}, "rotated": {NewKey(), key}, "rotating": {key, old}} {
		if a := send(id, keys...); !a.OK() {
			t.Fatalf("%s: %+v", id, a)
		}
		if line := <-lines; line != id+" "+string(body) {
			t.Errorf("%s: the receiver printed %q", id, line)
		}
	}
	for id, keys := range map[string][]Key{"another secret": {old}, "public": {NewKeyPair()}, "unsigned": nil} {
		if a := send(id, keys...); a.Status != http.StatusUnauthorized {
			t.Errorf("%s: %+v", id, a)
		}
	}
	for name, at := range map[string]time.Time{"stale": now.Add(-time.Hour), "early": now.Add(time.Hour)} {
		clock = at
		if a := send(name, key); a.Status != http.StatusUnauthorized {
			t.Errorf("%s: %+v", name, a)
		}
	}
	// Forged by hand: what Post would never send.
	forge := func(name string, change func(http.Header)) {
		req, err := http.NewRequestWithContext(t.Context(), "POST", base, strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = headers("forged", now, body, key)
		change(req.Header)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	forge("another id", func(h http.Header) { h.Set(HeaderID, "other") })
	forge("a later timestamp", func(h http.Header) { h.Set(HeaderTimestamp, strconv.FormatInt(now.Unix()+1, 10)) })
	forge("a timestamp of letters", func(h http.Header) { h.Set(HeaderTimestamp, "NaN") })
	forge("no timestamp", func(h http.Header) { h.Del(HeaderTimestamp) })
	forge("no signature", func(h http.Header) { h.Del(HeaderSignature) })
	forge("half a signature", func(h http.Header) { h.Set(HeaderSignature, h.Get(HeaderSignature)[:20]) })
	forge("letters past ASCII", func(h http.Header) { h.Set(HeaderSignature, "v1,é") })
}

// startReceiver runs a receiver until the test ends. It gives its URL and what it prints.
func startReceiver(t *testing.T, key Key, argv []string) (string, <-chan string) {
	cmd := exec.Command(argv[0], append(argv[1:], "127.0.0.1:0")...)
	cmd.Env = append(os.Environ(), "WEBHOOK_SECRET="+key.Text(), "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, done := make(chan string, 99), make(chan struct{})
	go func() {
		defer close(done)
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
		_ = cmd.Wait()
	})
	select {
	case first := <-lines:
		addr, ok := strings.CutPrefix(first, "listening on ")
		if !ok {
			t.Fatalf("the receiver starts with %q", first)
		}
		return "http://" + addr + "/", lines
	case <-time.After(30 * time.Second):
		t.Fatal("the receiver does not start")
	}
	return "", nil
}
