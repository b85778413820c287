// Package blob stores artifacts: bytes under a key, in a directory or in an S3 bucket. An object whose Put has returned
// survives a kill and a power failure; an unfinished Put is never visible under its key.
//
// It owns how bytes are written, named and garbage collected, and how much of the disk is free. It must not know what
// the bytes mean: the database knows which run an artifact belongs to, who may read it and which keys are unreferenced.
package blob

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Store stores objects under keys (see CheckKey). It is safe for concurrent use. Dir and Bucket implement it; one suite
// of tests covers both.
type Store interface {
	// Put reads r to its end and stores it under key, replacing an earlier object. When it returns nil, the object is
	// complete and durable. When it fails, or the process dies, the key keeps its earlier object. A full disk is
	// ErrFull.
	Put(ctx context.Context, key string, r io.Reader) (Info, error)
	// Open returns the object as a seekable reader, and its Info. The caller must close the reader and keep ctx alive
	// until then. An absent key is ErrNotFound.
	Open(ctx context.Context, key string) (io.ReadSeekCloser, Info, error)
	// Delete removes the object. An absent object is not an error.
	Delete(ctx context.Context, key string) error
	// Walk calls fn for every object whose key begins with prefix (any string, such as half a name) and that was last
	// written before the given time; a zero time means all. The order is undefined, and fn may delete objects. An error
	// of fn ends the walk and is returned.
	Walk(ctx context.Context, prefix string, before time.Time, fn func(Info) error) error
}

// Statter describes objects without opening them. Dir, Bucket and Monitor implement it. It is no part of Store, because
// the files of a worker without keys are a Store too, and have no Stat.
type Statter interface {
	// Stat returns what Open says of the object. An absent key is ErrNotFound.
	Stat(ctx context.Context, key string) (Info, error)
}

// Info describes an object. Put sets all fields except ModTime. Open, Stat and Walk set all except SHA256, which Open
// and Stat of a Bucket set too.
type Info struct {
	Key     string
	Bytes   int64
	SHA256  string // lower-case hexadecimal
	ModTime time.Time
}

// Errors for errors.Is.
var (
	ErrNotFound   = errors.New("no such object")
	ErrInvalidKey = errors.New("invalid key")
	ErrFull       = errors.New("no space left in the artifact store")
	ErrRefused    = errors.New("access is refused; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or " +
		"AWS_SHARED_CREDENTIALS_FILE, and the policy of the bucket")
)

// Limits of a key.
const (
	MaxKey     = 512
	MaxSegment = 128
)

// CheckKey returns nil for a key such as runs/<run>/<attempt>/<name>: names separated by single slashes, each of A–Z
// a–z 0–9 . _ - with at most MaxSegment bytes and no leading dot, at most MaxKey bytes in total. Any other key is
// ErrInvalidKey. A valid key is a safe path below any folder and a safe part of any URL.
func CheckKey(key string) error {
	bad := func(why string) error {
		if len(key) > 80 {
			key = key[:80] + "…"
		}
		return fmt.Errorf("blob: key %q %s: %w", key, why, ErrInvalidKey)
	}
	if key == "" || len(key) > MaxKey {
		return bad(fmt.Sprintf("has %d characters; 1 to %d are allowed", len(key), MaxKey))
	}
	for segment := range strings.SplitSeq(key, "/") {
		switch {
		case segment == "":
			return bad("has an empty name between slashes")
		case segment[0] == '.':
			return bad("has a name that begins with a dot")
		case len(segment) > MaxSegment:
			return bad(fmt.Sprintf("has a name of %d characters; at most %d are allowed", len(segment), MaxSegment))
		}
		for i := range len(segment) {
			c := segment[i]
			if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' ||
				c == '-') {
				return bad(fmt.Sprintf("has %q; A–Z, a–z, 0–9, '.', '_', '-' and '/' are allowed", c))
			}
		}
	}
	return nil
}

