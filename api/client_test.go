package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &Client{Base: s.URL + "/", Key: "k", Patience: 300 * time.Millisecond}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body, retry string
		want        Error
		text        string
	}{
		{`{"message":"Unauthorized"}`, "", Error{Message: "Unauthorized", Status: 418}, "Unauthorized"},
		{`{"message":"later"}`, "7", Error{Message: "later", Status: 418, RetryAfter: 7 * time.Second}, "later"},
		{`<html>a proxy's page</html>`, "Fri", Error{Status: 418}, "the server answered 418 I'm a teapot"},
		{``, "", Error{Status: 418}, "the server answered 418 I'm a teapot"},
		{`{"type":"about:blank","detail":"no name","errors":[{"field":"name","message":"no name"},{"field":"params","message":"p"}]}`,
			"", Error{Message: "no name", Status: 418, Faults: []FieldError{{"name", "no name"}, {"params", "p"}}},
			"no name"},
	} {
		cl := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer k" || r.URL.Path != "/v1/usage" {
				t.Errorf("%s %v", r.URL, r.Header)
			}
			w.Header().Set("Retry-After", c.retry)
			if strings.Contains(c.body, "about:blank") && strings.Contains(r.Header.Get("Accept"), ProblemType) {
				w.Header().Set("Content-Type", ProblemType)
			}
			w.WriteHeader(418)
			_, _ = io.WriteString(w, c.body)
		})
		_, err := cl.Usage(context.Background())
		var e *Error
		if !errors.As(err, &e) || !reflect.DeepEqual(*e, c.want) || err.Error() != c.text {
			t.Errorf("%q: %+v", c.body, err)
		}
	}
	cl := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") })
	if _, err := cl.Usage(context.Background()); err == nil || !strings.Contains(err.Error(), "GET /v1/usage") {
		t.Error(err)
	}
}

// A follower gives up once its patience is spent, and at once where the service refuses.
func TestFollowGivesUp(t *testing.T) {
	t.Parallel()
	cl := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	err := cl.Follow(context.Background(), "j", 0, func(Event) error { return nil })
	var e *Error
	if !errors.As(err, &e) || e.Status != 503 {
		t.Error(err)
	}
	n := 0
	cl = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		n++
		w.WriteHeader(404)
		_, _ = io.WriteString(w, `{"message":"Job not found"}`)
	})
	if err := cl.Follow(context.Background(), "j", 0, nil); err == nil || err.Error() != "Job not found" || n != 1 {
		t.Errorf("%v after %d tries", err, n)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	cl = serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	if err := cl.Follow(ctx, "j", 0, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// A follower whose patience lasts tries again after a server that could not answer.
func TestFollowTriesAgain(t *testing.T) {
	t.Parallel()
	n := 0
	cl := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if n++; n < 3 {
			w.WriteHeader(503)
			return
		}
		_, _ = io.WriteString(w, "id: 1\ndata: {\"seq\":1,\"kind\":\"state\",\"state\":\"COMPLETED\"}\n\n")
	})
	cl.Patience = time.Minute
	if err := cl.Follow(context.Background(), "j", 0, func(Event) error { return nil }); err != nil || n != 3 {
		t.Errorf("%v after %d tries", err, n)
	}
}

// However often and wherever the stream breaks, each event comes once and in order.
func TestFollowOverBrokenStreams(t *testing.T) {
	t.Parallel()
	const last = 12
	cl := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var from int
		_, _ = fmt.Sscan(r.Header.Get("Last-Event-ID"), &from)
		for seq := max(1, from); seq <= from+4 && seq <= last; seq++ { // tells the last one again
			e := Event{Seq: int64(seq), Kind: "stage", Stage: "fold"}
			if seq == last {
				e.Kind, e.State = "state", Completed
			}
			b, _ := json.Marshal(e)
			_, _ = fmt.Fprintf(w, ": a comment\r\n\r\nevent: %s\r\nid: %d\r\ndata: %s\r\n\r\n", e.Kind, seq, b)
		}
		_, _ = io.WriteString(w, "event: stage\nid: 99\ndata: {\"se") // and breaks in the middle of one
	})
	cl.Patience = time.Minute
	var got []int64
	if err := cl.Follow(context.Background(), "j", 0, func(e Event) error {
		got = append(got, e.Seq)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for i, seq := range got {
		if seq != int64(i+1) {
			t.Fatal(got)
		}
	}
	if len(got) != last {
		t.Error(got)
	}
	stop := errors.New("enough")
	if err := cl.Follow(context.Background(), "j", 0, func(Event) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	if err := cl.Follow(context.Background(), "j", 0, func(Event) error { return Done }); err != nil {
		t.Error(err)
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2025, 1, 2, 3, 4, 5, 6000, time.FixedZone("", 3600))
	b, err := json.Marshal(struct{ A, B Time }{A: At(at)})
	if err != nil || string(b) != `{"A":"2025-01-02T02:04:05.000006","B":null}` {
		t.Errorf("%s %v", b, err)
	}
	var back struct{ A, B Time }
	if err := json.Unmarshal(b, &back); err != nil || !back.A.Equal(at) || !back.B.IsZero() {
		t.Errorf("%+v %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"A":"2025-01-02T03:04:05Z"}`), &back); err != nil || back.A.Hour() != 3 {
		t.Error(err)
	}
	if err := json.Unmarshal([]byte(`{"A":"yesterday"}`), &back); err == nil {
		t.Error("yesterday is a time")
	}
}

// An empty list of targets is sent: without it the binders would be combined with one another.
func TestEmptyTargetsAreSent(t *testing.T) {
	t.Parallel()
	for want, targets := range map[string][]BatchEntry{
		`"kind":"matrix","params":null,"targets":[]}`: {},
		`"kind":"matrix","params":null}`:              nil,
	} {
		b, err := json.Marshal(CreateBatch{Kind: "matrix", Targets: targets})
		if err != nil || !strings.HasSuffix(string(b), want) {
			t.Errorf("%s %v; want %s", b, err, want)
		}
	}
}
