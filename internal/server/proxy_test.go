package server_test

import (
	"bufio"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pleat/api"
	"pleat/internal/server"
	"pleat/internal/store/storetest"
	"pleat/internal/submit"
)

// proxyHost is the name in the files of deploy.
const proxyHost = "fold.example.org"

// proxyCaller is the address of the clients of a proxy, which itself connects from 127.0.0.1.
const proxyCaller = "127.0.0.2"

// replacement is a text of a configuration file and what stands in its place in a test.
type replacement struct{ old, new string }

// proxy is a proxy whose configuration is a file of deploy.
type proxy struct {
	variable string // names the program
	file     string // in deploy
	// local makes the file run without privileges in a folder, and shortens its timeouts if patience is not 0.
	local func(p *proxyRun) []replacement
	args  func(file, dir string) []string
}

// proxyRun says where a proxy listens, what it stands before and where its files are.
type proxyRun struct {
	plain, secure, upstream, dir string // addresses, host:port; folder
	patience                     time.Duration
}

var nginx = proxy{
	variable: "PLEAT_TEST_NGINX",
	file:     "nginx.conf",
	local: func(p *proxyRun) []replacement {
		var paths strings.Builder
		for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
			fmt.Fprintf(&paths, "%s_temp_path %s/%s;\n", kind, p.dir, kind)
		}
		return []replacement{
			{"worker_processes auto;", "daemon off; master_process off; pid " + p.dir + "/pid;"},
			{"http {", "http {\n" + paths.String()},
			{"listen 80;", "listen " + p.plain + ";"},
			{"listen 443 ssl http2;", "listen " + p.secure + " ssl http2;"},
			{"/etc/ssl/" + proxyHost, p.dir + "/" + proxyHost},
			{"127.0.0.1:8080", p.upstream},
			{" 16m;", fmt.Sprintf(" %dms;", p.patience.Milliseconds())},
		}
	},
	args: func(file, dir string) []string { return []string{"-c", file, "-p", dir, "-e", "stderr"} },
}

var caddy = proxy{
	variable: "PLEAT_TEST_CADDY",
	file:     "Caddyfile",
	local: func(p *proxyRun) []replacement {
		port := func(address string) string { return address[strings.LastIndex(address, ":")+1:] }
		global := fmt.Sprintf("{\n\tadmin off\n\tskip_install_trust\n\tpersist_config off\n\thttp_port %s\n"+
			"\thttps_port %s\n\tstorage file_system %s\n\tdefault_bind 127.0.0.1\n}\n",
			port(p.plain), port(p.secure), p.dir)
		certificate := fmt.Sprintf("\ttls %[1]s/%[2]s.pem %[1]s/%[2]s.key\n", p.dir, proxyHost)
		return []replacement{
			{"\n" + proxyHost + " {\n", "\n" + global + proxyHost + " {\n" + certificate},
			{"127.0.0.1:8080", p.upstream},
			{" 16m\n", fmt.Sprintf(" %dms\n", p.patience.Milliseconds())},
		}
	},
	args: func(file, _ string) []string { return []string{"run", "--adapter", "caddyfile", "--config", file} },
}

// The configurations of deploy work: scripts/test-proxies gets the programs and runs these tests.
func TestProxies(t *testing.T) {
	t.Parallel()
	for _, p := range []proxy{nginx, caddy} {
		t.Run(p.file, func(t *testing.T) {
			program := os.Getenv(p.variable)
			if program == "" {
				t.Skip(p.variable + " does not name the program; run scripts/test-proxies")
			}
			t.Run("requests", func(t *testing.T) { p.testRequests(t, program) })
			t.Run("idle stream", func(t *testing.T) { p.testIdleStream(t, program) })
		})
	}
}

// start runs the proxy before a server and returns a client that reaches it under its public name.
func (p *proxy) start(t *testing.T, program string, h *fixture, patience time.Duration) *http.Client {
	t.Helper()
	dir := t.TempDir()
	roots := writeCertificate(t, dir)
	run := &proxyRun{plain: freeAddress(t), secure: freeAddress(t), upstream: h.http.Listener.Addr().String(), dir: dir,
		patience: patience}
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", p.file))
	if err != nil {
		t.Fatal(err)
	}
	conf := string(text)
	for _, r := range p.local(run) {
		if !strings.Contains(conf, r.old) {
			t.Fatalf("deploy/%s does not have %q", p.file, r.old)
		}
		conf = strings.ReplaceAll(conf, r.old, r.new)
	}
	file := filepath.Join(dir, p.file)
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, p.args(file, dir)...)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	log := &storetest.Log{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("the proxy's log:\n%s", log)
		}
	})
	c := proxyClient(t, roots, run.secure)
	awaitProxy(t, c, cmd, ended)
	return c
}

// awaitProxy waits until the proxy passes requests on.
func awaitProxy(t *testing.T, c *http.Client, cmd *exec.Cmd, ended chan error) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		res, err := c.Get("https://" + proxyHost + "/healthz")
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s ended: %v", cmd, err)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not answer: %v", cmd, err)
		}
	}
}

// proxyClient returns a client that keeps cookies, connects to address whatever the URL says, and trusts roots.
func proxyClient(t *testing.T, roots *x509.CertPool, address string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(proxyCaller)}}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return from.DialContext(ctx, network, address)
		},
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Jar: jar}
}