// Open opens a store by its address:
//
//	dir:/var/lib/pleat/artifacts
//	s3://bucket/prefix?endpoint=https://minio.example:9000&region=eu-central-1
//
// A missing directory is created. For S3 the default endpoint is Amazon's, and credentials come from the standard AWS_
// environment variables (see S3Options), never from the address. The bucket must exist; Open checks that.
func Open(ctx context.Context, address string) (Store, error) {
	if path, ok := strings.CutPrefix(address, "dir:"); ok {
		return OpenDir(path)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New(
			"blob: the address of the artifact store is not a URL; it must be dir:/path or s3://bucket/prefix")
	}
	if u.Scheme != "s3" {
		return nil, fmt.Errorf("blob: the artifact store has the scheme %q; it must be dir:/path or s3://bucket/prefix",
			u.Scheme)
	}
	options, err := parseS3(u)
	if err != nil {
		return nil, err
	}
	return OpenBucket(ctx, options)
}

// Collected counts what CollectGarbage removed.
type Collected struct {
	Objects int // unreferenced objects
	Temps   int // unfinished Puts
}

// orphanBatch is the number of keys in one call of orphans.
const orphanBatch = 500

// CollectGarbage removes garbage that was last written before the given time: unfinished Puts, and the objects below
// prefix that orphans returns of the keys it is given, at most orphanBatch at a time. `before` should be at least an
// hour in the past, so that no running Put and no object whose row is about to be committed is removed.
func CollectGarbage(ctx context.Context, s Store, prefix string, before time.Time,
	orphans func(ctx context.Context, keys []string) ([]string, error)) (Collected, error) {
	var collected Collected
	var err, tempErr error
	collected.Objects, err = collectObjects(ctx, s, prefix, before, orphans)
	if t, ok := s.(tempRemover); ok {
		collected.Temps, tempErr = t.removeTemps(ctx, before)
	}
	return collected, errors.Join(err, tempErr)
}

// tempRemover is a Store whose unfinished Puts leave something behind.
type tempRemover interface {
	removeTemps(ctx context.Context, before time.Time) (int, error)
}

// collectObjects deletes what Orphans finds. It returns how many objects it deleted, also with an error.
func collectObjects(ctx context.Context, s Store, prefix string, before time.Time,
	orphans func(ctx context.Context, keys []string) ([]string, error)) (removed int, err error) {
	err = Orphans(ctx, s, prefix, before, orphans, func(i Info) error {
		if err := s.Delete(ctx, i.Key); err != nil {
			return err
		}
		removed++
		return nil
	})
	return removed, err
}

// Orphans calls fn for the objects below prefix that were last written before the given time and that orphans returns
// of the keys it is given, at most orphanBatch at a time. An error of fn ends it and is returned.
func Orphans(ctx context.Context, s Store, prefix string, before time.Time,
	orphans func(ctx context.Context, keys []string) ([]string, error), fn func(Info) error) error {
	batch := map[string]Info{}
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		dead, err := orphans(ctx, slices.Sorted(maps.Keys(batch)))
		if err != nil {
			return fmt.Errorf("blob: look for orphans: %w", err)
		}
		for _, key := range dead {
			if err := fn(batch[key]); err != nil {
				return err
			}
		}
		clear(batch)
		return nil
	}
	err := s.Walk(ctx, prefix, before, func(i Info) error {
		batch[i.Key] = i
		if len(batch) < orphanBatch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// counted copies r to w, adds to the hash, and stops when ctx ends.
func counted(ctx context.Context, w io.Writer, r io.Reader, sum hash.Hash) (int64, error) {
	return io.Copy(io.MultiWriter(w, sum), ContextReader(ctx, r))
}

// ContextReader returns a reader of r whose reads fail with the cause of ctx after ctx has ended.
func ContextReader(ctx context.Context, r io.Reader) io.Reader { return &contextReader{ctx, r} }

// contextReader implements ContextReader.
type contextReader struct {
	ctx context.Context //nolint:containedctx // io.Reader has no parameter for it
	r   io.Reader
}

// Read implements io.Reader.
func (c *contextReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}

// hexSum returns a hash as hexadecimal digits.
func hexSum(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }

// ReaderAt returns an io.ReaderAt of what Open returned. It is safe for many goroutines, but must not be mixed with
// reads and seeks of f.
func ReaderAt(f io.ReadSeeker) io.ReaderAt {
	if r, ok := f.(io.ReaderAt); ok {
		return r
	}
	return &seekingReader{f: f}
}

// seekingReader implements io.ReaderAt by seeking.
type seekingReader struct {
	mu sync.Mutex
	f  io.ReadSeeker
}

func (r *seekingReader) ReadAt(p []byte, off int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.f.Seek(off, io.SeekStart); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(r.f, p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}
