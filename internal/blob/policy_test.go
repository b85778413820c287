package blob

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/minio/minio-go/v7"

	"pleat/internal/blob/blobtest"
)

// actions records the S3 actions of the requests that pass through it, with what they act on: the bucket or an object.
type actions struct {
	http.RoundTripper
	mu   sync.Mutex
	seen map[string]bool
}

func (a *actions) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	a.seen[actionOf(r)] = true
	a.mu.Unlock()
	return a.RoundTripper.RoundTrip(r)
}

// actionOf returns the permission that a request needs, as the S3 documentation states it for each operation.
func actionOf(r *http.Request) string {
	_, object, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
	q := r.URL.Query()
	switch read := r.Method == http.MethodGet || r.Method == http.MethodHead; {
	case object == "" && q.Has("location"):
		return "bucket s3:GetBucketLocation"
	case object == "" && q.Has("uploads"):
		return "bucket s3:ListBucketMultipartUploads"
	case object == "" && read:
		return "bucket s3:ListBucket"
	case object != "" && read && q.Has("uploadId"):
		return "object s3:ListMultipartUploadParts"
	case object != "" && read:
		return "object s3:GetObject"
	case object != "" && r.Method == http.MethodDelete && q.Has("uploadId"):
		return "object s3:AbortMultipartUpload"
	case object != "" && r.Method == http.MethodDelete:
		return "object s3:DeleteObject"
	case object != "" && (r.Method == http.MethodPut || r.Method == http.MethodPost):
		return "object s3:PutObject"
	}
	return r.Method + " " + r.URL.String()
}

// The policy of deploy allows what a Bucket does, and nothing more.
func TestDocumentedPolicy(t *testing.T) {
	t.Parallel()
	bucket := blobtest.Bucket(t)
	used := &actions{RoundTripper: http.DefaultTransport.(*http.Transport).Clone(), seen: map[string]bool{}}
	b, err := OpenBucket(t.Context(), S3Options{Bucket: bucket, Endpoint: blobtest.Endpoint(t), Transport: used})
	if err != nil {
		t.Fatal(err)
	}
	put(t, b, "runs/x/small", []byte("small"))
	put(t, b, "runs/x/large", bytes.Repeat([]byte("x"), 20<<20)) // an upload of several parts
	get(t, b, "runs/x/small")
	stat(t, b, "runs/x/small")
	keys(t, b, "runs/", time.Time{})
	if err := b.Delete(t.Context(), "runs/x/small"); err != nil {
		t.Fatal(err)
	}
	// A process that died in an upload leaves its parts, which are collected.
	core := minio.Core{Client: b.client}
	if _, err := core.NewMultipartUpload(t.Context(), bucket, "runs/x/left", minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	if n, err := b.removeTemps(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 1 {
		t.Fatalf("%d uploads were removed: %v", n, err)
	}

	text, err := os.ReadFile("../../deploy/s3-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	var policy struct {
		Statement []struct {
			Effect, Resource string
			Action           []string
		}
	}
	if err := json.Unmarshal(text, &policy); err != nil {
		t.Fatal(err)
	}
	var allowed []string
	for _, s := range policy.Statement {
		kind := map[string]string{"arn:aws:s3:::pleat": "bucket ", "arn:aws:s3:::pleat/*": "object "}[s.Resource]
		for _, action := range s.Action {
			allowed = append(allowed, kind+action)
		}
	}
	slices.Sort(allowed)
	if d := cmp.Diff(slices.Sorted(maps.Keys(used.seen)), allowed); d != "" {
		t.Errorf("used and allowed (-used +allowed):\n%s", d)
	}
}
