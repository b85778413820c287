package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// message is one message of JSON-RPC 2.0, as far as it must be known before the SDK reads it.
type message struct {
	id     json.RawMessage // a string or an integer; nil: it has none, or none that an answer can repeat
	method string
	params json.RawMessage
}

// maxID is the largest integer that every reader of JSON keeps exactly (RFC 8259, section 6).
const maxID = 1 << 53

// readMessage reads a message. The error says what is wrong with it.
func readMessage(body []byte) (message, *jsonrpc.Error) {
	var fields map[string]json.RawMessage
	switch err := json.Unmarshal(body, &fields); {
	case !json.Valid(body):
		return message{}, &jsonrpc.Error{
			Code:    jsonrpc.CodeParseError,
			Message: "the message is not JSON: " + err.Error(),
		}
	case bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")):
		return message{}, invalidRequest("the message is an array; send one message in each request")
	case err != nil || fields == nil:
		return message{}, invalidRequest("the message is not an object")
	}
	m := message{params: fields["params"]}
	if id, sent := fields["id"]; sent {
		if !isID(id) {
			return m, invalidRequest("the id is %s; it must be a string, or an integer of at most 2^53",
				visible(string(id), maxName))
		}
		m.id = id
	}
	if method, sent := fields["method"]; sent && json.Unmarshal(method, &m.method) != nil {
		return m, invalidRequest("the method is not a string")
	}
	if m.method == "" && fields["method"] == nil && fields["result"] == nil && fields["error"] == nil {
		return m, invalidRequest("the message has no method")
	}
	if p := m.params; p != nil && p[0] != '{' && string(p) != "null" {
		return m, badParams("the params are not an object")
	}
	return m, nil
}

// withoutNull returns a message without params that are null: the SDK refuses these for some methods, though they say
// as little as none.
func (m *message) withoutNull(body []byte) []byte {
	var fields map[string]json.RawMessage
	if string(m.params) != "null" || json.Unmarshal(body, &fields) != nil {
		return body
	}
	delete(fields, "params")
	out, err := json.Marshal(fields)
	if err != nil { // no value of these types fails
		return body
	}
	return out
}

// isID reports whether a value may be the id of a request. The protocol forbids null, which JSON-RPC allows.
func isID(raw json.RawMessage) bool {
	if raw[0] == '"' {
		return true
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && n == math.Trunc(n) && math.Abs(n) <= maxID
}

// badParams is the error of a method that cannot use its parameters.
func badParams(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// invalidRequest is an error of the protocol.
func invalidRequest(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf(format, args...)}
}

// answerMessage answers a message by the SDK. Every refusal is an error of JSON-RPC, also where the SDK refuses in
// plain text.
func answerMessage(w http.ResponseWriter, r *http.Request, agents http.Handler) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		(&message{}).refuse(w, http.StatusBadRequest, invalidRequest("the message cannot be read"))
		return
	}
	m, fault := readMessage(body)
	if fault == nil && !m.routed(r.Header) {
		fault = &jsonrpc.Error{
			Code:    sdk.CodeHeaderMismatch,
			Message: "header mismatch: Mcp-Name must be the taskId of the request",
		}
	}
	if fault != nil {
		m.refuse(w, http.StatusBadRequest, fault)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(m.withoutNull(body)))
	a := &answer{ResponseWriter: w}
	agents.ServeHTTP(a, r)
	if a.status != 0 {
		text := strings.TrimSpace(a.text.String())
		if m.id == nil && strings.HasPrefix(text, unknownMethod) && strings.HasPrefix(m.method, "notifications/") {
			w.Header().Del("Content-Type")
			w.WriteHeader(http.StatusAccepted) // a notification that a server does not know is none of its business
			return
		}
		status, fault := m.refusal(a.status, text)
		m.refuse(w, status, fault)
	}
}

// The beginnings of the texts by which the SDK refuses a message because of its method, and one that lacks what its
// method needs. It has no error for either that can be compared.
const (
	unknownMethod  = "JSON RPC not handled"
	invalidMessage = "invalid request"
	withoutParams  = `invalid request: missing required "params"`
)

// refusal returns the error for a text in which the SDK refuses a message, and the status. A request that the transport
// has accepted is answered with 200, as every other error of a method is: clients take another status for a fault of
// the connection.
func (m *message) refusal(status int, text string) (int, *jsonrpc.Error) {
	fault := invalidRequest("%s", visible(text, maxText))
	switch {
	case strings.HasPrefix(text, unknownMethod):
		fault = &jsonrpc.Error{
			Code:    jsonrpc.CodeMethodNotFound,
			Message: fmt.Sprintf("the method %q is not known", visible(m.method, maxName)),
		}
	case text == withoutParams:
		fault = badParams("the method %q has params, and the message has none", visible(m.method, maxName))
	case !strings.HasPrefix(text, invalidMessage):
		return status, fault
	}
	if m.id != nil {
		status = http.StatusOK
	}
	return status, fault
}

// failure is the answer to a message that fails. The id is null where the message has none that can be repeated
// (JSON-RPC 2.0, section 5).
func (m *message) failure(fault *jsonrpc.Error) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": m.id, "error": fault}
}

// refuse answers a message with an error.
func (m *message) refuse(w http.ResponseWriter, status int, fault *jsonrpc.Error) {
	b, err := json.Marshal(m.failure(fault))
	if err != nil { // no value of these types fails
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

// answer is the response to a message. It keeps what the SDK refuses in plain text.
type answer struct {
	http.ResponseWriter
	status int // of a refusal that was kept; 0: there is none
	text   strings.Builder
}

// WriteHeader sends a status, unless a refusal in plain text follows.
func (a *answer) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(a.Header().Get("Content-Type"), "text/plain") {
		a.status = status
		return
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body, or keeps that of a refusal.
func (a *answer) Write(b []byte) (int, error) {
	if a.status != 0 {
		return a.text.Write(b)
	}
	return a.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
