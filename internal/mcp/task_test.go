package mcp_test

import (
	"net/http"
	"strings"
	"testing"

	"pleat/api"
)

// The version of the protocol that has extensions, and what a client sends that has the one for tasks.
const (
	modern = "2026-07-28"
	meta   = `"_meta": {"io.modelcontextprotocol/protocolVersion": "` + modern + `", ` +
		`"io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"}, ` +
		`"io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}}`
	plainMeta = `"_meta": {"io.modelcontextprotocol/protocolVersion": "` + modern + `", ` +
		`"io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"}, ` +
		`"io.modelcontextprotocol/clientCapabilities": {}}`
)

// task is a task, or why there is none.
type task struct {
	ResultType, TaskID, Status string
	CreatedAt, LastUpdatedAt   string
	TTLMs                      *int
	PollIntervalMs             int
	Result                     *struct {
		StructuredContent work
		IsError           bool
	}
}

// answered is a response of the protocol.
type answered struct {
	Result task
	Error  *struct {
		Code    int
		Message string
		Data    any
	}
}

// rpc sends a request of the modern version with a key.
func rpc(t *testing.T, s *service, key, method, name, params string) answered {
	t.Helper()
	header := []string{"Mcp-Protocol-Version", modern, "Mcp-Method", method, "Mcp-Name", name, "Authorization",
		"Bearer " + key}
	res, body := s.post(t, `{"jsonrpc": "2.0", "id": 1, "method": "`+method+`", "params": {`+params+`}}`, header...)
	if res.StatusCode >= http.StatusInternalServerError {
		t.Fatalf("%s: %d %s", method, res.StatusCode, body)
	}
	var out answered
	decode(t, []byte(body), &out)
	return out
}

// foldTask starts a fold as a task.
func foldTask(t *testing.T, s *service, arguments string) task {
	t.Helper()
	got := rpc(t, s, s.key, "tools/call", "fold", `"name": "fold", "arguments": `+arguments+`, `+meta)
	created := got.Result
	if got.Error != nil || created.ResultType != "task" || created.Status != "working" || created.TTLMs != nil ||
		created.PollIntervalMs <= 0 || !strings.HasSuffix(created.CreatedAt, "Z") {
		t.Fatalf("the task is %+v", got)
	}
	return created
}

func TestTask(t *testing.T) {
	t.Parallel()
	s := serve(t)
	created := foldTask(t, s, job("task", "null", ""))
	c := s.connect(t, s.key)
	id := strings.TrimPrefix(created.TaskID, "job:")
	call[work](c, "get_job", `{"id": "`+id+`", "waitSeconds": 20}`)
	got := rpc(t, s, s.key, "tasks/get", created.TaskID, `"taskId": "`+created.TaskID+`", `+meta)
	if got.Error != nil || got.Result.ResultType != "complete" || got.Result.Status != "completed" ||
		got.Result.Result == nil || got.Result.Result.StructuredContent.Status != api.Completed {
		t.Errorf("the task ends as %+v", got)
	}
	if ack := rpc(t, s, s.key, "tasks/update", created.TaskID, `"taskId": "`+created.TaskID+`", "inputResponses": {}, `+
		meta); ack.Error != nil || ack.Result.ResultType != "complete" {
		t.Errorf("an update is answered by %+v", ack)
	}
	ack := rpc(t, s, s.key, "tasks/cancel", created.TaskID, `"taskId": "`+created.TaskID+`", `+meta)
	if ack.Error != nil {
		t.Errorf("a task that has ended is cancelled with %+v", ack)
	}
}

