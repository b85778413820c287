package config

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pleat"
	"pleat/internal/identity"
	"pleat/internal/mail"
	"pleat/internal/msa"
	"pleat/internal/sandbox"
	"pleat/internal/seal"
	"pleat/internal/store/db"
	"pleat/internal/words"
)

var (
	runnerName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)           // a folder of runners
	modelName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$`) // the model of a remote engine
	scopeName  = regexp.MustCompile(`^[!#-[\]-~]{1,100}$`)               // a scope-token of RFC 6749, section 3.3
	clientName = regexp.MustCompile(`^[!-~]{1,255}$`)                    // a client identifier
	headerName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,63}$`)      // a token of RFC 9110, section 5.6.2
)

// check refuses values that could not work, and removes the trailing slashes of base URLs. Messages do not show values
// that may contain a password.
func (c *Config) check() error {
	for _, check := range []func() error{
		c.checkStore, c.checkAddresses, c.checkEngines, c.checkChat, c.checkNIM, c.checkFetchURLs,
		c.checkMSASource, c.checkMSAKey, c.checkMSAOptions, c.checkDelivery, c.checkListener,
		c.checkProxies, c.checkOIDC, c.checkOIDCClaims, c.checkMail, c.checkFleet, c.checkWorkerServer,
		c.checkSecrets, c.checkSecretKey, c.checkSandbox, c.checkLog, c.checkTraces, c.checkRanges,
		c.checkDependencies,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkRanges compares numbers and sizes with the bounds of their settings, which it shows in the message.
func (c *Config) checkRanges() error {
	for _, s := range c.Settings() {
		if s.min == 0 && s.max == 0 {
			continue
		}
		var n int64
		var show func(int64) string
		switch v := s.value.(type) {
		case *int:
			n, show = int64(*v), func(n int64) string { return strconv.FormatInt(n, 10) }
		case *Bytes:
			n, show = int64(*v), func(n int64) string { return Bytes(n).String() }
		default:
			return fmt.Errorf("config: the setting %s has bounds, but is not a number", s.Key)
		}
		switch {
		case s.max == 0 && n < s.min:
			return c.Errorf(s.Key, "is %s; it must be %s or more", show(n), show(s.min))
		case s.max > 0 && (n < s.min || n > s.max):
			most := strings.TrimSpace(show(s.max) + " " + s.unit)
			return c.Errorf(s.Key, "is %s; it must be %s to %s", show(n), show(s.min), most)
		}
	}
	return nil
}

// checkDependencies refuses settings that would have no effect because another is empty.
func (c *Config) checkDependencies() error {
	values := map[string]string{}
	for _, s := range c.Settings() {
		values[s.Key] = s.String()
	}
	for _, s := range c.Settings() {
		if s.needs != "" && values[s.Key] != "" && values[s.needs] == "" {
			return c.Errorf(s.Key, "is set without %s, and would have no effect", s.needs)
		}
	}
	return nil
}

// checkStore checks where data is kept.
func (c *Config) checkStore() error {
	if c.Data == "" {
		return c.Errorf("data", "is empty; it must name a folder")
	}
	if c.Connections > 0 && c.Connections < db.MinConnections {
		return c.Errorf("database-connections", "is %d; it must be 0, or %d or more", c.Connections,
			db.MinConnections)
	}
	switch scheme, rest, _ := strings.Cut(c.Database, ":"); {
	case c.Database == "", scheme == "sqlite" && rest != "", db.IsPostgres(c.Database):
	default:
		return c.Errorf("database", "must be sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME")
	}
	switch {
	case c.Direct == "":
	case !db.IsPostgres(c.Direct):
		return c.Errorf("database-direct", "must be postgres://USER:PASSWORD@HOST/NAME")
	case !db.IsPostgres(c.Database):
		return c.Errorf("database-direct", "is for a pooler before PostgreSQL; set database to the pooler's address")
	}
	return nil
}

// checkAddresses checks the address to listen on and the base URLs, whose trailing slashes it removes.
func (c *Config) checkAddresses() error {
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		return c.Errorf("addr", "is %q; it must be HOST:PORT", pleat.Clip(c.Addr))
	}
	if _, _, err := net.SplitHostPort(c.MetricsListen); c.MetricsListen != "" && err != nil {
		return c.Errorf("metrics-listen", "is %q; it must be HOST:PORT", pleat.Clip(c.MetricsListen))
	}
	for _, u := range []struct {
		key   string
		value *string
	}{{"public-url", &c.PublicURL}, {"url", &c.URL}} {
		if *u.value != "" && (!isBaseURL(*u.value) || u.value == &c.PublicURL && strings.Contains(*u.value, "@")) {
			const example = "https://fold.example.org"
			return c.Errorf(u.key, "is %q; it must be an address such as %s, without ? and #",
				printable(*u.value), example)
		}
		*u.value = strings.TrimRight(*u.value, "/")
	}
	for _, origin := range c.MCPOrigins {
		if !isOrigin(origin) {
			return c.Errorf("mcp-origins", "has %q; it must be an origin as browsers send it, such as "+
				"https://chat.example.org, without a path", printable(origin))
		}
	}
	if u, err := url.Parse(c.PublicURL); err == nil && u.Path != "" {
		return c.Errorf("public-url", "is %q; it must have no path: the service needs a host name or a port of its "+
			"own, such as https://fold.example.org", printable(c.PublicURL))
	}
	return nil
}

// isBaseURL reports whether the text is an http or https URL to which a path can be appended.
func isBaseURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && isHTTP(u) && u.RawQuery == "" && u.Fragment == ""
}

// isOrigin reports whether the text is the origin of pages as browsers write it in the header Origin: in lower case,
// and with a port only where it is not that of the scheme (RFC 6454, section 6.2).
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	standard := map[string]string{"http": ":80", "https": ":443"}
	return err == nil && isHTTP(u) && text == u.Scheme+"://"+strings.ToLower(u.Host) &&
		!strings.Contains(u.Host, "*") && !strings.HasSuffix(u.Host, standard[u.Scheme]) &&
		!strings.HasSuffix(u.Host, ":")
}

// isHTTP reports whether the URL has the scheme http or https and a host.
func isHTTP(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" }

// isEndpoint reports whether the text is an http or https URL without a user and password.
func isEndpoint(text string) bool {
	u, err := url.Parse(text)
	return err == nil && isHTTP(u) && u.User == nil
}

// printable returns a URL for a message, without what may be secret.
func printable(text string) string { return pleat.Clip(words.Address(text)) }

// checkEngines checks the forms of the names of engines and devices. Whether a runner exists is found when it is
// started.
func (c *Config) checkEngines() error {
	for _, e := range c.Engines {
		if !pleat.IsBuiltIn(e) && !runnerName.MatchString(e) {
			all := strings.Join(pleat.BuiltInNames(), ", ")
			return c.Errorf("engines", "names %q; there are %s, and the folders of runners", pleat.Clip(e), all)
		}
	}
	if slices.Equal(c.Devices, []string{"auto"}) { // no program is run to check a setting
		return nil
	}
	_, err := c.DeviceList(nil)
	return err
}

// checkChat checks the chat endpoint, which needs a model.
func (c *Config) checkChat() error {
	switch {
	case c.ChatURL == "":
	case !isEndpoint(c.ChatURL):
		const example = "http://127.0.0.1:11434/v1"
		return c.Errorf("chat-url", "is %q; it must be an address such as %s", printable(c.ChatURL), example)
	case c.ChatModel == "":
		return c.Errorf("chat-model", "is empty; chat-url needs the name of a model")
	}
	return nil
}

// checkNIM checks the address of the folding endpoint and the name of its model, which becomes part of a queue's name.
func (c *Config) checkNIM() error {
	if c.NIMURL != "" && !isEndpoint(c.NIMURL) {
		const example = "http://127.0.0.1:8000, without a user"
		return c.Errorf("nim-url", "is %q; it must be an address such as %s", printable(c.NIMURL), example)
	}
	if !modelName.MatchString(c.NIMModel) {
		const must = "a name of 1 to 60 letters, digits, dots, dashes and underscores"
		return c.Errorf("nim-model", "is %q; it must be %s", pleat.Clip(c.NIMModel), must)
	}
	return nil
}

// checkFetchURLs checks the addresses into which an identifier is inserted.
func (c *Config) checkFetchURLs() error {
	for _, u := range []struct{ key, value string }{
		{"pdb-url", c.PDBURL},
		{"uniprot-url", c.UniProtURL},
		{"nim-status-url", c.NIMStatus},
	} {
		if u.value == "" {
			continue
		}
		if !strings.Contains(u.value, "{id}") || !isEndpoint(strings.ReplaceAll(u.value, "{id}", "1ABC")) {
			return c.Errorf(u.key, "is %q; it must be an address that holds {id}", printable(u.value))
		}
	}
	return nil
}

// checkMSASource checks that at most one source of alignments is set, and that a program can be executed.
func (c *Config) checkMSASource() error {
	switch {
	case c.MSAServer != "" && !isBaseURL(c.MSAServer):
		return c.Errorf("msa-server", "must be an address such as https://api.colabfold.com")
	case c.MSAServer != "" && c.MSACommand != "":
		return c.Errorf("msa-command", "is set, and so is msa-server; alignments are made by one of them")
	case c.MSACommand == "":
		return nil
	case c.MSADatabase == "":
		return c.Errorf("msa-database", "is empty; msa-command needs something to search")
	case !filepath.IsAbs(c.MSACommand):
		return c.Errorf("msa-command", "is %q; it must be an absolute path", pleat.Clip(c.MSACommand))
	case !filepath.IsAbs(c.MSADatabase):
		return c.Errorf("msa-database", "is %q; it must be an absolute path", pleat.Clip(c.MSADatabase))
	}
	if err := msa.CheckProgram(c.MSACommand); err != nil {
		return c.Errorf("msa-command", "is %q; it %w", pleat.Clip(c.MSACommand), err)
	}
	return nil
}

// checkMSAKey checks the key of the MSA server and its header, since neither may break a request's header.
func (c *Config) checkMSAKey() error {
	if strings.ContainsFunc(c.MSAKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return c.Errorf("msa-key", "must hold printable ASCII without spaces")
	}
	if !headerName.MatchString(c.MSAHeader) {
		const must = "the name of a header, such as X-API-Key or Authorization"
		return c.Errorf("msa-key-header", "is %q; it must be %s", pleat.Clip(c.MSAHeader), must)
	}
	u, err := url.Parse(c.MSAServer)
	if err == nil && u.User != nil && c.MSAKey != "" && strings.EqualFold(c.MSAHeader, "Authorization") {
		const text = "is Authorization, where the user and password of msa-server go; remove one of them"
		return c.Errorf("msa-key-header", text)
	}
	return nil
}

// checkMSAOptions checks how an MSA search is made.
func (c *Config) checkMSAOptions() error {
	if !slices.Contains(msa.Modes, msa.Mode(c.MSAMode)) {
		return c.Errorf("msa-mode", "is %q; it must be one of %s", pleat.Clip(c.MSAMode), list(msa.Modes))
	}
	if !slices.Contains(msa.Pairings, msa.Pairing(c.MSAPairing)) {
		return c.Errorf("msa-pairing", "is %q; it must be one of %s", pleat.Clip(c.MSAPairing), list(msa.Pairings))
	}
	return nil
}

// list writes values for a message.
func list[T ~string](values []T) string {
	var out []string
	for _, v := range values {
		out = append(out, string(v))
	}
	return strings.Join(out, ", ")
}

// checkDelivery checks what webhooks may reach and the files that a connection needs. It does not open the files.
func (c *Config) checkDelivery() error {
	if _, err := c.WebhookGuard(); err != nil {
		return err
	}
	u, err := url.Parse(c.WebhookProxy)
	if c.WebhookProxy != "" && (err != nil || !isHTTP(u)) {
		return c.Errorf("webhook-proxy", "must be an address such as http://proxy.example.org:3128")
	}
	if (c.WebhookCert == "") != (c.WebhookCertKey == "") {
		return c.Errorf("webhook-cert", "needs webhook-cert-key, and the other way round")
	}
	return nil
}

// checkListener checks the keys of pleat webhooks listen. The message shows no part of them.
func (c *Config) checkListener() error {
	if _, err := c.VerificationKeys(); err != nil {
		return c.Errorf("webhook-secret", "cannot be used: it must be whsec_… or whpk_…, as the service shows it")
	}
	return nil
}

// checkProxies checks the networks of the trusted proxies.
func (c *Config) checkProxies() error {
	_, err := c.TrustedProxies()
	return err
}

// minSecret is the least length of a secret that callers of the server send, in characters.
const minSecret = 16

// checkSecrets checks the secrets that callers of the server send. An empty one is none.
func (c *Config) checkSecrets() error {
	for _, s := range []struct{ key, value string }{{"metrics-token", c.Metrics}, {"ingest-secret", c.Ingest}} {
		if n := utf8.RuneCountInString(s.value); n > 0 && n < minSecret {
			return c.Errorf(s.key, "has %d characters; it must have at least %d: make one with openssl rand -hex 16", n,
				minSecret)
		}
	}
	return nil
}

// checkSecretKey checks the form of the master key. An empty one is generated later.
func (c *Config) checkSecretKey() error {
	if c.SecretKey == "" {
		return nil
	}
	if c.SecretFile != "" {
		return c.Errorf("secret-key-file", "is set, and so is secret-key; the key must come from one of them")
	}
	if _, err := seal.Parse(c.SecretKey); err != nil {
		return c.Errorf("secret-key", "cannot be used: %w; make one with: openssl rand -hex 32", err)
	}
	return nil
}

// checkSandbox checks the mode of the sandbox.
func (c *Config) checkSandbox() error {
	if slices.Contains([]sandbox.Mode{sandbox.Auto, sandbox.Required, sandbox.None}, sandbox.Mode(c.Sandbox)) {
		return nil
	}
	return c.Errorf("sandbox", "is %q; it must be auto, required or none", pleat.Clip(c.Sandbox))
}

// checkWorkerServer checks from where a worker gets its tasks. It removes the address's trailing slashes and an empty
// fragment, since the paths of calls are appended to it.
func (c *Config) checkWorkerServer() error {
	if c.WorkerServer == "" {
		return nil
	}
	scheme, _, found := strings.Cut(c.WorkerServer, "://")
	u, err := url.Parse(c.WorkerServer)
	switch {
	case !found || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https"):
		return c.Errorf("server", "must begin with http:// or https://, such as https://fold.example.org")
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return c.Errorf("server", "must be the address of a server, such as https://fold.example.org")
	case c.TokenFile == "":
		return c.Errorf("token-file", "is empty; it must name a file with the token that "+
			"pleat fleet token CLASS prints")
	case u.Scheme == "http" && !isLoopback(u.Hostname()) && !c.ServerPlain:
		return c.Errorf("server", "is an address with http on another machine, where everyone on the way can read the "+
			"worker's token; use https, or set server-plaintext")
	}
	c.WorkerServer = strings.TrimRight(u.String(), "/")
	return nil
}

// isLoopback reports whether a host name or address is of this machine.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// checkOIDC checks the issuer, the client, and where browsers come back.
func (c *Config) checkOIDC() error {
	if c.OIDCIssuer == "" {
		return nil
	}
	u, err := url.Parse(c.OIDCIssuer)
	switch {
	case err != nil || !identity.IsSafe(c.OIDCIssuer) || u.RawQuery != "":
		const example = "https://id.example.org/realms/lab"
		return c.Errorf("oidc-issuer", "is %q; it must be an https address such as %s, or http on this machine",
			printable(c.OIDCIssuer), example)
	case c.OIDCClientID == "":
		return c.Errorf("oidc-client-id", "is empty; oidc-issuer needs the identifier under which it knows "+
			"this server")
	case c.OIDCSecret != "" && c.OIDCSecretFile != "":
		return c.Errorf("oidc-client-secret-file", "is set, and so is oidc-client-secret; "+
			"the secret must come from one of them")
	case c.PublicURL != "" && !identity.IsSafe(c.PublicURL):
		return c.Errorf("public-url", "is %q; with oidc-issuer it must be https, or http on this machine, since "+
			"browsers bring secrets back there", printable(c.PublicURL))
	}
	host, _, err := net.SplitHostPort(c.Addr)
	if c.PublicURL == "" && err == nil && !isLoopback(host) {
		return c.Errorf("public-url", "is empty; with oidc-issuer it must be the address to which browsers come back")
	}
	for _, id := range []struct{ key, value string }{
		{"oidc-client-id", c.OIDCClientID},
		{"oidc-device-client-id", c.OIDCDeviceClient},
		{"oidc-audience", c.OIDCAudience},
	} {
		if id.value != "" && !clientName.MatchString(id.value) {
			return c.Errorf(id.key, "is %q; it must be 1 to 255 printable ASCII characters without spaces",
				pleat.Clip(id.value))
		}
	}
	return nil
}

// maxClaim bounds the name of a claim and of a group, in bytes.
const maxClaim = 200

// checkOIDCClaims checks the scopes and how claims are read.
func (c *Config) checkOIDCClaims() error {
	for _, s := range c.OIDCScopes {
		if !scopeName.MatchString(s) {
			return c.Errorf("oidc-scopes", "has %q; a scope is a word of printable ASCII, and commas separate them",
				pleat.Clip(s))
		}
	}
	for _, name := range []struct{ key, value string }{
		{"oidc-name-claim", c.OIDCNameClaim},
		{"oidc-groups-claim", c.OIDCGroupsClaim},
	} {
		if name.value == "" || len(name.value) > maxClaim {
			return c.Errorf(name.key, "is %q; it must be the name of a claim, 1 to %d bytes long",
				pleat.Clip(name.value), maxClaim)
		}
	}
	for _, g := range c.OIDCAllowedGroups {
		if g == "" || len(g) > maxClaim {
			return c.Errorf("oidc-allowed-groups", "has %q; the name of a group has 1 to %d bytes", pleat.Clip(g),
				maxClaim)
		}
	}
	if len(c.OIDCOperatorGroup) > maxClaim {
		return c.Errorf("oidc-operator-group", "is %q; the name of a group has 1 to %d bytes",
			pleat.Clip(c.OIDCOperatorGroup), maxClaim)
	}
	return nil
}

// checkMail checks the mail server and who sends.
func (c *Config) checkMail() error {
	if c.MailURL == "" {
		return nil
	}
	s, err := mail.ParseServer(c.MailURL, c.MailPlain)
	switch {
	case err != nil:
		return c.Errorf("mail-url", "%w", err)
	case c.MailFrom == "":
		return c.Errorf("mail-from", "is empty; mail-url needs the address from which mails come")
	case c.MailPassword != "" && c.MailPasswordFile != "":
		return c.Errorf("mail-password-file", "is set, and so is mail-password; the password comes from one of them")
	case (c.MailPassword != "" || c.MailPasswordFile != "") && (s.User == "" || s.Password != ""):
		return c.Errorf("mail-password", "is set; mail-url must then name the user alone, such as "+
			"smtp://pleat@mail.example.org:587")
	}
	if _, err := mail.ParseFrom(c.MailFrom); err != nil {
		return c.Errorf("mail-from", "is %q; it %w", pleat.Clip(c.MailFrom), err)
	}
	return nil
}

// checkFleet checks the paths that workers get.
func (c *Config) checkFleet() error {
	for _, f := range []struct{ key, path string }{
		{"fleet-program", c.FleetProgram},
		{"fleet-config", c.FleetConfig},
	} {
		if f.path != "" && !filepath.IsAbs(f.path) {
			return c.Errorf(f.key, "is %q; it must be an absolute path", pleat.Clip(f.path))
		}
	}
	return nil
}

// checkLog checks the level and the format of the log.
func (c *Config) checkLog() error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return c.Errorf("log-level", "is %q; it must be debug, info, warn or error", pleat.Clip(c.LogLevel))
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		return c.Errorf("log-format", "is %q; it must be text or json", pleat.Clip(c.LogFormat))
	}
	return nil
}

// checkTraces checks where traces are sent, and which.
func (c *Config) checkTraces() error {
	if c.TracesEndpoint != "" && !isBaseURL(c.TracesEndpoint) {
		return c.Errorf("traces-endpoint", "is %q; it must be an address such as http://127.0.0.1:4318",
			printable(c.TracesEndpoint))
	}
	if c.TracesRatio > 1 {
		return c.Errorf("traces-ratio", "is %v; it must be a number from 0 to 1", c.TracesRatio)
	}
	return nil
}
