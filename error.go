package pleat

import (
	"errors"
	"fmt"
)

// Code says what kind of refusal an Error is; internal/server maps each to one HTTP status.
type Code string

const (
	CodeInvalid      Code = "invalid"      // 400: the request is wrong and says where
	CodeUnauthorized Code = "unauthorized" // 401: no credential, or a bad one
	CodeNotFound     Code = "not_found"    // 404: absent, or somebody else's
	CodeConflict     Code = "conflict"     // 409: the state does not allow it
	CodeTooLarge     Code = "too_large"    // 413: body over its bound
	CodeNotJSON      Code = "not_json"     // 415: the content type is not JSON
	CodeLimited      Code = "limited"      // 429: quota or rate
	CodeUnavailable  Code = "unavailable"  // 503: the database or disk cannot serve now
	CodeInternal     Code = "internal"     // 500: our fault
)

// Error is a refusal with one sentence for the caller. Err, if set, is the cause for the log; it never reaches the caller.
type Error struct {
	Code    Code
	Message string
	Err     error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error with a formatted sentence.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalidf is Errorf(CodeInvalid, …): the request is wrong; the sentence names the field, the place and what would be right.
func Invalidf(format string, args ...any) *Error { return Errorf(CodeInvalid, format, args...) }

// CodeOf is the code of the first Error in err's chain, else CodeInternal.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// The refusals whose wording the interface fixes (section 7).
var (
	ErrUnauthorized = &Error{Code: CodeUnauthorized, Message: "Unauthorized"}
	ErrJobNotFound  = &Error{Code: CodeNotFound, Message: "Job not found"}
)

// ErrQuota is the refusal of section 7 for a user who has made used of limit calls today.
func ErrQuota(limit, used int) *Error {
	return Errorf(CodeLimited, "Daily quota exceeded. Limit: %d calls per day. Current: %d calls.", limit, used)
}

// ErrLost is what a worker gets that no longer holds the lease of the task it wants to change.
var ErrLost = &Error{Code: CodeConflict, Message: "the task's lease is no longer held"}
