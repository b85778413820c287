package server_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/api"
	"pleat/internal/server"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
)

// events follows a job in the background.
type events struct {
	ch  chan api.Event
	err chan error
}

func follow(ctx context.Context, c *api.Client, job string, after int64) *events {
	e := &events{ch: make(chan api.Event, 1000), err: make(chan error, 1)}
	go func() {
		e.err <- c.Follow(ctx, job, after, func(ev api.Event) error {
			e.ch <- ev
			return nil
		})
		close(e.ch)
	}()
	return e
}

func (e *events) next(t *testing.T) api.Event {
	t.Helper()
	select {
	case ev, ok := <-e.ch:
		if ok {
			return ev
		}
		t.Fatalf("the stream ended: %v", <-e.err)
	case <-time.After(30 * time.Second):
		t.Fatal("no event")
	}
	return api.Event{}
}

func (h *fixture) heartbeat(c runs.ClaimedTask, p ...pleat.Progress) {
	h.t.Helper()
	if _, err := h.store.Runs.Heartbeat(context.Background(), "w1", []pleat.Heartbeat{{
		Task:     c.Task.ID,
		Attempt:  c.Task.Attempt,
		Run:      c.Fold.Run,
		Progress: p,
	}}); err != nil {
		h.t.Fatal(err)
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(c *server.Config) { // only notifications wake the streams
		c.StreamHeartbeat, c.StreamPoll = time.Hour, time.Hour
	})
	j := h.create(strings.Replace(trp, `"params"`, `"isPublic":true,"params"`, 1))
	ctx, c := t.Context(), h.client(h.key)
	mine, theirs := follow(ctx, c, j.JobID, 0), follow(ctx, h.client(""), j.JobID, 0)
	task := h.claim()
	first := mine.next(t)
	wantFirst := api.Event{
		Seq: 1, Kind: "state", JobID: j.JobID, JobRunID: j.JobRunID, State: api.Running,
	}
	if d := cmp.Diff(wantFirst, first, ignoreTimes); d != "" || first.At.IsZero() {
		t.Errorf("at %v\n%s", first.At, d)
	}
	for done := range 5 {
		h.heartbeat(task, pleat.Progress{Kind: pleat.ProgressStage, Stage: "fold", Done: done, Total: 10})
		if e := mine.next(t); e.Kind != "stage" || e.Stage != "fold" || e.Done != done || e.Total != 10 {
			t.Errorf("%+v", e)
		}
	}
	h.heartbeat(task, pleat.Progress{Kind: pleat.ProgressLog, Line: "a word"})
	if e := mine.next(t); e.Kind != "log" || e.Line != "a word" {
		t.Errorf("%+v", e)
	}
	err := h.store.Runs.AddArtifact(ctx, tasks.LeaseOf(&task.Task),
		h.put(task.Fold.Run, pleat.Artifact{
			Kind: pleat.ArtifactCoverage, Name: "coverage.png", ContentType: "image/png",
		}, "png"))
	if err != nil {
		t.Fatal(err)
	}
	e := mine.next(t)
	if e.Kind != "artifact" || e.Artifact == nil || e.Artifact.Name != "coverage.png" {
		t.Fatalf("%+v", e)
	}
	if r := h.ask("GET", e.Artifact.URL, nil); r.status != 200 || r.body != "png" {
		t.Errorf("a file made early: %d %s", r.status, r.body)
	}
	h.finish(task)
	last := mine.next(t)
	for last.Kind != "state" {
		last = mine.next(t)
	}
	if last.State != api.Completed {
		t.Errorf("%+v", last)
	}
	for _, s := range []*events{mine, theirs} {
		select {
		case err := <-s.err:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("the stream did not end")
		}
	}
	for e := range theirs.ch {
		if e.Kind == "log" {
			t.Error("the anonymous see the log")
		}
	}
	// resuming: nothing twice, nothing missed
	again := follow(ctx, c, j.JobID, 2)
	if e := again.next(t); e.Seq != 3 {
		t.Errorf("resumed with %+v", e)
	}
	if err := c.Follow(ctx, j.JobID, last.Seq, func(api.Event) error {
		return errors.New("an event after the last")
	}); err != nil {
		t.Error(err)
	}
}

// An id of another run, and one that the run has not reached, begin the stream of the run from its first event.
func TestStreamOfTheNextRun(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	j := h.completed(trp)
	path := "/v1/jobs/" + j.JobID + "/events"
	idsOf := func(last string) []string {
		t.Helper()
		r := h.as(h.key, "GET", path, nil, "Last-Event-ID", last)
		if r.status != 200 && r.status != 204 {
			t.Errorf("after %q: %d %s", last, r.status, r.body)
		}
		return regexp.MustCompile(`(?m)^id: (.*)$`).FindAllString(r.body, -1)
	}
	first := idsOf("")
	old := strings.TrimPrefix(first[len(first)-1], "id: ")
	if got := idsOf(old); len(got) > 0 {
		t.Errorf("after its last event: %q", got)
	}
	h.as(h.key, "POST", "/v1/jobs/"+j.JobID+"/runs", `{}`, "Cache-Control", "no-cache")
	h.finish(h.claim())
	all := idsOf("")
	if all[0] == first[0] || len(all) < 2 {
		t.Fatalf("%q, %q", first, all)
	}
	for _, last := range []string{old, strings.TrimPrefix(first[0], "id: "), "999"} {
		if d := cmp.Diff(all, idsOf(last)); d != "" {
			t.Errorf("after %s: %s", last, d)
		}
	}
	for _, last := range []string{"1", strings.TrimPrefix(all[0], "id: ")} { // a number alone is of this run
		if d := cmp.Diff(all[1:], idsOf(last)); d != "" {
			t.Errorf("after %s: %s", last, d)
		}
	}
}

