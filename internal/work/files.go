package work

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/queue"
	"pleat/internal/report"
	"pleat/internal/store/runs"
)

// maxSource bounds a file that a workflow reads, in bytes. Engines read it into memory whole.
const maxSource = 256 << 20

// inputDir holds, in the folder of an attempt, the files that the attempt reads.
const inputDir = "input"

// parallelStores is how many files of an attempt are stored at once: each waits for the disk, or for S3.
const parallelStores = 8

// storeFiles stores the files of an attempt, which must be inside dir, and returns their artifacts in the same order.
func (p *Pool) storeFiles(
	ctx context.Context, t *runningTask, dir string, files []pleat.File,
) ([]pleat.Artifact, error) {
	out := make([]pleat.Artifact, len(files))
	var group errgroup.Group
	group.SetLimit(parallelStores)
	for i, f := range files {
		group.Go(func() error {
			var err error
			if out[i], err = p.storeFile(ctx, t, dir, f); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			return nil
		})
	}
	return out, group.Wait()
}

// storeFile puts a file of the attempt into the blob store. While that fails, storeFile tries again for as long as the
// task is held: what was computed waits, and spends no try.
func (p *Pool) storeFile(
	ctx context.Context, t *runningTask, dir string, f pleat.File,
) (pleat.Artifact, error) {
	if rel, err := filepath.Rel(dir, f.Path); err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return pleat.Artifact{}, fmt.Errorf("%s is outside the folder of the work", f.Name)
	}
	key := runs.ArtifactKey(&t.Task, f.Name)
	var info blob.Info
	var err error
	quiet := slog.New(slog.DiscardHandler) // the monitor logs a fault once
	stored := queue.Retry(t.lease.Context(), quiet, "", func() error {
		if info, err = p.putFile(context.WithoutCancel(ctx), key, f.Path); blob.IsFault(err) {
			p.waitsForArtifacts(t)
			return err
		}
		return nil
	})
	if !stored || err != nil {
		return pleat.Artifact{}, err
	}
	return pleat.Artifact{
		Sequence:    f.Sequence,
		Name:        f.Name,
		Kind:        f.Kind,
		ContentType: f.ContentType,
		Bytes:       info.Bytes,
		SHA256:      info.SHA256,
		Key:         key,
	}, nil
}

// putFile puts a file into the blob store.
func (p *Pool) putFile(ctx context.Context, key, path string) (blob.Info, error) {
	in, err := os.Open(path)
	if err != nil {
		return blob.Info{}, err
	}
	defer in.Close()
	return p.files.Put(ctx, key, in)
}

// waitsForArtifacts tells the owner of a run, once, why its result takes so long.
func (p *Pool) waitsForArtifacts(t *runningTask) {
	if t.waits.Swap(true) {
		return
	}
	p.logOf(t).Warn("a result waits for the artifact store")
	t.lease.Report(pleat.Progress{
		At:   p.cfg.Clock().UTC(),
		Kind: pleat.ProgressLog,
		Line: "the results cannot be stored at the moment; trying again",
	})
}

// unreadable is the failure of a task whose file cannot be read: the message, or, if the file is damaged, its own.
func unreadable(err error, message string) *pleat.Failure {
	var e *pleat.Error
	if errors.Is(err, blob.ErrDamaged) && errors.As(err, &e) {
		message = e.Message
	}
	return pleat.Failed(pleat.FailStorage, message)
}

// errTooLarge is the error for a blob larger than maxSource.
var errTooLarge = errors.New("the file is larger than a source may be")

// fetchBlob copies a blob into a file. It refuses blobs larger than maxSource, except checkpoints, whose size their
// engine bounds.
func (p *Pool) fetchBlob(ctx context.Context, key, to string) error {
	in, info, err := p.files.Open(ctx, key)
	if err != nil {
		return err
	}
	defer in.Close()
	if info.Bytes > maxSource && !strings.HasSuffix(to, ".tar") {
		return errTooLarge
	}
	return report.WriteFile(to, func(out io.Writer) error {
		_, err := io.Copy(out, in)
		return err
	})
}

// fetchArtifact copies an artifact into a folder, under its name, and checks its SHA-256.
func (p *Pool) fetchArtifact(ctx context.Context, dir string, a *pleat.Artifact) error {
	if a.Name != filepath.Base(a.Name) || !filepath.IsLocal(a.Name) {
		return errors.New("it has no plain name")
	}
	in, _, err := p.files.Open(ctx, a.Key)
	if err != nil {
		return err
	}
	defer in.Close()
	sum := sha256.New()
	err = report.WriteFile(filepath.Join(dir, a.Name), func(out io.Writer) error {
		_, err := io.Copy(io.MultiWriter(out, sum), in)
		return err
	})
	if err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != a.SHA256 {
		return errors.New("the stored file does not match its SHA-256")
	}
	return nil
}
