// Package blob keeps artifacts: bytes under a key, in a directory or in an S3 bucket. What Put has answered for
// survives a kill and a power cut; what Put has not finished is never seen under its key.
//
// It owns how bytes are written, named and swept. It must not know what they mean: which run an artifact belongs to,
// who may read it and which keys are orphans is the database's to say.
package blob

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/url"
	"strings"
	"time"
)

// Store keeps objects under keys (see CheckKey). Its methods may be called from several goroutines. Two implementations
// exist, Dir and Bucket, and one suite of tests holds for both.
type Store interface {
	// Put reads r to its end and keeps it under key, in place of what was there. When it returns without error, the
	// object is whole and durable; when it fails, or the process dies, the key holds what it held before. A full disk
	// is ErrFull.
	Put(ctx context.Context, key string, r io.Reader) (Info, error)
	// Open answers the object for reading, from any position, and what is known of it. The caller closes it, and keeps
	// ctx alive until then. An absent key is ErrNotFound.
	Open(ctx context.Context, key string) (io.ReadSeekCloser, Info, error)
	// Delete removes the object; that it was absent is no error.
	Delete(ctx context.Context, key string) error
	// Walk calls fn for every object whose key begins with prefix (any string, so also half a name) and that was last
	// written before the given time, or for every such object where that is zero. The order is not defined, and fn may
	// delete. An error of fn ends the walk and is returned.
	Walk(ctx context.Context, prefix string, before time.Time, fn func(Info) error) error
}

// Info is what is known of an object. Put fills all but ModTime; Open and Walk all but SHA256, which a Bucket's Open
// knows too.
type Info struct {
	Key     string
	Bytes   int64
	SHA256  string // lower-case hexadecimal
	ModTime time.Time
}

// The errors that callers tell apart, with errors.Is.
var (
	ErrNotFound   = errors.New("no such object")
	ErrInvalidKey = errors.New("invalid key")
	ErrFull       = errors.New("no space left in the artifact store")
)

// Bounds of a key.
const (
	MaxKey     = 512
	MaxSegment = 128
)

// CheckKey answers nil for a key of the form runs/<run>/<attempt>/<name>: one or more names joined by single slashes,
// each of A–Z a–z 0–9 . _ - and at most MaxSegment long, none beginning with a dot, at most MaxKey in all. Any other
// is ErrInvalidKey. Such a key is a safe path below any folder and a safe part of any URL.
func CheckKey(key string) error {
	bad := func(why string) error {
		if len(key) > 80 {
			key = key[:80] + "…"
		}
		return fmt.Errorf("blob: key %q %s: %w", key, why, ErrInvalidKey)
	}
	if key == "" || len(key) > MaxKey {
		return bad(fmt.Sprintf("has %d characters; it takes 1 to %d", len(key), MaxKey))
	}
	for segment := range strings.SplitSeq(key, "/") {
		switch {
		case segment == "":
			return bad("has an empty name between slashes")
		case segment[0] == '.':
			return bad("has a name that begins with a dot")
		case len(segment) > MaxSegment:
			return bad(fmt.Sprintf("has a name of %d characters; it takes at most %d", len(segment), MaxSegment))
		}
		for i := range len(segment) {
			c := segment[i]
			if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' ||
				c == '-') {
				return bad(fmt.Sprintf("has %q; it takes A–Z, a–z, 0–9, '.', '_', '-' and '/'", c))
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
// A directory is made where it is missing. For S3, the endpoint is Amazon's where absent, and credentials come from the
// standard AWS_ variables of the environment, never from the address. The bucket must exist; Open asks for it.
func Open(ctx context.Context, address string) (Store, error) {
	if path, ok := strings.CutPrefix(address, "dir:"); ok {
		return OpenDir(path)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New(
			"blob: the address of the artifact store is no URL; it takes dir:/path or s3://bucket/prefix")
	}
	if u.Scheme != "s3" {
		return nil, fmt.Errorf("blob: the artifact store has the scheme %q; it takes dir:/path or s3://bucket/prefix",
			u.Scheme)
	}
	options, err := parseS3(u)
	if err != nil {
		return nil, err
	}
	return OpenBucket(ctx, options)
}

// Swept counts what Sweep removed.
type Swept struct {
	Objects int // that belonged to nobody
	Temps   int // halves of Puts that never ended
}

// sweepBatch is how many keys Sweep asks about at once.
const sweepBatch = 500

// Sweep removes what was last written before the given time and belongs to nobody: the leftovers of Puts that never
// ended, and the objects below prefix that orphans picks from the keys it is shown, at most 500 at a time. Leave
// `before` an hour or more in the past, so that neither a Put under way nor one whose row is about to be committed is
// hit.
func Sweep(ctx context.Context, s Store, prefix string, before time.Time,
	orphans func(ctx context.Context, keys []string) ([]string, error)) (Swept, error) {
	var swept Swept
	var err, tempErr error
	swept.Objects, err = sweepObjects(ctx, s, prefix, before, orphans)
	if t, ok := s.(interface {
		sweepTemps(ctx context.Context, before time.Time) (int, error)
	}); ok {
		swept.Temps, tempErr = t.sweepTemps(ctx, before)
	}
	return swept, errors.Join(err, tempErr)
}

func sweepObjects(ctx context.Context, s Store, prefix string, before time.Time,
	orphans func(ctx context.Context, keys []string) ([]string, error)) (removed int, err error) {
	var batch []string
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		dead, err := orphans(ctx, batch)
		if err != nil {
			return fmt.Errorf("blob: sweep: %w", err)
		}
		batch = nil
		for _, key := range dead {
			if err := s.Delete(ctx, key); err != nil {
				return err
			}
			removed++
		}
		return nil
	}
	err = s.Walk(ctx, prefix, before, func(i Info) error {
		batch = append(batch, i.Key)
		if len(batch) < sweepBatch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return removed, err
	}
	return removed, flush()
}

// counted copies r to w, hashing, and stops when ctx ends.
func counted(ctx context.Context, w io.Writer, r io.Reader, sum hash.Hash) (int64, error) {
	return io.Copy(io.MultiWriter(w, sum), &alive{ctx, r})
}

// alive is a reader that fails once its context has ended.
type alive struct {
	ctx context.Context
	r   io.Reader
}

func (a *alive) Read(p []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, context.Cause(a.ctx)
	}
	return a.r.Read(p)
}

func hexSum(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }
