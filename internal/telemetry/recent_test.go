package telemetry

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// The last lines are kept whole, however many there are and however long one is, and lines may come at the same time.
func TestRecentLogIsBounded(t *testing.T) {
	content := func(l *RecentLog) string {
		var b bytes.Buffer
		n, err := l.WriteTo(&b)
		if err != nil || n != int64(b.Len()) {
			t.Fatalf("%d of %d bytes, %v", n, b.Len(), err)
		}
		return b.String()
	}
	l := &RecentLog{}
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for range recentLines {
				slog.New(slog.NewTextHandler(l, nil)).Info("line")
			}
		})
	}
	writers.Wait()
	lines := strings.Split(strings.TrimSpace(content(l)), "\n")
	for _, line := range lines {
		if !strings.HasPrefix(line, "time=") || !strings.HasSuffix(line, "msg=line") {
			t.Fatalf("the line %q", line)
		}
	}
	if len(lines) != recentLines {
		t.Errorf("%d lines", len(lines))
	}
	for range 200 {
		_, _ = l.Write([]byte(strings.Repeat("x", 2*recentLine) + "\n"))
	}
	text := content(l)
	if len(text) > recentBytes || len(text) < recentBytes-recentLine || !strings.HasSuffix(text, "x\n") {
		t.Errorf("%d bytes are kept", len(text))
	}
	if text := content(nil); text != "" {
		t.Errorf("none keeps %q", text)
	}
}

// The paths for a report of a fault demand the token, also where the metrics demand none.
func TestDebugPathsDemandTheToken(t *testing.T) {
	recent := &RecentLog{}
	_, _ = recent.Write([]byte("a line\n"))
	for token, codes := range map[string]map[string]int{
		"":                 {"": http.StatusForbidden, "guessed": http.StatusForbidden},
		"0123456789abcdef": {"": 401, "guessed": 401, "0123456789abcdef": 200},
	} {
		e := &Endpoint{
			Health:  &Health{},
			Metrics: prometheus.NewRegistry(),
			Token:   token,
			Log:     slog.Default(),
			Recent:  recent,
		}
		for path, want := range map[string]string{"/debug/goroutines": "goroutine profile", "/debug/log": "a line\n"} {
			for sent, code := range codes {
				req := httptest.NewRequest(http.MethodGet, path, nil)
				if sent != "" {
					req.Header.Set("Authorization", "Bearer "+sent)
				}
				answer := httptest.NewRecorder()
				e.Handler().ServeHTTP(answer, req)
				shown := strings.Contains(answer.Body.String(), want)
				if answer.Code != code || shown != (code == http.StatusOK) {
					t.Errorf("%s with the token %q of %q: %d %s", path, sent, token, answer.Code, answer.Body)
				}
			}
		}
	}
}
