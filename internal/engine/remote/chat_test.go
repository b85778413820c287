package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/internal/engine/enginetest"
)

// chatServer is a chat endpoint that answers every call alike, and records the last call.
type chatServer struct {
	*httptest.Server
	status int // 0: it does not answer
	body   string

	auth    string
	request map[string]any
}

func newChatServer(t *testing.T, status int, body string) *chatServer {
	t.Helper()
	s := &chatServer{status: status, body: body}
	closing := make(chan struct{})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.auth = r.Header.Get("Authorization")
		if r.URL.Path != "/v1/chat/completions" {
			w.WriteHeader(404)
			return
		}
		b, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(b, &s.request)
		if s.status == 0 {
			<-closing
			return
		}
		if s.status == 302 {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, s.body)
	}))
	t.Cleanup(func() { close(closing); s.Close() })
	return s
}

func TestChat(t *testing.T) {
	t.Parallel()
	s := newChatServer(t, 200, `{
		"model":"m-1",
		"choices":[
			{"message":{"role":"assistant","content":" Twenty \u0007residues. "},"finish_reason":"length"}
		],
		"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`)
	c := Chat{URL: s.URL + "/v1/", Model: "m", Key: "sesame", MaxTokens: 77, Timeout: 20 * time.Second}
	w := enginetest.Question(enginetest.TrpCage(t), "How many residues?", c)
	out := enginetest.Registry(t, c).Run(context.Background(), w, &enginetest.Sink{})
	r := enginetest.Row(t, out)
	if r["answer"] != "Twenty residues.\n\n(The answer ends here because the model reached its bound of tokens.)" ||
		r["image"] != "pleat chat m" {
		t.Errorf("%q", r)
	}
	if s.auth != "Bearer sesame" || s.request["model"] != "m" || s.request["max_tokens"] != 77.0 {
		t.Errorf("%s %v", s.auth, s.request)
	}
	user := s.request["messages"].([]any)[1].(map[string]any)["content"].(string)
	if !strings.HasSuffix(user, "QUESTION\nHow many residues?") || !strings.Contains(user, "20") ||
		strings.Contains(user, "ATOM ") || len(user) > 26<<10 {
		t.Error(user)
	}
	for _, f := range out.Files {
		if b, err := os.ReadFile(f.Path); err != nil || bytes.Contains(b, []byte("sesame")) {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

func TestChatFailures(t *testing.T) {
	t.Parallel()
	dir := enginetest.TrpCage(t)
	for _, k := range []struct {
		status int
		body   string
		kind   pleat.FailureKind
		retry  bool
		want   string
	}{
		{401, "", pleat.FailLoad, false, "answered 401; the operator has to check its key"},
		{404, "", pleat.FailLoad, false, "answered 404"},
		{302, "", pleat.FailLoad, false, "answered 302"},
		{429, "", pleat.FailLoad, true, "answered 429"},
		{503, "", pleat.FailLoad, true, "answered 503"},
		{200, "<html>", pleat.FailOutputInvalid, false, "not a chat completion"},
		{200, `{"choices":[]}`, pleat.FailOutputInvalid, false, "empty answer"},
		{200, strings.Repeat("x", maxChatResponse+1), pleat.FailOutputInvalid, false, "not a chat completion"},
		{0, "", pleat.FailTimeout, true, "gave no answer within 50ms"},
	} {
		s := newChatServer(t, k.status, k.body)
		c := Chat{URL: s.URL + "/v1", Model: "m", Key: "sesame", Timeout: 20 * time.Second}
		if k.status == 0 {
			c.Timeout = 50 * time.Millisecond
		}
		w := enginetest.Question(dir, "q", c)
		f := enginetest.Registry(t, c).Run(context.Background(), w, &enginetest.Sink{}).Failure
		if f == nil || f.Kind != k.kind || f.Retry != k.retry ||
			!strings.Contains(f.Message, k.want) || strings.Contains(f.Message, "sesame") {
			t.Errorf("%d %.20q: %v", k.status, k.body, f)
		}
	}
	c := Chat{URL: "http://127.0.0.1:1/v1", Model: "m"}
	w := enginetest.Question(dir, "q", c)
	f := enginetest.Registry(t, c).Run(context.Background(), w, &enginetest.Sink{}).Failure
	if f == nil || !f.Retry || !strings.Contains(f.Message, "cannot be reached") {
		t.Error(f)
	}
}
