// Package blobtest makes buckets for tests, on a real S3 server where PLEAT_TEST_S3 names one (make test starts it). It
// must not be imported by anything but tests.
package blobtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Region is the region of the server.
const Region = "us-east-1"

// Available reports whether there is a server.
func Available() bool { return os.Getenv("PLEAT_TEST_S3") != "" }

// server returns the address of the server without its keys, and the keys. It skips the test if there is no server.
func server(t testing.TB) (endpoint *url.URL, access, secret string) {
	t.Helper()
	if !Available() {
		t.Skip("PLEAT_TEST_S3 names no server; make test starts one")
	}
	u, err := url.Parse(os.Getenv("PLEAT_TEST_S3"))
	if err != nil || u.User == nil {
		t.Fatal("PLEAT_TEST_S3 is not http://KEY:SECRET@HOST:PORT")
	}
	secret, _ = u.User.Password()
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, u.User.Username(), secret
}

// Bucket makes an empty bucket, which is removed with the test, and sets the credentials of the server in the
// environment of the process: all buckets of all tests have the same, so tests with a bucket may run in parallel. It
// skips the test if there is no server.
func Bucket(t testing.TB) (name string) {
	t.Helper()
	_, access, secret := server(t)
	for variable, value := range map[string]string{
		"AWS_ACCESS_KEY_ID":     access,
		"AWS_SECRET_ACCESS_KEY": secret,
		"AWS_REGION":            "",
	} {
		//nolint:usetesting // t.Setenv takes the value back while other tests run, and refuses parallel ones
		if err := os.Setenv(variable, value); err != nil {
			t.Fatal(err)
		}
	}
	name = "pleat-" + uuid.NewString()
	client := Client(t)
	if err := client.MakeBucket(t.Context(), name, minio.MakeBucketOptions{Region: Region}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := RemoveBucket(client, name); err != nil {
			t.Error("remove the bucket of the test: ", err)
		}
	})
	return name
}

// KeepCredentials writes the credentials of the server to a file in a folder and names it to the process, if there is a
// server: a test may remove those of Bucket from the environment, as the program does, while others open buckets.
func KeepCredentials(dir string) error {
	u, err := url.Parse(os.Getenv("PLEAT_TEST_S3"))
	if err != nil || u.User == nil {
		return err
	}
	secret, _ := u.User.Password()
	path := filepath.Join(dir, "credentials")
	text := fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", u.User.Username(), secret)
	return errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Setenv("AWS_SHARED_CREDENTIALS_FILE", path))
}

// Client returns a client of the server, for what no Store can do. It skips the test if there is no server.
func Client(t testing.TB) *minio.Client {
	t.Helper()
	endpoint, access, secret := server(t)
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds:  credentials.NewStaticV4(access, secret, ""),
		Secure: endpoint.Scheme == "https",
		Region: Region,
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// RemoveBucket removes a bucket with all that is in it. It is no error if there is none.
func RemoveBucket(client *minio.Client, name string) error {
	ctx := context.Background()
	for o := range client.ListObjectsIter(ctx, name, minio.ListObjectsOptions{Recursive: true}) {
		if o.Err != nil {
			return ignoreMissing(o.Err)
		}
		if err := client.RemoveObject(ctx, name, o.Key, minio.RemoveObjectOptions{}); err != nil {
			return err
		}
	}
	for u := range client.ListIncompleteUploads(ctx, name, "", true) {
		if u.Err == nil {
			_ = client.RemoveIncompleteUpload(ctx, name, u.Key)
		}
	}
	return ignoreMissing(client.RemoveBucket(ctx, name))
}

// ignoreMissing returns an error, unless it says that there is no such bucket.
func ignoreMissing(err error) error {
	if minio.ToErrorResponse(err).Code == minio.NoSuchBucket {
		return nil
	}
	return err
}

// Address returns the address of a prefix of a bucket, as blob.Open reads it; an empty prefix is the whole bucket.
func Address(t testing.TB, bucket, prefix string) string {
	t.Helper()
	return AddressAt(Endpoint(t), bucket, prefix)
}

// Endpoint returns the address of the server without its keys. It skips the test if there is no server.
func Endpoint(t testing.TB) string {
	t.Helper()
	endpoint, _, _ := server(t)
	return endpoint.String()
}

// AddressAt is Address with another endpoint of the server, such as that of a proxy.
func AddressAt(endpoint, bucket, prefix string) string {
	return "s3://" + bucket + "/" + prefix + "?region=" + Region + "&endpoint=" + url.QueryEscape(endpoint)
}

// Proxy starts a proxy to the server, which is closed with the test. Handle answers each request, or lets next do it.
// With secure it speaks TLS. It skips the test if there is no server.
func Proxy(t testing.TB, secure bool, handle func(w http.ResponseWriter, r *http.Request, next http.Handler),
) *httptest.Server {
	t.Helper()
	endpoint, _, _ := server(t)
	// It forwards the header Host as it is, which the client signs.
	next := httputil.NewSingleHostReverseProxy(endpoint)
	next.ErrorLog = log.New(io.Discard, "", 0) // of clients that have gone
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handle(w, r, next)
	}))
	if secure {
		front.StartTLS()
	} else {
		front.Start()
	}
	t.Cleanup(front.Close)
	return front
}

// Faulty is a proxy to the server that refuses requests for as long as a test says. Make one with NewFaulty.
type Faulty struct {
	URL     string
	Refused atomic.Int64 // requests
	answer  atomic.Pointer[answer]
}

// answer is an error of an S3 server.
type answer struct {
	status int
	code   string
}

// NewFaulty returns a proxy that refuses nothing yet. It skips the test if there is no server.
func NewFaulty(t testing.TB) *Faulty {
	t.Helper()
	f := &Faulty{}
	f.URL = Proxy(t, false, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		a := f.answer.Load()
		if a == nil {
			next.ServeHTTP(w, r)
			return
		}
		f.Refused.Add(1)
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(a.status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>the test says so</Message></Error>", a.code)
	}).URL
	return f
}

// Refuse answers all requests with a status and an error code of S3.
func (f *Faulty) Refuse(status int, code string) { f.answer.Store(&answer{status, code}) }

// Fill answers all requests as a server does that has no space left.
func (f *Faulty) Fill() { f.Refuse(http.StatusInsufficientStorage, "XMinioStorageFull") }

// Recover ends the faults.
func (f *Faulty) Recover() { f.answer.Store(nil) }
