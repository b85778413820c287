package route

import (
	"fmt"

	"pleat"
	"pleat/internal/server/openapi"
)

// access is the credential that a route requires.
type access int

const (
	// unset is the zero access, which no route may have: a route that does not say who may call it would be open.
	unset access = iota
	// open routes do not read credentials: they have none, or check a signature or secret of their own.
	open
	// anyone may call the route without a credential, but one that is sent must be valid.
	anyone
	// reader is for routes of a job, workflow or batch: who has a role in its project, and if it is public, everyone.
	// The handler checks, because that depends on the row that it reads.
	reader
	// user demands a valid credential.
	user
)

// credentials says the same in the OpenAPI document.
var credentials = map[access]openapi.Access{
	open:   openapi.NoCredential,
	anyone: openapi.OptionalCredential,
	reader: openapi.OptionalCredential,
	user:   openapi.CredentialRequired,
}

// Who says who may call a route. Open, Anyone, AnyBearer, Reader, User and Operator make one.
type Who struct {
	access   access
	scope    pleat.Scope // that the key needs; empty: none
	role     pleat.Role  // that the caller needs in the project; NoRole: the one that the scope asks for
	operator string      // what the route does, for the message to other users; empty: it is for all users
	keyOnly  bool        // the key itself is needed: a session of it is not enough
	// metadata is the path of the document of RFC 9728 about a route whose credential is a bearer token: neither a
	// session nor another header counts. Empty: any credential counts.
	metadata string
	// storeChecks says that a success of the handler needs a verb of the store that checks the credential itself.
	storeChecks bool
}

// Open is for routes that read no credential.
func Open() Who { return Who{access: open} }

// Anyone is for routes that need no credential, and refuse one that is not valid.
func Anyone() Who { return Who{access: anyone} }

// AnyBearer is Anyone where a bearer token alone is a credential: neither a session nor another header counts. metadata
// is the path of the document of RFC 9728, which a refusal names.
func AnyBearer(metadata string) Who { return Who{access: anyone, metadata: metadata} }

// Reader is for routes of one job, workflow or batch. Its handler decides with Call.Audience or Call.ReadableJob.
func Reader() Who { return Who{access: reader, scope: pleat.ScopeRead} }

// User is for users whose key has a scope and who have the role that the scope asks for in the project of the request.
func User(scope pleat.Scope) Who {
	if scope == "" {
		panic("route: a route for users needs a scope")
	}
	return Who{access: user, scope: scope}
}

// Operator is for operators whose key has a scope. The parameter does ends the message «Only an operator of this
// service may …».
func Operator(scope pleat.Scope, does string) Who {
	if does == "" {
		panic("route: a route for operators says what it does")
	}
	w := User(scope)
	w.operator = does
	return w
}

// As makes another role than that of the scope necessary.
func (w Who) As(role pleat.Role) Who {
	w.forUsers("a role")
	if role == pleat.NoRole || role == w.scope.Role() {
		panic("route: a role of its own differs from that of the scope")
	}
	w.role = role
	return w
}

// WithKeyItself refuses sessions.
func (w Who) WithKeyItself() Who {
	w.forUsers("the key itself")
	w.keyOnly = true
	return w
}

// CheckedByStore lets a credential that was valid a moment ago through: no success of the handler is possible without a
// verb of the store that checks the credential in its transaction.
func (w Who) CheckedByStore() Who {
	w.forUsers("a check by the store")
	w.storeChecks = true
	return w
}

// forUsers panics if the route is not for users, who alone have what is asked for.
func (w Who) forUsers(what string) {
	if w.access != user || w.operator != "" {
		panic(fmt.Sprintf("route: %s is for routes of users alone", what))
	}
}

// Access is the credential that a caller needs, as the OpenAPI document says it.
func (w Who) Access() openapi.Access { return credentials[w.access] }

// Scope is the scope that the key needs; empty: none.
func (w Who) Scope() pleat.Scope { return w.scope }

// Needs is the role that a caller needs in the project in which the route works.
func (w Who) Needs() pleat.Role {
	switch {
	case w.operator != "":
		return pleat.Viewer // of whatever project: being an operator decides
	case w.role != pleat.NoRole:
		return w.role
	}
	return w.scope.Role()
}

// Cost says what a call costs: against which limit of its caller it counts, and whether it needs free space. The zero
// Cost is that of most requests: they count for the user of the credential, or for the address if there is none that is
// valid.
type Cost int

const (
	// CostNewWork makes new work or stores files, which an almost full disk refuses.
	CostNewWork Cost = iota + 1
	// CostPoll reads a run's status, log or results, for which users have a rate of their own.
	CostPoll
	// CostOpen reads the credential of an open route only to count the request for its user.
	CostOpen
	// CostGuess is for open routes whose handler checks a secret of its own, and counts those that are wrong.
	CostGuess
)

// fits reports whether a route for w may have a cost.
func (c Cost) fits(w Who) bool {
	switch c {
	case CostNewWork:
		return w.access == user
	case CostPoll:
		return w.access == user || w.access == reader
	case CostOpen, CostGuess:
		return w.access == open
	}
	return c == 0
}
