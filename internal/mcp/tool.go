package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"reflect"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pleat"
	"pleat/api"
)

// maxCall is how long a call of a tool may take: the longest wait, and the calls of the service around it.
const maxCall = maxWait + 8*time.Second

// effect is what a tool does to what the caller has stored.
type effect int

const (
	reads   effect = iota // nothing
	creates               // it adds to it
	ends                  // it stops what runs
)

// tool is one tool. The function does completes it.
type tool struct {
	name, title string
	about       string // what it is for
	effect      effect
	repeatable  bool // a second call with the same arguments changes nothing more
	world       bool // what it answers comes from models, not from this service alone
	in, out     reflect.Type
	call        func(ctx context.Context, s session, arguments []byte) (*sdk.CallToolResult, error)
}

// handler answers a call of a tool. Links name resources that belong to the result.
type handler[In, Out any] func(ctx context.Context, s session, in *In) (out Out, links []sdk.Content, err error)

// does completes a tool with its handler, and the schemas that follow from its types. Arguments are decoded as strictly
// as the bodies of requests are, so that their faults have the service's sentences too.
func does[In, Out any](t tool, h handler[In, Out]) tool {
	t.in, t.out = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	t.call = func(ctx context.Context, s session, arguments []byte) (*sdk.CallToolResult, error) {
		if len(arguments) == 0 || string(arguments) == "null" { // some clients send null for a call without any
			arguments = []byte("{}")
		}
		in := new(In)
		if err := api.DecodeAs("the arguments", arguments, in); err != nil {
			return refused(err)
		}
		out, links, err := h(ctx, s, in)
		if err != nil {
			return refused(err)
		}
		return result(out, links)
	}
	return t
}

// addTo adds a tool to a server.
func (t tool) addTo(s *sdk.Server, clients callers) {
	destructive := t.effect == ends
	described := &sdk.Tool{
		Name:         t.name,
		Title:        t.title,
		Description:  t.about,
		InputSchema:  argumentsOf(t.in),
		OutputSchema: schemaOf(t.out),
		Annotations: &sdk.ToolAnnotations{
			Title:           t.title,
			ReadOnlyHint:    t.effect == reads,
			DestructiveHint: &destructive,
			IdempotentHint:  t.repeatable,
			OpenWorldHint:   &t.world,
		},
	}
	s.AddTool(described, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		ctx, cancel := bounded(ctx)
		defer cancel()
		return t.call(ctx, clients(ctx), req.Params.Arguments)
	})
}

// bounded returns the context of a call: it ends after maxCall, and with the request that brought the call, which the
// transport passes on for recent versions of the protocol alone.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, maxCall)
	outer, ok := ctx.Value(outerKey{}).(*http.Request)
	if !ok {
		return ctx, cancel
	}
	stop := context.AfterFunc(outer.Context(), cancel)
	return ctx, func() { stop(); cancel() }
}

// result returns a result with its text, for clients that do not read structured content, and with links. The text is
// the same JSON: what users wrote never stands outside of a field.
func result(out any, links []sdk.Content) (*sdk.CallToolResult, error) {
	b, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return &sdk.CallToolResult{
		StructuredContent: json.RawMessage(b),
		Content:           append([]sdk.Content{&sdk.TextContent{Text: string(b)}}, links...),
	}, nil
}

// fault is why a tool did not do what was asked.
type fault struct {
	Code    string           `json:"code"` // a pleat.Code
	Status  int              `json:"status,omitempty"`
	Message string           `json:"message"`
	Field   string           `json:"field,omitempty"`
	Faults  []api.FieldError `json:"faults,omitempty"`
	Retry   int              `json:"retryAfterSeconds,omitempty"`
}

// maxFaults is how many faults of a request a result lists.
const maxFaults = 10

// faultOf returns the fault for an error of the service or of the arguments. Any other is one of the connection or of
// this program, of which a caller is told no more than that.
func faultOf(err error) fault {
	var refused *api.Error
	var bad api.DecodeErrors
	var refusal *pleat.Error
	f := fault{Code: string(pleat.CodeUnavailable), Message: "the service did not answer; try again"}
	switch {
	case errors.As(err, &refused):
		f = fault{Code: string(pleat.CodeForStatus(refused.Status)), Status: refused.Status, Message: refused.Error(),
			Faults: refused.Faults, Retry: int(math.Ceil(refused.RetryAfter.Seconds()))}
		if f.Code == "" {
			f.Code = string(pleat.CodeInternal)
		}
	case errors.As(err, &bad):
		f = fault{Code: string(pleat.CodeInvalid), Message: bad.Error()}
		for _, e := range bad {
			f.Faults = append(f.Faults, api.FieldError{Field: e.Field, Message: e.Message})
		}
	case errors.As(err, &refusal):
		f = fault{Code: string(refusal.Code), Message: refusal.Message, Field: refusal.Field}
	}
	return f.safe()
}

// safe returns a fault whose texts are safe to show.
func (f fault) safe() fault {
	f.Message = visible(f.Message, maxText)
	f.Faults = f.Faults[:min(len(f.Faults), maxFaults):min(len(f.Faults), maxFaults)]
	for i, e := range f.Faults {
		f.Faults[i] = api.FieldError{Field: visible(e.Field, maxName), Message: visible(e.Message, maxText)}
	}
	if f.Field == "" && len(f.Faults) > 0 {
		f.Field = f.Faults[0].Field
	}
	return f
}

// refused returns the result of a tool that did not do what was asked. It has no structured content, whose schema is
// that of a success.
func refused(err error) (*sdk.CallToolResult, error) {
	b, err := json.Marshal(map[string]fault{"error": faultOf(err)})
	if err != nil {
		return nil, err
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: string(b)}}}, nil
}
