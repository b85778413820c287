package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"pleat/internal/blob/blobtest"
)

// These tests are of a real S3 server, where there is one: what it refuses, and how it fails.

func TestMissingBucket(t *testing.T) {
	t.Parallel()
	blobtest.Bucket(t) // for the credentials
	_, err := Open(t.Context(), blobtest.Address(t, "pleat-missing", ""))
	if err == nil || !strings.Contains(err.Error(), `s3 bucket "pleat-missing" does not exist; make it first`) {
		t.Error(err)
	}
}

// A server that cannot be reached does not make objects look absent.
func TestServerGone(t *testing.T) {
	t.Parallel()
	bucket := blobtest.Bucket(t)
	front := blobtest.Proxy(t, false, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(w, r)
	})
	s, err := Open(t.Context(), blobtest.AddressAt(front.URL, bucket, "some/prefix"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "x", []byte("x"))
	front.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := s.Put(ctx, "y", strings.NewReader("y")); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("put to a dead server: %v", err)
	}
	if _, _, err := s.Open(ctx, "x"); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("open from a dead server: %v; it must not look absent", err)
	}
}

// A bucket that was removed is a fault of the store, which ends when the bucket is back. Its objects do not look
// absent: a run whose files seemed to be deleted would fail.
func TestBucketRemoved(t *testing.T) {
	t.Parallel()
	bucket, client := blobtest.Bucket(t), blobtest.Client(t)
	s, err := Open(t.Context(), blobtest.Address(t, bucket, ""))
	if err != nil {
		t.Fatal(err)
	}
	m := NewMonitor(s, slog.New(slog.DiscardHandler))
	put(t, m, "runs/1/1/a", []byte("content"))
	if err := blobtest.RemoveBucket(client, bucket); err != nil {
		t.Fatal(err)
	}
	for verb, try := range map[string]func() error{
		"put":    func() error { _, err := m.Put(t.Context(), "runs/1/1/b", strings.NewReader("b")); return err },
		"open":   func() error { _, _, err := m.Open(t.Context(), "runs/1/1/a"); return err },
		"stat":   func() error { _, err := m.Stat(t.Context(), "runs/1/1/a"); return err },
		"delete": func() error { return m.Delete(t.Context(), "runs/1/1/a") },
		"walk":   func() error { return m.Walk(t.Context(), "", time.Time{}, func(Info) error { return nil }) },
	} {
		err := try()
		if err == nil || errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), bucket) {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if !m.Failing() {
		t.Error("the store does not count as failing")
	}
	if err := client.MakeBucket(t.Context(), bucket, minio.MakeBucketOptions{Region: blobtest.Region}); err != nil {
		t.Fatal(err)
	}
	if err := m.Probe(t.Context()); err != nil || m.Failing() {
		t.Errorf("%v, failing: %v", err, m.Failing())
	}
	if _, _, err := m.Open(t.Context(), "runs/1/1/a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("open in the new bucket: %v", err)
	}
}

// An object that is damaged on its way to the server is refused, and the key keeps its earlier object.
func TestDamagedUpload(t *testing.T) {
	t.Parallel()
	var damage atomic.Bool
	b := openBehind(t, blobtest.Bucket(t), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if damage.Load() && r.Method == http.MethodPut {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			body[len(body)/2] ^= 1
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		next.ServeHTTP(w, r)
	})
	for name, size := range map[string]int{"small": 100, "in parts": 20 << 20} {
		key := "runs/1/1/" + strings.ReplaceAll(name, " ", "_")
		put(t, b, key, []byte("earlier"))
		damage.Store(true)
		if info, err := b.Put(t.Context(), key, bytes.NewReader(make([]byte, size))); err == nil {
			t.Errorf("%s: stored as %+v", name, info)
		}
		damage.Store(false)
		if got := string(get(t, b, key)); got != "earlier" {
			t.Errorf("%s: the key holds %d bytes", name, len(got))
		}
	}
}

