package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pleat/internal/blob/blobtest"
)

// faultyS3 opens a bucket behind a proxy that can refuse requests.
func faultyS3(t *testing.T) (Store, *blobtest.Faulty) {
	t.Helper()
	bucket, proxy := blobtest.Bucket(t), blobtest.NewFaulty(t)
	s, err := Open(t.Context(), blobtest.AddressAt(proxy.URL, bucket, ""))
	if err != nil {
		t.Fatal(err)
	}
	return s, proxy
}

// An S3 server that is full, and then whole again: each fault is counted, and it has one line at its begin and one at
// its end.
func TestMonitorOfAFullBucket(t *testing.T) {
	t.Parallel()
	bucket, proxy := faultyS3(t)
	log := &strings.Builder{}
	m := NewMonitor(bucket, slog.New(slog.NewTextHandler(log, nil)))
	ctx := t.Context()
	put := func() error {
		_, err := m.Put(ctx, "runs/1/1/a", strings.NewReader("content"))
		return err
	}
	if err := put(); err != nil || m.Failing() {
		t.Fatalf("%v, failing: %v", err, m.Failing())
	}
	proxy.Fill()
	for range 3 {
		if err := put(); !errors.Is(err, ErrFull) || !IsFault(err) || !m.Failing() {
			t.Errorf("%v, failing: %v", err, m.Failing())
		}
	}
	if _, _, err := m.Open(ctx, "runs/1/1/a"); err == nil {
		t.Error("a server that answers 507 was read")
	}
	proxy.Recover()
	if err := m.Probe(ctx); err != nil || m.Failing() {
		t.Errorf("%v, failing: %v", err, m.Failing())
	}
	if n := m.Errors(); n[opWrite] != 3 || n[opRead] != 1 || n[opDelete] != 0 || n[opList] != 0 {
		t.Errorf("%v", n)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "the artifact store fails") ||
		!strings.Contains(lines[1], "works again") {
		t.Errorf("%d lines:\n%s", len(lines), log)
	}
}

// A mistake of the caller, or a source that cannot be read, says nothing about the store.
func TestMonitorBlamesNoCaller(t *testing.T) {
	t.Parallel()
	m := NewMonitor(openDir(t), slog.New(slog.DiscardHandler))
	ctx, gone := t.Context(), errors.New("the client has gone")
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, bad := m.Put(ctx, "../x", strings.NewReader(""))
	_, broken := m.Put(ctx, "a/b", iotest.ErrReader(gone))
	_, _, missing := m.Open(ctx, "a/c")
	_, nothing := m.Stat(ctx, "a/c")
	_, left := m.Put(cancelled, "a/d", strings.NewReader("x"))
	stopped := m.Walk(ctx, "", time.Time{}, func(Info) error { return gone })
	if _, err := m.Put(ctx, "a/e", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	stopped = errors.Join(stopped, m.Walk(ctx, "", time.Time{}, func(Info) error { return gone }))
	for _, err := range []error{bad, broken, missing, nothing, left, stopped} {
		if err == nil || IsFault(err) {
			t.Errorf("a call with a fault of its own ended with %v", err)
		}
	}
	for op, n := range m.Errors() {
		if n != 0 {
			t.Errorf("%d errors of %s", n, op)
		}
	}
	if m.Failing() {
		t.Error("the store counts as failing")
	}
	r, _, err := m.Open(ctx, "a/e")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadAll(r); err != nil {
		t.Error(err)
	}
}

// A file that is refused is the store's fault, even if another is stored before its caller looks.
func TestMonitorOfAnAlmostFullStore(t *testing.T) {
	t.Parallel()
	bucket, proxy := faultyS3(t)
	m := NewMonitor(bucket, slog.New(slog.DiscardHandler))
	proxy.Fill()
	_, large := m.Put(t.Context(), "runs/1/1/large", strings.NewReader("content"))
	proxy.Recover()
	if _, err := m.Put(t.Context(), "runs/1/1/small", strings.NewReader("c")); err != nil || m.Failing() {
		t.Fatalf("%v, failing: %v", err, m.Failing())
	}
	if !IsFault(large) || !errors.Is(large, ErrFull) {
		t.Errorf("the error is %v", large)
	}
}

// A Stat that the store cannot answer counts as a read that failed, and one that it can answer ends the fault.
func TestMonitorOfStat(t *testing.T) {
	t.Parallel()
	bucket, proxy := faultyS3(t)
	m := NewMonitor(bucket, slog.New(slog.DiscardHandler))
	put(t, m, "a", []byte("content"))
	proxy.Refuse(http.StatusForbidden, "AccessDenied")
	if _, err := m.Stat(t.Context(), "a"); !errors.Is(err, ErrRefused) || !m.Failing() || m.Errors()[opRead] != 1 {
		t.Errorf("%v, failing: %v, errors %v", err, m.Failing(), m.Errors())
	}
	proxy.Recover()
	if stat(t, m, "a"); m.Failing() || m.Errors()[opRead] != 1 {
		t.Errorf("failing: %v, errors %v", m.Failing(), m.Errors())
	}
}

// A store that has no Stat is opened.
func TestMonitorOfAStoreWithoutStat(t *testing.T) {
	t.Parallel()
	m := NewMonitor(struct{ Store }{openDir(t)}, slog.New(slog.DiscardHandler))
	put(t, m, "a", []byte("content"))
	stat(t, m, "a")
	if _, err := m.Stat(t.Context(), "b"); !errors.Is(err, ErrNotFound) || m.Failing() {
		t.Errorf("%v, failing: %v", err, m.Failing())
	}
}

// Another Store can say what is its own fault.
func TestFault(t *testing.T) {
	t.Parallel()
	down := errors.New("the server is down")
	if err := fmt.Errorf("put a: %w", Fault(down)); !IsFault(err) || !errors.Is(err, down) ||
		err.Error() != "put a: the server is down" {
		t.Errorf("%v, a fault: %v", err, IsFault(err))
	}
	if err := Fault(nil); err != nil || IsFault(err) || IsFault(down) {
		t.Errorf("without an error: %v; an error that nobody marked is a fault: %v", err, IsFault(down))
	}
}

// lateStore is a store whose writes of a key fail once the test lets them.
type lateStore struct {
	Store
	key          string
	began, fails chan struct{}
}

func (s lateStore) Put(ctx context.Context, key string, r io.Reader) (Info, error) {
	if key != s.key {
		return s.Store.Put(ctx, key, r)
	}
	close(s.began)
	<-s.fails
	return Info{}, ErrFull
}

// A write that the store refused while it was full, and whose answer comes after a later write was stored, begins no
// fault: the store works again. Its caller learns of it all the same.
func TestMonitorOfALateAnswer(t *testing.T) {
	t.Parallel()
	late := lateStore{openDir(t), "runs/1/1/late", make(chan struct{}), make(chan struct{})}
	m := NewMonitor(late, slog.New(slog.DiscardHandler))
	refused := make(chan error)
	go func() {
		_, err := m.Put(t.Context(), late.key, strings.NewReader("content"))
		refused <- err
	}()
	<-late.began
	put(t, m, "runs/1/1/later", []byte("content"))
	close(late.fails)
	if err := <-refused; !IsFault(err) || m.Failing() || m.Errors()[opWrite] != 1 {
		t.Errorf("%v, failing: %v, errors %v", err, m.Failing(), m.Errors())
	}
}
