package submit

import (
	"context"
	"slices"

	"pleat"
	"pleat/internal/flow"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
)

// Caller is a user who asks for work, and the request that does. Turn must be set.
type Caller struct {
	In     people.Reach // the project in which work is created, and the user
	Reach  people.Reach // all that the user's key reaches
	Scopes pleat.Scopes // of the key

	Credential people.Credential // which the store checks again
	Once       Once

	Request string // its id; the runs that it creates keep it
	Trace   string // see tracing.Text; empty: none

	// Turn waits until the caller may compute with structures, and returns a function that ends the turn.
	Turn func(ctx context.Context) (release func(), err error)
}

// Once identifies a request that may come again: the store then returns what the first one has created.
type Once struct {
	Key    string // of idempotency; empty: each request creates anew
	Digest string // of the request, so that the key is refused with another one
}

// CheckReads refuses to a key without the scope read what would tell it what the user has stored: the result can be
// public, or be sent to an address in the request. The argument what says what the key may not do.
func (c Caller) CheckReads(what string) error {
	if c.Scopes.Has(pleat.ScopeRead) {
		return nil
	}
	return pleat.Errorf(pleat.CodeForbidden, "This key may not %s; it needs the scope %s too", what, pleat.ScopeRead)
}

// CheckReadsSources is [Caller.CheckReads] for work on the sources of a workflow. Those that are not stored need no
// scope.
func (c Caller) CheckReadsSources(p *flow.Plan) error {
	ownSpec := p.Design != nil && p.Design.Task == nil
	if !ownSpec && !slices.ContainsFunc(p.Sources(), flow.StructureSource.Stored) {
		return nil
	}
	return c.CheckReads("start a workflow about a fold or a file")
}

// mark records in a run which request has created it.
func (c Caller) mark(spec *runs.RunSpec) { spec.Request, spec.Trace = c.Request, c.Trace }
