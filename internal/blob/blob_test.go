package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pleat/internal/blob/blobtest"
)

func openDir(t *testing.T) *Dir {
	t.Helper()
	d, err := OpenDir(filepath.Join(t.TempDir(), "artifacts"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// openS3 opens an empty bucket.
func openS3(t *testing.T) *Bucket {
	t.Helper()
	s, err := Open(t.Context(), blobtest.Address(t, blobtest.Bucket(t), "some/prefix"))
	if err != nil {
		t.Fatal(err)
	}
	return s.(*Bucket)
}

// openSecureS3 opens an empty bucket over TLS.
func openSecureS3(t *testing.T) *Bucket {
	t.Helper()
	bucket := blobtest.Bucket(t)
	return openBehind(t, bucket, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(w, r)
	})
}

// openBehind opens a bucket over TLS through a proxy that handles the requests.
func openBehind(t *testing.T, bucket string,
	handle func(w http.ResponseWriter, r *http.Request, next http.Handler)) *Bucket {
	t.Helper()
	front := blobtest.Proxy(t, true, handle)
	b, err := OpenBucket(t.Context(), S3Options{
		Bucket:    bucket,
		Endpoint:  front.URL,
		Region:    blobtest.Region,
		Transport: front.Client().Transport,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func hexOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func put(t *testing.T, s Store, key string, content []byte) {
	t.Helper()
	got, err := s.Put(t.Context(), key, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Info{Key: key, Bytes: int64(len(content)), SHA256: hexOf(content)}); got != want {
		t.Fatalf("put answered %+v, want %+v", got, want)
	}
}

func get(t *testing.T, s Store, key string) []byte {
	t.Helper()
	r, info, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if info.Key != key || info.Bytes != int64(len(content)) || time.Since(info.ModTime).Abs() > time.Hour {
		t.Errorf("open answered %+v for %d bytes", info, len(content))
	}
	if info.SHA256 != "" && info.SHA256 != hexOf(content) {
		t.Errorf("open answered another hash: %+v", info)
	}
	return content
}

func keys(t *testing.T, s Store, prefix string, before time.Time) []string {
	t.Helper()
	var out []string
	if err := s.Walk(t.Context(), prefix, before, func(i Info) error {
		out = append(out, i.Key)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// stat compares what Stat says with what Open says of an object, and returns it.
func stat(t *testing.T, s Store, key string) Info {
	t.Helper()
	r, want, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	got, err := s.(Statter).Stat(t.Context(), key)
	if err != nil || !got.ModTime.Equal(want.ModTime) {
		t.Errorf("stat %s: %+v, %v; open says %+v", key, got, err, want)
	}
	if want.ModTime = got.ModTime; got != want {
		t.Errorf("stat %s: %+v; open says %+v", key, got, want)
	}
	return got
}

func TestDir(t *testing.T) {
	t.Parallel()
	conform(t, func(t *testing.T) Store { return openDir(t) })
}

func TestBucket(t *testing.T) {
	t.Parallel()
	conform(t, func(t *testing.T) Store { return openS3(t) })
}

// Over TLS the client signs uploads in another way.
func TestBucketOverTLS(t *testing.T) {
	t.Parallel()
	roundtrip(t, openSecureS3(t))
}

// roundtrip stores objects of several sizes and reads them.
func roundtrip(t *testing.T, s Store) {
	t.Helper()
	large := make([]byte, 20<<20) // beyond what is gathered in memory, and beyond one part of an upload
	for i := range large {
		large[i] = byte(rand.Uint32())
	}
	for name, content := range map[string][]byte{
		"empty": {}, "one": {7}, "exact": make([]byte, inMemory), "large": large,
	} {
		key := "runs/0198/1/" + name
		put(t, s, key, content)
		if got := get(t, s, key); !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes came back, or others; want %d", name, len(got), len(content))
		}
	}
}

// conform is what holds for every Store.
func conform(t *testing.T, open func(t *testing.T) Store) {
	t.Run("roundtrip", func(t *testing.T) { roundtrip(t, open(t)) })
	t.Run("replace", func(t *testing.T) {
		s := open(t)
		put(t, s, "a/x", []byte("first, and longer"))
		put(t, s, "a/x", []byte("second"))
		if got := string(get(t, s, "a/x")); got != "second" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("stat", func(t *testing.T) {
		s := open(t)
		for _, content := range []string{"first, and longer", "second", ""} {
			put(t, s, "a/x", []byte(content))
			info := stat(t, s, "a/x")
			if info.Key != "a/x" || info.Bytes != int64(len(content)) || time.Since(info.ModTime).Abs() > time.Hour {
				t.Errorf("%+v of %d bytes", info, len(content))
			}
			if _, ok := s.(*Bucket); ok && info.SHA256 != hexOf([]byte(content)) {
				t.Errorf("%+v; want the hash of %q", info, content)
			}
		}
	})
	t.Run("ranges", func(t *testing.T) {
		s := open(t)
		put(t, s, "r/x", []byte("0123456789"))
		r, _, err := s.Open(t.Context(), "r/x")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for _, c := range []struct {
			offset int64
			whence int
			want   string
		}{{4, io.SeekStart, "456"}, {-2, io.SeekEnd, "89"}, {0, io.SeekStart, "012"}} {
			if _, err := r.Seek(c.offset, c.whence); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(c.want))
			if _, err := io.ReadFull(r, got); err != nil || string(got) != c.want {
				t.Errorf("at %d: %q, %v; want %q", c.offset, got, err, c.want)
			}
		}
	})
	t.Run("absent", func(t *testing.T) {
		s := open(t)
		put(t, s, "a/b", []byte("x"))
		for _, key := range []string{"a/c", "a", "a/b/c", "nothing/at/all"} {
			if _, _, err := s.Open(t.Context(), key); !errors.Is(err, ErrNotFound) {
				t.Errorf("open %q: %v, want ErrNotFound", key, err)
			}
			if info, err := s.(Statter).Stat(t.Context(), key); !errors.Is(err, ErrNotFound) || info != (Info{}) {
				t.Errorf("stat %q: %+v, %v, want ErrNotFound", key, info, err)
			}
			if err := s.Delete(t.Context(), key); err != nil {
				t.Errorf("delete %q: %v", key, err)
			}
		}
		if got := keys(t, s, "", time.Time{}); !slices.Equal(got, []string{"a/b"}) {
			t.Errorf("left: %q", got)
		}
	})
	t.Run("delete", func(t *testing.T) {
		s := open(t)
		put(t, s, "a/b/c", []byte("x"))
		put(t, s, "a/b2", []byte("y"))
		for range 2 {
			if err := s.Delete(t.Context(), "a/b/c"); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := s.Open(t.Context(), "a/b/c"); !errors.Is(err, ErrNotFound) {
			t.Errorf("after delete: %v", err)
		}
		put(t, s, "a/b", []byte("now a name of its own")) // its folder went with the last object in it
		if got := keys(t, s, "", time.Time{}); !slices.Equal(got, []string{"a/b", "a/b2"}) {
			t.Errorf("left: %q", got)
		}
	})
	t.Run("walk", func(t *testing.T) {
		s := open(t)
		all := []string{"other/x", "runs/1/1/pae.png", "runs/1/2/model.cif", "runs/10/1/x", "runs/2/x", "top"}
		for _, k := range all {
			put(t, s, k, []byte(k))
		}
		for _, c := range []struct {
			prefix string
			want   []string
		}{
			{"", all}, {"runs/", all[1:5]}, {"runs/1", all[1:4]}, {"runs/1/", all[1:3]}, {"ru", all[1:5]},
			{"runs/1/2/model.cif", all[2:3]},
			{"absent/", nil}, {"runs/1/1/pae.png/", nil}, {"..", nil}, {"../", nil}, {"/", nil}, {".tmp/", nil},
			{"runs//", nil},
		} {
			if diff := cmp.Diff(c.want, keys(t, s, c.prefix, time.Time{})); diff != "" {
				t.Errorf("%q: %s", c.prefix, diff)
			}
		}
		if got := keys(t, s, "", time.Now().Add(-time.Hour)); len(got) != 0 {
			t.Errorf("older than an hour: %q", got)
		}
		if got := keys(t, s, "", time.Now().Add(time.Hour)); len(got) != len(all) {
			t.Errorf("older than in an hour: %q", got)
		}
		stop := errors.New("stop")
		n := 0
		if err := s.Walk(t.Context(), "", time.Time{}, func(Info) error { n++; return stop }); !errors.Is(err, stop) ||
			n != 1 {
			t.Errorf("%v after %d calls, want the error of the first", err, n)
		}
		if err := s.Walk(t.Context(), "", time.Time{}, func(i Info) error {
			return s.Delete(t.Context(), i.Key)
		}); err != nil {
			t.Fatal(err)
		}
		if got := keys(t, s, "", time.Time{}); got != nil {
			t.Errorf("left after deleting all: %q", got)
		}
	})
	t.Run("broken reader", func(t *testing.T) {
		s := open(t)
		put(t, s, "a/x", []byte("old"))
		broken := errors.New("the source broke")
		for _, size := range []int{0, 10, 6 << 20} {
			_, err := s.Put(t.Context(), "a/x",
				io.MultiReader(bytes.NewReader(make([]byte, size)), iotest.ErrReader(broken)))
			if !errors.Is(err, broken) || !strings.Contains(err.Error(), "a/x") {
				t.Errorf("%d bytes: %v, want the reader's error and the key", size, err)
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancelled := errors.New("the run was cancelled")
		_, err := s.Put(ctx, "a/x",
			io.MultiReader(bytes.NewReader(make([]byte, 1000)), readerFunc(func(p []byte) (int, error) {
				cancel(cancelled)
				return copy(p, "more"), nil
			})))
		if !errors.Is(err, cancelled) {
			t.Errorf("%v, want the cause of the cancel", err)
		}
		if got := string(get(t, s, "a/x")); got != "old" {
			t.Errorf("the key holds %q, want what it held before", got)
		}
	})
	t.Run("keys", func(t *testing.T) {
		s := open(t)
		for _, key := range badKeys {
			_, perr := s.Put(t.Context(), key, strings.NewReader("x"))
			_, _, oerr := s.Open(t.Context(), key)
			_, serr := s.(Statter).Stat(t.Context(), key)
			derr := s.Delete(t.Context(), key)
			for verb, err := range map[string]error{"put": perr, "open": oerr, "stat": serr, "delete": derr} {
				if !errors.Is(err, ErrInvalidKey) {
					t.Errorf("%s %q: %v, want ErrInvalidKey", verb, key, err)
				}
			}
		}
		if got := keys(t, s, "", time.Time{}); got != nil {
			t.Errorf("left: %q", got)
		}
	})
	t.Run("together", func(t *testing.T) {
		s := open(t)
		if _, ok := s.(*Bucket); ok {
			// The server of the tests keeps folders, unlike S3, and refuses a Put into one that it deletes just then.
			for i := range 3 {
				put(t, s, fmt.Sprintf("shared/%d/stays", i), nil)
			}
		}
		var group sync.WaitGroup
		for worker := range 8 {
			group.Go(func() {
				for i := range 15 {
					key := fmt.Sprintf("shared/%d/x%d", i%3, worker)
					content := bytes.Repeat([]byte{byte(worker)}, 100)
					if _, err := s.Put(t.Context(), key, bytes.NewReader(content)); err != nil {
						t.Error(err)
						return
					}
					r, _, err := s.Open(t.Context(), key)
					if err != nil {
						t.Error(err)
						return
					}
					got, err := io.ReadAll(r)
					r.Close()
					if err != nil || !bytes.Equal(got, content) {
						t.Errorf("%d bytes, %v", len(got), err)
					}
					if err := s.Delete(t.Context(), key); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
	})
	t.Run("one key, many writers", func(t *testing.T) {
		s := open(t)
		var group sync.WaitGroup
		for worker := range 4 {
			group.Go(func() {
				for range 10 {
					if _, err := s.Put(t.Context(), "same",
						bytes.NewReader(bytes.Repeat([]byte{byte('a' + worker)}, 5000))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		if got := get(t, s, "same"); len(got) != 5000 || len(bytes.Trim(got, string(got[:1]))) != 0 {
			t.Errorf("%d bytes, or of several writers", len(got))
		}
	})
	t.Run("sweep", func(t *testing.T) {
		s := open(t)
		for i := range orphanBatch + 30 {
			put(t, s, fmt.Sprintf("runs/%d/x", i), nil)
		}
		put(t, s, "keep/x", nil)
		asked := 0
		orphans := func(_ context.Context, keys []string) ([]string, error) {
			if asked += len(keys); len(keys) > orphanBatch {
				t.Errorf("asked about %d keys at once", len(keys))
			}
			return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == "runs/7/x" }), nil
		}
		if got, err := CollectGarbage(t.Context(), s, "runs/", time.Now().Add(-time.Hour), orphans); err != nil ||
			got != (Collected{}) {
			t.Errorf("young objects: %+v, %v", got, err)
		}
		got, err := CollectGarbage(t.Context(), s, "runs/", time.Now().Add(time.Hour), orphans)
		if err != nil || got.Objects != orphanBatch+29 || asked != orphanBatch+30 {
			t.Errorf("%+v, %v, asked about %d", got, err, asked)
		}
		if got := keys(t, s, "", time.Time{}); !slices.Equal(got, []string{"keep/x", "runs/7/x"}) {
			t.Errorf("left: %q", got)
		}
		down := errors.New("database is down")
		if _, err := CollectGarbage(t.Context(), s, "", time.Now().Add(time.Hour),
			func(context.Context, []string) ([]string, error) { return nil, down }); !errors.Is(err, down) {
			t.Errorf("%v, want the database's error", err)
		}
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

var badKeys = []string{
	"", "/", "//", ".", "..", "../x", "a/../b", "a/..", "a/./b", "./a", "/etc/passwd", "a//b", "a/", "/a", ".tmp/x",
	"a/.hidden", "...",
	`a\b`, `..\x`, "a b", "a\x00b", "a\nb", "ä", "a%2e%2e", "a:b", "C:/x", "~/x", "a*", "a?b", "a#b", "\u2024\u2024/x",
	"a/\xff",
	strings.Repeat("a", MaxSegment+1), strings.Repeat("a/", MaxKey/2) + "a",
}

func FuzzCheckKey(f *testing.F) {
	for _, k := range append(badKeys, "runs/0198c0de-0000-7000-8000-000000000000/1/model_0.cif") {
		f.Add(k)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if CheckKey(key) != nil {
			return
		}
		if !filepath.IsLocal(key) || filepath.Clean(key) != key || len(key) > MaxKey || strings.HasPrefix(key, ".") {
			t.Errorf("%q was taken", key)
		}
	})
}

func TestGoodKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := strings.Join(rapid.SliceOfN(rapid.StringMatching(`[A-Za-z0-9_-][A-Za-z0-9._-]{0,60}`), 1, 8).Draw(t,
			"names"), "/")
		if err := CheckKey(key); err != nil {
			t.Fatal(err)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ address, want string }{
		{"", `has the scheme ""; it must be dir:/path or s3://bucket/prefix`},
		{"gs://bucket", `has the scheme "gs"; it must be dir:/path or s3://bucket/prefix`},
		{"dir:", "the artifact folder has no path"},
		{"dir:" + file, "make the artifact folder"},
		{"s3:///x", "the s3 address has no bucket"},
		{"s3://key:s3cret@pleat/x", "credentials come from AWS_ACCESS_KEY_ID"},
		{"s3://pleat/../x", "the prefix of the s3 address"},
		{"s3://pleat?path=1", `unknown parameter "path"`},
		{"s3://pleat?endpoint=ftp://x", "the s3 endpoint is malformed"},
		{"s3://pleat?endpoint=http://x/y", "the s3 endpoint is malformed"},
		{"s3://pleat?region=a&region=b", "gives region 2 times"},
	} {
		_, err := Open(t.Context(), c.address)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v\nwant …%s", c.address, err, c.want)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: the error repeats the secret: %v", c.address, err)
		}
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	if _, err := Open(t.Context(), "s3://pleat?endpoint=http://127.0.0.1:1"); err == nil ||
		!strings.Contains(err.Error(), "AWS_SECRET_ACCESS_KEY") {
		t.Errorf("without credentials: %v", err)
	}
}
