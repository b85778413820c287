package archive_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"pleat"
	"pleat/internal/archive"
)

// A source that asks for a pause is tried again after it, and after an hour at most.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"": 0, "-1": 0, "soon": 0, "90": 90 * time.Second, "9999999999": pleat.MaxRetryAfter,
	} {
		source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		_, f, err := archive.URLs{PDB: source.URL + "/{id}"}.FetchPDB(t.Context(), "1abc", archive.MaxBytes)
		source.Close()
		if err != nil || f == nil || !f.Retry || f.RetryAfter != want {
			t.Errorf("%q: %+v, %v; want to be tried again after %s", header, f, err, want)
		}
	}
}
