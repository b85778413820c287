package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain – Ünïcödé 蛋白":     "plain – Ünïcödé 蛋白",
		"two\nlines\t":           "two\nlines\t",
		"\x1b[31m\x00\x7f\r":     "<U+001B>[31m<U+0000><U+007F><U+000D>",
		"\u202egnp\u2066\u200b":  "<U+202E>gnp<U+2066><U+200B>",
		"\U000e0041\ufe0f\u2028": "<U+E0041><U+FE0F><U+2028>",
		"\u115f\u3164\u00ad":     "<U+115F><U+3164><U+00AD>",
		"\xff":                   "\ufffd",
	} {
		if got := visible(in, 100); got != want {
			t.Errorf("%q is shown as %q; want %q", in, got, want)
		}
	}
	if got := visible("äöüß", 3); got != "äöü…" {
		t.Errorf("a text that is too long is %q", got)
	}
	if got := name("a\nb\tc"); got != "a<U+000A>b<U+0009>c" {
		t.Errorf("a name of two lines is %q", got)
	}
}

func TestSmall(t *testing.T) {
	t.Parallel()
	row := "[" + strings.Repeat("1,", 99) + "1]"
	in := `{"matrix": [` + strings.Repeat(row+",", 30) + row + `], "line": ` + row + `, "few": [1, 2], "text": "a\u202eb",
		"url": "https://example.org/secret", "deep": {"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}, "artifacts": [1],
		"rows": [{"a": 1, "cif_url": "http://x"}]}`
	got, ok := small(json.RawMessage(in)).(map[string]any)
	if !ok {
		t.Fatal("the value is no object")
	}
	matrix := got["matrix"].([]any)
	if len(matrix) != maxEntries+1 || matrix[0] != "100 values are left out" {
		t.Errorf("the matrix is %v", matrix)
	}
	delete(got, "matrix")
	want := map[string]any{
		"line": "100 values are left out",
		"few":  []any{1.0, 2.0},
		"text": "a<U+202E>b",
		"deep": map[string]any{"a": map[string]any{"b": map[string]any{"c": map[string]any{"d": map[string]any{
			"e": "1 fields are left out"}}}}},
		"rows": []any{map[string]any{"a": 1.0}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the rest (-want +got):\n%s", d)
	}
	if small(nil) != nil || small(json.RawMessage("{")) != nil {
		t.Error("what is no JSON is a value")
	}
}

// The transport reaches the service alone, streams what it writes, and shows when a response is broken.
func TestTransport(t *testing.T) {
	t.Parallel()
	const base = "https://fold.example.org/pleat"
	wrote, left := make(chan struct{}), make(chan struct{})
	service := http.NewServeMux()
	service.HandleFunc("GET /echo", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, r.RequestURI+" "+r.Header.Get("Authorization"))
	})
	service.HandleFunc("GET /broken", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic(http.ErrAbortHandler)
	})
	service.HandleFunc("GET /silent", func(http.ResponseWriter, *http.Request) {})
	service.HandleFunc("GET /stream", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "one")
		close(wrote)
		<-r.Context().Done() // the reader leaves
		close(left)
	})
	c := &http.Client{Transport: transport{service: service, base: base}}
	get := func(url string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer k")
		return c.Do(req)
	}
	read := func(path string, want error) string {
		t.Helper()
		res, err := get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if !errors.Is(err, want) {
			t.Errorf("%s ends with %v", path, err)
		}
		return res.Status + " " + string(b)
	}
	for path, want := range map[string]string{"/echo?a=b": "418 I'm a teapot /echo?a=b Bearer k", "/silent": "200 OK "} {
		if got := read(path, nil); got != want {
			t.Errorf("%s is %q", path, got)
		}
	}
	if got := read("/broken", io.ErrUnexpectedEOF); got != "200 OK half" {
		t.Errorf("a broken response is %q", got)
	}
	res, err := get(base + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 3)
	if _, err := io.ReadFull(res.Body, b); err != nil || string(b) != "one" {
		t.Errorf("the stream begins with %q, %v", b, err)
	}
	<-wrote
	_ = res.Body.Close()
	<-left
	for _, elsewhere := range []string{"https://example.org/", "https://fold.example.org/", base + "x/echo",
		"https://fold.example.org/pleat.example.org/"} {
		if _, err := get(elsewhere); !errors.Is(err, errElsewhere) {
			t.Errorf("%s is answered: %v", elsewhere, err)
		}
	}
}

// A panic of a handler is an error of the protocol, and the process goes on.
func TestRecovering(t *testing.T) {
	t.Parallel()
	broken := recovering(nil)(func(context.Context, string, sdk.Request) (sdk.Result, error) { panic("broken") })
	res, err := broken(t.Context(), "tools/call", nil)
	var protocol *jsonrpc.Error
	if res != nil || !errors.As(err, &protocol) || protocol.Code != jsonrpc.CodeInternalError {
		t.Errorf("a panic is answered by %v, %v", res, err)
	}
}

// A handler that answers too late ends, though nobody reads what it writes.
func TestALateAnswer(t *testing.T) {
	t.Parallel()
	began, left, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	service := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-left
		_, err := io.WriteString(w, "late")
		ended <- err
	})
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://fold.example.org/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-began
		cancel()
	}()
	res, err := transport{service: service, base: "https://fold.example.org"}.RoundTrip(req)
	if err == nil {
		_ = res.Body.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	close(left)
	if err := <-ended; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("writing ends with %v", err)
	}
}
