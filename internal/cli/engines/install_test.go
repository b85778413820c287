package engines

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pleat/internal/engine/runner"
)

// A download resumes where it stopped, and the file gets its name only if its bytes are right.
func TestFetchWeights(t *testing.T) {
	text := strings.Repeat("weights ", 1000)
	sum := sha256.Sum256([]byte(text))
	good := hex.EncodeToString(sum[:])
	for _, c := range []struct {
		name    string
		part    string // what an earlier attempt left
		file    runner.WeightFile
		respond http.HandlerFunc
		want    string // in the error; empty: none
		left    int    // bytes of the part afterwards
	}{
		{name: "from the start", file: runner.WeightFile{Bytes: 8000, SHA256: good}},
		{name: "size not known", file: runner.WeightFile{}},
		{
			name: "resumes",
			part: text[:3000],
			file: runner.WeightFile{Bytes: 8000, SHA256: good},
			respond: func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Range"); got != "bytes=3000-" {
					t.Errorf("the range is %q", got)
				}
				w.WriteHeader(http.StatusPartialContent)
				fmt.Fprint(w, text[3000:])
			},
		},
		{
			name:    "a server without ranges",
			part:    "some of it",
			file:    runner.WeightFile{Bytes: 8000, SHA256: good},
			respond: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) },
		},
		{
			name: "the part is complete",
			part: text,
			file: runner.WeightFile{SHA256: good},
			respond: func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			},
		},
		{
			name: "the connection breaks",
			file: runner.WeightFile{Bytes: 8000, SHA256: good},
			respond: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "8000")
				fmt.Fprint(w, text[:5000])
			},
			want: "EOF",
			left: 5000,
		},
		{
			name:    "wrong bytes",
			file:    runner.WeightFile{Bytes: 8000, SHA256: good},
			respond: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.ToUpper(text)) },
			want:    "the download is not the expected file",
		},
		{name: "more bytes than expected", file: runner.WeightFile{Bytes: 7000},
			want: "the server sent more than the expected 7000 bytes"},
		{
			name:    "refused",
			file:    runner.WeightFile{},
			respond: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) },
			want:    "403 Forbidden",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.respond == nil {
				c.respond = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
			}
			s := httptest.NewServer(c.respond)
			defer s.Close()
			to := filepath.Join(t.TempDir(), "deep", "w.ckpt")
			if c.part != "" {
				if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(to+".part", []byte(c.part), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c.file.URL = s.URL + "/w.ckpt"
			var shown [2]int64
			_, err := fetchWeights(t.Context(), s.Client(), c.file, to, func(have, all int64) {
				shown = [2]int64{have, all}
			})
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if want := [2]int64{8000, 8000}; c.part != text && shown != want && c.file.Bytes > 0 {
					t.Errorf("the progress ends with %d of %d bytes", shown[0], shown[1])
				}
				if got, err := os.ReadFile(to); err != nil || string(got) != text {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want %q", err, c.want)
			}
			if _, err := os.Stat(to); err == nil {
				t.Error("the file has its name")
			}
			if info, err := os.Stat(to + ".part"); c.left > 0 && (err != nil || info.Size() != int64(c.left)) {
				t.Errorf("%v, %v; want %d bytes for the next attempt", info, err, c.left)
			}
		})
	}
}

// A download of which no hash is known resumes only if the server still has the same file.
func TestResumedDownloadIsOneFile(t *testing.T) {
	first, second := strings.Repeat("first ", 1000), strings.Repeat("second", 1000)
	for name, c := range map[string]struct {
		etags [2]string
		now   string // what the server has at the second attempt
		whole bool   // whether that sends all of it again
	}{
		"the same file":       {[2]string{`"1"`, `"1"`}, first, false},
		"another file":        {[2]string{`"1"`, `"2"`}, second, true},
		"no entity tag":       {[2]string{}, second, true},
		"a weak entity tag":   {[2]string{`W/"1"`, `W/"1"`}, second, true},
		"a tag that vanishes": {[2]string{`"1"`, ""}, second, true},
	} {
		t.Run(name, func(t *testing.T) {
			var attempt, sent atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tag := c.etags[attempt.Load()]; tag != "" {
					w.Header().Set("ETag", tag)
				}
				if attempt.Load() == 0 {
					w.Header().Set("Content-Length", "6000")
					fmt.Fprint(w, first[:2000])
					return
				}
				http.ServeContent(w, r, "w.ckpt", time.Time{}, strings.NewReader(c.now))
				n, _ := strconv.ParseInt(w.Header().Get("Content-Length"), 10, 64)
				sent.Store(n)
			}))
			defer s.Close()
			to := filepath.Join(t.TempDir(), "w.ckpt")
			file := runner.WeightFile{URL: s.URL}
			if _, err := fetchWeights(t.Context(), s.Client(), file, to, func(_, _ int64) {}); err == nil {
				t.Fatal("the broken download is complete")
			}
			attempt.Store(1)
			if _, err := fetchWeights(t.Context(), s.Client(), file, to, func(_, _ int64) {}); err != nil {
				t.Fatal(err)
			}
			s.Close() // the handler has returned
			n := sent.Load()
			if got, err := os.ReadFile(to); err != nil || string(got) != c.now || (n == 6000) != c.whole {
				t.Errorf("%d bytes were sent; %d bytes that begin with %.6s, %v", n, len(got), got, err)
			}
			if left, _ := filepath.Glob(to + ".*"); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}
