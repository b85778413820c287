package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"pleat"
	"pleat/api"
)

// hammer reads one address from 64 clients.
func hammer(b *testing.B, url, key string) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req, err := http.NewRequest("GET", url, nil)
			if err != nil {
				b.Error(err)
				return
			}
			req.Header.Set("X-API-Key", key)
			res, err := client.Do(req)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			if res.StatusCode != 200 {
				b.Error(res.StatusCode)
				return
			}
		}
	})
}

// BenchmarkResults reads a finished result; BenchmarkSameBytes is a handler that returns the same bytes.
func BenchmarkResults(b *testing.B) {
	h := newFixture(b)
	hammer(b, h.http.URL+"/v1/jobs/"+h.completed(trp).JobID+"/results", h.key)
}

// BenchmarkView reads a finished job; BenchmarkList the page of 50 jobs of a list.
func BenchmarkView(b *testing.B) {
	h := newFixture(b)
	hammer(b, h.http.URL+"/v1/jobs/"+h.completed(trp).JobID, h.key)
}

func BenchmarkList(b *testing.B) {
	h := newFixture(b)
	for range 60 {
		h.create(trp)
	}
	hammer(b, h.http.URL+"/v1/jobs", h.key)
}

func BenchmarkSameBytes(b *testing.B) {
	h := newFixture(b)
	body := []byte(h.as(h.key, "GET", "/v1/jobs/"+h.completed(trp).JobID+"/results", nil).body)
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
	defer plain.Close()
	hammer(b, plain.URL, "")
}

// BenchmarkBatchArchive reads the archive of a batch; rows/s is how many structures of 9 KB it has each second.
func BenchmarkBatchArchive(b *testing.B) {
	h := newFixture(b)
	text, err := os.ReadFile("../structure/testdata/1ubi.pdb")
	if err != nil {
		b.Fatal(err)
	}
	atoms := string(text[bytes.Index(text, []byte("\nATOM"))+1:][:9_100])
	const rows = 200
	jobs := make([]string, rows)
	for i := range jobs {
		sequence := strings.NewReplacer("0", "G", "1", "S").Replace(fmt.Sprintf("%010b", i)) // no two rows are equal
		jobs[i] = fmt.Sprintf(`{"customId":"%d","sequences":[{"proteinChain":{"sequence":"%s"}}]}`, i, sequence)
	}
	r := h.as(h.key, "POST", "/v1/batches",
		`{"name":"files","kind":"list","params":{"modelName":"mini","seed":"1"},"jobs":[`+strings.Join(jobs, ",")+`]}`)
	var created api.CreatedBatch
	if err := json.Unmarshal([]byte(r.body), &created); err != nil || r.status != 200 {
		b.Fatal(err, r.status, r.body)
	}
	for range rows {
		h.advanceBatches()
		c := h.claim()
		h.finish(c, h.put(c.Fold.Run, pleat.Artifact{
			Kind: pleat.ArtifactCIF, Name: "model.cif", ContentType: "chemical/x-mmcif",
		}, atoms))
	}
	var size int64
	for b.Loop() {
		req, err := http.NewRequest("GET", h.http.URL+"/v1/batches/"+created.BatchID+"/archive.zip", nil)
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("X-API-Key", h.key)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		size, err = io.Copy(io.Discard, res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil || res.StatusCode != 200 {
			b.Fatal(res.StatusCode, err)
		}
	}
	b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(size)/rows, "B/row")
}
