package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"strconv"
	"strings"
	"testing"

	"pleat"
	"pleat/api"
)

// largeText is a file above the size from which files are compressed.
var largeText = `{"predicted_aligned_error":[[` + strings.Repeat("12.34,5.6,0,", 25_000) + `0]]}`

// withLargeFiles is the result of a job that has large files, too: a text and one that is none.
func withLargeFiles(h *fixture) api.Results {
	h.t.Helper()
	j := h.create(trp)
	c := h.claim()
	h.finish(c,
		h.put(c.Fold.Run, pleat.Artifact{Kind: "pae_json", Name: "pae.json", ContentType: "application/json"},
			largeText),
		h.put(c.Fold.Run, pleat.Artifact{Kind: "log", Name: "frames.dcd", ContentType: "application/octet-stream"},
			largeText))
	return h.results(h.key, j.JobID)
}

func gunzip(t *testing.T, body string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLargeTextIsCompressed(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	a := artifact(t, withLargeFiles(h), "pae.json")
	plainTag, gzipTag := `"`+a.SHA256+`"`, `"`+a.SHA256+`-gzip"`
	for _, accept := range []string{"gzip", "br, GZIP", "gzip, deflate, br, zstd", "br;q=1.0, gzip;q=0.5"} {
		r := h.ask("GET", a.URL, nil, "Accept-Encoding", accept)
		if r.status != 200 || r.header.Get("Content-Encoding") != "gzip" || r.header.Get("ETag") != gzipTag ||
			r.header.Get("Vary") != "Accept-Encoding" || r.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %v", accept, r.status, r.header)
		}
		if len(r.body) > len(largeText)/4 || gunzip(t, r.body) != largeText {
			t.Errorf("%s: %d bytes, which are not the file", accept, len(r.body))
		}
	}
	for _, c := range []struct {
		method, header, value string
		status                int
		tag, body             string
	}{
		{"GET", "If-None-Match", gzipTag, 304, gzipTag, ""},
		{"GET", "If-Match", plainTag, 412, "", ""},
		{"HEAD", "Accept", "*/*", 200, gzipTag, ""},
		{"GET", "Range", "bytes=2-26", 206, plainTag, largeText[2:27]},
	} {
		r := h.ask(c.method, a.URL, nil, "Accept-Encoding", "gzip", c.header, c.value)
		if r.status != c.status || r.header.Get("ETag") != c.tag || c.status != 412 && r.body != c.body {
			t.Errorf("%s with %s: %d %v %.100s", c.method, c.header, r.status, r.header, r.body)
		}
		if coding := r.header.Get("Content-Encoding"); (coding == "gzip") != (c.method == "HEAD") {
			t.Errorf("%s with %s: Content-Encoding %q", c.method, c.header, coding)
		}
	}
	// A client that has a part of the compressed file gets the whole plain one, not a range of another form.
	r := h.ask("GET", a.URL, nil, "Accept-Encoding", "gzip", "Range", "bytes=9-", "If-Range", gzipTag)
	if r.status != 200 || r.body != largeText {
		t.Errorf("If-Range: %d, %d bytes", r.status, len(r.body))
	}
	// Go's client accepts gzip and checks length and digest of what it unpacked; a tag can stand for the digest.
	for _, a.SHA256 = range []string{a.SHA256, ""} {
		var b bytes.Buffer
		if err := h.client(h.key).Download(context.Background(), a, &b); err != nil || b.String() != largeText {
			t.Errorf("SHA-256 %q: %v, %d bytes", a.SHA256, err, b.Len())
		}
	}
}

// A client that does not accept gzip gets the bytes of the file with their length; so does every client for small or
// other files.
func TestOtherFilesAreNotCompressed(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	res := withLargeFiles(h)
	for _, c := range []struct{ name, accept, want, vary string }{
		{"pae.json", "identity", largeText, "Accept-Encoding"},
		{"pae.json", "gzip;q=0", largeText, "Accept-Encoding"},
		{"pae.json", "gzip; q=0.0, br", largeText, "Accept-Encoding"},
		{"pae.json", "br", largeText, "Accept-Encoding"},
		{"frames.dcd", "gzip", largeText, ""},
		{"structure.cif", "gzip", cif, ""},
	} {
		a := artifact(t, res, c.name)
		r := h.ask("GET", a.URL, nil, "Accept-Encoding", c.accept)
		if r.status != 200 || r.body != c.want || r.header.Get("Content-Encoding") != "" ||
			r.header.Get("Content-Length") != strconv.Itoa(len(c.want)) || r.header.Get("ETag") != `"`+a.SHA256+`"` ||
			r.header.Get("Vary") != c.vary {
			t.Errorf("%s for %q: %d %v", c.name, c.accept, r.status, r.header)
		}
	}
	// The response with the links, which are secrets, next to the names that a user chose.
	if r := h.as(h.key, "GET", "/v1/jobs/"+res.Job.ID+"/results", nil, "Accept-Encoding", "gzip"); r.status != 200 ||
		r.header.Get("Content-Encoding") != "" {
		t.Errorf("results: %d %v", r.status, r.header)
	}
}
