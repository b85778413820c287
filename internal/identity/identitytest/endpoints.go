package identitytest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	jose "github.com/go-jose/go-jose/v4"
)

// Paths of the issuer's endpoints, for Requests and Replace.
const (
	PathDiscovery  = "/.well-known/openid-configuration"
	PathKeys       = "/keys"
	PathAuthorize  = "/authorize"
	PathToken      = "/token"
	PathUserInfo   = "/userinfo"
	PathDevice     = "/device"
	PathRevoke     = "/revoke"
	PathIntrospect = "/introspect"
	PathLogout     = "/logout"
)

// handler returns the endpoints. One request is answered at a time.
func (s *Issuer) handler() http.Handler {
	endpoints := map[string]http.HandlerFunc{
		PathDiscovery: s.discovery, PathKeys: s.publicKeys, PathAuthorize: s.authorize, PathToken: s.token,
		PathUserInfo: s.userInfo, PathDevice: s.device, PathRevoke: s.revoke, PathIntrospect: s.introspect,
		PathLogout: s.logout,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests[r.URL.Path]++
		if s.gone {
			panic(http.ErrAbortHandler)
		}
		if body := s.replace[r.URL.Path]; body != "" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, body)
			return
		}
		if answer, ok := endpoints[r.URL.Path]; ok {
			answer(w, r)
			return
		}
		http.NotFound(w, r)
	})
}

// answer writes a JSON document.
func answer(w http.ResponseWriter, status int, document any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(document); err != nil {
		panic(http.ErrAbortHandler) // the client has gone
	}
}

// refuse answers with an error of RFC 6749, section 5.2.
func refuse(w http.ResponseWriter, code string) { answer(w, 400, map[string]string{"error": code}) }

func (s *Issuer) discovery(w http.ResponseWriter, r *http.Request) {
	answer(w, 200, map[string]any{
		"issuer":                                         s.URL,
		"authorization_endpoint":                         s.URL + PathAuthorize,
		"token_endpoint":                                 s.URL + PathToken,
		"jwks_uri":                                       s.URL + PathKeys,
		"userinfo_endpoint":                              s.URL + PathUserInfo,
		"device_authorization_endpoint":                  s.URL + PathDevice,
		"revocation_endpoint":                            s.URL + PathRevoke,
		"introspection_endpoint":                         s.URL + PathIntrospect,
		"end_session_endpoint":                           s.URL + PathLogout,
		"code_challenge_methods_supported":               []string{"S256"},
		"id_token_signing_alg_values_supported":          []string{"ES256"},
		"authorization_response_iss_parameter_supported": true,
	})
}

func (s *Issuer) publicKeys(w http.ResponseWriter, r *http.Request) {
	answer(w, 200, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{s.key.Public()}})
}

