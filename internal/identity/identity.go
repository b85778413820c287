// Package identity signs people and machines in by OpenID Connect: it is the client of one issuer.
//
// It owns the requests to the issuer, the checks of its tokens, and the mapping of claims to a name and groups. A
// person is the pair of issuer and subject, never an e-mail address or a name, since both can be given to somebody
// else. It stores nothing: the caller keeps attempts and tokens, sealed.
package identity

import (
	"crypto/x509"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"pleat/internal/clock"
)

// Config describes one issuer and how its claims are read. Only Issuer and ClientID are required.
type Config struct {
	Issuer   string // as the issuer writes itself in its tokens
	ClientID string
	Secret   string   // empty: a public client
	Scopes   []string // besides openid
	Audience string   // that access tokens must have; empty: ClientID

	// DeviceClientID is that of the programs on terminals, which hold no secret; empty: ClientID.
	DeviceClientID string

	NameClaim     string   // empty: preferred_username
	GroupsClaim   string   // the name of a claim, or a path such as realm_access.roles; empty: groups
	AllowedGroups []string // of which a person must have one; empty: everybody may sign in
	OperatorGroup string   // whose members operate the service; empty: nobody does by a group

	Roots *x509.CertPool   // authorities that sign the issuer's certificate; nil: the system's
	Now   func() time.Time // nil: the machine's
}

// Fresh is how old claims may be. Older ones are read from the issuer again, so that whoever has left a group or the
// organization is without its rights within five minutes: the rest is for the requests themselves.
const Fresh = 4 * time.Minute

// Issuer is the client of one issuer. Its methods may be called concurrently. It makes no request before the first call
// that needs one, so that a server starts while its issuer is down.
type Issuer struct {
	cfg       Config
	transport *transport
	client    *http.Client
	found     discovery
	confirmed confirmations
}

// New returns the client of an issuer, whose configuration must have been checked.
func New(cfg Config) *Issuer {
	cfg.Scopes = slices.Clone(cfg.Scopes)
	if !slices.Contains(cfg.Scopes, oidc.ScopeOpenID) {
		cfg.Scopes = slices.Insert(cfg.Scopes, 0, oidc.ScopeOpenID)
	}
	for _, field := range []struct {
		value   *string
		without string
	}{
		{&cfg.Audience, cfg.ClientID}, {&cfg.DeviceClientID, cfg.ClientID},
		{&cfg.NameClaim, "preferred_username"}, {&cfg.GroupsClaim, "groups"},
	} {
		if *field.value == "" {
			*field.value = field.without
		}
	}
	cfg.Now = clock.Or(cfg.Now)
	t := newTransport(cfg)
	return &Issuer{
		cfg: cfg, transport: t, found: newDiscovery(), confirmed: confirmations{known: map[[32]byte]confirmation{}},
		client: &http.Client{
			Transport: t,
			Timeout:   requestTimeout,
			// A redirect could lead a secret, a code or a token to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Close ends the connections that are kept open. Calls under way are not affected.
func (i *Issuer) Close() { i.client.CloseIdleConnections() }

// Name returns the issuer's identifier, the first half of what identifies a person.
func (i *Issuer) Name() string { return i.cfg.Issuer }

// Person is who signed in, as the issuer describes them at one moment.
type Person struct {
	Issuer   string
	Subject  string
	Name     string   // for people to read; it identifies nobody
	Email    string   // empty unless the issuer has verified it; for people to read
	Groups   []string // sorted
	Operator bool     // is in the group of operators
}

// Tokens are what the issuer gave at a sign-in. All but Expires are secret.
type Tokens struct {
	Access  string    `json:"access"`
	Refresh string    `json:"refresh,omitempty"` // empty where the issuer gives none
	ID      string    `json:"id,omitempty"`      // which the issuer wants to see again at the logout
	Expires time.Time `json:"expires,omitzero"`  // of Access; zero: unknown
}

// Login is a completed sign-in.
type Login struct {
	Person Person
	Tokens Tokens
}

// Kind is what a failure means for the caller.
type Kind int

// The kinds of failures.
const (
	// Unreachable: the issuer gives no answer, or none that says anything. Sessions go on, nobody new gets in.
	Unreachable Kind = iota + 1
	// Refused: what was presented is not valid: a token, a code, an answer of the browser.
	Refused
	// Forbidden: the issuer vouches for the person, who may not use this service.
	Forbidden
	// Ended: the issuer has ended the session: the person has signed out there, has left, or was locked.
	Ended
	// Misconfigured: the issuer and this service do not fit together; only an operator can help.
	Misconfigured
)

// Error is a failure. Message is one sentence for the person who wanted to sign in. The text of Error says more, for a
// log; it holds no token, but may repeat what the issuer answered.
type Error struct {
	Kind    Kind
	Message string
	cause   error
}

// Error returns the message and the cause.
func (e *Error) Error() string {
	if e.cause == nil {
		return e.Message
	}
	return e.Message + " (" + clip(e.cause.Error(), 500) + ")"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// KindOf returns the kind of a failure; 0 if the error is not of this package.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return 0
}

// MessageOf returns the sentence of a failure for the person who wanted to sign in; empty if the error is not of this
// package.
func MessageOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Message
	}
	return ""
}

// refused returns a failure of the kind Refused.
func refused(message string) *Error { return &Error{Kind: Refused, Message: message} }

// failure returns the Error in an error's chain, else one of the given kind.
func failure(err error, kind Kind, message string) error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: kind, Message: message, cause: err}
}

// answered returns what an error of the issuer's token endpoint means. The message is for an answer that refuses what
// was presented.
func answered(err error, kind Kind, message string) error {
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) {
		switch answer.ErrorCode {
		case "invalid_grant", "access_denied", "expired_token":
			said := errors.New(answer.ErrorCode + ": " + answer.ErrorDescription)
			return &Error{Kind: kind, Message: message, cause: said}
		}
		// The body is left out, since only the code is sure to be no secret.
		err = errors.New("the token endpoint answered " + answer.Response.Status + " " + answer.ErrorCode)
	}
	return failure(err, Misconfigured, "The sign-in service does not accept this server as its client; "+
		"ask the operator to check the settings oidc-…")
}
