package client

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/identity"
)

// loginCmd returns the command by which a person signs in on a terminal. The server's address decides which issuer is
// asked; the server gets none of the person's secrets but access tokens.
func loginCmd() *cobra.Command {
	return cli.Configured(&cobra.Command{
		Use:   "login",
		Short: "Sign in at a server by its issuer of OpenID Connect",
		Long: `Signs in at a server by its issuer of OpenID Connect: it shows an address and a code to enter there, in
any browser, and waits. The tokens are kept in the file pleat/logins.json of the user's configuration folder, which
nobody else may read. Other commands use them for this server where no API key is given.`,
		Example: `  pleat login --url https://fold.example.org
  pleat fold sequence.fasta --url https://fold.example.org`,
	}, func(cmd *cobra.Command, c config.Config, _ []string) error {
		if c.Key != "" {
			return cli.Usagef("an API key is set (--key or PLEAT_KEY), which other commands use in place of a " +
				"sign-in; unset it")
		}
		return signIn(cmd, serverOf(c.URL))
	}, config.Client)
}

// signIn signs a person in at a server, and keeps the tokens once the server has accepted them.
func signIn(cmd *cobra.Command, server string) error {
	ctx := cmd.Context()
	anonymous := &api.Client{Base: server}
	how, err := anonymous.Login(ctx)
	switch {
	case err != nil:
		return explain(anonymous, err)
	case how.Issuer == nil:
		return fmt.Errorf("the server at %s has no sign-in service; use an API key", server)
	case !identity.IsSafe(how.Issuer.URL):
		return fmt.Errorf("the sign-in service of the server at %s has no https address", server)
	case !identity.IsSafe(server):
		return fmt.Errorf("the server at %s has no https address; tokens are not sent there", server)
	}
	l := login{Issuer: how.Issuer.URL, Client: how.Issuer.DeviceClientID, Scopes: how.Issuer.Scopes}
	issuer := l.issuer()
	defer issuer.Close()
	device, err := issuer.StartDevice(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "open %s\nand check that it shows the code %s, or enter it there\n",
		cli.Printable(cmp.Or(device.Complete, device.URL)), cli.Printable(device.Code))
	done, err := issuer.AwaitDevice(ctx, device)
	if err != nil {
		return err
	}
	l.Subject, l.Tokens, l.At = done.Person.Subject, done.Tokens, time.Now()
	me, err := (&api.Client{Base: server, Key: l.Tokens.Access}).Me(ctx)
	if err != nil {
		return fmt.Errorf("the sign-in service has let you in, and the server at %s does not: %w", server, err)
	}
	if err := changeLogins(ctx, func(all logins) error { all[server] = l; return nil }); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "signed in at %s as %s\n", server, cli.Printable(me.Name))
	return err
}

// logoutCmd returns the command that ends what loginCmd began.
func logoutCmd() *cobra.Command {
	return cli.Configured(&cobra.Command{
		Use:   "logout",
		Short: "End the sign-in at a server",
		Long: `Ends the sign-in at a server: the tokens are deleted here, and the issuer is asked to revoke
them. API keys are not affected.`,
	}, func(cmd *cobra.Command, c config.Config, _ []string) error {
		var l login
		server := serverOf(c.URL)
		err := changeLogins(cmd.Context(), func(all logins) error {
			l = all[server]
			delete(all, server)
			return nil
		})
		if err != nil {
			return err
		}
		if l.Issuer == "" {
			return fmt.Errorf("nobody is signed in at %s", server)
		}
		issuer := l.issuer()
		defer issuer.Close()
		if err := issuer.RevokeDevice(cmd.Context(), l.Tokens); err != nil {
			return fmt.Errorf("the tokens are deleted, and the sign-in service could not be told: %w", err)
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "signed out at %s\n", server)
		return err
	}, config.Client)
}

// serverOf returns the address by which the sign-in at a server is kept.
func serverOf(address string) string { return strings.TrimRight(address, "/") }

// tokenMargin is how long before its end an access token is replaced.
const tokenMargin = 30 * time.Second

// fresh reports whether the access token counts for a while.
func (l *login) fresh(now time.Time) bool {
	expires := l.Tokens.Expires
	if expires.IsZero() { // the issuer has not said it
		expires = l.At.Add(time.Minute + tokenMargin)
	}
	return now.Add(tokenMargin).Before(expires)
}

// tokenSource returns the function that gives a client of a server its token; nil: nobody is signed in there.
func tokenSource(address string) (func(context.Context) (string, error), error) {
	server := serverOf(address)
	all, err := readLogins()
	if err != nil || all[server].Issuer == "" {
		return nil, err
	}
	l := all[server]
	var mu sync.Mutex // requests may be made at the same time
	return func(ctx context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if l.fresh(time.Now()) {
			return l.Tokens.Access, nil
		}
		err := changeLogins(ctx, func(all logins) error { // one process refreshes, since a refresh token may count once
			l = all[server]
			if l.Issuer == "" {
				return errSignedOut(server)
			}
			if l.fresh(time.Now()) {
				return nil
			}
			err := l.refresh(ctx)
			if identity.KindOf(err) == identity.Ended {
				delete(all, server)
				return nil
			}
			if err == nil {
				all[server] = l
			}
			return err
		})
		if err == nil && !l.fresh(time.Now()) {
			err = errSignedOut(server)
		}
		return l.Tokens.Access, err
	}, nil
}

// errSignedOut says that a sign-in has ended.
func errSignedOut(server string) error {
	return fmt.Errorf("your sign-in at %s has ended; sign in again with: pleat login --url %s", server, server)
}

// refresh replaces the tokens of a login.
func (l *login) refresh(ctx context.Context) error {
	if l.Tokens.Refresh == "" {
		return &identity.Error{Kind: identity.Ended, Message: "the sign-in service gave nothing that lasts"}
	}
	issuer := l.issuer()
	defer issuer.Close()
	now, err := issuer.RefreshDevice(ctx, l.Subject, l.Tokens)
	// A later fault, such as in reading the name again, does not matter here: the server asks for itself.
	if err != nil && now.Tokens == l.Tokens {
		return err
	}
	l.Tokens, l.At = now.Tokens, time.Now()
	return nil
}

// issuer returns the client of a login's issuer.
func (l *login) issuer() *identity.Issuer {
	return identity.New(identity.Config{Issuer: l.Issuer, ClientID: l.Client, Scopes: l.Scopes})
}