// authorize lets the user in the browser agree, and sends the browser back.
func (s *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("client_id") != Client || q.Get("response_type") != "code" ||
		q.Get("code_challenge_method") != "S256" {
		http.Error(w, "the request is not one of this client's", 400)
		return
	}
	reply := url.Values{"state": {q.Get("state")}, "iss": {s.URL}}
	if u, ok := s.users[s.browser]; !ok || u.Disabled {
		reply.Set("error", "access_denied")
	} else {
		code := rand.Text()
		s.codes[code] = grant{user: s.browser, client: Client, nonce: q.Get("nonce"), scope: q.Get("scope"),
			challenge: q.Get("code_challenge"), callback: q.Get("redirect_uri")}
		reply.Set("code", code)
	}
	back.RawQuery = reply.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// client returns the client that makes a request, if its credentials are right.
func client(r *http.Request) (string, bool) {
	id, secret, ok := r.BasicAuth()
	if ok {
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	return id, id == Client && secret == Secret || id == DeviceClient && secret == ""
}

// token gives tokens for a code, a refresh token or the code of a device. Each counts once.
func (s *Issuer) token(w http.ResponseWriter, r *http.Request) {
	id, ok := client(r)
	if !ok {
		answer(w, 401, map[string]string{"error": "invalid_client"})
		return
	}
	var g grant
	var found bool
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		g, found = s.codes[r.PostFormValue("code")]
		delete(s.codes, r.PostFormValue("code"))
		found = found && g.callback == r.PostFormValue("redirect_uri")
	case "refresh_token":
		g, found = s.refresh[r.PostFormValue("refresh_token")]
		delete(s.refresh, r.PostFormValue("refresh_token"))
		g.nonce, g.challenge = "", "" // a refreshed ID token has no nonce
	case "urn:ietf:params:oauth:grant-type:device_code":
		waiting, known := s.devices[r.PostFormValue("device_code")]
		if known && waiting.user == "" {
			refuse(w, map[bool]string{false: "authorization_pending", true: "access_denied"}[waiting.denied])
			return
		}
		delete(s.devices, r.PostFormValue("device_code"))
		if found = known; known {
			g = *waiting
		}
	default:
		refuse(w, "unsupported_grant_type")
		return
	}
	proof := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	proven := g.challenge == "" || g.challenge == base64.RawURLEncoding.EncodeToString(proof[:])
	if !found || !proven || g.client != id || s.users[g.user].Disabled {
		refuse(w, "invalid_grant")
		return
	}
	answer(w, 200, s.tokens(g))
}

// tokens returns the answer of the token endpoint.
func (s *Issuer) tokens(g grant) map[string]any {
	u := s.users[g.user]
	access, id := s.claims(u, Audience), s.claims(u, g.client)
	access["typ"], access["scope"], access["azp"] = "Bearer", g.scope, g.client
	id["typ"], id["azp"] = "ID", g.client
	if g.nonce != "" {
		id["nonce"] = g.nonce
	}
	s.change("access", access)
	token := s.sign(access, nil)
	s.access[token] = g.user
	sum := sha256.Sum256([]byte(token))
	id["at_hash"] = base64.RawURLEncoding.EncodeToString(sum[:16])
	s.change("id", id)
	out := map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 300, "id_token": s.sign(id, nil)}
	if !s.noTokens {
		next := rand.Text()
		s.refresh[next] = g
		out["refresh_token"] = next
	}
	return out
}

// holder returns the user of an access token that counts.
func (s *Issuer) holder(token string) (User, bool) {
	name, ok := s.access[token]
	u := s.users[name]
	return u, ok && !u.Disabled
}

func (s *Issuer) userInfo(w http.ResponseWriter, r *http.Request) {
	var token string
	_, _ = fmt.Sscanf(r.Header.Get("Authorization"), "Bearer %s", &token)
	u, ok := s.holder(token)
	if !ok {
		answer(w, 401, map[string]string{"error": "invalid_token"})
		return
	}
	c := s.claims(u, "")
	s.change("userinfo", c)
	answer(w, 200, c)
}

func (s *Issuer) introspect(w http.ResponseWriter, r *http.Request) {
	if _, ok := client(r); !ok {
		answer(w, 401, map[string]string{"error": "invalid_client"})
		return
	}
	u, ok := s.holder(r.PostFormValue("token"))
	if !ok {
		answer(w, 200, map[string]any{"active": false})
		return
	}
	answer(w, 200, map[string]any{"active": true, "sub": u.Subject, "groups": u.Groups, "preferred_username": u.Name})
}

func (s *Issuer) device(w http.ResponseWriter, r *http.Request) {
	if id := r.PostFormValue("client_id"); id != DeviceClient {
		answer(w, 401, map[string]string{"error": "invalid_client"})
		return
	}
	code, userCode := rand.Text(), rand.Text()[:8]
	s.devices[code] = &grant{client: DeviceClient, challenge: r.PostFormValue("code_challenge"), code: userCode,
		scope: r.PostFormValue("scope")}
	answer(w, 200, map[string]any{"device_code": code, "user_code": userCode, "verification_uri": s.URL + PathDevice,
		"verification_uri_complete": s.URL + PathDevice + "?code=" + userCode, "expires_in": 600, "interval": 1})
}

func (s *Issuer) revoke(w http.ResponseWriter, r *http.Request) {
	if _, ok := client(r); !ok {
		answer(w, 401, map[string]string{"error": "invalid_client"})
		return
	}
	token := r.PostFormValue("token")
	if _, ok := s.refresh[token]; ok {
		s.revoked++
	}
	delete(s.refresh, token)
	delete(s.access, token)
}

// logout ends the session of the browser and sends it back.
func (s *Issuer) logout(w http.ResponseWriter, r *http.Request) {
	s.browser = ""
	if after := r.URL.Query().Get("post_logout_redirect_uri"); after != "" {
		http.Redirect(w, r, after, http.StatusFound)
	}
}
