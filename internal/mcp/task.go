package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pleat"
	"pleat/api"
)

// The extension for tasks, https://github.com/modelcontextprotocol/ext-tasks. A client that declares it with a call of
// a tool that starts work gets a task at once instead of the result, and asks for it by tasks/get. A task is the work
// itself, so that nothing is stored for it: its id is the kind and the id of the work.
const (
	tasksExtension     = "io.modelcontextprotocol/tasks"
	clientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	missingCapability  = -32021 // a code of the extension
	pollInterval       = 2 * time.Second
)

// States of tasks.
const (
	taskWorking   = "working"
	taskCompleted = "completed"
	taskCancelled = "cancelled"
)

// taskResult is CreateTaskResult and GetTaskResult of the extension.
type taskResult struct {
	sdk.ResultBase
	ResultType string              `json:"resultType"` // task: it was created; complete: it was asked for
	ID         string              `json:"taskId"`
	Status     string              `json:"status"`
	Message    string              `json:"statusMessage,omitempty"`
	Created    time.Time           `json:"createdAt"`
	Updated    time.Time           `json:"lastUpdatedAt"`
	TTL        *int                `json:"ttlMs"` // null: it lives as long as the work
	Poll       int64               `json:"pollIntervalMs"`
	Result     *sdk.CallToolResult `json:"result,omitempty"`
}

// taskParams are the parameters of tasks/get, tasks/update and tasks/cancel.
type taskParams struct {
	sdk.ParamsBase
	ID        string          `json:"taskId"`
	Responses json.RawMessage `json:"inputResponses,omitempty"` // no task here asks for input: they are ignored
}

// acknowledgement is the result of tasks/update and tasks/cancel.
type acknowledgement struct {
	sdk.ResultBase
	ResultType string `json:"resultType"`
}

// slotKey is the key in a context of the slot in which started puts work, instead of waiting for it.
type slotKey struct{}

// slot holds the work that a call has started.
type slot struct{ started *work }

// addTasks adds the extension to a server.
func addTasks(s *sdk.Server, clients callers) error {
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method != "tools/call" || !declares(req.GetParams()) {
				return next(ctx, method, req)
			}
			var s slot
			res, err := next(context.WithValue(ctx, slotKey{}, &s), method, req)
			if err != nil || s.started == nil {
				return res, err
			}
			return taskOf(s.started, "task", clients(ctx).now()), nil
		}
	})
	get := func(ctx context.Context, _ *sdk.ServerSession, p *taskParams) (*taskResult, error) {
		return clients(ctx).task(ctx, p)
	}
	if err := sdk.AddReceivingCustomMethod(s, "tasks/get", get); err != nil {
		return err
	}
	update := func(ctx context.Context, _ *sdk.ServerSession, p *taskParams) (*acknowledgement, error) {
		_, err := clients(ctx).task(ctx, p)
		return &acknowledgement{ResultType: "complete"}, err
	}
	if err := sdk.AddReceivingCustomMethod(s, "tasks/update", update); err != nil {
		return err
	}
	return sdk.AddReceivingCustomMethod(s, "tasks/cancel",
		func(ctx context.Context, _ *sdk.ServerSession, p *taskParams) (*acknowledgement, error) {
			return &acknowledgement{ResultType: "complete"}, clients(ctx).cancelTask(ctx, p)
		})
}

// headersSince is the version of the protocol from which headers repeat what proxies route by.
const headersSince = "2026-07-28"

// routed reports whether a message for a task repeats the id of the task in the header Mcp-Name: proxies route by the
// header. The SDK checks the header for the methods that it knows, and Mcp-Method for all.
func (m *message) routed(h http.Header) bool {
	if !strings.HasPrefix(h.Get("Mcp-Method"), "tasks/") || h.Get("Mcp-Protocol-Version") < headersSince {
		return true
	}
	var params struct {
		ID string `json:"taskId"`
	}
	return json.Unmarshal(m.params, &params) != nil || h.Get("Mcp-Name") == params.ID
}

// declares reports whether a request declares the extension.
func declares(p sdk.Params) bool {
	if p == nil {
		return false
	}
	b, err := json.Marshal(p.GetMeta()[clientCapabilities])
	if err != nil {
		return false
	}
	var c struct {
		Extensions map[string]json.RawMessage `json:"extensions"`
	}
	if json.Unmarshal(b, &c) != nil {
		return false
	}
	_, ok := c.Extensions[tasksExtension]
	return ok
}

// taskOf describes work as a task. Work that tells no times is as new as now.
func taskOf(w *work, resultType string, now time.Time) *taskResult {
	updated := w.updated.Time
	if updated.IsZero() {
		updated = now.UTC()
	}
	created := w.Created.Time
	if created.IsZero() {
		created = updated
	}
	t := &taskResult{
		ResultType: resultType,
		ID:         w.Kind + ":" + w.ID,
		Status:     taskWorking,
		Created:    created.Truncate(time.Millisecond),
		Updated:    updated.Truncate(time.Millisecond),
		Poll:       pollInterval.Milliseconds(),
		Message:    w.Stage,
	}
	switch {
	case w.Status == api.Stopped:
		t.Status = taskCancelled
	case w.Ended:
		t.Status = taskCompleted
	}
	return t
}

// task is tasks/get.
func (s session) task(ctx context.Context, p *taskParams) (*taskResult, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	h, err := handleOf(p)
	if err != nil {
		return nil, err
	}
	w, links, err := s.read(ctx, h)
	if err != nil {
		return nil, taskError(err)
	}
	t := taskOf(&w, "complete", s.now())
	if t.Status == taskCompleted {
		t.Result, err = result(w, links)
	}
	return t, err
}

// cancelTask is tasks/cancel. Work that has ended is none to stop, and the acknowledgement promises nothing.
func (s session) cancelTask(ctx context.Context, p *taskParams) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	h, err := handleOf(p)
	if err != nil {
		return err
	}
	if _, err := s.cancel(ctx, h); err != nil && faultOf(err).Code != string(pleat.CodeConflict) {
		return taskError(err)
	}
	return nil
}

// handleOf returns the work that a task is.
func handleOf(p *taskParams) (handle, error) {
	if p == nil || !declares(p) {
		return handle{}, &jsonrpc.Error{
			Code:    missingCapability,
			Message: "Missing required client capability",
			Data:    json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
		}
	}
	kind, id, _ := strings.Cut(p.ID, ":")
	h := handle{kind, id}
	if h.Kind == "" || h.check() != nil {
		return h, invalidParams("Task not found")
	}
	return h, nil
}

// taskError returns the error of the protocol for one of the service.
func taskError(err error) error {
	f := faultOf(err)
	if f.Code == string(pleat.CodeNotFound) {
		return invalidParams("Task not found")
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: f.Message}
}

// invalidParams is an error of the protocol.
func invalidParams(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}