// behindProxy makes the server one that trusts a proxy on this machine.
func behindProxy(c *server.Config) {
	c.PublicURL = "https://" + proxyHost
	c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
}

// testRequests uses the configuration as it is, but for its addresses.
func (p *proxy) testRequests(t *testing.T, program string) {
	h := newFixture(t, behindProxy)
	c := p.start(t, program, h, 16*time.Minute)
	base := "https://" + proxyHost
	send := func(method, path, body string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequest(method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", base) // as the page does
		req.Header.Set("X-Forwarded-For", "203.0.113.7")
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(b)
	}

	// The page signs in, and its cookie is that of https.
	res, body := send("POST", "/v1/session", `{"key":"`+h.key+`"}`)
	if cookie := res.Header.Get("Set-Cookie"); res.StatusCode != 200 || !strings.Contains(cookie, "; Secure") {
		t.Fatalf("sign in: %d %s, cookie %q", res.StatusCode, body, cookie)
	}
	if res.ProtoMajor != 2 || res.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("%s, Strict-Transport-Security %q", res.Proto, res.Header.Get("Strict-Transport-Security"))
	}
	if res, body := send("GET", "/v1/usage", ""); res.StatusCode != 200 {
		t.Errorf("with the cookie: %d %s", res.StatusCode, body)
	}

	// Links lead through the proxy.
	j := h.completed(trp)
	res, body = send("GET", "/v1/jobs/"+j.JobID+"/results", "")
	var results api.Results
	if err := json.Unmarshal([]byte(body), &results); err != nil || res.StatusCode != 200 {
		t.Fatalf("results: %d %s", res.StatusCode, body)
	}
	link, found := strings.CutPrefix(artifact(t, results, "structure.cif").URL, base)
	if !found {
		t.Errorf("a link is %s, which is not below %s", artifact(t, results, "structure.cif").URL, base)
	}
	if res, body := send("GET", link, ""); res.StatusCode != 200 || body != cif {
		t.Errorf("the link %s: %d %q", link, res.StatusCode, body)
	}

	// A body that is too large is refused by Pleat, not by the proxy.
	res, body = send("POST", "/v1/jobs", strings.Repeat(" ", api.MaxBody+1))
	if res.StatusCode != 413 || !strings.Contains(body, fmt.Sprintf("larger than %d bytes", api.MaxBody)) {
		t.Errorf("a large body: %d %.200q", res.StatusCode, body)
	}

	p.testUpload(t, h, c)

	// The caller is the client of the proxy; what the client says of itself is not believed.
	if log := h.log.String(); strings.Contains(log, "203.0.113.7") || !strings.Contains(log, "from="+proxyCaller) {
		t.Errorf("the log has the address that the client invented, or not its own:\n%s", log)
	}
}

// testUpload sends the largest file of a library.
func (p *proxy) testUpload(t *testing.T, h *fixture, c *http.Client) {
	t.Helper()
	item := h.item(h.key, "large", "")
	in, out := io.Pipe()
	form := multipart.NewWriter(out)
	go func() {
		w, err := form.CreateFormFile("files", "large.json")
		if err == nil {
			_, err = io.WriteString(w, jsonFile(submit.MaxFile))
		}
		if err == nil {
			err = form.Close()
		}
		out.CloseWithError(err)
	}()
	req, err := http.NewRequest("POST", "https://"+proxyHost+"/v1/library/"+item+"/upload-files", in)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+h.key)
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 || !strings.Contains(string(body), fmt.Sprint(submit.MaxFile)) {
		t.Errorf("an upload of %d bytes: %d %s %v", submit.MaxFile, res.StatusCode, body, err)
	}
}

// testIdleStream shortens the timeouts of the configuration and the time between keep-alives, so that the stream
// outlives the timeouts by its keep-alives alone. A busy machine may itself be silent for as long as the first ones.
func (p *proxy) testIdleStream(t *testing.T, program string) {
	var err error
	for patience := time.Second; patience < 30*time.Second; patience *= 4 {
		if err = p.idleStream(t, program, patience); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// idleStream is testIdleStream with timeouts of a length. The error says that the stream ended.
func (p *proxy) idleStream(t *testing.T, program string, patience time.Duration) error {
	t.Helper()
	h := newFixture(t, behindProxy, func(c *server.Config) { c.StreamHeartbeat = 50 * time.Millisecond })
	c := p.start(t, program, h, patience)
	req, err := http.NewRequest("GET", "https://"+proxyHost+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.key)
	began := time.Now()
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	next := func(prefix string) error {
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), prefix) {
				return nil
			}
		}
		return fmt.Errorf("with timeouts of %v the stream ended after %v before a line %q: %w", patience,
			time.Since(began), prefix, cmp.Or(lines.Err(), io.EOF))
	}
	for time.Since(began) < 2*patience {
		if err := next(":"); err != nil {
			return err
		}
	}
	// An event arrives although nothing follows it that could fill a buffer.
	h.create(trp)
	return next("event:")
}

// freeAddress returns a loopback address on which nothing listened.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// writeCertificate writes a certificate for proxyHost and its key into dir.
func writeCertificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		DNSNames:              []string{proxyHost},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for ending, content := range map[string][]byte{
		".pem": certificate,
		".key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
	} {
		if err := os.WriteFile(filepath.Join(dir, proxyHost+ending), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	return roots
}
