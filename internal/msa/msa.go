// Package msa makes multiple sequence alignments: it asks a server that speaks ColabFold's interface, or runs a search
// program on this machine, keeps what came of it, and searches for a sequence once however many ask at a time.
//
// It owns the form of alignments (A3M) and the manners towards servers. It knows nothing of jobs, artifacts or where
// the kept alignments lie: internal/work joins these.
package msa

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"
)

// Mode says in which databases to search and whether to thin the rows out, in the words of ColabFold's interface.
type Mode string

// The modes: with environmental sequences or without; the rows filtered or not.
const (
	ModeEnv         Mode = "env"
	ModeAll         Mode = "all"
	ModeEnvNoFilter Mode = "env-nofilter"
	ModeNoFilter    Mode = "nofilter"
)

// Modes lists them.
var Modes = []Mode{ModeEnv, ModeAll, ModeEnvNoFilter, ModeNoFilter}

// Pairing says how rows of several chains are matched by their organism.
type Pairing string

// The pairings: whatever chains an organism has; only organisms that have all chains; none.
const (
	PairGreedy   Pairing = "greedy"
	PairComplete Pairing = "complete"
	PairNone     Pairing = "none"
)

// Pairings lists them.
var Pairings = []Pairing{PairGreedy, PairComplete, PairNone}

// Source makes alignments: a Server or a Command.
type Source interface {
	// Database names what is searched, and how, so that what one database gave is never taken for another's.
	Database() string
	// Search aligns each of the sequences, which differ, and tells how it is getting on. Where pairing is not
	// PairNone, the rows of the alignments belong together by their order.
	Search(ctx context.Context, sequences []string, pairing Pairing, say func(string)) ([]*Alignment, error)
	// Pairs reports whether the source can pair rows.
	Pairs() bool
}

// Error says why there is no alignment.
type Error struct {
	Message string // one sentence for the job's owner, without addresses or paths
	Retry   bool   // it may pass
	Err     error  // for the operator's log; may be nil
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// Finder answers with alignments that are kept, or searches for them, one search at a time. Its fields are set before
// the first call and then left alone.
type Finder struct {
	Source  Source
	Pairing Pairing // empty: PairGreedy
	// of one search, with all its waiting for the source, but not for other searches; 0: half an hour
	Timeout time.Duration
	// Load opens what is kept under a key, and Save keeps it. Load answers nil and no error where there is nothing.
	Load func(ctx context.Context, key string) (io.ReadCloser, error)
	Save func(ctx context.Context, key string, r io.Reader) error
	Log  *slog.Logger

	flights flights
}

// Found is what Find answers with, in the order of the sequences.
type Found struct {
	Unpaired []*Alignment
	Paired   []*Alignment // nil: none were asked for, or the source cannot
}

// Find aligns sequences, which must differ. Where together is set and there are several, it pairs their rows too.
func (f *Finder) Find(ctx context.Context, sequences []string, together bool, say func(string)) (*Found, error) {
	var asked []ask
	for _, s := range sequences {
		asked = append(asked, ask{sequences: []string{s}, pairing: PairNone})
	}
	if together && f.pairs() && len(sequences) > 1 {
		asked = append(asked, ask{sequences: sequences, pairing: f.pairing()})
	}
	for i := range asked {
		asked[i].key = f.key(asked[i])
	}
	all, err := f.flights.do(ctx, asked, f.fetch, say)
	if err != nil {
		return nil, err
	}
	out := &Found{}
	for i := range sequences {
		out.Unpaired = append(out.Unpaired, all[i][0])
	}
	if len(all) > len(sequences) {
		out.Paired = all[len(sequences)]
	}
	return out, nil
}

func (f *Finder) pairing() Pairing {
	if f.Pairing == "" {
		return PairGreedy
	}
	return f.Pairing
}

func (f *Finder) pairs() bool { return f.Source.Pairs() && f.pairing() != PairNone }

// Wait returns once no search goes on. Searches that nobody waits for have been told to end.
func (f *Finder) Wait() { f.flights.flown.Wait() }

// Database names what is searched.
func (f *Finder) Database() string { return f.Source.Database() }

// ask is one thing to look for: the alignment of one sequence, or the paired ones of several, in their order.
type ask struct {
	sequences []string
	pairing   Pairing
	key       string
}

// Prefix is what the keys of kept alignments begin with.
const Prefix = "msa/"

// key names what is kept of a search by what was asked.
func (f *Finder) key(a ask) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "pleat msa 1\n%s\n%s\n%s", f.Source.Database(), a.pairing, strings.Join(a.sequences, "\n"))
	name := hex.EncodeToString(sum.Sum(nil))
	return Prefix + name[:2] + "/" + name + ".a3m.gz"
}

