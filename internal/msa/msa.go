// Package msa makes multiple sequence alignments (MSA). It queries a server with ColabFold's interface or runs a search
// program on this machine, caches the results of each user, and runs one search for a sequence however many callers of
// one user request it at the same time.
//
// It owns the A3M format and the rate at which servers are queried. It must not know jobs, artifacts or where cached
// alignments are stored: internal/work connects these.
package msa

import (
	"cmp"
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

	"pleat"
)

// Mode selects the databases and whether similar rows are filtered out. The values are those of ColabFold's interface.
type Mode string

// ModeEnv and ModeEnvNoFilter include environmental sequences; ModeEnv and ModeAll filter the rows.
const (
	ModeEnv         Mode = "env"
	ModeAll         Mode = "all"
	ModeEnvNoFilter Mode = "env-nofilter"
	ModeNoFilter    Mode = "nofilter"
)

// Modes lists every mode.
var Modes = []Mode{ModeEnv, ModeAll, ModeEnvNoFilter, ModeNoFilter}

// Pairing selects how rows of several chains are paired by their organism.
type Pairing string

// PairGreedy pairs whichever chains an organism has; PairComplete takes only organisms that have all chains.
const (
	PairGreedy   Pairing = "greedy"
	PairComplete Pairing = "complete"
	PairNone     Pairing = "none"
)

// Pairings lists every pairing.
var Pairings = []Pairing{PairGreedy, PairComplete, PairNone}

// Searcher makes alignments: a Server or a Command.
type Searcher interface {
	// Database identifies the database and the mode. It is part of the cache key.
	Database() string
	// Search returns one alignment for each sequence; the sequences must differ. It calls report with lines of
	// progress. Unless pairing is PairNone, rows with the same index belong to the same organism.
	Search(ctx context.Context, sequences []string, pairing Pairing, report func(string)) ([]*Alignment, error)
	// Pairs reports whether the searcher can pair rows.
	Pairs() bool
}

// Error is the reason why there is no alignment. Every error of a Searcher is one, except those of its context.
type Error struct {
	Message string // one sentence for the job's owner, without addresses or paths
	Retry   bool   // another attempt may succeed
	Err     error  // for the operator's log; may be nil

	// RetryAfter is for how long the server is still to be left alone, because it asked for that; 0: it did not.
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// Finder returns cached alignments or searches for them, one search at a time. Its fields must not change after the
// first call. It is safe for concurrent use.
type Finder struct {
	Searcher Searcher // what is asked on a cache miss
	Pairing  Pairing  // empty: PairGreedy
	// Shared lets all users share cached alignments and searches under way. The time of an answer then tells a user
	// that somebody has searched for a sequence before. Otherwise, each user has their own.
	Shared bool
	// Timeout of one search, including the time in the source's queue but not the wait for other searches of this
	// process; 0: half an hour.
	Timeout time.Duration
	// Load opens the cache entry of a key; it returns nil and no error if there is none. Save writes it: it reads r to
	// its end, or returns an error. Keys begin with Prefix.
	Load func(ctx context.Context, key string) (io.ReadCloser, error)
	Save func(ctx context.Context, key string, r io.Reader) error
	Log  *slog.Logger
	// Claims, if set, lets processes that share the cache search for each alignment once.
	Claims Claims

	searches pendingSearches
}

// Search is a search for the alignment of a protein, or for the paired alignments of several.
type Search struct {
	Key     string          // of its cache entry
	Owner   pleat.ProjectID // whose runs may use the entry; empty: all
	Protein string          // SHA-256 of the sequence, in hex; empty: of several, paired
}

// Claims keeps processes from searching for the same at the same time.
type Claims interface {
	// ClaimSearches returns which of some searches this process makes, in their order. A claim lasts for
	// pleat.SearchLease; one that it has can be claimed again. The other searches are made by another process at the
	// moment.
	ClaimSearches(ctx context.Context, searches []Search) ([]bool, error)
	// EndSearches ends claims. If found, the alignments are in the cache.
	EndSearches(ctx context.Context, keys []string, found bool) error
}

// Found is the result of Find, in the order of the sequences.
type Found struct {
	Unpaired []*Alignment
	Paired   []*Alignment // nil: none were requested, or the source cannot pair
}

// Query is what a user wants alignments of.
type Query struct {
	Owner     pleat.ProjectID // whose cached alignments and searches it uses, unless the finder shares them
	Sequences []string        // which must differ
	Pairing   Pairing         // of FindPaired; empty: that of the finder
}

// Find returns an alignment of each sequence. It calls report with lines of progress.
func (f *Finder) Find(ctx context.Context, q Query, report func(string)) (*Found, error) {
	return f.find(ctx, f.unpaired(q), len(q.Sequences), report)
}

// FindPaired returns what Find returns and, if there are several sequences and the searcher can pair, paired
// alignments.
func (f *Finder) FindPaired(ctx context.Context, q Query, report func(string)) (*Found, error) {
	requests := f.unpaired(q)
	pairing := cmp.Or(q.Pairing, f.Pairing, PairGreedy)
	if f.Searcher.Pairs() && pairing != PairNone && len(q.Sequences) > 1 {
		requests = append(requests, f.request(q, pairing))
	}
	return f.find(ctx, requests, len(q.Sequences), report)
}

// unpaired returns the request of each sequence alone.
func (f *Finder) unpaired(q Query) []request {
	var requests []request
	for _, s := range q.Sequences {
		requests = append(requests, f.request(Query{Owner: q.Owner, Sequences: []string{s}}, PairNone))
	}
	return requests
}

// find resolves the requests of n single sequences and, after them, at most one for paired alignments.
func (f *Finder) find(ctx context.Context, requests []request, n int, report func(string)) (*Found, error) {
	all, err := f.searches.do(ctx, requests, f.fetch, report)
	if err != nil {
		return nil, err
	}
	out := &Found{}
	for i := range n {
		out.Unpaired = append(out.Unpaired, all[i][0])
	}
	if len(all) > n {
		out.Paired = all[n]
	}
	return out, nil
}

// Wait returns when no search is running. Searches that no caller waits for are cancelled already.
func (f *Finder) Wait() { f.searches.running.Wait() }

// Database identifies the database and the mode of the source.
func (f *Finder) Database() string { return f.Searcher.Database() }

// request is one alignment to find: that of one sequence, or the paired ones of several in their order.
type request struct {
	Search
	sequences []string // one, unless pairing is set
	pairing   Pairing  // PairNone: of one sequence
}

// Prefix begins every cache key.
const Prefix = "msa/"

// request builds a request. Its cache key is a hash of the database, the pairing and the sequences and, unless all
// share alignments, of the project. It so decides which callers join a search under way too.
func (f *Finder) request(q Query, pairing Pairing) request {
	sum := sha256.New()
	owner := q.Owner
	if f.Shared { // as in versions in which all users shared, whose entries stay valid
		owner = ""
		fmt.Fprint(sum, "pleat msa 1\n")
	} else {
		fmt.Fprintf(sum, "pleat msa 2\n%s\n", owner)
	}
	fmt.Fprintf(sum, "%s\n%s\n%s", f.Searcher.Database(), pairing, strings.Join(q.Sequences, "\n"))
	name := hex.EncodeToString(sum.Sum(nil))
	out := request{sequences: q.Sequences, pairing: pairing}
	out.Key, out.Owner = Prefix+name[:2]+"/"+name+".a3m.gz", owner
	if pairing == PairNone {
		out.Protein = proteinHash(q.Sequences[0])
	}
	return out
}

// proteinHash identifies a protein by the SHA-256 of its sequence, in hex.
func proteinHash(sequence string) string {
	sum := sha256.Sum256([]byte(sequence))
	return hex.EncodeToString(sum[:])
}

// search asks the source, once no other search of this process runs. It returns one alignment for each sequence. If the
// search takes longer than Timeout, the error is an Error that may be retried.
func (f *Finder) search(ctx context.Context, sequences []string, pairing Pairing, report func(string)) ([]*Alignment,
	error) {
	release, err := f.searches.acquire(ctx, report)
	if err != nil {
		return nil, err
	}
	defer release()
	timeout := cmp.Or(f.Timeout, 30*time.Minute)
	ctx, done := context.WithTimeoutCause(ctx, timeout, &Error{
		Message: fmt.Sprintf("no alignment was made within %.3g minutes", timeout.Minutes()), Retry: true,
	})
	defer done()
	all, err := f.Searcher.Search(ctx, sequences, pairing, report)
	if err == nil && len(all) != len(sequences) {
		err = fmt.Errorf("%d alignments of %d sequences", len(all), len(sequences))
	}
	if err != nil && ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), err)
	}
	return all, err
}

