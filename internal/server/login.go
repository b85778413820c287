package server

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"pleat"
	"pleat/api"
	"pleat/internal/identity"
	"pleat/internal/seal"
	"pleat/internal/store/people"
)

const (
	// callbackPath is where the issuer sends a browser back. It must know the address.
	callbackPath = "/v1/login/callback"
	// pagePath is where a browser goes after a sign-in that failed, and after a logout.
	pagePath = "/ui/"
	// attemptFor is how long a browser keeps an attempt to sign in, or the sentence of one that failed.
	attemptFor = 10 * time.Minute
	// attemptColumn is the column for which the cookie of an attempt is sealed.
	attemptColumn = "attempt"
	// maxNext bounds the address of the page to which a sign-in leads, in bytes.
	maxNext = 1000
	// revokeTimeout bounds how long a logout waits for the issuer.
	revokeTimeout = 5 * time.Second
)

// attempt is what a browser keeps of a sign-in, in a cookie that is sealed.
type attempt struct {
	Attempt identity.Attempt `json:"attempt,omitzero"`
	Next    string           `json:"next,omitempty"`
	Failure string           `json:"failure,omitempty"` // of a sign-in that has ended
}

// attemptCookie returns the cookie of an attempt with a value and an age in seconds. The browser sends it when the
// issuer sends it back, which a strict one would not be.
func (s *Server) attemptCookie(value string, age int) *http.Cookie {
	c := s.cookie(value, age)
	c.Name = strings.TrimSuffix(s.cookieName, "session") + "login"
	c.SameSite = http.SameSiteLaxMode
	return c
}

// keepAttempt sets the cookie of an attempt.
func (s *Server) keepAttempt(c *call, a attempt) {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // of texts and a time
	}
	http.SetCookie(c.w, s.attemptCookie(s.ring.Seal("", attemptColumn, text), int(attemptFor/time.Second)))
}

// attemptOf reads the cookie of an attempt; the zero attempt: there is none that can be read.
func (s *Server) attemptOf(c *call) (a attempt) {
	cookies := c.r.CookiesNamed(s.attemptCookie("", 0).Name)
	if len(cookies) != 1 {
		return a
	}
	text, err := s.ring.Open("", attemptColumn, cookies[0].Value)
	if err != nil || json.Unmarshal(text, &a) != nil {
		return attempt{}
	}
	return a
}

// errNoIssuer refuses a sign-in where there is no issuer.
var errNoIssuer = pleat.Errorf(pleat.CodeNotFound, "This service has no sign-in service; use an API key")

// readLogin is GET /v1/login, for everyone: how people sign in by an issuer, and why the browser's last attempt has
// failed, which is told once.
func (s *Server) readLogin(_ context.Context, c *call) (api.Login, error) {
	var out api.Login
	if s.issuer != nil {
		out.Issuer = &api.Issuer{URL: s.issuer.Name(), Title: s.cfg.Login.Title,
			DeviceClientID: s.cfg.Login.DeviceClient, Scopes: append([]string{}, s.cfg.Login.Scopes...)}
	}
	if a := s.attemptOf(c); a.Failure != "" {
		out.Failure = a.Failure
		http.SetCookie(c.w, s.attemptCookie("", -1))
	}
	return out, nil
}

// startLogin is GET /v1/login/start, for everyone: it sends a browser to the issuer, or back to the page where that
// cannot be. 400: next is not a path of the page; 404: there is no issuer; 429: too many come from the address.
func (s *Server) startLogin(ctx context.Context, c *call) error {
	next, err := pageQueryPath(c.r.URL.Query().Get("next"))
	switch {
	case err != nil:
		return err
	case s.issuer == nil:
		return errNoIssuer
	}
	if err := c.allow(s.limits.logins, peer(c.from), s.clock()); err != nil {
		return err
	}
	if err := s.issuer.Reach(ctx); err != nil {
		return s.loginFailed(c, refusalOf(err))
	}
	address, begun, err := s.issuer.Begin(ctx, s.cfg.PublicURL+callbackPath)
	if err != nil {
		return s.loginFailed(c, refusalOf(err))
	}
	s.keepAttempt(c, attempt{Attempt: begun, Next: next})
	redirect(c, address, http.StatusFound)
	return nil
}

// pageQueryPath returns the path of the page to which a sign-in leads. Only those of this service count: another site
// could send a person to a page of its own otherwise, which looks like this one.
func pageQueryPath(next string) (string, error) {
	u, err := url.Parse(next)
	switch {
	case next == "":
		return pagePath, nil
	case err != nil || len(next) > maxNext || u.IsAbs() || u.Host != "" || !strings.HasPrefix(next, "/") ||
		strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\t\r\n"):
		return "", pleat.InvalidField("next", " is %q; it must be a path of this service, such as /ui/",
			pleat.Clip(next))
	}
	return next, nil
}

// redirect sends a browser to an address. Caches must not store that.
func redirect(c *call, to string, status int) {
	c.w.Header()["Cache-Control"] = noStore
	c.w.Header().Set("Location", to)
	c.w.WriteHeader(status)
}

// loginFailed sends a browser to the page, which then asks GET /v1/login why. The sentence is not in the address, where
// any site could write one.
func (s *Server) loginFailed(c *call, err error) error {
	status, message := refusal(err)
	if status >= http.StatusInternalServerError {
		s.log.LogAttrs(c.r.Context(), slog.LevelError, "a sign-in failed", slog.String("request", c.id),
			slog.Any("error", err))
	}
	s.keepAttempt(c, attempt{Failure: message})
	redirect(c, pagePath, http.StatusSeeOther)
	return nil
}