// The raw form of the stream, as a browser reads it.
func TestStreamOnTheWire(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	j := h.completed(trp)
	r := h.as(h.key, "GET", "/v1/jobs/"+j.JobID+"/events", nil)
	if r.header.Get("Content-Type") != "text/event-stream" ||
		!strings.HasPrefix(r.body, ": open\n\nevent: state\nid: "+j.JobRunID+":1\ndata: {\"seq\":1,") ||
		!strings.HasSuffix(r.body, "}\n\n") {
		t.Errorf("%v\n%s", r.header, r.body)
	}
	if strings.Count(r.body, "event: state\n") != 2 {
		t.Errorf("%s", r.body)
	}
}

func TestHeadOfAStream(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	j := h.create(trp)
	for _, path := range []string{"/v1/events", "/v1/jobs/" + j.JobID + "/events"} {
		if r := h.as(h.key, "HEAD", path, nil); r.status != 200 || r.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s: %d", path, r.status)
		}
	}
}

// A stream outlives a restart of the server: the client goes on where it was.
func TestFollowReconnects(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	j := h.create(trp)
	task := h.claim()
	s := follow(t.Context(), h.client(h.key), j.JobID, 0)
	s.next(t)
	h.http.CloseClientConnections()
	h.heartbeat(task, pleat.Progress{Kind: pleat.ProgressStage, Stage: "fold", Done: 1, Total: 2})
	if e := s.next(t); e.Seq != 2 || e.Stage != "fold" {
		t.Errorf("%+v", e)
	}
	h.finish(task)
	for e := s.next(t); e.State != api.Completed; e = s.next(t) {
		if e.Seq <= 2 {
			t.Errorf("sent twice: %+v", e)
		}
	}
}

// readStream reads a stream until it ends and returns what came.
func readStream(t *testing.T, url string, headers ...string) (lines chan string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%v %v", err, res)
	}
	lines = make(chan string, 1000)
	go func() {
		defer close(lines)
		defer res.Body.Close()
		for sc := bufio.NewScanner(res.Body); sc.Scan(); {
			lines <- sc.Text()
		}
	}()
	return lines
}

func ends(t *testing.T, lines chan string, why string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case _, ok := <-lines:
			if !ok {
				return
			}
		case <-deadline:
			t.Fatalf("the stream goes on: %s", why)
		}
	}
}

// A stream looks again at whom it speaks to: hiding or deleting a job ends its readers' streams at once, revoking a key
// at the next heartbeat.
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(c *server.Config) {
		c.StreamHeartbeat, c.StreamPoll = 100*time.Millisecond, 50*time.Millisecond
	})
	ctx, c := context.Background(), h.client(h.key)
	j := h.create(strings.Replace(trp, `"params"`, `"isPublic":true,"params"`, 1))
	url := h.http.URL + "/v1/jobs/" + j.JobID + "/events"
	anonymous := readStream(t, url)
	if _, err := c.SetPublic(ctx, j.JobID, false); err != nil {
		t.Fatal(err)
	}
	ends(t, anonymous, "the job was hidden")

	key, err := c.CreateKey(ctx, api.CreateKey{Label: "short"})
	if err != nil {
		t.Fatal(err)
	}
	one, all := readStream(t, url, "X-API-Key", key.Secret),
		readStream(t, h.http.URL+"/v1/events", "X-API-Key", key.Secret)
	beats := 0
	for line := range one {
		if line == ": here" {
			if beats++; beats == 2 {
				break
			}
		}
	}
	if _, err := c.RevokeKey(ctx, key.ID); err != nil {
		t.Fatal(err)
	}
	ends(t, one, "the key was revoked")
	ends(t, all, "the key was revoked")

	mine := readStream(t, url, "X-API-Key", h.key)
	if _, err := c.Delete(ctx, j.JobID); err != nil {
		t.Fatal(err)
	}
	ends(t, mine, "the job was deleted")
	all = readStream(t, h.http.URL+"/v1/events", "X-API-Key", h.key)
	h.srv.EndStreams()
	ends(t, all, "the server stops")
}

func TestWatch(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(c *server.Config) { // only notifications wake it
		c.StreamHeartbeat, c.StreamPoll = time.Hour, time.Hour
	})
	_, ben := h.newUser("ben")
	got := make(chan api.Change, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	ready := readStream(t, h.http.URL+"/v1/events", "X-API-Key", h.key)
	<-ready // the stream stands, so one opened after the next line would too
	// The goroutine may begin after what it must hear of.
	from := h.store.DB.Now().UnixMicro()
	go func() {
		done <- h.client(h.key).Watch(ctx, from, func(n api.Change) error {
			got <- n
			return nil
		})
	}()
	if r := h.as(ben, "POST", "/v1/jobs", strings.Replace(trp, "Trp", "Ben", 1)); r.status != 200 {
		t.Fatal(r.body)
	}
	h.claim()
	j := h.create(trp)
	h.finish(h.claim())
	seen := map[string]bool{}
	last := int64(0)
	for !seen[api.Completed] {
		select {
		case n := <-got:
			if n.JobID != j.JobID || n.JobName != "Trp-cage" || n.Cursor < last {
				t.Errorf("%+v", n)
			}
			seen[n.Status], last = true, n.Cursor
		case <-time.After(30 * time.Second):
			t.Fatalf("no news; saw %v", seen)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTooManyStreams(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(c *server.Config) { c.Streams = 2 })
	for range 2 {
		<-readStream(t, h.http.URL+"/v1/events", "X-API-Key", h.key)
	}
	r := h.as(h.key, "GET", "/v1/events", nil)
	if r.status != 429 || r.message(t) != "Too many event streams are open; at most 2 are allowed" {
		t.Errorf("%d %s", r.status, r.body)
	}
}
