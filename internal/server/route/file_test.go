package route

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// TestDownloadName puts the name of the job before that of the file, unless it is there already.
func TestDownloadName(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"GB1", "model.cif", "GB1-model.cif"},
		{"GB1", "GB1-model.cif", "GB1-model.cif"},
		{"m", "model.cif", "m-model.cif"},
		{"model", "model.cif", "model.cif"},
		{"…", "model.cif", "model.cif"},
	} {
		if got := DownloadName(c[0], c[1]); got != c[2] {
			t.Errorf("%q of %q: %q, want %q", c[1], c[0], got, c[2])
		}
	}
}

// A compressed file that could not be read to its end breaks the connection. A few answers are compressed at once, of
// one address even fewer.
func TestCompressionIsBoundedAndBreaks(t *testing.T) {
	t.Parallel()
	z := newCompressor()
	from := func(n int) *Call {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", "gzip")
		return &Call{R: r, from: netip.AddrFrom4([4]byte{10, 0, 0, byte(n)})}
	}
	plain := from(0)
	plain.R.Header.Set("Accept-Encoding", "identity")
	for range maxCompressed + 1 {
		if z.acquire(plain) {
			t.Fatal("an answer that must not be compressed has a slot")
		}
	}
	slow := from(0)
	for i := range maxCompressedEach + 1 {
		if got, want := z.acquire(slow), i < maxCompressedEach; got != want {
			t.Fatalf("slot %d of one address: %v", i, got)
		}
	}
	for i := maxCompressedEach; i <= maxCompressed; i++ {
		if got, want := z.acquire(from(i)), i < maxCompressed; got != want {
			t.Fatalf("slot %d of all: %v", i, got)
		}
	}
	z.release(slow)
	last := from(maxCompressed)
	if !z.acquire(last) {
		t.Error("a slot was not returned")
	}
	if z.acquire(slow) {
		t.Error("more answers are compressed than may be")
	}
	z.release(last)
	if !z.acquire(slow) {
		t.Error("a refused answer counts for its address")
	}
	r := slow.R
	for wrote, want := range map[string]any{"": http.ErrAbortHandler, "half": http.ErrAbortHandler, "complete": nil} {
		c := &Call{R: r}
		c.W = &Answer{ResponseWriter: httptest.NewRecorder(), c: c}
		func() {
			defer func() {
				if p := recover(); p != want {
					t.Errorf("%q: panic %v, want %v", wrote, p, want)
				}
			}()
			z.send(c, int64(len("complete")), func(w http.ResponseWriter) {
				w.WriteHeader(http.StatusOK)
				_, _ = io.WriteString(w, wrote)
			})
		}()
	}
}