// fetch answers what is kept, and searches for the rest: the sequences together in one search, each set to pair in
// another.
func (f *Finder) fetch(ctx context.Context, asked []ask, say func(string)) ([][]*Alignment, error) {
	out := make([][]*Alignment, len(asked))
	var missing []string
	for i, a := range asked {
		if out[i] = f.load(ctx, a); out[i] == nil && a.pairing == PairNone {
			missing = append(missing, a.sequences[0])
		}
	}
	if len(missing) > 0 {
		all, err := f.search(ctx, missing, PairNone, say)
		if err != nil {
			return nil, err
		}
		for i, k := 0, 0; i < len(asked); i++ {
			if out[i] == nil && asked[i].pairing == PairNone {
				out[i] = all[k : k+1]
				k++
				f.save(ctx, asked[i], out[i])
			}
		}
	}
	for i, a := range asked {
		if out[i] != nil {
			continue
		}
		all, err := f.search(ctx, a.sequences, a.pairing, say)
		if err != nil {
			return nil, err
		}
		out[i] = all
		f.save(ctx, a, all)
	}
	return out, nil
}

func (f *Finder) search(ctx context.Context, sequences []string, pairing Pairing, say func(string)) ([]*Alignment,
	error) {
	release, err := f.flights.turn(ctx, say)
	if err != nil {
		return nil, err
	}
	defer release()
	timeout := f.Timeout
	if timeout == 0 {
		timeout = 30 * time.Minute
	}
	ctx, done := context.WithTimeoutCause(ctx, timeout, &Error{
		Message: fmt.Sprintf("no alignment was made within %.3g minutes", timeout.Minutes()), Retry: true,
	})
	defer done()
	all, err := f.Source.Search(ctx, sequences, pairing, say)
	if err == nil && len(all) != len(sequences) {
		err = fmt.Errorf("%d alignments of %d sequences", len(all), len(sequences))
	}
	if err != nil && ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), err)
	}
	return all, err
}

// load answers what is kept, or nil. What cannot be read is searched for anew.
func (f *Finder) load(ctx context.Context, a ask) []*Alignment {
	in, err := f.Load(ctx, a.key)
	if in == nil && err == nil {
		return nil
	}
	var out []*Alignment
	if err == nil {
		out, err = readKept(in, a.sequences)
		err = errors.Join(err, in.Close())
	}
	if err != nil {
		f.Log.Warn("a kept alignment cannot be read; searching again", "key", a.key, "error", err)
		return nil
	}
	return out
}

func readKept(r io.Reader, sequences []string) ([]*Alignment, error) {
	zipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	most := int64(maxUnpacked)
	raw, err := io.ReadAll(io.LimitReader(zipped, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) > most {
		return nil, fmt.Errorf("it has more than %d MiB", most>>20)
	}
	return gather([][]byte{raw}, sequences)
}

// save keeps alignments. That it fails costs the next job a search, and this one nothing.
func (f *Finder) save(ctx context.Context, a ask, all []*Alignment) {
	r, w := io.Pipe()
	go func() { // ends with the pipe, which Save reads to its end or the next line closes
		w.CloseWithError(writeKept(w, all))
	}()
	err := f.Save(context.WithoutCancel(ctx), a.key, r)
	_ = r.Close()
	if err != nil {
		f.Log.Warn("an alignment cannot be kept", "key", a.key, "error", err)
	}
}

func writeKept(w io.Writer, all []*Alignment) error {
	zipped := gzip.NewWriter(w)
	for i, a := range all {
		if i > 0 {
			if _, err := zipped.Write([]byte{0}); err != nil {
				return err
			}
		}
		named := *a
		named.Rows = append([]Row{{fmt.Sprint(firstID + i), a.Query()}}, a.Rows[1:]...)
		if _, err := named.WriteTo(zipped); err != nil {
			return err
		}
	}
	return zipped.Close()
}
