package identity

import (
	"context"
	"errors"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Device is a sign-in of a program on a terminal that has begun (RFC 8628): a person opens URL in any browser and
// enters Code there. Complete, if not empty, has the code in it.
type Device struct {
	Code     string
	URL      string
	Complete string
	Expires  time.Time // zero: unknown

	answer   *oauth2.DeviceAuthResponse
	verifier string
}

// maxDeviceWait bounds a sign-in whose issuer sets no end.
const maxDeviceWait = 30 * time.Minute

// deviceSecret returns the secret of the client for terminals: only the page's own client has one.
func (i *Issuer) deviceSecret() string {
	if i.cfg.DeviceClientID == i.cfg.ClientID {
		return i.cfg.Secret
	}
	return ""
}

// StartDevice begins the sign-in of a program on a terminal.
func (i *Issuer) StartDevice(ctx context.Context) (Device, error) {
	found, err := i.discover(ctx)
	if err != nil {
		return Device{}, err
	}
	if found.provider.Endpoint().DeviceAuthURL == "" {
		return Device{}, &Error{Kind: Misconfigured,
			Message: "The sign-in service does not support sign-in on a terminal (device flow); use an API key"}
	}
	client := i.oauth(found, i.cfg.DeviceClientID, i.deviceSecret())
	d := Device{verifier: oauth2.GenerateVerifier()}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(d.verifier)}
	if client.ClientSecret != "" {
		options = append(options, oauth2.SetAuthURLParam("client_secret", client.ClientSecret))
	}
	d.answer, err = client.DeviceAuth(oidc.ClientContext(ctx, i.client), options...)
	switch {
	case err != nil && ctx.Err() != nil:
		return Device{}, ctx.Err()
	case err != nil:
		return Device{}, answered(err, Refused, "The sign-in service refused to begin a sign-in")
	case d.answer.DeviceCode == "" || d.answer.UserCode == "" || !IsSafe(d.answer.VerificationURI):
		return Device{}, misfit(errors.New("its answer to a sign-in on a terminal lacks a code or an https address"))
	}
	d.Code, d.URL = shortText(d.answer.UserCode, 100), d.answer.VerificationURI
	if IsSafe(d.answer.VerificationURIComplete) {
		d.Complete = d.answer.VerificationURIComplete
	}
	d.Expires = d.answer.Expiry
	return d, nil
}

// AwaitDevice waits until the person has signed in, has refused, or the time for it is over.
func (i *Issuer) AwaitDevice(ctx context.Context, d Device) (Login, error) {
	found, err := i.discover(ctx)
	if err != nil {
		return Login{}, err
	}
	limited, cancel := context.WithTimeout(ctx, maxDeviceWait)
	defer cancel()
	client := i.oauth(found, i.cfg.DeviceClientID, i.deviceSecret())
	tokens, err := client.DeviceAccessToken(oidc.ClientContext(limited, i.client), d.answer,
		oauth2.VerifierOption(d.verifier))
	switch {
	case err != nil && ctx.Err() != nil:
		return Login{}, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded) && KindOf(err) == 0:
		return Login{}, refused("Nobody has signed in in time; start again")
	case err != nil:
		return Login{}, answered(err, Refused, "The sign-in was refused or has taken too long; start again")
	}
	return i.login(ctx, tokens, i.cfg.DeviceClientID, "")
}
