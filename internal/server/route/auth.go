package route

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"pleat"
	"pleat/internal/identity"
	"pleat/internal/seal"
	"pleat/internal/store/people"
)

// Credential is what a request sent to identify its caller.
type Credential struct {
	Sent              bool   // the request had one, valid or not
	token             string // of the issuer, by which it is a login; empty: it is none
	fault             string // what is wrong with its form, as a sentence; empty: nothing that is known
	people.Credential        // a session is a browser's cookie; an empty hash: it is malformed
}

// IsCookie reports whether a browser's cookie is the credential.
func (c Credential) IsCookie() bool { return c.Session || c.Login && c.token == "" }

// credentialFor returns the credential that a request has for a route. Open routes read none, except to count it.
func (k *Core) credentialFor(rt Route, r *http.Request) Credential {
	switch {
	case rt.Who.metadata != "":
		return bearerOf(r)
	case rt.Who.access != open || rt.Cost == CostOpen:
		return k.credentialOf(r)
	}
	return Credential{}
}

// credentialOf returns the credential of a request: the bearer token, the X-API-Key header, or the page's cookie, in
// this order. Only the first that is present counts: a request with an invalid key is refused even if its cookie is
// valid.
func (k *Core) credentialOf(r *http.Request) Credential {
	if cred := bearerOf(r); cred.Sent {
		return cred
	}
	if key := r.Header.Get("X-API-Key"); key != "" {
		return KeyCredential(key)
	}
	cookies := k.site.SessionCookies(r)
	switch {
	case len(cookies) == 0 || cookies[0].Value == "" || !k.site.MayUseCookie(r):
		return Credential{}
	case len(cookies) > 1: // somebody else has set one of them
		return Credential{Sent: true}
	}
	return CookieCredential(cookies[0].Value)
}

// CookieCredential returns the credential of a session's id.
func CookieCredential(id string) Credential {
	login := strings.HasPrefix(id, seal.SessionPrefix)
	return Credential{Sent: true, Credential: people.Credential{Hash: seal.HashKey(id), Session: !login, Login: login}}
}

// KeyCredential returns the credential of an API key. A text that cannot be one has no hash, so that no request makes
// the server hash a large header.
func KeyCredential(key string) Credential {
	if key == "" {
		return Credential{Sent: true}
	}
	if what := misplaced(key); what != "" {
		return malformed("The key " + what + "; it must be sent as it was issued")
	}
	if len(key) > 256 {
		return Credential{Sent: true}
	}
	return Credential{Sent: true, Credential: people.Credential{Hash: seal.HashKey(key)}}
}

// tokenCredential returns the credential of a bearer token, an API key or a token of the issuer.
func tokenCredential(token string) Credential {
	switch {
	case !isToken(token) || misplaced(token) != "":
		return KeyCredential(token)
	case len(token) > identity.MaxToken:
		return malformed(fmt.Sprintf("The token in Authorization has more than %d KiB, %s", identity.MaxToken>>10,
			identity.ManyGroups))
	}
	return Credential{Sent: true, token: token,
		Credential: people.Credential{Hash: seal.HashKey(token), Login: true}}
}

// identify returns the user of a credential; an error with CodeUnauthorized if it is not valid. It asks the database
// every time, so that a revoked key stops working at once on every node, and the issuer about a login whenever that is
// due.
func (k *Core) identify(ctx context.Context, cred Credential) (people.Principal, error) {
	if cred.Hash == "" {
		return people.Principal{}, cred.refusal()
	}
	err := k.callers.confirm(ctx, cred)
	var p people.Principal
	if err == nil {
		p, err = k.stores.people.Identify(ctx, cred.Credential)
	}
	if cred.token != "" && errors.Is(err, pleat.ErrUnauthorized) { // it has expired, or others have displaced it
		k.callers.logins.Forget(cred.Hash)
		if err = k.callers.confirm(ctx, cred); err == nil {
			p, err = k.stores.people.Identify(ctx, cred.Credential)
		}
	}
	switch {
	case err == nil:
		k.callers.known.Put(cred.Hash, knownKey{p, k.clock()})
		k.callers.usage.record(p.Key, k.clock())
	case pleat.CodeOf(err) == pleat.CodeUnauthorized:
		k.callers.known.Remove(cred.Hash) // its requests no longer count against the user
	}
	return p, err
}