// load returns the cached alignments of a request; nil if there are none or they cannot be read.
func (f *Finder) load(ctx context.Context, r request) []*Alignment {
	in, err := f.Load(ctx, r.Key)
	if in == nil && err == nil {
		return nil
	}
	var out []*Alignment
	if err == nil {
		out, err = readCached(in, r.sequences)
		err = errors.Join(err, in.Close())
	}
	if err != nil {
		f.Log.Warn("a cached alignment cannot be read; searching again", "key", r.Key, "error", err)
		return nil
	}
	return out
}

// readCached parses a cache entry, which must be of the sequences.
func readCached(r io.Reader, sequences []string) ([]*Alignment, error) {
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

// save writes alignments to the cache. A failure is logged only: the next job searches again.
func (f *Finder) save(ctx context.Context, req request, all []*Alignment) {
	r, w := io.Pipe()
	go func() { // ends with the pipe, which Save reads to its end or the next line closes
		w.CloseWithError(writeCached(w, all))
	}()
	err := f.Save(context.WithoutCancel(ctx), req.Key, r)
	_ = r.Close()
	if err != nil {
		f.Log.Warn("an alignment cannot be cached", "key", req.Key, "error", err)
	}
}

// writeCached writes a cache entry: gzipped A3M, whose alignments are separated by NUL bytes as in a server's files.
// The queries are numbered from firstID, as a server does.
func writeCached(w io.Writer, all []*Alignment) error {
	zipped := gzip.NewWriter(w)
	for i, a := range numbered(all) {
		if i > 0 {
			if _, err := zipped.Write([]byte{0}); err != nil {
				return err
			}
		}
		if _, err := a.WriteTo(zipped); err != nil {
			return err
		}
	}
	return zipped.Close()
}

// numbered returns alignments whose queries are numbered from firstID, as those of a search of their own.
func numbered(all []*Alignment) []*Alignment {
	out := make([]*Alignment, len(all))
	for i, a := range all {
		named := *a
		named.Rows = append([]Row{{fmt.Sprint(firstID + i), a.Query()}}, a.Rows[1:]...)
		out[i] = &named
	}
	return out
}
