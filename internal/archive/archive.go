// Package archive fetches structures that are named by an id from the public databases that the operator has
// configured.
//
// It owns the addresses and how an answer is read. It must not decide who may fetch, keep what it fetched, or read the
// structures. Its one file is archive.go.
package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/msa"
	"pleat/internal/words"
)

// URLs are the addresses of structures that are named by an id. The zero value fetches none.
type URLs struct {
	PDB     string        // address with {id} for the entry's id; empty: off
	UniProt string        // address with {id} for the accession; empty: off
	Timeout time.Duration // of one fetch; 0: a minute
}

// MaxBytes bounds a fetched structure. It is held in memory until it is written.
const MaxBytes = 64 << 20

// Entry is a structure as it was fetched. Name is ID.cif or ID.pdb, by its content.
type Entry struct {
	Name string
	Text []byte
}

// FetchPDB fetches an entry of the Protein Data Bank of at most limit bytes. An error, of a network that fails, comes
// with a failure that may be shown to users; a failure without an error is what the database answered.
func (u URLs) FetchPDB(ctx context.Context, id string, limit int64) (Entry, *pleat.Failure, error) {
	return u.fetch(ctx, source{"PDB", u.PDB, id, limit})
}

// FetchUniProt fetches the predicted structure of a UniProt accession, see FetchPDB.
func (u URLs) FetchUniProt(ctx context.Context, accession string, limit int64) (Entry, *pleat.Failure, error) {
	return u.fetch(ctx, source{"UniProt", u.UniProt, accession, limit})
}

// source is one structure of a database, by the database's name and address.
type source struct {
	database, address, id string
	limit                 int64 // bytes
}

// fetch downloads a structure.
func (u URLs) fetch(ctx context.Context, s source) (Entry, *pleat.Failure, error) {
	if s.address == "" {
		return Entry{}, pleat.Failed(pleat.FailUnsupported, fmt.Sprintf(
			"the operator does not allow this service to fetch structures by %s id; "+
				"put the file into the library instead", s.database)), nil
	}
	timeout := u.Timeout
	if timeout == 0 {
		timeout = time.Minute
	}
	ctx, done := context.WithTimeout(ctx, timeout)
	defer done()
	p, err := get(ctx, strings.ReplaceAll(s.address, "{id}", s.id), s.limit)
	if err != nil {
		why := fmt.Sprintf("the source of %s structures did not answer", s.database)
		return Entry{}, &pleat.Failure{Kind: pleat.FailTimeout, Message: why, Retry: true}, err
	}
	switch {
	case p.status == http.StatusNotFound || p.status == http.StatusGone:
		return Entry{}, pleat.Failed(pleat.FailInvalidInput, fmt.Sprintf("there is no structure of the %s id %s",
			s.database, s.id)), nil
	case p.status >= 500 || p.status == http.StatusTooManyRequests:
		why := fmt.Sprintf("the source of %s structures answered %d", s.database, p.status)
		f := pleat.Failure{Kind: pleat.FailTimeout, Message: why, Retry: true, RetryAfter: p.retryAfter}
		return Entry{}, &f, nil
	case p.status != http.StatusOK:
		return Entry{}, pleat.Failed(pleat.FailUnsupported, fmt.Sprintf(
			"the source of %s structures answered %d; the operator has to check its address", s.database,
			p.status)), nil
	case int64(len(p.body)) > s.limit:
		return Entry{}, pleat.Failed(pleat.FailTooLarge, fmt.Sprintf("the structure has more than %d MiB",
			s.limit>>20)), nil
	}
	ending := ".cif"
	if !bytes.HasPrefix(bytes.TrimLeft(p.body, "\r\n\t #"), []byte("data_")) {
		ending = ".pdb"
	}
	return Entry{strings.ToLower(s.id) + ending, p.body}, nil, nil
}

// page is an answer of a source. A status is not an error.
type page struct {
	status     int
	retryAfter time.Duration // 0: the source did not ask to be left alone
	body       []byte
}

// get reads at most limit bytes of a page, and one more if there are more. It follows redirects within the origin only:
// the operator has allowed no other.
func get(ctx context.Context, address string, limit int64) (page, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return page{}, words.WithoutAddress(err)
	}
	client := &http.Client{CheckRedirect: msa.SameOrigin}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return page{}, words.WithoutAddress(err) // the operator's address may hold a key
	}
	p := page{
		status:     resp.StatusCode,
		retryAfter: clock.RetryAfter(resp.Header, nil, pleat.MaxRetryAfter),
	}
	p.body, err = io.ReadAll(io.LimitReader(resp.Body, limit+1))
	return p, errors.Join(err, resp.Body.Close())
}