// authorize checks the credential that a route demands and sets the caller of the call. Where the route's verb of the
// store checks it again, one that was valid within knownFor gets that far.
func (k *Core) authorize(ctx context.Context, c *Call, rt Route) error {
	if rt.Who.access == open || rt.Who.access == reader || rt.Who.access == anyone && !c.Cred.Sent {
		return nil
	}
	if c.refused != nil {
		return c.refused
	}
	if c.Who.User == "" { // else admit has just looked it up
		recent, known := k.callers.known.Get(c.Cred.Hash)
		if c.assumed = known && rt.Who.storeChecks; c.assumed {
			c.Who = recent.who
		} else if who, err := k.identify(ctx, c.Cred); err != nil {
			return err
		} else {
			c.Who = who
		}
	}
	if rt.Who.keyOnly && c.Cred.Session {
		return pleat.Errorf(pleat.CodeForbidden, "A session may not %s; send the API key itself in Authorization",
			rt.action())
	}
	if rt.Who.access == user && !c.Who.Scopes.Has(rt.Who.scope) {
		return missingScope(rt)
	}
	return nil
}

// MissingScope refuses a call whose key lacks the scope of its route.
func (c *Call) MissingScope() error { return missingScope(c.served) }

// missingScope refuses a call of a key that lacks the scope of the route.
func missingScope(rt Route) error {
	return pleat.Errorf(pleat.CodeForbidden, "This key may not %s; it needs the scope %s", rt.action(), rt.Who.scope)
}

// recordUse records the use of a credential that the head of a job has shown to be valid. It asks the issuer about a
// login if that is due.
func (k *Core) recordUse(ctx context.Context, cred Credential) error {
	if err := k.callers.confirm(ctx, cred); err != nil {
		return err
	}
	recent, ok := k.callers.known.Get(cred.Hash)
	if !ok {
		_, err := k.identify(ctx, cred)
		return err
	}
	k.callers.usage.record(recent.who.Key, k.clock())
	return nil
}

// PreferUnauthorized returns [pleat.ErrUnauthorized] instead of err if the request's credential is invalid.
func (c *Call) PreferUnauthorized(ctx context.Context, err error) error {
	if !c.Cred.Sent {
		return err
	}
	if _, invalid := c.Identify(ctx); invalid != nil {
		return invalid
	}
	return err
}

// Identify returns the user of the call's credential, as the database knows it now. 401: it is not valid.
func (c *Call) Identify(ctx context.Context) (people.Principal, error) {
	return c.core.identify(ctx, c.Cred)
}

// challenge is the WWW-Authenticate of a 401 of the route.
func (k *Core) challenge(rt Route) string {
	if rt.Who.metadata == "" {
		return "Bearer"
	}
	return `Bearer resource_metadata="` + k.site.Base + rt.Who.metadata + `"`
}

// bearerOf returns the credential of a request from its bearer token alone: a browser adds cookies by itself, and the
// protocol knows no other header.
func bearerOf(r *http.Request) Credential {
	token, ok := bearerToken(r)
	switch {
	case r.Header.Get("Authorization") == "":
		return Credential{}
	case !ok:
		return wrongScheme(r.Header.Get("Authorization"))
	}
	return tokenCredential(token)
}

// bearerToken returns the bearer token of a request; false: the request has none.
func bearerToken(r *http.Request) (string, bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), strings.EqualFold(scheme, "Bearer")
}

// Bearer returns the bearer token of a request; empty: it has none.
func (c *Call) Bearer() string {
	if token, ok := bearerToken(c.R); ok {
		return token
	}
	return ""
}
