package server_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pleat/internal/blob"
	"pleat/internal/seal"
	"pleat/internal/server"
	"pleat/internal/server/route"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
)

// A server that has just seen a key does not ask again before it creates a job. A key that was revoked through another
// server creates none all the same, and is told nothing about the request.
func TestRevokedKeyCreatesNothing(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	other := storetest.OpenAt(t, h.db, h.clock)
	send := func(body string, want int) {
		t.Helper()
		if got := h.as(h.key, "POST", "/v1/jobs", body, "Idempotency-Key", "first"); got.status != want {
			t.Errorf("%d instead of %d: %s", got.status, want, got.body)
		}
	}
	send(trp, 200)
	send("{}", 400)
	keys, err := other.People.Keys(t.Context(), people.Reach{User: h.user})
	if err != nil || len(keys) != 1 {
		t.Fatal(keys, err)
	}
	if err := other.People.RevokeKey(t.Context(), people.Actor{Reach: people.Own(h.user)}, keys[0].ID); err != nil {
		t.Fatal(err)
	}
	send(trp, 401)
	send("{}", 401)
	list, err := other.Runs.ListJobs(t.Context(), people.Own(h.user), runs.Filter{Limit: 10})
	if err != nil || len(list) != 1 {
		t.Errorf("%d jobs: %v", len(list), err)
	}
}

// openStream opens an event stream and returns a channel that is closed when the server ends it.
func openStream(t *testing.T, url, key string) <-chan struct{} {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(res.Body)
	if line, err := lines.ReadString('\n'); res.StatusCode != 200 || line != ": open\n" {
		t.Fatalf("%d %q, %v", res.StatusCode, line, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, lines)
	}()
	return ended
}

// A key that is revoked through one server ends its open streams on another, whose heartbeat is far away. On SQLite no
// wake-up comes from the other process. The streams of other keys stay open.
func TestRevokedKeyEndsStreamsOfOtherServers(t *testing.T) {
	t.Parallel()
	for name, fresh := range storetest.Databases() {
		t.Run(name, func(t *testing.T) {
			address := fresh(t)
			here, there := storetest.OpenAt(t, address, nil), storetest.OpenAt(t, address, nil)
			owner := storetest.User(t, here, "ann")
			job := storetest.CreateJob(t, here, storetest.NewFold(owner, "fold")).Job
			files, err := blob.OpenDir(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			s, err := server.New(server.Config{Config: route.Config{
				PublicURL:       "http://127.0.0.1",
				StreamHeartbeat: time.Hour,
				StreamPoll:      time.Millisecond,
				CredentialCheck: time.Millisecond,
			}}, server.Deps{Store: there, Blobs: files, Ring: newRing(t), Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			web := httptest.NewServer(s.Handler())
			t.Cleanup(web.Close)
			t.Cleanup(s.EndStreams)
			newKey := func() (string, people.Key) {
				secret := seal.NewKey()
				k, err := here.People.CreateKey(t.Context(), people.Actor{Reach: owner}, people.NewKey{
					Prefix: seal.Prefix(secret), Hash: seal.HashKey(secret),
				})
				if err != nil {
					t.Fatal(err)
				}
				return secret, k
			}
			stays, _ := newKey()
			revoked, key := newKey()
			open := openStream(t, web.URL+"/v1/events", stays)
			all := openStream(t, web.URL+"/v1/events", revoked)
			one := openStream(t, web.URL+"/v1/jobs/"+string(job)+"/events", revoked)
			if err := here.People.RevokeKey(t.Context(), people.Actor{Reach: owner}, key.ID); err != nil {
				t.Fatal(err)
			}
			<-all
			<-one
			select {
			case <-open:
				t.Error("the stream of another key has ended")
			default:
			}
		})
	}
}

// Sessions of the page end on other servers too.
func TestEndedSessionEndsStreams(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(c *server.Config) {
		c.StreamHeartbeat, c.StreamPoll, c.CredentialCheck = time.Hour, time.Millisecond, time.Millisecond
	})
	in := h.ask("POST", "/v1/session", `{"key":"`+h.key+`"}`)
	cookie, _, _ := strings.Cut(in.header.Get("Set-Cookie"), ";")
	_, id, ok := strings.Cut(cookie, "=")
	if in.status >= 300 || !ok {
		t.Fatalf("%d %s", in.status, in.body)
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", h.http.URL+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Cookie", cookie)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%v, %v", res, err)
	}
	defer res.Body.Close()
	other := storetest.OpenAt(t, h.db, nil)
	if err := other.People.DeleteSession(context.Background(), seal.HashKey(id)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Error(err)
	}
}
