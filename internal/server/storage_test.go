package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/blob"
	"pleat/internal/server"
	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
)

// kept returns the number and the bytes of all files that the service has written, with unfinished ones.
func (h *fixture) kept() (files int, bytes int64) {
	h.t.Helper()
	err := filepath.WalkDir(h.files, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil //nolint:nilerr // removed in the meantime
		}
		if info, err := e.Info(); err == nil {
			files, bytes = files+1, bytes+info.Size()
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return files, bytes
}

// jsonFile is a valid file of n bytes.
func jsonFile(n int) string { return `["` + strings.Repeat("x", n-4) + `"]` }

// A file that is replaced or deleted leaves the disk at once, so that the library's limit bounds the disk.
func TestReplacedFilesLeaveTheDisk(t *testing.T) {
	t.Parallel()
	h := newLimitedFixture(t, people.Limits{LibraryBytes: 1 << 20})
	const size = 9 << 20 / 10
	item := h.item(h.key, "x", "")
	for i := range 40 {
		if r := h.upload(item, [3]string{"files", "a.json", jsonFile(size)}); r.status != 200 {
			t.Fatalf("upload %d: %d %s", i, r.status, r.body)
		}
	}
	if files, bytes := h.kept(); files != 1 || bytes != size {
		t.Errorf("after 40 uploads under one name: %d files, %d bytes", files, bytes)
	}
	for i := range 10 {
		if r := h.as(h.key, "DELETE", "/v1/library/"+item, nil); r.status != 200 {
			t.Fatalf("deletion %d: %d %s", i, r.status, r.body)
		}
		item = h.item(h.key, "x", "a.json", jsonFile(size))
	}
	if files, bytes := h.kept(); files != 1 || bytes != size {
		t.Errorf("after 10 deletions: %d files, %d bytes", files, bytes)
	}
	if n := storetest.Count(t, h.store, "library_item"); n != 1 {
		t.Errorf("%d items", n)
	}
}

// halfSent begins to upload a file and sends n bytes of it, until stop is called.
func (h *fixture) halfSent(item string, n int) (stop func()) {
	h.t.Helper()
	body, w := io.Pipe()
	req, err := http.NewRequest("POST", h.http.URL+"/v1/library/"+item+"/upload-files", body)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.key)
	req.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
			_ = res.Body.Close()
		}
	}()
	go func() {
		_, _ = fmt.Fprintf(w,
			"--x\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a%d.json\"\r\n\r\n%s", n, jsonFile(n))
	}()
	return func() {
		_ = w.CloseWithError(io.ErrUnexpectedEOF)
		<-ended
	}
}

// Uploads under way count before they are written, and a user has only a few of them.
func TestUploadsUnderWayAreBounded(t *testing.T) {
	t.Parallel()
	h := newLimitedFixture(t, people.Limits{LibraryBytes: 1 << 20})
	item := h.item(h.key, "x", "")
	const part = 300 << 10
	for i := range 3 {
		defer h.halfSent(item, part+i)()
	}
	arrived := func(n int64) {
		storetest.Eventually(t, "what was sent is written", func() bool {
			_, bytes := h.kept()
			return bytes > n
		})
	}
	arrived(3 * (part - 8<<10))
	if r := h.upload(
		item, [3]string{"files", "b.json", jsonFile(part)},
	); r.status != http.StatusRequestEntityTooLarge ||
		!strings.Contains(r.message(t), "what you are uploading") {
		t.Errorf("an upload over the limit: %d %s", r.status, r.body)
	}
	if files, bytes := h.kept(); files != 3 || bytes > 1<<20 {
		t.Errorf("%d files, %d bytes", files, bytes)
	}
	defer h.halfSent(item, 40<<10)()
	arrived(3*part + 10<<10)
	if r := h.upload(item, [3]string{"files", "b.json", jsonFile(100)}); r.status != http.StatusTooManyRequests ||
		r.header.Get("Retry-After") == "" || !strings.Contains(r.message(t), "4 uploads to this library") {
		t.Errorf("the fifth upload: %d %s", r.status, r.body)
	}
	_, eve := h.newUser("eve")
	h.item(eve, "hers", "a.json", jsonFile(100)) // is not refused
}

