package identity

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
)

// MaxToken bounds a token of the issuer, in bytes.
const MaxToken = 16 << 10

// ManyGroups says why a token is too large, and what helps: nothing else in a token grows so.
const ManyGroups = "most often because the sign-in service lists many groups in it; ask the operator to let it send " +
	"only the groups that this service needs"

const (
	maxLifetime = 24 * time.Hour   // of a token
	maxSkew     = 60 * time.Second // that the issuer's clock may be ahead
)

// algorithms are those of signatures that are accepted: asymmetric ones, so that neither «none» nor a secret that
// others know can sign.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256,
	oidc.PS384, oidc.PS512, oidc.EdDSA}

// header is the part of a token's header that is checked here.
type header struct {
	Algorithm string   `json:"alg"`
	Type      string   `json:"typ"`
	Critical  []string `json:"crit"`
}

// times are the claims of a token that bound it in time, in seconds since 1970, and its audience.
type times struct {
	Issuer   string       `json:"iss"`
	Audience audience     `json:"aud"`
	Expires  *json.Number `json:"exp"`
	Issued   *json.Number `json:"iat"`
	Before   *json.Number `json:"nbf"`
}

// audience is a list of names, or one name, as tokens have it.
type audience []string

// UnmarshalJSON reads a list of names or one name.
func (a *audience) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(a))
}

// token is a signed token whose claims hold.
type token struct {
	header           header
	claims           claims
	audience         audience
	issued, expires  time.Time
	accessTokenMatch func(access string) error // fails if the token is bound to another access token
}

// parseToken reads a token without checking its signature.
func parseToken(text string) (header, times, claims, error) {
	var h header
	var t times
	parts := strings.Split(text, ".")
	if len(text) > MaxToken {
		return h, t, nil, refused(fmt.Sprintf("The token has more than %d KiB, %s", MaxToken>>10, ManyGroups))
	}
	if len(parts) != 3 {
		return h, t, nil, refused("The token is not a signed JWT: it must have three parts that dots separate")
	}
	var body [2][]byte
	for n := range body {
		var err error
		if body[n], err = base64.RawURLEncoding.DecodeString(parts[n]); err != nil {
			return h, t, nil, refused("The token is not a signed JWT: its parts must be in base64url")
		}
	}
	if json.Unmarshal(body[0], &h) != nil || json.Unmarshal(body[1], &t) != nil {
		return h, t, nil, refused("The token is not a signed JWT: its header or its claims cannot be read")
	}
	c, err := parseClaims(body[1])
	if err != nil {
		return h, t, nil, refused("The token is not a signed JWT: its claims cannot be read")
	}
	return h, t, c, nil
}

// verify checks who made a token, for whom, and when. It does not know what kind of token it is.
func (i *Issuer) verify(ctx context.Context, text, forWhom string) (*token, error) {
	h, t, c, err := parseToken(text)
	if err != nil {
		return nil, err
	}
	out := &token{header: h, claims: c, audience: t.Audience}
	switch {
	case !slices.Contains(algorithms, h.Algorithm):
		return nil, refused("The token's algorithm (alg) is not one of " + strings.Join(algorithms, ", "))
	case len(h.Critical) > 0:
		return nil, refused("The token's header demands extensions (crit) that are not supported")
	case t.Issuer != i.cfg.Issuer:
		return nil, refused("The token's issuer (iss) is not " + i.cfg.Issuer)
	case !slices.Contains(t.Audience, forWhom):
		return nil, refused(fmt.Sprintf("The token's audience (aud) is not %q", forWhom))
	case !isSubject(c.text("sub")):
		return nil, errSubject
	}
	if out.issued, out.expires, err = i.checkTimes(t); err != nil {
		return nil, err
	}
	found, err := i.discover(ctx)
	if err != nil {
		return nil, err
	}
	keys := &watchedKeys{set: found.keys}
	signed, err := oidc.NewVerifier(i.cfg.Issuer, keys, &oidc.Config{
		ClientID: forWhom, SupportedSigningAlgs: algorithms, Now: i.cfg.Now,
	}).Verify(ctx, text)
	if err != nil {
		if keys.err != nil {
			err = keys.err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, failure(err, Refused, "The token is not signed by the sign-in service")
	}
	out.accessTokenMatch = func(access string) error {
		if signed.AccessTokenHash == "" {
			return nil
		}
		return signed.VerifyAccessToken(access)
	}
	return out, nil
}

// watchedKeys keeps the error of the issuer's keys, whose kind go-oidc's verifier does not pass on.
type watchedKeys struct {
	set oidc.KeySet
	err error
}

// VerifySignature checks the signature and returns the claims.
func (w *watchedKeys) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := w.set.VerifySignature(ctx, jwt)
	w.err = err
	return payload, err
}

