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

// choice is a response with one message.
func choice(message, finish string) string {
	return `{"choices":[{"message":` + message + `,"finish_reason":"` + finish + `"}]}`
}

// The content of a message has the forms in which current endpoints send it.
func TestChatAnswers(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`"plain"`: "plain",
		`"<think>\nmaybe 90\n</think>\n\nIt is 67."`:        "It is 67.",
		`"maybe 90\n</think>\nIt is 67."`:                   "It is 67.",
		`"<thinking>a</thinking>It <think>c</think>is 67."`: "It is 67.",
		`"<THINK>a<think>b</think>c</THINK>It is 67."`:      "It is 67.",
		`"<think time=\"5\">a"`:                             "",
		`"<seed:think>a</seed:think>It is 67."`:             "It is 67.",
		`"[THINK]a[/THINK]It is 67."`:                       "It is 67.",
		`"◁think▷a◁/think▷It is 67."`:                       "It is 67.",
		`"<|channel>thought\nmaybe<channel|>It is 67."`:     "It is 67.",
		`"<|channel|>analysis<|message|>a<|end|><|start|>assistant` +
			`<|channel|>final<|message|>It is 67.<|return|>"`: "It is 67.",
		`[{"type":"reasoning","text":"a"},{"type":"text","text":"It is 67."}]`: "It is 67.",
		`"It is 67. <think>or not"`:                             "It is 67.",
		`"a < b, and <b> is no thought"`:                        "a < b, and <b> is no thought",
		`[{"type":"text","text":"It is "},{"text":"67."}]`:      "It is 67.",
		`[{"type":"image_url","image_url":{}},{"text":"seen"}]`: "seen",
		`"a\u0000b\u202ec\u0085d\te"`:                           "abcd\te",
	} {
		r, failure := readChat([]byte(choice(`{"content":`+content+`}`, "stop")), "")
		if got := r.answer(); got != want || (failure != nil) != (want == "") {
			t.Errorf("%s: %q, want %q; %v", content, got, want, failure)
		}
	}
}

// An endpoint may send the events of a stream, and say in them what is wrong.
func TestChatStreams(t *testing.T) {
	t.Parallel()
	const first = `data: {"choices":[{"delta":{"role":"assistant","reasoning_content":"hm"}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{"content":"It is "}}]}` + "\n\n"
	const last = `data: {"choices":[{"delta":{"content":"67."},"finish_reason":"stop"}]}` + "\r\n\r\n" +
		`data: {"choices":[],"usage":{"total_tokens":12}}` + "\n\ndata: [DONE]"
	for raw, want := range map[string]string{
		first + last:                   "It is 67.",
		": PROCESSING\n\n" + last:      "67.",
		"event: x\n" + first:           "", // cut off
		first + "data: [DONE]\n\n":     "It is",
		"data: {\n\n":                  "",
		"data: [DONE]":                 "",
		`data: {"error":"overloaded"}`: "",
	} {
		r, failure := readChat([]byte(raw), "")
		if failure == nil && r.answer() != want || (failure != nil) != (want == "") {
			t.Errorf("%q: %q, %v", raw, r.answer(), failure)
		}
	}
}

// Parameters that an endpoint refuses are sent by another name, or left out.
func TestChatParameters(t *testing.T) {
	t.Parallel()
	var sent []map[string]any
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q map[string]any
		_ = json.NewDecoder(r.Body).Decode(&q)
		sent = append(sent, q)
		refuse := func(message string) {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"error":{"message":"`+message+`"}}`)
		}
		_, old := q["max_tokens"]
		_, warm := q["temperature"]
		switch {
		case old:
			refuse("max_tokens is not supported with this model. Use max_completion_tokens instead.")
		case warm:
			refuse("temperature does not support 0 with this model.")
		case len(q["messages"].([]any)) == 2:
			refuse("System role not supported")
		case q["stream"] == false:
			refuse("This model only supports stream mode, please enable the stream parameter.")
		default:
			_, _ = io.WriteString(w, "data: "+`{"choices":[{"delta":{"content":"yes"},"finish_reason":"stop"}]}`+"\n\n")
		}
	}))
	defer s.Close()
	c := Chat{URL: s.URL, Model: "m", MaxTokens: 77}
	r, failure := c.complete(t.Context(), "", "q")
	if r.answer() != "yes" || failure != nil || len(sent) != 5 {
		t.Fatalf("%+v, %v after %d calls", r, failure, len(sent))
	}
	if q := sent[4]; q["max_completion_tokens"] != 77.0 || q["stream"] != true {
		t.Errorf("%v", q)
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
		{401, `{"error":{"message":"sesame is wrong"}}`, pleat.FailLoad, false,
			"answered 401; the operator has to check its key"},
		{404, "", pleat.FailLoad, false, "answered 404; the operator has to check its address and model"},
		{404, `{"error":{"message":"model \"m\" not found,\n try pulling it\u001b first"}}`, pleat.FailLoad, false,
			`answered 404: model "m" not found, try pulling it first`},
		{404, `{"error":"no model; the key is sesame"}`, pleat.FailLoad, false, "answered 404: no model; the key is …"},
		{400, `{"detail":"the context is too long"}`, pleat.FailLoad, false, "answered 400: the context is too long"},
		{503, `{"message":"the model is loading"}`, pleat.FailLoad, true, "answered 503: the model is loading"},
		{200, `{"error":{"message":"model is loading"}}`, pleat.FailLoad, true, "has no answer: model is loading"},
		{200, choice(`{"content":""}`, "content_filter"), pleat.FailOutputInvalid, false, "the content filter of the chat endpoint"},
		{200, choice(`{"content":null,"reasoning":"x"}`, "stop"), pleat.FailOutputInvalid, false, "empty answer"},
		{200, choice(`{"content":"<think>\nhm"}`, "length"), pleat.FailOutputInvalid, false, "bound of tokens before"},
		{422, `{"detail":[{"loc":["body"],"msg":"not permitted"}]}`, pleat.FailLoad, false, "422: not permitted"},
		{200, `{"error":{"message":"no credits","code":402}}`, pleat.FailLoad, false, "402: no credits"},
		{200, `data: {"error":{"message":"upstream died","code":502}}`, pleat.FailLoad, true, "502: upstream died"},
		{200, `{"choices":[{"message":{"content":""},"finish_reason":"error","error":{"message":"upstream died"}}]}`,
			pleat.FailLoad, true, "has no answer: upstream died"},
		{200, choice(`{"content":null,"refusal":"I cannot\nhelp"}`, "stop"), pleat.FailOutputInvalid, false,
			"refused to answer: I cannot help"},
		{200, choice(`{"content":null,"tool_calls":[{"id":"1"}]}`, "tool_calls"), pleat.FailOutputInvalid, false,
			"called a tool"},
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