// Items and drafts of a user are bounded in number and in bytes.
func TestItemsAndDraftsAreBounded(t *testing.T) {
	t.Parallel()
	limits := people.Limits{LibraryBytes: 1 << 20, LibraryItems: 40, Drafts: 6}
	fetch := func(c *server.Config) { c.ArchiveURLs.PDB = "http://127.0.0.1/{id}" }
	h := newLimitedFixture(t, limits, fetch)
	big := strings.Repeat("m", 32<<10-20)
	count := func(table string, ask func(i int) reply, n, status int) int {
		t.Helper()
		refused := 0
		for i := range n {
			if r := ask(i); r.status == status {
				refused++
			} else if r.status >= 300 {
				t.Fatalf("%s %d: %d %s", table, i, r.status, r.body)
			}
		}
		if created := storetest.Count(t, h.store, table); created != n-refused {
			t.Errorf("%d of %s, %d refused", created, table, refused)
		}
		return n - refused
	}
	if n := count("library_item", func(int) reply {
		return h.as(h.key, "POST", "/v1/library/create", `{"name":"x","metadata":{"m":"`+big+`"}}`)
	}, 50, http.StatusRequestEntityTooLarge); n != 32 {
		t.Errorf("%d items of 32 KB in 1 MiB", n)
	}
	draft := func(int) reply {
		return h.as(h.key, "POST", "/v1/workflows", `{"workflow_name":"qna_v1","name":"x","create_mode":"draft",`+
			`"workflow_input":{"targetSource":"pdb","pdbId":"1crn","question":"why","name":"`+strings.Repeat("m", 100<<10)+`"}}`)
	}
	if r := draft(0); r.status != http.StatusRequestEntityTooLarge ||
		!strings.Contains(r.message(t), "this draft has") {
		t.Errorf("a draft in a full library: %d %s", r.status, r.body)
	}
	h = newLimitedFixture(t, limits, fetch)
	if n := count("workflow", draft, 8, http.StatusConflict); n != 6 {
		t.Errorf("%d drafts", n)
	}
	if n := count("library_item", func(int) reply {
		return h.as(h.key, "POST", "/v1/library/create", `{"name":"x"}`)
	}, 45, http.StatusConflict); n != 40 {
		t.Errorf("%d items", n)
	}
}