// checkTimes returns when a token was issued and when it ends, if it counts now.
func (i *Issuer) checkTimes(t times) (issued, expires time.Time, err error) {
	now := i.cfg.Now()
	expires, okExp := seconds(t.Expires)
	issued, okIat := seconds(t.Issued)
	switch {
	case !okExp:
		return issued, expires, refused("The token has no time at which it expires (exp)")
	case !now.Before(expires):
		return issued, expires, refused("The token has expired; get a new one")
	case !okIat:
		return issued, expires, refused("The token has no time at which it was issued (iat)")
	case issued.After(now.Add(maxSkew)):
		return issued, expires, refused("The token was issued in the future; the clocks of the sign-in service and " +
			"of this server differ")
	case expires.Sub(issued) > maxLifetime:
		return issued, expires, refused(fmt.Sprintf("The token lives longer than %d hours; the sign-in service must "+
			"issue shorter ones", int(maxLifetime.Hours())))
	}
	if t.Before != nil {
		if before, ok := seconds(t.Before); !ok || before.After(now.Add(maxSkew)) {
			return issued, expires, refused("The token does not count yet (nbf)")
		}
	}
	return issued, expires, nil
}

// seconds reads a time in seconds since 1970, which may have a fraction.
func seconds(n *json.Number) (time.Time, bool) {
	if n == nil {
		return time.Time{}, false
	}
	f, err := n.Float64()
	if err != nil || !(f > 0 && f < 1<<40) { // NaN too
		return time.Time{}, false
	}
	return time.Unix(int64(f), 0), true
}

// verifyID checks an ID token, which the issuer gave for one of the clients of this service. Nonce is that of the
// attempt; empty: there was none.
func (i *Issuer) verifyID(ctx context.Context, text, clientID, nonce, access string) (*token, error) {
	t, err := i.verify(ctx, text, clientID)
	if err != nil {
		return nil, err
	}
	typ, party := t.claims.text("typ"), t.claims.text("azp")
	switch {
	case isAccessType(t.header.Type) || typ != "" && typ != "ID":
		return nil, refused("The sign-in service gave another kind of token in place of the ID token")
	case party != "" && party != clientID, party == "" && len(t.audience) > 1:
		return nil, refused("The ID token was issued to another client (azp)")
	case nonce != "" && !equal(t.claims.text("nonce"), nonce):
		return nil, refused("The ID token does not belong to this attempt to sign in; sign in again")
	}
	if err := t.accessTokenMatch(access); err != nil {
		return nil, &Error{Kind: Refused, Message: "The ID token belongs to another access token", cause: err}
	}
	return t, nil
}

// isAccessType reports whether the type in a token's header is that of RFC 9068.
func isAccessType(typ string) bool {
	typ = strings.TrimPrefix(strings.ToLower(typ), "application/")
	return typ == "at+jwt"
}

// checkAccess refuses tokens of other kinds in place of an access token. Issuers mark access tokens in different ways;
// a token for the audience that ID tokens have needs such a mark.
func (i *Issuer) checkAccess(t *token) error {
	switch strings.TrimPrefix(strings.ToLower(t.header.Type), "application/") {
	case "at+jwt":
		return checkPossession(t.claims)
	case "", "jwt":
	default:
		return refused("The token is not an access token: its header says another type (typ)")
	}
	if typ, ok := t.claims["typ"]; ok && typ != "Bearer" { // Keycloak's
		return refused("The token is not an access token: its claim typ must be Bearer")
	}
	for _, mark := range []string{"nonce", "at_hash", "c_hash", "s_hash"} {
		if _, ok := t.claims[mark]; ok && t.claims["typ"] == nil {
			return refused("The token is an ID token, which says who signed in somewhere; send the access token")
		}
	}
	marked := t.claims["typ"] != nil
	for _, mark := range []string{"scope", "scp", "client_id"} {
		marked = marked || t.claims[mark] != nil
	}
	if _, events := t.claims["events"]; events || !marked && i.isClient(t.audience) {
		return refused("The token cannot be told from an ID token; the sign-in service must issue access tokens with " +
			"another audience (oidc-audience) or of the type at+jwt")
	}
	return checkPossession(t.claims)
}

// isClient reports whether an audience is that of ID tokens for this service.
func (i *Issuer) isClient(a audience) bool {
	return slices.Contains(a, i.cfg.ClientID) || slices.Contains(a, i.cfg.DeviceClientID)
}

// checkPossession refuses tokens that count only with a proof that their bearer holds a key.
func checkPossession(c claims) error {
	if _, bound := c["cnf"]; bound {
		return refused("The token is bound to a key (cnf), which this service cannot check; get one that is not")
	}
	return nil
}

// isSubject reports whether a text can be the second half of what identifies a person.
func isSubject(s string) bool {
	return s != "" && len(s) <= maxSubject && !strings.ContainsFunc(s, unicode.IsControl)
}

// errSubject refuses a token or an answer that names nobody.
var errSubject = refused(fmt.Sprintf("The subject (sub) is not a text of 1 to %d bytes", maxSubject))

// errNoID is the cause where the issuer's answer lacks an ID token.
var errNoID = errors.New("the answer has no id_token")
