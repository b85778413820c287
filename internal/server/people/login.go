package people

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
	"pleat/internal/server/route"
	"pleat/internal/server/signin"
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
func attemptCookie(c *route.Call, value string, age int) *http.Cookie {
	cookie := c.Site().SessionCookie(value, age)
	cookie.Name = strings.TrimSuffix(cookie.Name, "session") + "login"
	cookie.SameSite = http.SameSiteLaxMode
	return cookie
}

// keepAttempt sets the cookie of an attempt.
func (h *Handlers) keepAttempt(c *route.Call, a attempt) {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // of texts and a time
	}
	http.SetCookie(c.W, attemptCookie(c, h.Ring.Seal("", attemptColumn, text), int(attemptFor/time.Second)))
}

// attemptOf reads the cookie of an attempt; the zero attempt: there is none that can be read.
func (h *Handlers) attemptOf(c *route.Call) (a attempt) {
	cookies := c.R.CookiesNamed(attemptCookie(c, "", 0).Name)
	if len(cookies) != 1 {
		return a
	}
	text, err := h.Ring.Open("", attemptColumn, cookies[0].Value)
	if err != nil || json.Unmarshal(text, &a) != nil {
		return attempt{}
	}
	return a
}

// errNoIssuer refuses a sign-in where there is no issuer.
var errNoIssuer = pleat.Errorf(pleat.CodeNotFound, "This service has no sign-in service; use an API key")

// readLogin is GET /v1/login, for everyone: how people sign in by an issuer, and why the browser's last attempt has
// failed, which is told once.
func (h *Handlers) readLogin(_ context.Context, c *route.Call) (api.Login, error) {
	var out api.Login
	if h.Logins.Issuer != nil {
		out.Issuer = &api.Issuer{URL: h.Logins.Issuer.Name(), Title: h.Logins.Config.Title,
			DeviceClientID: h.Logins.Config.DeviceClient, Scopes: append([]string{}, h.Logins.Config.Scopes...)}
	}
	if a := h.attemptOf(c); a.Failure != "" {
		out.Failure = a.Failure
		http.SetCookie(c.W, attemptCookie(c, "", -1))
	}
	return out, nil
}

