package blob

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"pleat/internal/clock"
)

// Monitor is a Store that watches another: it counts the errors that are the store's own fault, knows whether the store
// fails at the moment, and logs when that begins and when it ends. It compares what is read with what was stored, see
// CompareWith. Make one with NewMonitor.
type Monitor struct {
	Store
	log *slog.Logger

	mu     sync.Mutex
	errors map[string]int64 // by operation
	faults map[string]bool  // the operations whose last attempt failed
	since  clock.Stopwatch  // since the first of them did
	begun  int64            // operations
	wrote  int64            // the number of the last of them that has written

	expect        func(ctx context.Context, key string) (name, sha256 string, err error) // nil: nothing is known
	damaged       int64
	damagedLogged map[string]bool // by SHA-256
}

// The operations of a store, as Monitor tells them apart: a full store, for example, can still be read.
const (
	opRead   = "read"
	opWrite  = "write"
	opDelete = "delete"
	opList   = "list"
)

// NewMonitor returns a Monitor of a store: the store itself if it is one.
func NewMonitor(s Store, log *slog.Logger) *Monitor {
	if m, ok := s.(*Monitor); ok {
		return m
	}
	return &Monitor{
		Store:         s,
		log:           log,
		errors:        map[string]int64{},
		faults:        map[string]bool{},
		damagedLogged: map[string]bool{},
	}
}

// Errors is how many operations have failed through the store's fault, by operation: read, write, delete and list.
func (m *Monitor) Errors() map[string]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]int64{opRead: 0, opWrite: 0, opDelete: 0, opList: 0}
	maps.Copy(out, m.errors)
	return out
}

// Failing reports whether the last attempt to read or to write failed through the store's fault.
func (m *Monitor) Failing() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.faults[opRead] || m.faults[opWrite]
}

// probeKey is outside the prefixes of runs and library files, which garbage collection walks.
const probeKey = "ready/probe"

// Probe writes an object, reads it and deletes it. It returns the first error.
func (m *Monitor) Probe(ctx context.Context) error {
	if _, err := m.Put(ctx, probeKey, strings.NewReader("can be written\n")); err != nil {
		return err
	}
	r, _, err := m.OpenPart(ctx, probeKey) // no row tells what it must be
	if err == nil {
		_, err = io.Copy(io.Discard, r)
		err = errors.Join(err, r.Close())
	}
	if errors.Is(err, ErrNotFound) { // another process has deleted it
		err = nil
	}
	return errors.Join(err, m.Delete(ctx, probeKey))
}

// fault is an error of the store, not of its caller.
type fault struct{ error }

func (f fault) Unwrap() error { return f.error }

// Fault marks an error as the fault of the store, for IsFault. Monitor does so itself; it is for a Store that knows of
// its faults in another way. Nil stays nil.
func Fault(err error) error {
	if err == nil {
		return nil
	}
	return fault{err}
}

// IsFault reports whether a Put of a Monitor failed through the fault of the store, or Fault made the error. Failing
// cannot tell: an operation that has succeeded since, such as that of a smaller file, may have ended the fault.
func IsFault(err error) bool {
	var f fault
	return errors.As(err, &f)
}

// begin numbers an operation, for record.
func (m *Monitor) begin() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun++
	return m.begun
}

// record counts the end of an operation, and reports whether it failed through the store's fault. Errors of the caller,
// ErrNotFound among them, say nothing about the store. A fault begins with the first operation that fails. It ends when
// all that failed have succeeded, or when a write has: the store can then be reached and has room. One that failed
// late, after a write that began later, begins no fault.
func (m *Monitor) record(ctx context.Context, number int64, op string, err error) bool {
	if errors.Is(ctx.Err(), context.Canceled) || errors.Is(err, ErrInvalidKey) {
		return false
	}
	if errors.Is(err, ErrNotFound) {
		err = nil // it answered
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	failing := len(m.faults) > 0
	if err != nil {
		m.errors[op]++
		if number < m.wrote {
			return true
		}
		if !failing {
			m.since = clock.Start()
			m.log.Error("the artifact store fails", "operation", op, "error", err)
		}
		m.faults[op] = true
		return true
	}
	if delete(m.faults, op); op == opWrite {
		clear(m.faults)
		m.wrote = max(m.wrote, number)
	}
	if failing && len(m.faults) == 0 {
		m.log.Info("the artifact store works again", "operation", op, "duration_ms", m.since.Elapsed())
	}
	return false
}

// Put implements Store.
func (m *Monitor) Put(ctx context.Context, key string, r io.Reader) (Info, error) {
	number, source := m.begin(), &sourceReader{Reader: r}
	info, err := m.Store.Put(ctx, key, source)
	if source.err == nil && m.record(ctx, number, opWrite, err) {
		err = Fault(err)
	}
	return info, err
}

// sourceReader remembers why what is stored could not be read.
type sourceReader struct {
	io.Reader
	err error
}

func (r *sourceReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// Stat implements Statter, and opens the object where the store does not. It counts as a read.
func (m *Monitor) Stat(ctx context.Context, key string) (info Info, err error) {
	number := m.begin()
	if s, ok := m.Store.(Statter); ok {
		info, err = s.Stat(ctx, key)
	} else {
		var r io.ReadSeekCloser
		if r, info, err = m.Store.Open(ctx, key); err == nil {
			r.Close()
		}
	}
	m.record(ctx, number, opRead, err)
	return info, err
}

// Presigner returns the store as a Presigner, if it is one. The use of a presigned request is not watched.
func (m *Monitor) Presigner() (Presigner, bool) {
	p, ok := m.Store.(Presigner)
	return p, ok
}

// Delete implements Store.
func (m *Monitor) Delete(ctx context.Context, key string) error {
	number := m.begin()
	err := m.Store.Delete(ctx, key)
	m.record(ctx, number, opDelete, err)
	return err
}

// Walk implements Store.
func (m *Monitor) Walk(ctx context.Context, prefix string, before time.Time, fn func(Info) error) error {
	var stopped error
	number := m.begin()
	err := m.Store.Walk(ctx, prefix, before, func(i Info) error {
		stopped = fn(i)
		return stopped
	})
	if stopped == nil {
		m.record(ctx, number, opList, err)
	}
	return err
}

// removeTemps removes what unfinished Puts have left, if the store can.
func (m *Monitor) removeTemps(ctx context.Context, before time.Time) (int, error) {
	if t, ok := m.Store.(tempRemover); ok {
		return t.removeTemps(ctx, before)
	}
	return 0, nil
}
