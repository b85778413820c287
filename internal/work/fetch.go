package work

import (
	"context"
	"os"
	"path/filepath"

	"pleat"
	"pleat/internal/archive"
	"pleat/internal/flow"
)

// fetch downloads a structure of a public database into the input folder. Structures by UniProt accession are
// predictions: an answer about one says so.
func (b *inputFetcher) fetch(ctx context.Context, s flow.StructureSource) *pleat.Failure {
	from := b.p.cfg.ArchiveURLs.FetchPDB
	if s.Kind == flow.SourceUniProt {
		from = b.p.cfg.ArchiveURLs.FetchUniProt
	}
	name, failure := b.download(ctx, s, from)
	if failure != nil {
		return failure
	}
	b.structure(name)
	if b.work.QnA != nil {
		b.work.QnA.Predicted = s.Kind == flow.SourceUniProt
	}
	return nil
}

// download writes a structure of a public database into the input folder and returns its name there.
func (b *inputFetcher) download(
	ctx context.Context, s flow.StructureSource,
	from func(context.Context, string, int64) (archive.Entry, *pleat.Failure, error),
) (string, *pleat.Failure) {
	entry, failure, err := from(ctx, s.ID, archive.MaxBytes)
	if err != nil {
		b.log.Warn("a structure cannot be fetched", "kind", s.Kind, "error", err)
	}
	if failure != nil {
		return "", failure
	}
	if err := os.WriteFile(filepath.Join(b.work.Dir, inputDir, entry.Name), entry.Text, 0o600); err != nil {
		return "", pleat.Failed(pleat.FailStorage, "the worker has no disk space for its files")
	}
	return entry.Name, nil
}