// A server that asks to slow down gets the request again, and its caller does not notice.
func TestSlowDown(t *testing.T) {
	t.Parallel()
	var busy atomic.Int64
	b := openBehind(t, blobtest.Bucket(t), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if busy.Add(-1) >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, "<Error><Code>SlowDown</Code></Error>")
			return
		}
		next.ServeHTTP(w, r)
	})
	busy.Store(2)
	put(t, b, "runs/1/1/a", []byte("content"))
	busy.Store(2)
	if got := string(get(t, b, "runs/1/1/a")); got != "content" {
		t.Errorf("got %q", got)
	}
	if busy.Load() >= 0 {
		t.Error("the server was not busy")
	}
}

// A server that does not answer holds its caller no longer than the caller's context.
func TestHangingServer(t *testing.T) {
	t.Parallel()
	var hang atomic.Bool
	asked := make(chan struct{}, 10)
	b := openBehind(t, blobtest.Bucket(t), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if hang.Load() {
			_, _ = io.Copy(io.Discard, r.Body) // so that the server notices when the client goes
			asked <- struct{}{}
			<-r.Context().Done()
			// A handler that returns answers 200, which may still reach a client that is closing its connection.
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
	put(t, b, "runs/1/1/a", []byte("content"))
	hang.Store(true)
	for verb, try := range map[string]func(ctx context.Context) error{
		"put":  func(ctx context.Context) error { _, err := b.Put(ctx, "x", strings.NewReader("x")); return err },
		"open": func(ctx context.Context) error { _, _, err := b.Open(ctx, "runs/1/1/a"); return err },
		"stat": func(ctx context.Context) error { _, err := b.Stat(ctx, "runs/1/1/a"); return err },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() { failed <- try(ctx) }()
		<-asked
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// keysFile writes a file of credentials in place of an earlier one, and returns its path.
func keysFile(t *testing.T, dir, access, secret string) string {
	t.Helper()
	path := filepath.Join(dir, "credentials")
	text := fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", access, secret)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	return path
}

// Credentials that are no longer valid are a fault of the store, whose error names where they are set. A file of
// credentials may be replaced at any time.
func TestCredentialsThatExpire(t *testing.T) {
	address := blobtest.Address(t, blobtest.Bucket(t), "")
	access, secret, dir := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), t.TempDir()
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", keysFile(t, dir, access, secret))
	s, err := Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMonitor(s, slog.New(slog.DiscardHandler))
	put(t, m, "runs/1/1/a", []byte("content"))
	for what, pair := range map[string][2]string{"key": {"revoked", secret}, "secret": {access, "replaced"}} {
		keysFile(t, dir, pair[0], pair[1])
		_, err = m.Put(t.Context(), "runs/1/1/b", strings.NewReader("b"))
		if !IsFault(err) || !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
			t.Errorf("put with another %s: %v", what, err)
		}
		if _, _, err = m.Open(t.Context(), "runs/1/1/a"); !errors.Is(err, ErrRefused) || !m.Failing() {
			t.Errorf("open with another %s: %v, failing: %v", what, err, m.Failing())
		}
		_, err := Open(t.Context(), address)
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
			t.Errorf("start with another %s: %v", what, err)
		}
	}
	keysFile(t, dir, access, secret)
	if err := m.Probe(t.Context()); err != nil || m.Failing() {
		t.Errorf("%v, failing: %v", err, m.Failing())
	}
}

// An object that is deleted while it is read is no longer found.
func TestBucketDeletedWhileRead(t *testing.T) {
	t.Parallel()
	b := openS3(t)
	put(t, b, "a", []byte("content"))
	f, _, err := b.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := b.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(f); !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

func TestBucketSweepsUploadsInParts(t *testing.T) {
	t.Parallel()
	b := openS3(t)
	core := minio.Core{Client: b.client}
	if _, err := core.NewMultipartUpload(t.Context(), b.bucket, b.prefix+"runs/1/big",
		minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	none := func(context.Context, []string) ([]string, error) { return nil, nil }
	if got, err := CollectGarbage(t.Context(), b, "", time.Now().Add(-time.Hour), none); err != nil || got.Temps != 0 {
		t.Errorf("young: %+v, %v", got, err)
	}
	if got, err := CollectGarbage(t.Context(), b, "", time.Now().Add(time.Hour), none); err != nil || got.Temps != 1 {
		t.Errorf("%+v, %v; want one upload ended", got, err)
	}
}
