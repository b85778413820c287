package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
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
