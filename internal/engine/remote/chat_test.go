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

func TestChat(t *testing.T) {
	var got map[string]any
	var auth string
	status, body := 200, `{
		"model":"m-1",
		"choices":[
			{"message":{"role":"assistant","content":" Twenty \u0007residues. "},"finish_reason":"length"}
		],
		"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`
	slow := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth = r.Header.Get("Authorization")
		if r.URL.Path != "/v1/chat/completions" {
			w.WriteHeader(404)
			return
		}
		b, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(b, &got)
		if status == 0 {
			<-slow
			return
		}
		if status == 302 {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer srv.Close()
	defer close(slow)
	c := Chat{URL: srv.URL + "/v1/", Model: "m", Key: "sesame", MaxTokens: 77, Timeout: 20 * time.Second}
	reg := enginetest.Registry(t, c)
	dir := enginetest.TrpCage(t)
	out := reg.Run(context.Background(), enginetest.Question(dir, "How many residues?", c), &enginetest.Sink{})
	r := enginetest.Row(t, out)
	if r["answer"] != "Twenty residues.\n\n(The answer ends here because the model reached its bound of tokens.)" ||
		r["image"] != "pleat chat m" {
		t.Errorf("%q", r)
	}
	if auth != "Bearer sesame" || got["model"] != "m" || got["max_tokens"] != 77.0 {
		t.Errorf("%s %v", auth, got)
	}
	user := got["messages"].([]any)[1].(map[string]any)["content"].(string)
	if !strings.HasSuffix(user, "QUESTION\nHow many residues?") || !strings.Contains(user, "20") ||
		strings.Contains(user, "ATOM ") || len(user) > 26<<10 {
		t.Error(user)
	}
	for _, f := range out.Files {
		if b, err := os.ReadFile(f.Path); err != nil || bytes.Contains(b, []byte("sesame")) {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
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
		status, body = k.status, k.body
		if status == 0 {
			c.Timeout = 50 * time.Millisecond
			reg = enginetest.Registry(t, c)
		}
		out := reg.Run(context.Background(), enginetest.Question(dir, "q", c), &enginetest.Sink{})
		if f := out.Failure; f == nil || f.Kind != k.kind || f.Retry != k.retry ||
			!strings.Contains(f.Message, k.want) || strings.Contains(f.Message, "sesame") {
			t.Errorf("%d %.20q: %v", k.status, k.body, f)
		}
	}
	c.URL, c.Timeout = "http://127.0.0.1:1/v1", 20*time.Second
	if out := enginetest.Registry(t, c).Run(context.Background(), enginetest.Question(dir, "q", c),
		&enginetest.Sink{}); out.Failure == nil || !out.Failure.Retry ||
		!strings.Contains(out.Failure.Message, "cannot be reached") {
		t.Error(out.Failure)
	}
}