// finishLogin is GET /v1/login/callback, to which the issuer sends a browser back: it begins a session and sends the
// browser to the page. Everyone. 404: there is no issuer; 429: too many come from the address.
func (s *Server) finishLogin(ctx context.Context, c *call) error {
	if s.issuer == nil {
		return errNoIssuer
	}
	if err := c.allow(s.limits.logins, peer(c.from), s.clock()); err != nil {
		return err
	}
	if c.r.Method == http.MethodHead { // of a program that only looks: the code would be lost
		redirect(c, pagePath, http.StatusSeeOther)
		return nil
	}
	a := s.attemptOf(c)
	at := s.clock()
	login, err := s.finish(ctx, a.Attempt, c.r.URL.Query())
	var user pleat.UserID
	if err == nil {
		user, err = s.store.People.AccountForClaims(ctx, s.claimsOf(login.Person, at))
	}
	if err == nil {
		err = s.beginLogin(ctx, c, user, login.Tokens, at)
	}
	if err != nil {
		return s.loginFailed(c, err)
	}
	c.user = user
	http.SetCookie(c.w, s.attemptCookie("", -1))
	redirect(c, a.Next, http.StatusSeeOther)
	return nil
}

// finish completes a sign-in with what the issuer sends a browser back with. Each attempt counts once.
func (s *Server) finish(ctx context.Context, a identity.Attempt, answer url.Values) (identity.Login, error) {
	if a.State != "" && seal.Equal(answer.Get("state"), a.State) {
		first, err := s.store.People.UseAttempt(ctx, seal.HashKey(a.State), a.Began.Add(2*attemptFor))
		if err != nil {
			return identity.Login{}, err
		}
		if !first {
			return identity.Login{}, pleat.Errorf(pleat.CodeUnauthorized,
				"This attempt to sign in was used already; sign in again")
		}
	}
	login, err := s.issuer.Finish(ctx, a, answer)
	if err != nil {
		return login, refusalOf(err)
	}
	return login, nil
}

// beginLogin stores a new session of a person, and sets its cookie. It never takes one over that the browser had:
// somebody else could have set that. Tokens that outlive sessions become the grant by which the person's keys are
// checked, and all sessions with them.
func (s *Server) beginLogin(ctx context.Context, c *call, user pleat.UserID, t identity.Tokens, at time.Time) error {
	id, until := seal.NewSession(), at.Add(cmp.Or(s.cfg.Login.For, sessionLifetime))
	if t.Refresh != "" && slices.Contains(s.cfg.Login.Scopes, oidc.ScopeOfflineAccess) {
		grant := people.Login{Hash: people.GrantOf(user), Kind: people.LoginGrant, User: user,
			Tokens: s.sealTokens(user, identity.Tokens{Access: t.Access, Refresh: t.Refresh}),
			// A grant ends by the issuer, or with the last key and session.
			CheckAt: at.Add(identity.Fresh), ExpiresAt: at.AddDate(100, 0, 0)}
		if err := s.store.People.PutLogin(ctx, grant, ""); err != nil {
			return err
		}
		t.Access, t.Refresh = "", ""
	}
	session := people.Login{
		Hash:      seal.HashKey(id),
		Kind:      people.LoginSession,
		User:      user,
		Tokens:    s.sealTokens(user, t),
		CheckAt:   at.Add(identity.Fresh),
		ExpiresAt: until,
	}
	if err := s.store.People.PutLogin(ctx, session, c.address()); err != nil {
		return err
	}
	http.SetCookie(c.w, s.cookie(id, int(until.Sub(at)/time.Second)))
	return nil
}

// logout is POST /v1/logout: it ends the cookie's session here and, where a person signed in by an issuer, takes the
// issuer's tokens back and returns the address at which the browser ends its session there. That there is no session is
// no error. 401: the page of another site sent the request.
func (s *Server) logout(ctx context.Context, c *call) (api.Logout, error) {
	cookies := c.r.CookiesNamed(s.cookieName)
	var l people.Login
	if len(cookies) == 1 && s.issuer != nil && s.mayUseCookie(c.r) {
		var err error
		l, err = s.store.People.Login(ctx, cookieCredential(cookies[0].Value).Hash)
		if err != nil && pleat.CodeOf(err) != pleat.CodeUnauthorized {
			return api.Logout{}, err
		}
	}
	if _, err := s.closeSession(ctx, c); err != nil || l.Hash == "" || l.Issuer != s.issuer.Name() {
		return api.Logout{}, err
	}
	s.logins.remove(l.Hash)
	tokens, err := s.openTokens(l)
	if err != nil {
		return api.Logout{}, nil //nolint:nilerr // the key with which they were sealed is gone; the session has ended
	}
	ctx, cancel := context.WithTimeout(ctx, revokeTimeout)
	defer cancel()
	if tokens.Refresh == "" {
		l.Tokens, err = s.store.People.EndGrant(ctx, l.User)
		if err != nil {
			return api.Logout{}, err
		}
	}
	s.revoke(ctx, l)
	address, err := s.issuer.LogoutURL(ctx, tokens, s.cfg.PublicURL+pagePath)
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "a logout did not reach the sign-in service", slog.Any("error", err))
	}
	return api.Logout{URL: address}, nil
}

// revoke takes the tokens of a login back that has ended. What fails is logged: the login has ended here in any case.
func (s *Server) revoke(ctx context.Context, l people.Login) {
	if l.Tokens == "" {
		return
	}
	tokens, err := s.openTokens(l)
	if err == nil {
		err = s.issuer.Revoke(ctx, tokens)
	}
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the sign-in service did not take tokens back",
			slog.String("user", string(l.User)), slog.Any("error", err))
	}
}
