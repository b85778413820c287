package identity

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net/url"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	maxAttempt = 10 * time.Minute // from Begin to Finish
	maxCode    = 4096             // bytes of a code
)

// Attempt is a sign-in that has begun. The caller keeps it where only the browser that began it leads to it, sealed,
// and presents it to Finish once.
type Attempt struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	Callback string    `json:"callback"`
	Began    time.Time `json:"began"`
}

// Begin returns the address to which the browser goes, and the attempt. The issuer sends the browser back to callback.
func (i *Issuer) Begin(ctx context.Context, callback string) (address string, a Attempt, err error) {
	found, err := i.discover(ctx)
	if err != nil {
		return "", Attempt{}, err
	}
	a = Attempt{State: random(), Nonce: random(), Verifier: oauth2.GenerateVerifier(), Callback: callback,
		Began: i.cfg.Now()}
	client := i.oauth(found, i.cfg.ClientID, i.cfg.Secret)
	client.RedirectURL = callback
	return client.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), a, nil
}

// random returns 256 bits as text.
func random() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// equal compares two secrets without telling by its time how much of them is equal.
func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// Finish completes a sign-in with the parameters with which the browser came back.
func (i *Issuer) Finish(ctx context.Context, a Attempt, answer url.Values) (Login, error) {
	found, err := i.discover(ctx)
	if err != nil {
		return Login{}, err
	}
	code, err := i.readAnswer(found, a, answer)
	if err != nil {
		return Login{}, err
	}
	client := i.oauth(found, i.cfg.ClientID, i.cfg.Secret)
	client.RedirectURL = a.Callback
	tokens, err := client.Exchange(oidc.ClientContext(ctx, i.client), code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		if ctx.Err() != nil {
			return Login{}, ctx.Err()
		}
		return Login{}, answered(err, Refused, "This attempt to sign in has ended or was used already; sign in again")
	}
	return i.login(ctx, tokens, i.cfg.ClientID, a.Nonce)
}

// readAnswer returns the code with which the browser came back, if the answer belongs to the attempt.
func (i *Issuer) readAnswer(found *published, a Attempt, answer url.Values) (string, error) {
	age := i.cfg.Now().Sub(a.Began)
	from, code := answer.Get("iss"), answer.Get("code")
	switch {
	case a.State == "" || !equal(answer.Get("state"), a.State):
		return "", refused("This answer of the sign-in service does not belong to this browser; sign in again")
	case age < 0 || age > maxAttempt:
		return "", refused("This attempt to sign in has taken too long; sign in again")
	case from != "" && from != i.cfg.Issuer, from == "" && found.metadata.SendsIssuer:
		// RFC 9207: else the answer of one issuer could be taken for that of another.
		return "", refused("This answer does not come from the sign-in service of this server; sign in again")
	case answer.Get("error") == "access_denied":
		return "", &Error{Kind: Refused, Message: "The sign-in service did not let you in, or you have cancelled"}
	case answer.Has("error"):
		return "", &Error{Kind: Misconfigured, Message: "The sign-in service refused to sign you in (" +
			shortText(answer.Get("error"), 60) + "); ask the operator"}
	case code == "" || len(code) > maxCode:
		return "", refused("The answer of the sign-in service has no code; sign in again")
	}
	return code, nil
}

// login makes a completed sign-in of what the token endpoint gave.
func (i *Issuer) login(ctx context.Context, tokens *oauth2.Token, clientID, nonce string) (Login, error) {
	id, _ := tokens.Extra("id_token").(string)
	if id == "" {
		return Login{}, &Error{Kind: Misconfigured, cause: errNoID,
			Message: "The sign-in service gave no ID token; ask the operator to check oidc-scopes"}
	}
	t, err := i.verifyID(ctx, id, clientID, nonce, tokens.AccessToken)
	if err != nil {
		return Login{}, err
	}
	c := t.claims
	if !i.hasAll(c) {
		if c, err = i.withUserInfo(ctx, c, tokens.AccessToken); err != nil {
			return Login{}, err
		}
	}
	p, err := i.person(c)
	if err != nil {
		return Login{}, err
	}
	return Login{p, Tokens{
		Access:  tokens.AccessToken,
		Refresh: tokens.RefreshToken,
		ID:      id,
		Expires: tokens.Expiry,
	}}, nil
}
