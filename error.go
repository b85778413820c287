package pleat

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// Code is the kind of an Error. Package server maps each code to one HTTP status.
type Code string

// The codes, with the HTTP status of each.
const (
	CodeInvalid      Code = "invalid"      // 400: the request is wrong; Field is where
	CodeUnauthorized Code = "unauthorized" // 401: no credential, or an invalid one
	CodeForbidden    Code = "forbidden"    // 403: the caller may see it, but its role or key is not enough
	CodeNotFound     Code = "not_found"    // 404: it does not exist, or the caller may not know of it
	CodeConflict     Code = "conflict"     // 409: the state does not allow the change
	CodeTooLarge     Code = "too_large"    // 413: the body exceeds its limit
	CodeNotJSON      Code = "not_json"     // 415: the content type is not JSON
	CodeLimited      Code = "limited"      // 429: quota or rate limit
	CodeUnavailable  Code = "unavailable"  // 503: the database or the disk cannot serve now
	CodeInternal     Code = "internal"     // 500: a fault of the service
)

// Error is a refused call. Message is one sentence for the caller.
type Error struct {
	Code Code
	// Field is the path of the value at fault in the request, such as sequences[1].proteinChain.sequence or
	// params.modelName. It is empty if the fault concerns the request as a whole.
	Field   string
	Message string
	// Err is the cause, for the log only. It never reaches the caller. It may be nil.
	Err error
}

// Error returns the message, followed by the cause if there is one.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error with a formatted message and no field.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalidf returns an Error with CodeInvalid and no field. Use InvalidField for a fault of one value.
func Invalidf(format string, args ...any) *Error { return Errorf(CodeInvalid, format, args...) }

// InvalidField returns an Error with CodeInvalid for the value at the path field. The message is the path followed by
// the formatted text, so format starts with a space or a punctuation mark:
//
//	InvalidField("params.seed", " is %q; it must be a whole number", seed)
func InvalidField(field, format string, args ...any) *Error {
	return &Error{
		Code:    CodeInvalid,
		Field:   field,
		Message: field + fmt.Sprintf(format, args...),
	}
}

// At sets the field of an error whose message does not start with it, and returns the error.
func (e *Error) At(field string) *Error {
	e.Field = field
	return e
}

// ErrorAt returns the first Error in err's tree as one of a field, and err if there is none. Other than At it changes
// no error, so that it may be one that several callers share.
func ErrorAt(err error, field string) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	at := *e
	return at.At(field)
}

// CodeOf returns the code of the first Error in err's tree, and CodeInternal if there is none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// statuses are the HTTP statuses of codes, a different one for each. There is no 422, since an invalid request is 400.
// 403 is for a key that lacks a scope; an object of another user is answered like one that does not exist, so that
// nobody can find out which ids exist.
var statuses = map[Code]int{
	CodeInvalid:      http.StatusBadRequest,
	CodeUnauthorized: http.StatusUnauthorized,
	CodeForbidden:    http.StatusForbidden,
	CodeNotFound:     http.StatusNotFound,
	CodeConflict:     http.StatusConflict,
	CodeTooLarge:     http.StatusRequestEntityTooLarge,
	CodeNotJSON:      http.StatusUnsupportedMediaType,
	CodeLimited:      http.StatusTooManyRequests,
	CodeUnavailable:  http.StatusServiceUnavailable,
	CodeInternal:     http.StatusInternalServerError,
}

// Status is the HTTP status of a code; 500 for one that is not known.
func (c Code) Status() int {
	if status, ok := statuses[c]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// CodeForStatus returns the code of an HTTP status; empty: no code has it.
func CodeForStatus(status int) Code {
	for code, s := range statuses {
		if s == status {
			return code
		}
	}
	return ""
}

// MaxErrors is the largest number of faults that Errors holds.
const MaxErrors = 100

// Errors holds the faults of one request in the order of the checks, at most MaxErrors of them. As an error it reads
// like its first fault; errors.As finds the first fault too. The zero value holds no faults.
type Errors []*Error

// Error returns the text of the first fault.
func (e Errors) Error() string {
	if len(e) == 0 {
		return "no faults"
	}
	return e[0].Error()
}

// Unwrap returns the faults.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i := range e {
		all[i] = e[i]
	}
	return all
}

// Err returns e as an error: nil if there are no faults.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Add appends the faults of err if its code is CodeInvalid. It returns any other error unchanged: the caller must stop
// then, since such an error is not about the content of the request.
func (e *Errors) Add(err error) error {
	if err == nil {
		return nil
	}
	if CodeOf(err) != CodeInvalid {
		return err
	}
	for _, fault := range ErrorsOf(err) {
		if !e.full() {
			*e = append(*e, fault)
		}
	}
	return nil
}

func (e *Errors) full() bool { return len(*e) >= MaxErrors }

// ErrorsOf returns the faults in err: those of the Errors in its tree, else its first Error alone, else none.
func ErrorsOf(err error) Errors {
	var all Errors
	if errors.As(err, &all) {
		return slices.Clone(all)
	}
	var e *Error
	if errors.As(err, &e) {
		return Errors{e}
	}
	return nil
}

// Errors whose messages the interface fixes; see docs/interface.md, section «Errors».
var (
	ErrUnauthorized     = &Error{Code: CodeUnauthorized, Message: "Unauthorized"}
	ErrJobNotFound      = &Error{Code: CodeNotFound, Message: "Job not found"}
	ErrRunNotFound      = &Error{Code: CodeNotFound, Message: "Run not found"}
	ErrBatchNotFound    = &Error{Code: CodeNotFound, Message: "Batch not found"}
	ErrWorkflowNotFound = &Error{Code: CodeNotFound, Message: "Workflow not found"}
)

// ErrQuota refuses a call of a user who has made used of limit calls today.
func ErrQuota(limit, used int) *Error {
	return Errorf(CodeLimited, "Daily quota exceeded. Limit: %d calls per day. Current: %d calls.", limit, used)
}

// ErrWorkflowQuota refuses a workflow of a user who has started limit workflows today.
func ErrWorkflowQuota(limit int) *Error {
	return Errorf(CodeLimited, "Daily workflow quota exceeded. Limit: %d workflows per day. Current: %d workflows.",
		limit, limit)
}

// ErrBatchQuota refuses a batch of rows of a user who has created used of limit rows today.
func ErrBatchQuota(limit, used, rows int) *Error {
	return Errorf(CodeLimited, "Daily batch quota exceeded. Limit: %d rows per day. Current: %d rows. "+
		"This batch: %d rows.", limit, used, rows)
}

// ErrNotDraft refuses a change of a workflow that has left the state DRAFT. Change is what was asked for, as a
// participle: executed or changed.
func ErrNotDraft(s State, change string) *Error {
	return Errorf(CodeConflict, "the workflow is %s; only a DRAFT can be %s", s, change)
}

// ErrLost refuses a change by a worker that no longer holds the lease of the task.
var ErrLost = &Error{Code: CodeConflict, Message: "the task's lease is no longer held"}
