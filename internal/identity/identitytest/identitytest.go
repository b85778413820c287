// Package identitytest has an issuer of OpenID Connect for tests. It runs in the test's process on a loopback address,
// signs tokens as a real one does, and can be told to go wrong.
package identitytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

// The clients that the issuer knows. The page's has a secret, the terminals' has none.
const (
	Client       = "pleat"
	Secret       = "the secret of the page's client"
	DeviceClient = "pleat-terminal"
	Audience     = "https://fold.example.org" // of access tokens
)

// User is a person whom the issuer knows.
type User struct {
	Subject  string
	Name     string
	Email    string
	Verified bool // the address
	Groups   []string
	Disabled bool
}

// Issuer is a running issuer. Its methods may be called while it answers.
type Issuer struct {
	URL string

	mu       sync.Mutex
	now      func() time.Time
	key      jose.JSONWebKey
	keys     int // made so far
	users    map[string]User
	browser  string // name of the user who is signed in in the browser; empty: nobody
	gone     bool
	noTokens bool // answers have no refresh token
	codes    map[string]grant
	refresh  map[string]grant
	access   map[string]string // names of users by access token
	devices  map[string]*grant // by device code
	replace  map[string]string // answers that replace the issuer's own, by path
	change   func(kind string, claims map[string]any)
	requests map[string]int // by path
	revoked  int
}

// grant is what a code or a refresh token stands for.
type grant struct {
	user, client, nonce, challenge, callback, scope string
	code                                            string // that a person enters for a device
	denied                                          bool
}

// New starts an issuer that ends with the test. It knows nobody yet.
func New(t testing.TB) *Issuer {
	s := &Issuer{
		now: time.Now, users: map[string]User{}, codes: map[string]grant{}, refresh: map[string]grant{},
		access: map[string]string{}, devices: map[string]*grant{}, replace: map[string]string{},
		requests: map[string]int{}, change: func(string, map[string]any) {},
	}
	s.RotateKeys()
	server := httptest.NewServer(s.handler())
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// locked calls f while nothing else uses the issuer.
func (s *Issuer) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// SetClock replaces the clock by which tokens are issued.
func (s *Issuer) SetClock(now func() time.Time) { s.locked(func() { s.now = now }) }

// SetUser adds a user, or replaces the one of that name.
func (s *Issuer) SetUser(u User) { s.locked(func() { s.users[u.Name] = u }) }

// Browser chooses who is signed in at the issuer in the browser, and so who agrees to every sign-in.
func (s *Issuer) Browser(name string) { s.locked(func() { s.browser = name }) }

// SetGone makes the issuer close every connection without an answer, or ends that.
func (s *Issuer) SetGone(gone bool) { s.locked(func() { s.gone = gone }) }

// WithoutRefresh makes the issuer give no refresh tokens.
func (s *Issuer) WithoutRefresh() { s.locked(func() { s.noTokens = true }) }

// Replace makes the issuer answer one path with a text; empty: with its own answer.
func (s *Issuer) Replace(path, body string) { s.locked(func() { s.replace[path] = body }) }

// Change registers a function that may change the claims of every token before it is signed. Kind is id, access or
// userinfo.
func (s *Issuer) Change(f func(kind string, claims map[string]any)) {
	s.locked(func() { s.change = f })
}

// Requests returns how many requests of a path there were.
func (s *Issuer) Requests(path string) (n int) {
	s.locked(func() { n = s.requests[path] })
	return n
}

// Revoked returns how many tokens were revoked.
func (s *Issuer) Revoked() (n int) {
	s.locked(func() { n = s.revoked })
	return n
}

// ApproveDevice lets a user agree to the sign-in of a device that shows this code, or, with an empty name, refuse it.
func (s *Issuer) ApproveDevice(code, name string) {
	s.locked(func() {
		for _, g := range s.devices {
			if g.code == code {
				g.user, g.denied = name, name == ""
			}
		}
	})
}

// RotateKeys replaces the key that signs tokens.
func (s *Issuer) RotateKeys() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	s.locked(func() {
		s.keys++
		s.key = jose.JSONWebKey{Key: key, KeyID: "key-" + strconv.Itoa(s.keys), Algorithm: "ES256", Use: "sig"}
	})
}

// AccessToken returns an access token for a user, whose claims changed replaces; a claim that is nil is removed.
func (s *Issuer) AccessToken(user string, changed map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.claims(s.users[user], Audience)
	maps.Copy(c, map[string]any{"typ": "Bearer", "scope": "openid", "azp": Client})
	maps.Copy(c, changed)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	token := s.sign(c, nil)
	s.access[token] = user
	return token
}

// Sign signs any claims, with values of the header beside those that are always there.
func (s *Issuer) Sign(claims, header map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sign(claims, header)
}

// Claims returns the claims of a user's token for an audience, without any that mark its kind.
func (s *Issuer) Claims(user, audience string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claims(s.users[user], audience)
}

// Unsigned returns a token of the algorithm «none».
func Unsigned(claims map[string]any) string {
	body, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + encode(body) + "."
}

// SignedBySecret returns a token of the algorithm HS256, signed by the bytes of the issuer's public key: what a
// verifier accepts that lets the token choose how it is checked.
func (s *Issuer) SignedBySecret(claims map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	public, err := s.key.Public().MarshalJSON()
	if err != nil {
		panic(err)
	}
	return signWith(jose.SigningKey{Algorithm: jose.HS256, Key: public}, claims, map[string]any{"kid": s.key.KeyID})
}

// claims returns those that every token has.
func (s *Issuer) claims(u User, audience string) map[string]any {
	groups := u.Groups
	if groups == nil {
		groups = []string{}
	}
	now := s.now()
	return map[string]any{
		"iss": s.URL, "sub": u.Subject, "aud": audience, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
		"jti": rand.Text(), "preferred_username": u.Name, "groups": groups, "email": u.Email,
		"email_verified": u.Verified,
	}
}

// sign signs claims by the present key.
func (s *Issuer) sign(claims, header map[string]any) string {
	return signWith(jose.SigningKey{Algorithm: jose.ES256, Key: s.key}, claims, header)
}

func signWith(key jose.SigningKey, claims, header map[string]any) string {
	options := (&jose.SignerOptions{}).WithType("JWT")
	for name, value := range header {
		options = options.WithHeader(jose.HeaderKey(name), value)
	}
	signer, err := jose.NewSigner(key, options)
	if err != nil {
		panic(err)
	}
	body, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	signed, err := signer.Sign(body)
	if err != nil {
		panic(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		panic(err)
	}
	return text
}
