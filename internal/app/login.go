package app

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"pleat/internal/config"
	"pleat/internal/identity"
	"pleat/internal/server/signin"
)

// newIssuer returns the client of the issuer by which people sign in; nil: there is none.
func newIssuer(c config.Config) (*identity.Issuer, error) {
	if c.OIDCIssuer == "" {
		return nil, nil //nolint:nilnil // no issuer is a configuration like another
	}
	cfg := identity.Config{
		Issuer: c.OIDCIssuer, ClientID: c.OIDCClientID, Secret: c.OIDCSecret, Scopes: c.OIDCScopes,
		Audience: c.OIDCAudience, DeviceClientID: c.OIDCDeviceClient, NameClaim: c.OIDCNameClaim,
		GroupsClaim: c.OIDCGroupsClaim, AllowedGroups: c.OIDCAllowedGroups, OperatorGroup: c.OIDCOperatorGroup,
	}
	if c.OIDCSecretFile != "" {
		text, err := os.ReadFile(c.OIDCSecretFile)
		if err != nil {
			return nil, UsageError{fmt.Errorf("read the secret of oidc-client-secret-file: %w", err)}
		}
		if cfg.Secret = strings.TrimSpace(string(text)); cfg.Secret == "" {
			return nil, UsageError{fmt.Errorf("the file %s of oidc-client-secret-file is empty", c.OIDCSecretFile)}
		}
	}
	if c.OIDCCA != "" {
		var err error
		if cfg.Roots, err = withAuthorities(c, "oidc-ca", c.OIDCCA); err != nil {
			return nil, err
		}
	}
	return identity.New(cfg), nil
}

// loginConfig returns how people sign in by the issuer.
func loginConfig(c config.Config) signin.Config {
	out := signin.Config{
		Title: c.OIDCTitle, DeviceClient: c.OIDCDeviceClient, Scopes: c.OIDCScopes,
		For: time.Duration(c.SessionHours) * time.Hour, OperatorsByGroup: c.OIDCOperatorGroup != "",
	}
	if out.DeviceClient == "" {
		out.DeviceClient = c.OIDCClientID
	}
	if u, err := url.Parse(c.OIDCIssuer); err == nil && out.Title == "" {
		out.Title = u.Host
	}
	return out
}