func TestCancelTask(t *testing.T) {
	t.Parallel()
	s := serve(t)
	created := foldTask(t, s, slow(""))
	ack := rpc(t, s, s.key, "tasks/cancel", created.TaskID, `"taskId": "`+created.TaskID+`", `+meta)
	if ack.Error != nil {
		t.Fatalf("cancelling is answered by %+v", ack)
	}
	c := s.connect(t, s.key)
	call[work](c, "get_job", `{"id": "`+strings.TrimPrefix(created.TaskID, "job:")+`", "waitSeconds": 20}`)
	got := rpc(t, s, s.key, "tasks/get", created.TaskID, `"taskId": "`+created.TaskID+`", `+meta)
	if got.Result.Status != "cancelled" || got.Result.Result != nil {
		t.Errorf("a cancelled task is %+v", got)
	}
}

// A tool that starts nothing, or refuses, answers as always; and so does every tool to a client without the extension.
func TestNoTask(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for what, params := range map[string]string{
		"a tool that reads": `"name": "list_models", "arguments": {}, ` + meta,
		"a refusal":         `"name": "fold", "arguments": {}, ` + meta,
		"no extension":      `"name": "fold", "arguments": ` + job("plain", "null", "") + `, ` + plainMeta,
	} {
		name := "fold"
		if strings.Contains(params, "list_models") {
			name = "list_models"
		}
		got := rpc(t, s, s.key, "tools/call", name, params)
		if got.Error != nil || got.Result.ResultType != "complete" {
			t.Errorf("%s is answered by %+v", what, got)
		}
	}
}

func TestTaskErrors(t *testing.T) {
	t.Parallel()
	s := serve(t)
	created := foldTask(t, s, job("task", "null", ""))
	stranger := s.newKey(t, "eve")
	for _, test := range []struct {
		what, key, id, meta string
		code                int
	}{
		{"a client without the extension", s.key, created.TaskID, plainMeta, -32021},
		{"no id", s.key, "", meta, -32602},
		{"an id of another form", s.key, "key:1", meta, -32602},
		{"an id without a kind", s.key, ":" + strings.TrimPrefix(created.TaskID, "job:"), meta, -32602},
		{"a task that does not exist", s.key, "job:01890a5d-ac96-774b-bcce-b302099a8057", meta, -32602},
		{"a stranger", stranger, created.TaskID, meta, -32602},
	} {
		for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
			got := rpc(t, s, test.key, method, test.id, `"taskId": "`+test.id+`", `+test.meta)
			if got.Error == nil || got.Error.Code != test.code {
				t.Errorf("%s: %s is answered by %+v", test.what, method, got)
			} else if test.code == -32021 && got.Error.Data == nil {
				t.Errorf("%s: the error does not name the extension", test.what)
			}
		}
	}
}

// A request for a task repeats the id of the task in a header, by which proxies route it.
func TestTaskHeader(t *testing.T) {
	t.Parallel()
	s := serve(t)
	created := foldTask(t, s, job("task", "null", ""))
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		for _, name := range []string{"", "job:01890a5d-ac96-774b-bcce-b302099a8057"} {
			res, body := s.post(t, `{"jsonrpc": "2.0", "id": "a", "method": "`+method+`", "params": {"taskId": "`+
				created.TaskID+`", `+meta+`}}`, "Mcp-Protocol-Version", modern, "Mcp-Method", method, "Mcp-Name", name,
				"Authorization", "Bearer "+s.key)
			const want = `{"error":{"code":-32020,"message":"header mismatch: Mcp-Name must be ` +
				`the taskId of the request"},"id":"a","jsonrpc":"2.0"}`
			if res.StatusCode != http.StatusBadRequest || body != want {
				t.Errorf("%s with the name %q is answered by %d %s", method, name, res.StatusCode, body)
			}
		}
	}
	for _, broken := range []string{"{", "[]", `{"params": 1}`, `{"params": {"taskId": 1}}`} {
		res, body := s.post(t, broken, "Mcp-Protocol-Version", modern, "Mcp-Method", "tasks/get", "Authorization",
			"Bearer "+s.key)
		if res.StatusCode != http.StatusBadRequest || strings.Contains(body, "taskId of") {
			t.Errorf("%s is answered by %d %s", broken, res.StatusCode, body)
		}
	}
}
