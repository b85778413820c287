package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	discoverAgain = 10 * time.Minute // a key that the issuer has withdrawn is trusted for so long at most
	discoverRetry = 5 * time.Second  // after a failure
	answeredFor   = 30 * time.Second // that an answer shows that the issuer can be reached
)

// discovery holds what the issuer publishes of itself.
type discovery struct {
	turn   chan struct{} // held by the caller that asks the issuer
	latest atomic.Pointer[published]
	failed atomic.Pointer[failedDiscovery]
}

// failedDiscovery is the last attempt that failed.
type failedDiscovery struct {
	at  time.Time
	err error
}

func newDiscovery() discovery { return discovery{turn: make(chan struct{}, 1)} }

// published is what the issuer published of itself at a time.
type published struct {
	at       time.Time
	provider *oidc.Provider
	keys     *oidc.RemoteKeySet
	metadata metadata
}

// metadata is the part of the issuer's document that go-oidc does not read.
type metadata struct {
	Keys          string   `json:"jwks_uri"`
	EndSession    string   `json:"end_session_endpoint"`
	Revocation    string   `json:"revocation_endpoint"`
	Introspection string   `json:"introspection_endpoint"`
	ClientAuth    []string `json:"token_endpoint_auth_methods_supported"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	SendsIssuer   bool     `json:"authorization_response_iss_parameter_supported"`
}

// Check asks the issuer for what it publishes, unless that is known. It fails where the issuer does not answer or does
// not fit.
func (i *Issuer) Check(ctx context.Context) error {
	_, err := i.discover(ctx)
	return err
}

// Reach asks the issuer whether it answers now, unless it has answered just before. The stored answer does not count: a
// browser that is sent to it gets no sentence of this service.
func (i *Issuer) Reach(ctx context.Context) error {
	answered := func() bool {
		known := i.found.latest.Load()
		return known != nil && i.cfg.Now().Sub(known.at) < answeredFor
	}
	if answered() {
		return nil
	}
	select { // one caller asks, and the others wait for it
	case i.found.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-i.found.turn }()
	if answered() {
		return nil
	}
	if err := i.failedLately(); err != nil {
		return err
	}
	found, err := i.readPublished(ctx)
	switch {
	case err == nil:
		i.found.latest.Store(found)
	case ctx.Err() == nil:
		i.found.failed.Store(&failedDiscovery{i.cfg.Now(), err})
	}
	return err
}

// discover returns what the issuer publishes. The stored answer stays in use while the issuer does not answer.
func (i *Issuer) discover(ctx context.Context) (*published, error) {
	d := &i.found
	known := d.latest.Load()
	if known != nil && (i.cfg.Now().Sub(known.at) < discoverAgain || i.failedLately() != nil) {
		return known, nil
	}
	if known != nil { // one caller asks again, and the others do not wait for it
		select {
		case d.turn <- struct{}{}:
		default:
			return known, nil
		}
	} else {
		select {
		case d.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer func() { <-d.turn }()
	if now := d.latest.Load(); now != known { // another caller has found it meanwhile
		return now, nil
	}
	if err := i.failedLately(); err != nil {
		return nil, err
	}
	// The answer serves other callers too, so that the end of this one must not spoil it. The request is bounded in
	// time.
	found, err := i.readPublished(context.WithoutCancel(ctx))
	if err != nil {
		d.failed.Store(&failedDiscovery{i.cfg.Now(), err})
		if known != nil {
			return known, nil
		}
		return nil, err
	}
	d.latest.Store(found)
	return found, nil
}

// failedLately returns the error of an attempt that is so recent that it is not repeated.
func (i *Issuer) failedLately() error {
	if f := i.found.failed.Load(); f != nil && i.cfg.Now().Sub(f.at) < discoverRetry {
		return f.err
	}
	return nil
}

// readPublished asks the issuer for its document, and checks it.
func (i *Issuer) readPublished(ctx context.Context) (*published, error) {
	ctx = oidc.ClientContext(ctx, i.client)
	provider, err := oidc.NewProvider(ctx, i.cfg.Issuer)
	if err != nil {
		return nil, misfit(err)
	}
	p := &published{at: i.cfg.Now(), provider: provider}
	if err := provider.Claims(&p.metadata); err != nil {
		return nil, misfit(err)
	}
	end := provider.Endpoint()
	for _, e := range []struct {
		name, url string
		required  bool
	}{
		{"authorization_endpoint", end.AuthURL, true}, {"token_endpoint", end.TokenURL, true},
		{"jwks_uri", p.metadata.Keys, true}, {"userinfo_endpoint", provider.UserInfoEndpoint(), false},
		{"device_authorization_endpoint", end.DeviceAuthURL, false},
		{"end_session_endpoint", p.metadata.EndSession, false},
		{"revocation_endpoint", p.metadata.Revocation, false},
		{"introspection_endpoint", p.metadata.Introspection, false},
	} {
		if (e.url != "" || e.required) && !IsSafe(e.url) {
			return nil, misfit(fmt.Errorf("its %s is missing or not an https address", e.name))
		}
	}
	if c := p.metadata.Challenges; len(c) > 0 && !slices.Contains(c, "S256") {
		return nil, misfit(errors.New("it does not support PKCE with S256"))
	}
	i.transport.keys.Store(&p.metadata.Keys)
	i.transport.first.Store(true)
	p.keys = oidc.NewRemoteKeySet(ctx, p.metadata.Keys)
	return p, nil
}

// misfit returns the failure of an issuer whose document cannot be used.
func misfit(err error) error {
	return failure(err, Misconfigured, "What the sign-in service publishes of itself does not fit this server; "+
		"ask the operator to check oidc-issuer")
}

// oauth returns the client of the issuer's token endpoint.
func (i *Issuer) oauth(p *published, clientID, secret string) *oauth2.Config {
	end := p.provider.Endpoint()
	// The library would try both ways otherwise, and a code may be presented once.
	end.AuthStyle = oauth2.AuthStyleInHeader
	if methods := p.metadata.ClientAuth; secret == "" ||
		len(methods) > 0 && !slices.Contains(methods, "client_secret_basic") {
		end.AuthStyle = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{ClientID: clientID, ClientSecret: secret, Endpoint: end, Scopes: i.cfg.Scopes}
}
