package work

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"pleat"
	"pleat/internal/report"
)

// maxSource bounds a file that a workflow reads, in bytes. Engines read it into memory whole.
const maxSource = 256 << 20

// inputDir holds, in the folder of an attempt, the files that the attempt reads.
const inputDir = "input"

// parallelStores is how many files of an attempt are stored at once: each waits for the disk, or for S3.
const parallelStores = 8

// storeFiles stores the files of an attempt, which must be inside dir, and returns their artifacts in the same order.
func (p *Pool) storeFiles(t *runningTask, dir string, files []pleat.File) ([]pleat.Artifact, error) {
	out := make([]pleat.Artifact, len(files))
	var group errgroup.Group
	group.SetLimit(parallelStores)
	for i, f := range files {
		group.Go(func() error {
			var err error
			if out[i], err = p.storeFile(t, dir, f); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			return nil
		})
	}
	return out, group.Wait()
}

// storeFile puts a file of the attempt into the blob store. The key holds the attempt, so that two attempts never
// share one.
func (p *Pool) storeFile(t *runningTask, dir string, f pleat.File) (pleat.Artifact, error) {
	if rel, err := filepath.Rel(dir, f.Path); err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return pleat.Artifact{}, fmt.Errorf("%s is outside the folder of the work", f.Name)
	}
	in, err := os.Open(f.Path)
	if err != nil {
		return pleat.Artifact{}, err
	}
	defer in.Close()
	key := fmt.Sprintf("runs/%s/%d/%s", t.Task.Run, t.Task.Attempt, f.Name)
	info, err := p.blobs.Put(context.WithoutCancel(t.ctx), key, in)
	if err != nil {
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

// errTooLarge is the error for a blob larger than maxSource.
var errTooLarge = errors.New("the file is larger than a source may be")

// fetchBlob copies a blob into a file. It refuses blobs larger than maxSource, but for checkpoints, whose size their
// engine bounds.
func (p *Pool) fetchBlob(ctx context.Context, key, to string) error {
	in, info, err := p.blobs.Open(ctx, key)
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
	in, _, err := p.blobs.Open(ctx, a.Key)
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
