package api

import (
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"pleat/internal/words"
)

// Time is a time on the wire: UTC, ISO 8601, six fractional digits, no zone suffix. The zero value is written as null.
type Time struct{ time.Time }

const timeForm = "2006-01-02T15:04:05.000000"

// At converts a time for the wire.
func At(t time.Time) Time { return Time{t.UTC()} }

// MarshalJSON writes the time, or null for the zero value.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	b := make([]byte, 0, len(timeForm)+2)
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, timeForm)
	return append(b, '"'), nil
}

// UnmarshalJSON reads what MarshalJSON writes, and RFC 3339.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*t = Time{}
		return nil
	}
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return fmt.Errorf("a time must be a string such as %q", timeForm)
	}
	return t.UnmarshalText(b[1 : len(b)-1])
}

// MarshalText is MarshalJSON without quotes; empty for the zero value.
func (t Time) MarshalText() ([]byte, error) {
	if t.IsZero() {
		return nil, nil
	}
	return t.UTC().AppendFormat(nil, timeForm), nil
}

// UnmarshalText reads a time without a zone as UTC.
func (t *Time) UnmarshalText(b []byte) error {
	for _, form := range []string{"2006-01-02T15:04:05.999999999", time.RFC3339Nano} {
		if at, err := time.Parse(form, string(b)); err == nil {
			t.Time = at.UTC()
			return nil
		}
	}
	return fmt.Errorf("%q is not a time such as %q", words.Clip(string(b)), timeForm)
}

// Error is an error response. Every response that is not a success has Message and nothing else; requests that accept
// application/problem+json get a [Problem] instead.
type Error struct {
	Message string `json:"message" doc:"The fault, and what would be right: one sentence." example:"Unauthorized"`

	// Status is the HTTP status. RetryAfter is how long to wait before the next try; 0: the service does not say.
	// Faults lists every fault of an invalid request. The [Client] sets these; they are not in the body.
	Status     int           `json:"-"`
	RetryAfter time.Duration `json:"-"`
	Faults     []FieldError  `json:"-"`
}

// Error returns the message, or the status if there is no message.
func (e *Error) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("the server answered %d %s", e.Status, http.StatusText(e.Status))
	}
	return e.Message
}

// StatusOf returns the HTTP status with which the service has refused a call; 0 for any other error and for nil.
func StatusOf(err error) int {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Status
	}
	return 0
}

// FieldError is one fault of a request.
type FieldError struct {
	Field   string `json:"field" doc:"Path of the value at fault, such as params.seed; empty: the whole request."`
	Message string `json:"message" doc:"One sentence that names the fault and what would be right."`
}

// Problem is the body of an error answer for requests that accept application/problem+json: a problem detail of
// RFC 9457.
type Problem struct {
	Type   string       `json:"type" doc:"Always about:blank: the status is the type of the problem." example:"about:blank"`
	Title  string       `json:"title" doc:"Standard text of the status." example:"Bad Request"`
	Status int          `json:"status" doc:"HTTP status." example:"400"`
	Detail string       `json:"detail" doc:"The same sentence as message in the other form of errors."`
	Errors []FieldError `json:"errors" doc:"Every fault of an invalid request, at most 100; empty for other problems."`
}

// ProblemType is the media type of [Problem].
const ProblemType = "application/problem+json"

// List is one page of a list. NextCursor is nil on the last page.
type List[T any] struct {
	Data       []T     `json:"data"`
	NextCursor *string `json:"next_cursor" doc:"The cursor of the next page; null on the last page."`
}

// All returns the entries of a list, page after page. Read reads the page of a cursor, such as that of
// [Client.AllUsers]; the first page has an empty one. An error ends the list: it comes once, without an entry.
func All[T any](read func(cursor string) (List[T], error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for cursor := ""; ; {
			page, err := read(cursor)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Data {
				if !yield(&page.Data[i], nil) {
					return
				}
			}
			if page.NextCursor == nil || *page.NextCursor == "" {
				return
			}
			cursor = *page.NextCursor
		}
	}
}