// Deleting a job and a workflow leaves no file, and neither can be read by anyone.
func TestDeletedFilesLeaveTheDisk(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	_, eve := h.newUser("eve")
	job := h.completed(trp)
	w := h.flow(`{"workflow_name":"md","name":"x","workflow_input":{"preset":"single_af_go","sourceType":"fold_job",` +
		`"sourceJobId":"` + job.JobID + `"}}`).ID
	c := h.claimWorkflow("md/calvados")
	h.finishWorkflow(c, json.RawMessage(`{}`), h.put(c.Task.Run, pleat.Artifact{
		Kind: pleat.ArtifactTopology, Name: "topology.pdb",
	}, smallPDB))
	if files, _ := h.kept(); files == 0 {
		t.Fatal("nothing to delete")
	}
	for _, path := range []string{"/v1/workflows/" + w, "/v1/jobs/" + job.JobID} {
		if r := h.as(eve, "DELETE", path, nil); r.status != http.StatusNotFound {
			t.Errorf("a stranger: %s: %d %s", path, r.status, r.body)
		}
		if r := h.as(h.key, "DELETE", path, nil); r.status != 200 || !strings.Contains(r.body, `"deleted":true`) {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
		if r := h.as(h.key, "DELETE", path, nil); r.status != http.StatusNotFound {
			t.Errorf("%s again: %d %s", path, r.status, r.body)
		}
	}
	if files, bytes := h.kept(); files != 0 {
		t.Errorf("%d files are left, %d bytes", files, bytes)
	}
	for _, table := range []string{"job", "workflow", "run", "artifact", "library_item"} {
		if n := storetest.Count(t, h.store, table); n != 0 {
			t.Errorf("%s has %d rows", table, n)
		}
	}
}

// gatedFiles holds back who reads the files of one library item, and counts them.
type gatedFiles struct {
	blob.Store
	item    string
	entered chan struct{}
	open    chan struct{} // closed: nobody is held back
}

func (g *gatedFiles) Open(ctx context.Context, key string) (io.ReadSeekCloser, blob.Info, error) {
	if strings.Contains(key, g.item) {
		g.entered <- struct{}{}
		<-g.open
	}
	return g.Store.Open(ctx, key)
}

// One user's large files do not make another's small one wait for its check.
func TestChecksOfUploadsAreFair(t *testing.T) {
	t.Parallel()
	gate := &gatedFiles{item: "none", entered: make(chan struct{}, 8), open: make(chan struct{})}
	h := newFixtureWith(t, func(_ *server.Config, d *server.Deps) {
		gate.Store = d.Blobs
		d.Blobs = gate
	})
	_, ben := h.newUser("ben")
	item := h.item(h.key, "large", "")
	gate.item = item
	var uploads sync.WaitGroup
	for i := range 4 {
		uploads.Go(func() {
			r := h.upload(item, [3]string{"files", fmt.Sprintf("%d.json", i), jsonFile(1 << 20)})
			if r.status != http.StatusOK {
				t.Errorf("a large file: %d %s", r.status, r.body)
			}
		})
	}
	<-gate.entered                                  // one of ann's is being checked, and is not done
	h.item(ben, "small", "a.fasta", ">x\nGSGS\n")   // does not wait for it
	h.item(ben, "another", "a.fasta", ">x\nGSGS\n") // nor this
	storetest.Eventually(t, "all files are written", func() bool {
		files, _ := h.kept()
		return files == 6
	})
	if n := len(gate.entered); n != 0 {
		t.Errorf("%d checks more of one user at a time", n)
	}
	close(gate.open)
	uploads.Wait()
	if n := len(gate.entered); n != 3 {
		t.Errorf("%d checks followed", n)
	}
}

// holdBody begins a request with a body of n bytes, of which the server waits for the rest until stop is called.
func (h *fixture) holdBody(key string, n int64) (stop func()) {
	h.t.Helper()
	body, w := io.Pipe()
	req, err := http.NewRequest("POST", h.http.URL+"/v1/jobs", body)
	if err != nil {
		h.t.Fatal(err)
	}
	req.ContentLength = n
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Expect", "100-continue")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tr := &http.Transport{ExpectContinueTimeout: time.Minute}
		defer tr.CloseIdleConnections()
		if res, err := tr.RoundTrip(req); err == nil {
			_ = res.Body.Close()
		}
	}()
	if _, err := io.WriteString(w, "{"); err != nil { // returns once the server has begun to read
		h.t.Fatal(err)
	}
	return func() {
		_ = w.CloseWithError(io.ErrUnexpectedEOF)
		<-ended
	}
}

// Large bodies that are under way are bounded, for each user and in all; what is refused says when to try again.
func TestLargeBodiesAreBounded(t *testing.T) {
	t.Parallel()
	const largest = 1 << 20
	h := newFixture(t, func(c *server.Config) { c.MaxBody = largest })
	large := `{"name":"` + strings.Repeat("x", 300<<10) + `"}`
	ask := func(key string, status int) {
		t.Helper()
		r := h.as(key, "POST", "/v1/jobs", large)
		if r.status != status || status != 400 && r.header.Get("Retry-After") == "" {
			t.Errorf("%d %s, want %d", r.status, r.body, status)
		}
	}
	var stops []func()
	hold := func(key string, bodies int) {
		for range bodies {
			stops = append(stops, h.holdBody(key, largest))
		}
	}
	_, ben := h.newUser("ben")
	_, cem := h.newUser("cem")
	hold(h.key, 4)
	ask(h.key, http.StatusTooManyRequests)
	h.create(trp) // a small body needs no room
	hold(ben, 4)
	ask(cem, http.StatusBadRequest) // the first of a user has room
	hold(cem, 1)
	ask(cem, http.StatusServiceUnavailable)
	for i := range 7 {
		_, key := h.newUser(fmt.Sprint("user", i))
		hold(key, 1)
	}
	_, dan := h.newUser("dan")
	ask(dan, http.StatusServiceUnavailable)
	for _, stop := range stops {
		stop()
	}
	storetest.Eventually(t, "the room is free", func() bool {
		return h.as(h.key, "POST", "/v1/jobs", large).status == http.StatusBadRequest
	})
}

