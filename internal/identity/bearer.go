package identity

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Bearer is who calls with an access token of the issuer.
type Bearer struct {
	Person  Person
	Client  string    // to which the token was issued, as the issuer names it; empty: unknown
	Expires time.Time // of the token
	AsOf    time.Time // of the claims: at most Fresh ago
}

const (
	maxConfirmed = 10_000           // tokens whose confirmation is kept
	refusedFor   = 30 * time.Second // that a token which the issuer refused is not asked about again
)

// VerifyBearer checks an access token that a caller sends. Its claims count for Fresh; after that the issuer must
// confirm it, since nobody can take a token back otherwise.
func (i *Issuer) VerifyBearer(ctx context.Context, text string) (Bearer, error) {
	t, err := i.verify(ctx, text, i.cfg.Audience)
	if errors.Is(err, errManyKeys) { // most of those who send such tokens have invented them
		err = &Error{Kind: Refused, Message: "The token is not signed by the sign-in service", cause: err}
	}
	if err != nil {
		return Bearer{}, err
	}
	if err := i.checkAccess(t); err != nil {
		return Bearer{}, err
	}
	b := Bearer{Client: t.claims.text("azp"), Expires: t.expires, AsOf: t.issued}
	if b.Client == "" {
		b.Client = t.claims.text("client_id")
	}
	if now := i.cfg.Now(); now.Sub(t.issued) <= Fresh {
		if b.AsOf.After(now) {
			b.AsOf = now
		}
		b.Person, err = i.person(t.claims)
		return b, err
	}
	return i.confirmed.get(text, i.cfg.Now, func() (Bearer, error) {
		asOf := i.cfg.Now()
		c, err := i.confirm(ctx, t, text)
		if err != nil {
			return Bearer{}, err
		}
		b.AsOf = asOf
		b.Person, err = i.person(c)
		return b, err
	})
}

// confirm asks the issuer whether a token still counts and returns the claims as they are now. Issuers say by user info
// who a person is. For tokens of machines they know that by introspection only, where a client may see them.
func (i *Issuer) confirm(ctx context.Context, t *token, text string) (claims, error) {
	found, err := i.discover(ctx)
	if err != nil {
		return nil, err
	}
	now := claims{"sub": t.claims["sub"]} // the other claims of the token are too old
	err = refused(fmt.Sprintf("The token is older than %d minutes, and the sign-in service cannot say whether it "+
		"still counts; get a new one", int(Fresh.Minutes())))
	if found.provider.UserInfoEndpoint() != "" {
		var c claims
		if c, err = i.withUserInfo(ctx, now, text); err == nil || KindOf(err) != Refused {
			return c, err
		}
	}
	if found.metadata.Introspection == "" || i.cfg.Secret == "" {
		return nil, err
	}
	c, err := i.introspect(ctx, found, text)
	if err != nil {
		return nil, err
	}
	if sub, ok := c["sub"]; ok && sub != now["sub"] {
		return nil, refused("The sign-in service's answer is about somebody else")
	}
	maps.Copy(now, c)
	return now, nil
}

// introspect asks the issuer about a token (RFC 7662).
func (i *Issuer) introspect(ctx context.Context, found *published, text string) (claims, error) {
	resp, err := i.post(ctx, i.oauth(found, i.cfg.ClientID, i.cfg.Secret), found.metadata.Introspection,
		url.Values{"token": {text}, "token_type_hint": {"access_token"}})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	c := claims{}
	if resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the introspection endpoint answered %s", resp.Status)
	} else if body, errRead := io.ReadAll(resp.Body); errRead != nil {
		err = errRead
	} else {
		err = json.Unmarshal(body, &c)
	}
	if err != nil {
		return nil, failure(err, Misconfigured, "The sign-in service cannot say whether the token still counts; "+
			"ask the operator")
	}
	if c["active"] != true {
		return nil, refused(fmt.Sprintf("The token counts no more, or the sign-in service does not confirm it to this "+
			"server, which it must after %d minutes; get a new one", int(Fresh.Minutes())))
	}
	return c, nil
}

// confirmations are answers of the issuer about tokens, by the hash of the token.
type confirmations struct {
	mu    sync.Mutex
	known map[[32]byte]confirmation
}

// confirmation is one answer, which counts until a time.
type confirmation struct {
	bearer Bearer
	err    error
	until  time.Time
}

// get returns the answer about a token, which it gets by ask where there is none that counts.
func (c *confirmations) get(token string, now func() time.Time, ask func() (Bearer, error)) (Bearer, error) {
	key := sha256.Sum256([]byte(token))
	c.mu.Lock()
	known, ok := c.known[key]
	c.mu.Unlock()
	if ok && now().Before(known.until) {
		return known.bearer, known.err
	}
	b, err := ask()
	switch KindOf(err) {
	case Refused, Forbidden:
		c.keep(key, confirmation{err: err, until: now().Add(refusedFor)}, now())
	case 0:
		if err == nil {
			c.keep(key, confirmation{bearer: b, until: b.AsOf.Add(Fresh)}, now())
		}
	}
	return b, err
}

// keep stores an answer, and makes room for it.
func (c *confirmations) keep(key [32]byte, answer confirmation, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxConfirmed {
		maps.DeleteFunc(c.known, func(_ [32]byte, old confirmation) bool { return !now.Before(old.until) })
	}
	for old := range c.known {
		if len(c.known) < maxConfirmed {
			break
		}
		delete(c.known, old)
	}
	c.known[key] = answer
}
