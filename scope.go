package pleat

import (
	"slices"
	"strings"
	"time"
)

// Scope is a kind of use that an API key may be allowed.
type Scope string

// The scopes. None includes another.
const (
	ScopeRead   Scope = "read"   // read what the user has
	ScopeSubmit Scope = "submit" // create, execute and cancel work; upload files
	ScopeManage Scope = "manage" // keys, webhook settings, visibility, deletion and the audit log
)

// AllScopes are the scopes in their order, which a key without a choice has.
var AllScopes = Scopes{ScopeRead, ScopeSubmit, ScopeManage}

// Scopes is a set of scopes, in the order of AllScopes.
type Scopes []Scope

// Has reports whether the set contains a scope.
func (s Scopes) Has(x Scope) bool { return slices.Contains(s, x) }

// String returns the set as text, separated by spaces, which ParseScopes reads.
func (s Scopes) String() string {
	names := make([]string, 0, len(s))
	for _, x := range s {
		names = append(names, string(x))
	}
	return strings.Join(names, " ")
}

// ParseScopes returns the set of the scopes in a list. CodeInvalid, at field: one is unknown, or there is none.
func ParseScopes(field string, names []string) (Scopes, error) {
	for _, name := range names {
		if !AllScopes.Has(Scope(name)) {
			return nil, InvalidField(field, " has %q; the scopes are read, submit and manage", Clip(name))
		}
	}
	var out Scopes
	for _, x := range AllScopes {
		if slices.Contains(names, string(x)) {
			out = append(out, x)
		}
	}
	if len(out) == 0 {
		return nil, InvalidField(field, " is empty; it must have at least one of read, submit and manage")
	}
	return out, nil
}

// ParseEnd reads the end of a key: a time, in UTC if it has no zone, or a date, of which the whole day in UTC is meant.
// The error names field as the value at fault.
func ParseEnd(field, text string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.AddDate(0, 0, 1).Add(-time.Second), nil // which lists show as this day
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, InvalidField(field, " is %q; it must be a date such as 2027-01-31, the last day, or a time "+
		"such as 2027-01-31T12:00:00Z", Clip(text))
}
