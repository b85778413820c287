package server_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pleat"
	"pleat/api"
)

// damage changes the last byte of files in the artifact store, as a disk that fails does: of those whose names end so.
func (h *fixture) damage(ending string) {
	h.t.Helper()
	err := filepath.WalkDir(h.files, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !strings.HasSuffix(path, ending) {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil || len(content) == 0 {
			return err
		}
		content[len(content)-1] ^= 1
		return os.WriteFile(path, content, 0o600)
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// received is what a GET receives: an answer that breaks is an error.
func (h *fixture) received(address string, headers ...string) (status int, body []byte, err error) {
	h.t.Helper()
	if !strings.HasPrefix(address, "http") {
		address = h.http.URL + address
	}
	req, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.key)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

// TestDamagedFiles changes a byte of stored files: a small one is refused by name, a large one never ends as a whole.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	j := h.create(trp)
	c := h.claim()
	const size = 2 << 20
	var large []pleat.Artifact
	for name, media := range map[string]string{"large.bin": "application/octet-stream", "large.json": "application/json"} {
		large = append(large, h.put(c.Fold.Run, pleat.Artifact{
			Kind: pleat.ArtifactOther, Name: name, ContentType: media,
		}, jsonFile(size+len(name))))
	}
	h.finish(c, large...)
	library := h.item(h.key, "x", "a.json", jsonFile(100))
	h.damage("")

	refused := func(path, name string) {
		t.Helper()
		r := h.as(h.key, "GET", path, nil)
		want := fmt.Sprintf("the file %q is damaged: its bytes in the artifact store have changed; "+
			"the operator has to restore it from a backup", name)
		if r.status != http.StatusServiceUnavailable || r.message(t) != want || r.header.Get("ETag") != "" {
			t.Errorf("%s: %d %v %s", path, r.status, r.header, r.body)
		}
	}
	results := h.results(h.key, j.JobID)
	refused(strings.TrimPrefix(artifact(t, results, "structure.cif").URL, h.http.URL), "structure.cif")
	refused("/v1/jobs/"+j.JobID+"/contacts", "structure.cif")
	link := read[string](t, h.as(h.key, "GET", "/v1/library/file/"+library+"/a.json", nil))
	refused(strings.TrimPrefix(link, h.http.URL), "a.json")

	for _, how := range [][2]string{{"large.bin", "identity"}, {"large.json", "identity"}, {"large.json", "gzip"}} {
		status, body, err := h.received(artifact(t, results, how[0]).URL, "Accept-Encoding", how[1])
		if status != http.StatusOK || !errors.Is(err, io.ErrUnexpectedEOF) || len(body) >= size+len(how[0]) {
			t.Errorf("%s as %s: %d, %d bytes, %v", how[0], how[1], status, len(body), err)
		}
	}
	status, body, err := h.received(artifact(t, results, "large.bin").URL, "Range", "bytes=0-9")
	if status != http.StatusPartialContent || len(body) != 10 || err != nil {
		t.Errorf("a range: %d, %q, %v", status, body, err)
	}
	small := artifact(t, results, "structure.cif").URL
	tag := h.as(h.key, "HEAD", strings.TrimPrefix(small, h.http.URL), nil).header.Get("ETag")
	if status, _, err = h.received(small, "If-None-Match", tag); status != http.StatusNotModified || err != nil {
		t.Errorf("with its entity tag %s: %d, %v", tag, status, err)
	}
	if n := strings.Count(h.log.String(), "a stored file is damaged"); n != 4 {
		t.Errorf("%d lines about four damaged files:\n%s", n, h.log.String())
	}
}

// TestDamagedRowBreaksArchive changes a structure of a batch, whose archive then must not end as a whole.
func TestDamagedRowBreaksArchive(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	created := read[api.CreatedBatch](t, h.as(h.key, "POST", "/v1/batches",
		`{"name":"files","kind":"list","params":{"modelName":"mini","seed":"1"},"jobs":[`+
			`{"customId":"a","sequences":[{"proteinChain":{"sequence":"GSGSG"}}]}]}`))
	h.advanceBatches()
	c := h.claim()
	random := make([]byte, 100_000) // does not fit into the buffers before the connection
	for i := range random {
		random[i] = byte(rand.N(256))
	}
	h.finish(c, h.put(c.Fold.Run, pleat.Artifact{
		Kind: pleat.ArtifactCIF, Name: "large.cif", ContentType: "chemical/x-mmcif",
	}, string(random)))
	path := "/v1/batches/" + created.BatchID + "/archive.zip"
	if status, _, err := h.received(path); status != http.StatusOK || err != nil {
		t.Fatalf("before: %d, %v", status, err)
	}
	h.damage("large.cif")
	status, body, err := h.received(path)
	if status != http.StatusOK || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%d, %d bytes, %v", status, len(body), err)
	}
}