// startLogin is GET /v1/login/start, for everyone: it sends a browser to the issuer, or back to the page where that
// cannot be. 400: next is not a path of the page; 404: there is no issuer; 429: too many come from the address.
func (h *Handlers) startLogin(ctx context.Context, c *route.Call) error {
	next, err := pageQueryPath(c.R.URL.Query().Get("next"))
	switch {
	case err != nil:
		return err
	case h.Logins.Issuer == nil:
		return errNoIssuer
	}
	if err := c.CountLogin(); err != nil {
		return err
	}
	if err := h.Logins.Issuer.Reach(ctx); err != nil {
		return h.loginFailed(c, signin.Refusal(err))
	}
	address, begun, err := h.Logins.Issuer.Begin(ctx, c.Site().Base+callbackPath)
	if err != nil {
		return h.loginFailed(c, signin.Refusal(err))
	}
	h.keepAttempt(c, attempt{Attempt: begun, Next: next})
	c.Redirect(address, http.StatusFound)
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

// loginFailed sends a browser to the page, which then asks GET /v1/login why. The sentence is not in the address, where
// any site could write one.
func (h *Handlers) loginFailed(c *route.Call, err error) error {
	status, message := route.Refusal(err)
	if status >= http.StatusInternalServerError {
		c.Log().LogAttrs(c.R.Context(), slog.LevelError, "a sign-in failed", slog.String("request", c.ID),
			slog.Any("error", err))
	}
	h.keepAttempt(c, attempt{Failure: message})
	c.Redirect(pagePath, http.StatusSeeOther)
	return nil
}

// finishLogin is GET /v1/login/callback, to which the issuer sends a browser back: it begins a session and sends the
// browser to the page. Everyone. 404: there is no issuer; 429: too many come from the address.
func (h *Handlers) finishLogin(ctx context.Context, c *route.Call) error {
	if h.Logins.Issuer == nil {
		return errNoIssuer
	}
	if err := c.CountLogin(); err != nil {
		return err
	}
	if c.R.Method == http.MethodHead { // of a program that only looks: the code would be lost
		c.Redirect(pagePath, http.StatusSeeOther)
		return nil
	}
	a := h.attemptOf(c)
	at := c.Now()
	login, err := h.finish(ctx, a.Attempt, c.R.URL.Query())
	var user pleat.UserID
	if err == nil {
		user, err = h.People.AccountForClaims(ctx, h.Logins.Claims(login.Person, at))
	}
	if err == nil {
		err = h.beginLogin(ctx, c, user, login.Tokens, at)
	}
	if err != nil {
		return h.loginFailed(c, err)
	}
	c.SignedIn(user)
	http.SetCookie(c.W, attemptCookie(c, "", -1))
	c.Redirect(a.Next, http.StatusSeeOther)
	return nil
}

// finish completes a sign-in with what the issuer sends a browser back with. Each attempt counts once.
func (h *Handlers) finish(ctx context.Context, a identity.Attempt, answer url.Values) (identity.Login, error) {
	if a.State != "" && seal.Equal(answer.Get("state"), a.State) {
		first, err := h.People.UseAttempt(ctx, seal.HashKey(a.State), a.Began.Add(2*attemptFor))
		if err != nil {
			return identity.Login{}, err
		}
		if !first {
			return identity.Login{}, pleat.Errorf(pleat.CodeUnauthorized,
				"This attempt to sign in was used already; sign in again")
		}
	}
	login, err := h.Logins.Issuer.Finish(ctx, a, answer)
	if err != nil {
		return login, signin.Refusal(err)
	}
	return login, nil
}

// beginLogin stores a new session of a person, and sets its cookie. It never takes one over that the browser had:
// somebody else could have set that. Tokens that outlive sessions become the grant by which the person's keys are
// checked, and all sessions with them.
func (h *Handlers) beginLogin(
	ctx context.Context, c *route.Call, user pleat.UserID, t identity.Tokens, at time.Time,
) error {
	id, until := seal.NewSession(), at.Add(cmp.Or(h.Logins.Config.For, sessionLifetime))
	if t.Refresh != "" && slices.Contains(h.Logins.Config.Scopes, oidc.ScopeOfflineAccess) {
		grant := people.Login{Hash: people.GrantOf(user), Kind: people.LoginGrant, User: user,
			Tokens: h.Logins.Seal(user, identity.Tokens{Access: t.Access, Refresh: t.Refresh}),
			// A grant ends by the issuer, or with the last key and session.
			CheckAt: at.Add(identity.Fresh), ExpiresAt: at.AddDate(100, 0, 0)}
		if err := h.People.PutLogin(ctx, grant, ""); err != nil {
			return err
		}
		t.Access, t.Refresh = "", ""
	}
	session := people.Login{
		Hash:      seal.HashKey(id),
		Kind:      people.LoginSession,
		User:      user,
		Tokens:    h.Logins.Seal(user, t),
		CheckAt:   at.Add(identity.Fresh),
		ExpiresAt: until,
	}
	if err := h.People.PutLogin(ctx, session, c.Address()); err != nil {
		return err
	}
	http.SetCookie(c.W, c.Site().SessionCookie(id, int(until.Sub(at)/time.Second)))
	return nil
}

// logout is POST /v1/logout: it ends the cookie's session here and, where a person signed in by an issuer, takes the
// issuer's tokens back and returns the address at which the browser ends its session there. That there is no session is
// no error. 401: the page of another site sent the request.
func (h *Handlers) logout(ctx context.Context, c *route.Call) (api.Logout, error) {
	cookies := c.Site().SessionCookies(c.R)
	var l people.Login
	if len(cookies) == 1 && h.Logins.Issuer != nil && c.Site().MayUseCookie(c.R) {
		var err error
		l, err = h.People.Login(ctx, route.CookieCredential(cookies[0].Value).Hash)
		if err != nil && pleat.CodeOf(err) != pleat.CodeUnauthorized {
			return api.Logout{}, err
		}
	}
	if _, err := h.closeSession(ctx, c); err != nil || l.Hash == "" || l.Issuer != h.Logins.Issuer.Name() {
		return api.Logout{}, err
	}
	h.Logins.Forget(l.Hash)
	tokens, err := h.Logins.Open(l)
	if err != nil {
		return api.Logout{}, nil //nolint:nilerr // the key with which they were sealed is gone; the session has ended
	}
	ctx, cancel := context.WithTimeout(ctx, revokeTimeout)
	defer cancel()
	if tokens.Refresh == "" {
		l.Tokens, err = h.People.EndGrant(ctx, l.User)
		if err != nil {
			return api.Logout{}, err
		}
	}
	h.Logins.Revoke(ctx, l)
	address, err := h.Logins.Issuer.LogoutURL(ctx, tokens, c.Site().Base+pagePath)
	if err != nil {
		c.Log().LogAttrs(ctx, slog.LevelWarn, "a logout did not reach the sign-in service", slog.Any("error", err))
	}
	return api.Logout{URL: address}, nil
}