// An almost full disk refuses new work and files, while what runs ends well and everything can be read and deleted.
func TestAlmostFullDisk(t *testing.T) {
	t.Parallel()
	const all = 1 << 60 // more than any disk has
	disk := func(least int64) func(*server.Config, *server.Deps) {
		return func(_ *server.Config, d *server.Deps) {
			d.Disk = &blob.Disk{Folders: []string{t.TempDir()}, Least: least, Clock: d.Clock, Log: d.Log}
		}
	}
	h := newFixtureWith(t, disk(1))
	job := h.create(trp)
	item := h.item(h.key, "x", "a.fasta", ">x\nGSGS\n")
	full := newFixtureOver(t, people.Limits{}, func(c *server.Config, d *server.Deps) {
		disk(all)(c, d)
		d.Store, d.Blobs = h.store, h.blobs
	})
	full.key = h.key
	for _, r := range []reply{
		full.as(h.key, "POST", "/v1/jobs", trp),
		full.as(h.key, "POST", "/v1/jobs/"+job.JobID+"/runs", `{}`),
		full.as(h.key, "POST", "/v1/workflows", `{}`),
		full.as(h.key, "POST", "/v1/workflows/execute", `{}`),
		full.as(h.key, "POST", "/v1/library/create", `{"name":"x"}`),
		full.upload(item, [3]string{"files", "b.fasta", ">x\nGSGS\n"}),
	} {
		if r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") != "60" ||
			!strings.Contains(r.message(t), "almost full") {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	h.finish(h.claim())
	if r := full.as(h.key, "GET", "/v1/jobs/"+job.JobID+"/results", nil); r.status != http.StatusOK {
		t.Errorf("results: %d %s", r.status, r.body)
	}
	if r := full.as(h.key, "POST", "/v1/jobs/validate", trp); r.status != http.StatusOK {
		t.Errorf("validate: %d %s", r.status, r.body)
	}
	if r := full.as(h.key, "DELETE", "/v1/jobs/"+job.JobID, nil); r.status != http.StatusOK {
		t.Errorf("delete: %d %s", r.status, r.body)
	}
	if n := strings.Count(full.log.String(), "almost full; no new work starts"); n != 1 {
		t.Errorf("the log tells it %d times", n)
	}
	if !strings.Contains(full.as(h.key, "GET", "/metrics", nil).body, "pleat_disk_free_bytes ") {
		t.Error("no metric of the free disk")
	}
}

// While files can neither be read nor written, jobs and simulations are created; what needs a file answers 503.
func TestCreationsWithoutArtifacts(t *testing.T) {
	t.Parallel()
	var files *blob.Dir
	h := newFixtureWith(t, func(_ *server.Config, d *server.Deps) {
		var err error
		if files, err = blob.OpenDir(t.TempDir()); err != nil {
			t.Fatal(err)
		}
		d.Blobs = files
	})
	h.register(testModel, analystModel, calvadosModel)
	item := h.item(h.key, "small", "a.pdb", smallPDB)
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	storetest.Eventually(t, "/readyz says that files cannot be stored", func() bool { // it waits a second for its probe
		r := h.ask("GET", "/readyz", nil)
		return r.status == 200 && strings.Contains(r.body, `"artifacts":"failing"`)
	})
	h.create(trp)
	for name, input := range map[string]string{
		"md":     `"sequence":"GSGSGSGSGS","sim_length_ns":1,"box_length":30`,
		"qna_v1": `"question":"How many residues?","targetSource":"library","libraryItemId":"` + item + `"`,
	} {
		r := h.as(
			h.key,
			"POST",
			"/v1/workflows",
			`{"workflow_name":"`+name+`","name":"x","workflow_input":{`+input+`}}`,
		)
		if r.status != 200 {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	_, err := h.client(h.key).UploadFile(t.Context(), item, "b.pdb", strings.NewReader(smallPDB))
	var refused *api.Error
	if !errors.As(err, &refused) || refused.Status != 503 {
		t.Errorf("an upload: %v", err)
	}
	if n := strings.Count(h.log.String(), "the artifact store fails"); n != 1 {
		t.Errorf("%d lines in the log", n)
	}
}
