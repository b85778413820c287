package remote

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"pleat"
)

// An endpoint that asks for a pause is tried again after it, and after an hour at most.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"": 0, "-1": 0, "90": 90 * time.Second, "99999": pleat.MaxRetryAfter,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		_, chat := Chat{URL: s.URL, Model: "m"}.complete(t.Context(), "", "q")
		out, _, _ := runNIM(t, t.Context(), NIM{URL: s.URL}, foldOne())
		s.Close()
		for _, f := range []*pleat.Failure{chat, out.Failure} {
			if f == nil || !f.Retry || f.RetryAfter != want {
				t.Errorf("%q: %+v; want to be tried again after %s", header, f, want)
			}
		}
	}
}
