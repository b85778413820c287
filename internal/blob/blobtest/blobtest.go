// Package blobtest serves S3 for tests. It must not be imported by anything but tests.
package blobtest

import (
	"net/http/httptest"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// ServeS3 starts an S3 server in memory, on loopback, with some buckets, and sets the credentials in the environment of
// the test. It is a double at the edge of the process: it speaks the protocol, but checks no signature and keeps
// nothing, so it proves our use of the client and not a real server's durability. Without TLS the client signs the body
// in chunks, which the double does not understand for parts and empty objects.
func ServeS3(t *testing.T, secure bool, buckets ...string) *httptest.Server {
	t.Helper()
	backend := s3mem.New()
	for _, name := range buckets {
		if err := backend.CreateBucket(name); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewUnstartedServer(gofakes3.New(backend, gofakes3.WithTimeSkewLimit(0)).Server())
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
	t.Setenv("AWS_REGION", "")
	return server
}
