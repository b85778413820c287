package route

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"pleat"
	"pleat/api"
)

// An error is that of a call's own time if this has run out and nothing else has failed; the call may say what to do.
func TestInTime(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithDeadline(t.Context(), time.Time{})
	defer cancel()
	late := fmt.Errorf("compute: %w", over.Err())
	refused := &pleat.Error{Code: pleat.CodeUnavailable, Message: "the file cannot be read now", Err: over.Err()}
	for _, c := range []struct {
		ctx  context.Context
		err  error
		says string
		want string
	}{
		{over, late, "", "this takes longer than 30s now; try again, or ask for less"},
		{over, late, "make a task of it", "make a task of it"},
		{over, refused, "make a task of it", "the file cannot be read now"},
		{over, errors.New("broken"), "make a task of it", "internal error"},
		{t.Context(), late, "make a task of it", "internal error"}, // the time of something else
	} {
		call := &Call{Late: c.says}
		status, message := Refusal(call.inTime(c.ctx, c.err))
		if message != c.want || (status == 503) != (c.want != "internal error") {
			t.Errorf("%v: %d %q, want %q", c.err, status, message, c.want)
		}
	}
}

// The mapping of errors to HTTP.
func TestStatuses(t *testing.T) {
	t.Parallel()
	for code, want := range map[pleat.Code]int{
		pleat.CodeInvalid: 400, pleat.CodeUnauthorized: 401, pleat.CodeForbidden: 403,
		pleat.CodeNotFound: 404, pleat.CodeConflict: 409,
		pleat.CodeTooLarge: 413,
		pleat.CodeNotJSON:  415, pleat.CodeLimited: 429, pleat.CodeUnavailable: 503, pleat.CodeInternal: 500,
		"unheard of": 500,
	} {
		cause := errors.New("a secret of ours")
		status, message := Refusal(fmt.Errorf("verb: %w", &pleat.Error{Code: code, Message: "said", Err: cause}))
		if status != want {
			t.Errorf("%s: %d, want %d", code, status, want)
		}
		if wantText := map[bool]string{true: "internal error", false: "said"}[want == 500]; message != wantText {
			t.Errorf("%s: %q", code, message)
		}
	}
	if status, message := Refusal(errors.New("a secret of ours")); status != 500 || message != "internal error" {
		t.Errorf("%d %s", status, message)
	}
	if status, message := Refusal(fmt.Errorf("x: %w", &api.DecodeError{Message: "said"})); status != 400 ||
		message != "said" {
		t.Errorf("%d %s", status, message)
	}
}

// Errors are problem details for those who ask for them, and only for them.
func TestPrefersProblem(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"":                         false,
		"*/*":                      false,
		"application/*":            false,
		"application/json":         false,
		"application/problem+json": true,
		"Application/Problem+JSON": true,
		"text/event-stream, application/problem+json;q=0.1":        true,
		"application/json, application/problem+json":               true,
		"application/json;q=0.9, application/problem+json":         true,
		"application/json, application/problem+json;q=0.9":         false,
		"application/json;q=0.5 , application/problem+json; q=0.5": true,
		"application/problem+json;q=0":                             false,
		"application/problem+json;q=high":                          false,
		";;,application/problem+json":                              true,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept", accept)
		if got := prefersProblem(r); got != want {
			t.Errorf("%q: %t, want %t", accept, got, want)
		}
	}
}
