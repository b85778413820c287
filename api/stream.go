package api

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"pleat/internal/clock"
)

// Done, returned by the function given to [Client.Follow] or [Client.Watch], ends the stream without an error.
var Done = errors.New("done")

// Follow calls fn with the events of a job's latest run, from the one after the sequence number given (0: from the
// first) until its last, which is the event of a terminal state. It reconnects where the stream breaks and never calls
// fn twice with one event; if the job is run again meanwhile, the events of that run follow. It returns fn's error, a
// refusal by the service, or the last failure to connect once Patience is spent.
func (c *Client) Follow(ctx context.Context, job string, after int64, fn func(Event) error) error {
	return c.follow(ctx, jobPath(job, "/events"), job, after, fn)
}

// Wait waits for the end of a job's latest run as [Client.Follow] does, and returns its results. A run that has failed
// or was stopped is no error: its state is that of Results.Job, and Results.Prediction says why.
func (c *Client) Wait(ctx context.Context, job string) (Results, error) {
	if err := c.Follow(ctx, job, 0, func(Event) error { return nil }); err != nil {
		return Results{}, err
	}
	return c.Results(ctx, job)
}

func (c *Client) follow(ctx context.Context, path, id string, after int64, fn func(Event) error) error {
	last, run := "", ""
	if after > 0 {
		last = strconv.FormatInt(after, 10)
	}
	return c.stream(ctx, path, last, func(data []byte) error {
		var e Event
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("follow %s: %w", id, err)
		}
		if of := cmp.Or(e.JobRunID, e.Task); of != run { // the first event, or the first of a later run
			run, after = of, 0
		}
		if e.Seq <= after {
			return nil
		}
		after = e.Seq
		if err := fn(e); err != nil {
			return err
		}
		if e.Kind == "state" && Terminal(e.State) {
			return Done
		}
		return nil
	})
}

// Watch calls fn with the changes of all jobs and workflows of the caller, until the context ends or fn returns an
// error. after is the Cursor of the last change seen; 0: from now on.
func (c *Client) Watch(ctx context.Context, after int64, fn func(Change) error) error {
	last := ""
	if after > 0 {
		last = strconv.FormatInt(after, 10)
	}
	path := "/v1/events"
	if c.Project != "" {
		path += "?projectId=" + url.QueryEscape(c.Project)
	}
	return c.stream(ctx, path, last, func(data []byte) error {
		var n Change
		if err := json.Unmarshal(data, &n); err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		return fn(n)
	})
}

// stream reads server-sent events until fn returns an error, over as many connections as it takes.
func (c *Client) stream(ctx context.Context, path, last string, fn func(data []byte) error) error {
	patience := c.Patience
	if patience == 0 {
		patience = time.Minute
	}
	const shortest, longest = 200 * time.Millisecond, 5 * time.Second
	wait, good := shortest, clock.Start()
	for {
		before, watch := last, clock.Start()
		err := c.listen(ctx, path, &last, fn)
		var fin *finished
		if errors.As(err, &fin) {
			if errors.Is(fin.err, Done) {
				return nil
			}
			return fin.err
		}
		var e *Error
		if errors.As(err, &e) && e.Status < 500 && e.Status != http.StatusTooManyRequests {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if last != before || watch.Elapsed() > longest { // it was a real connection, if perhaps a quiet one
			wait, good = shortest, clock.Start()
		}
		if good.Elapsed() > patience {
			return err
		}
		if e != nil && e.RetryAfter > 0 {
			wait = min(max(wait, e.RetryAfter), longest)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, longest)
	}
}

// finished carries what fn returned, to distinguish it from a broken connection.
type finished struct{ err error }

func (f *finished) Error() string { return f.err.Error() }

// quiet is how long a connection may be silent: three heartbeats of the service, which sends one every 15 s.
const quiet = 45 * time.Second

// listen reads one connection to its end and keeps the last id, which the next connection sends as Last-Event-ID. It
// returns *finished if the stream is complete or fn has returned an error, and any other error if the connection broke.
func (c *Client) listen(ctx context.Context, path string, last *string, fn func([]byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := http.Header{"Accept": {"text/event-stream"}}
	if *last != "" {
		h.Set("Last-Event-ID", *last)
	}
	res, err := c.send(ctx, request{method: http.MethodGet, path: path, header: h})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNoContent { // the client has every event
		return &finished{Done}
	}
	silence := time.AfterFunc(quiet, cancel)
	defer silence.Stop()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	var data []byte
	id, has := "", false
	for lines.Scan() {
		silence.Reset(quiet)
		line := lines.Text()
		if line == "" {
			if has {
				*last = id
			}
			if len(data) > 0 {
				if err := fn(data); err != nil {
					return &finished{err}
				}
			}
			data, has = nil, false
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			id, has = value, true
		case "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}
