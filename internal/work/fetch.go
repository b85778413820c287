package work

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pleat"
	"pleat/internal/flow"
	"pleat/internal/msa"
	"pleat/internal/words"
)

// ArchiveURLs are the addresses of structures that are named by an id. The zero value fetches none.
type ArchiveURLs struct {
	PDB     string        // address with {id} for the entry's id; empty: off
	UniProt string        // address with {id} for the accession; empty: off
	Timeout time.Duration // of one fetch; 0: a minute
}

// maxFetched bounds a fetched structure, in bytes. It is held in memory until it is written.
const maxFetched = 64 << 20

// fetch downloads a structure from the source that the operator has configured into the input folder, as ID.cif or
// ID.pdb by its content. Structures by UniProt accession are predictions: an answer about one says so.
func (b *inputFetcher) fetch(ctx context.Context, s flow.StructureSource) *pleat.Failure {
	from, name := b.p.cfg.ArchiveURLs.PDB, "PDB"
	if s.Kind == flow.SourceUniProt {
		from, name = b.p.cfg.ArchiveURLs.UniProt, "UniProt"
	}
	if from == "" {
		return pleat.Failed(pleat.FailUnsupported, fmt.Sprintf(
			"the operator does not allow this service to fetch structures by %s id; "+
				"put the file into the library and use targetSource library", name))
	}
	timeout := b.p.cfg.ArchiveURLs.Timeout
	if timeout == 0 {
		timeout = time.Minute
	}
	ctx, done := context.WithTimeout(ctx, timeout)
	defer done()
	raw, status, err := get(ctx, strings.ReplaceAll(from, "{id}", s.ID))
	switch {
	case err != nil:
		b.log.Warn("a structure cannot be fetched", "kind", s.Kind, "error", err)
		why := fmt.Sprintf("the source of %s structures did not answer", name)
		return &pleat.Failure{Kind: pleat.FailTimeout, Message: why, Retry: true}
	case status == http.StatusNotFound || status == http.StatusGone:
		return pleat.Failed(pleat.FailInvalidInput, fmt.Sprintf("there is no structure of the %s id %s", name, s.ID))
	case status >= 500 || status == http.StatusTooManyRequests:
		why := fmt.Sprintf("the source of %s structures answered %d", name, status)
		return &pleat.Failure{Kind: pleat.FailTimeout, Message: why, Retry: true}
	case status != http.StatusOK:
		return pleat.Failed(pleat.FailUnsupported, fmt.Sprintf(
			"the source of %s structures answered %d; the operator has to check its address", name, status))
	case len(raw) > maxFetched:
		return pleat.Failed(pleat.FailTooLarge, fmt.Sprintf("the structure has more than %d MiB", maxFetched>>20))
	}
	file := strings.ToLower(s.ID) + ".cif"
	if !bytes.HasPrefix(bytes.TrimLeft(raw, "\r\n\t #"), []byte("data_")) {
		file = strings.ToLower(s.ID) + ".pdb"
	}
	if err := os.WriteFile(filepath.Join(b.work.Dir, inputDir, file), raw, 0o600); err != nil {
		return pleat.Failed(pleat.FailStorage, "the worker has no disk space for its files")
	}
	b.structure(file)
	if b.work.QnA != nil {
		b.work.QnA.Predicted = s.Kind == flow.SourceUniProt
	}
	return nil
}

// get reads at most maxFetched bytes of a page, and one more if there are more. It returns the status too, which is not
// an error. It follows redirects within the origin only: the operator has allowed no other.
func get(ctx context.Context, address string) ([]byte, int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, 0, words.WithoutAddress(err)
	}
	client := &http.Client{CheckRedirect: msa.SameOrigin}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return nil, 0, words.WithoutAddress(err) // the operator's address may hold a key
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxFetched+1))
	return raw, resp.StatusCode, errors.Join(err, resp.Body.Close())
}
