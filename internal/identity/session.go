package identity

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Refresh reads the claims of a session's person again. The tokens that it returns replace the session's, also those
// beside an error: a refresh token may count only once, so that one process at a time may refresh a session, and must
// store what it gets. A failure of the kind Ended or Forbidden ends the session. With one of another kind it goes on.
func (i *Issuer) Refresh(ctx context.Context, subject string, old Tokens) (Login, error) {
	return i.refresh(ctx, i.cfg.ClientID, i.cfg.Secret, subject, old)
}

// RefreshDevice is Refresh for the tokens of AwaitDevice.
func (i *Issuer) RefreshDevice(ctx context.Context, subject string, old Tokens) (Login, error) {
	return i.refresh(ctx, i.cfg.DeviceClientID, i.deviceSecret(), subject, old)
}

func (i *Issuer) refresh(ctx context.Context, clientID, secret, subject string, old Tokens) (Login, error) {
	found, err := i.discover(ctx)
	if err != nil {
		return Login{Tokens: old}, err
	}
	const ended = "Your session at the sign-in service has ended; sign in again"
	c, next := claims{}, old
	if old.Refresh != "" {
		tokens, err := i.oauth(found, clientID, secret).
			TokenSource(oidc.ClientContext(ctx, i.client), &oauth2.Token{RefreshToken: old.Refresh}).Token()
		if err != nil {
			if ctx.Err() != nil {
				return Login{Tokens: old}, ctx.Err()
			}
			return Login{Tokens: old}, answered(err, Ended, ended)
		}
		next.Access, next.Refresh, next.Expires = tokens.AccessToken, tokens.RefreshToken, tokens.Expiry
		if id, _ := tokens.Extra("id_token").(string); id != "" {
			t, err := i.verifyID(ctx, id, clientID, "", tokens.AccessToken)
			if err != nil {
				return Login{Tokens: next}, err
			}
			c, next.ID = t.claims, id
		}
	}
	if !i.hasAll(c) {
		if c, err = i.withUserInfo(ctx, c, next.Access); err != nil {
			if KindOf(err) == Refused {
				err = &Error{Kind: Ended, Message: ended, cause: err}
			}
			return Login{Tokens: next}, err
		}
	}
	if c.text("sub") != subject {
		return Login{Tokens: next}, &Error{Kind: Ended,
			Message: "The sign-in service now names somebody else; sign in again"}
	}
	p, err := i.person(c)
	return Login{p, next}, err
}

// withUserInfo adds what the issuer says now of the person for whom it issued an access token. Claims about somebody
// else are refused. Claims without a subject take that of the answer.
func (i *Issuer) withUserInfo(ctx context.Context, c claims, access string) (claims, error) {
	found, err := i.discover(ctx)
	if err != nil {
		return nil, err
	}
	if found.provider.UserInfoEndpoint() == "" {
		if c.text("sub") != "" {
			return c, nil
		}
		return nil, refused("The sign-in service cannot say who this is now")
	}
	info, err := found.provider.UserInfo(oidc.ClientContext(ctx, i.client),
		oauth2.StaticTokenSource(&oauth2.Token{AccessToken: access}))
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// Only a clear refusal may end a session: this is an answer that was cut off or makes no sense.
		return nil, failure(err, Unreachable, "The sign-in service's answer about you cannot be read; try again")
	}
	now := claims{}
	if err := info.Claims(&now); err != nil {
		return nil, failure(err, Misconfigured, "The sign-in service's answer about you cannot be read")
	}
	if sub := c.text("sub"); sub != "" && sub != now.text("sub") {
		return nil, refused("The sign-in service's answer is about somebody else")
	}
	out := maps.Clone(c)
	maps.Copy(out, now)
	return out, nil
}

// LogoutURL returns the address at which a browser ends its session at the issuer, which then sends it to after, an
// address that the issuer must know. It is empty where the issuer has none.
func (i *Issuer) LogoutURL(ctx context.Context, t Tokens, after string) (string, error) {
	found, err := i.discover(ctx)
	if err != nil || found.metadata.EndSession == "" {
		return "", err
	}
	u, err := url.Parse(found.metadata.EndSession)
	if err != nil {
		return "", misfit(err)
	}
	q := u.Query()
	q.Set("client_id", i.cfg.ClientID)
	if t.ID != "" {
		q.Set("id_token_hint", t.ID)
	}
	if after != "" {
		q.Set("post_logout_redirect_uri", after)
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// Revoke tells the issuer that the tokens of a session count no more (RFC 7009). It does nothing where the issuer takes
// no such request.
func (i *Issuer) Revoke(ctx context.Context, t Tokens) error {
	return i.revoke(ctx, i.cfg.ClientID, i.cfg.Secret, t)
}

// RevokeDevice is Revoke for the tokens of AwaitDevice.
func (i *Issuer) RevokeDevice(ctx context.Context, t Tokens) error {
	return i.revoke(ctx, i.cfg.DeviceClientID, i.deviceSecret(), t)
}

func (i *Issuer) revoke(ctx context.Context, clientID, secret string, t Tokens) error {
	found, err := i.discover(ctx)
	if err != nil || found.metadata.Revocation == "" {
		return err
	}
	form := url.Values{"token": {t.Refresh}, "token_type_hint": {"refresh_token"}}
	if t.Refresh == "" {
		form = url.Values{"token": {t.Access}, "token_type_hint": {"access_token"}}
	}
	resp, err := i.post(ctx, i.oauth(found, clientID, secret), found.metadata.Revocation, form)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &Error{Kind: Misconfigured, cause: fmt.Errorf("the revocation endpoint answered %s", resp.Status),
			Message: "The sign-in service did not take the token back"}
	}
	return nil
}

// post sends a form to one of the issuer's endpoints, with the client's credentials as its token endpoint wants them.
func (i *Issuer) post(ctx context.Context, client *oauth2.Config, to string, form url.Values) (*http.Response, error) {
	inHeader := client.Endpoint.AuthStyle == oauth2.AuthStyleInHeader
	if !inHeader {
		form.Set("client_id", client.ClientID)
		if client.ClientSecret != "" {
			form.Set("client_secret", client.ClientSecret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if inHeader {
		req.SetBasicAuth(url.QueryEscape(client.ClientID), url.QueryEscape(client.ClientSecret))
	}
	resp, err := i.client.Do(req)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, failure(err, Unreachable, "The sign-in service does not answer")
	}
	return resp, nil
}
