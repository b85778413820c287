package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"pleat/internal/clock"
)

// Class is the reason why an attempt failed; empty if it succeeded.
type Class string

const (
	ClassStatus      Class = "status"      // a status other than 2xx and 3xx
	ClassRedirect    Class = "redirect"    // 3xx; redirects are not followed
	ClassBlocked     Class = "blocked"     // the guard refused the address that the target names
	ClassDNS         Class = "dns"         // the host name leads to no permitted address, or nowhere
	ClassRefused     Class = "refused"     // no process listens on the port
	ClassUnreachable Class = "unreachable" // there is no route to the address
	ClassReset       Class = "reset"       // the connection ended before the response did
	ClassTLS         Class = "tls"         // the handshake failed or the certificate is invalid
	ClassProtocol    Class = "protocol"    // the response is not HTTP, or its header is too large
	ClassInvalid     Class = "invalid"     // the stored data does not make a valid request
	ClassCancelled   Class = "cancelled"   // the sender stopped; the outcome is unknown and the attempt does not count

	ClassTimeoutDNS     Class = "timeout_dns"
	ClassTimeoutConnect Class = "timeout_connect"
	ClassTimeoutTLS     Class = "timeout_tls"
	ClassTimeoutSend    Class = "timeout_send"
	ClassTimeoutWait    Class = "timeout_wait" // the request was sent, but no complete header arrived
	ClassTimeoutBody    Class = "timeout_body" // the body of the response did not end in time
)

// fail sets why the attempt failed.
func (a *Attempt) fail(c Class, message string) { a.Error, a.Message = c, message }

// readStatus evaluates status and header. Only 2xx is success.
func (a *Attempt) readStatus(resp *http.Response, now time.Time) {
	a.Status = resp.StatusCode
	switch s := resp.StatusCode; {
	case s >= 200 && s < 300:
	case s >= 300 && s < 400 && s != http.StatusNotModified:
		a.fail(ClassRedirect,
			fmt.Sprintf("the receiver answered %d; redirects are not followed: set the target to where it leads", s))
	default:
		a.fail(ClassStatus, fmt.Sprintf("the receiver answered %d; only 2xx counts as received", s))
	}
	wish := strings.ToLower(strings.TrimSpace(resp.Header.Get(HeaderDelivery)))
	a.Disable = resp.StatusCode == http.StatusGone || wish == "disable"
	if a.OK() {
		return
	}
	a.Abort = wish == "abort-message"
	a.RetryAfter = clock.RetryAfter(resp.Header, func() time.Time { return now }, maxRetryAfter)
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		a.Throttled = true
	}
}

// keptHeaders are the response headers that are stored: they help the owner and contain no secrets.
var keptHeaders = []string{"Content-Type", "Retry-After", "Server", HeaderDelivery}

// record stores the first bytes of the response in a printable form without the secrets of the request.
func (a *Attempt) record(h http.Header, body []byte, r Request) {
	redact := redactor(r)
	a.Headers = map[string]string{}
	for _, name := range keptHeaders {
		if v := h.Get(name); v != "" {
			a.Headers[strings.ToLower(name)] = printable(redact.Replace(v), 200)
		}
	}
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return // compressed bytes are not readable and are never unpacked here
	}
	a.Answer = printable(redact.Replace(string(body)), answerCap)
}

// The shortest secrets and parts of an address that are redacted, in bytes. A shorter part may be a common word.
const (
	leastSecret = 4
	leastPart   = 8
)

// redactor replaces what a receiver may echo: the token, the secrets of the signatures, and the address without its
// host, as a whole and in its parts. Each is replaced in its encodings too.
func redactor(r Request) *strings.Replacer {
	var secrets []string
	add := func(least int, texts ...string) {
		for _, text := range texts {
			if len(text) >= least {
				quoted := strconv.Quote(text)
				secrets = append(secrets, text, quoted[1:len(quoted)-1],
					base64.StdEncoding.EncodeToString([]byte(text)))
			}
		}
	}
	add(leastSecret, r.Token)
	if u, err := url.Parse(r.URL); err == nil {
		password, _ := u.User.Password()
		add(leastSecret, u.Path, u.EscapedPath(), strings.ReplaceAll(u.Path, "/", `\/`), u.RawQuery, password)
		add(leastPart, addressParts(u)...)
	}
	for _, k := range r.Keys {
		text := k.Text()
		_, bare, _ := strings.Cut(text, "_")
		add(leastSecret, text, bare)
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may begin with another
	var pairs []string
	for _, text := range secrets {
		pairs = append(pairs, text, "[redacted]")
	}
	return strings.NewReplacer(pairs...)
}

// addressParts returns the segments of the path, the values of the query, and user and password of an address: as they
// stand in it, decoded, and as other encoders write them.
func addressParts(u *url.URL) (parts []string) {
	user, _ := url.QueryUnescape(u.User.String())
	parts = append(parts, u.User.String(), user, u.User.Username())
	add := func(raw string, decode func(string) (string, error)) {
		parts = append(parts, raw)
		if text, err := decode(raw); err == nil {
			parts = append(parts, text, url.PathEscape(text), url.QueryEscape(text))
		}
	}
	for segment := range strings.SplitSeq(u.EscapedPath(), "/") {
		add(segment, url.PathUnescape)
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		_, value, named := strings.Cut(pair, "=")
		if !named {
			value = pair
		}
		add(value, url.QueryUnescape)
	}
	return parts
}

// printable returns at most n bytes of valid UTF-8 without terminal control sequences and text direction marks.
func printable(s string, n int) string {
	var b strings.Builder
	for i, r := range s {
		piece := s[i : i+max(utf8.RuneLen(r), 1)]
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			piece = "\uFFFD"
		case r == '\n' || r == '\t':
		case r < 0x80 && unicode.IsControl(r):
			piece = fmt.Sprintf(`\x%02x`, r)
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029':
			piece = fmt.Sprintf(`\u{%x}`, r)
		}
		if b.Len()+len(piece) > n {
			break
		}
		b.WriteString(piece)
	}
	return b.String()
}

// leadsNowhere is the message of ClassDNS.
const leadsNowhere = "the host name leads to no address that is permitted"

// hideLookup makes a name that leads to a forbidden address look like one that does not exist: the owner of the
// endpoint must not learn the names inside the operator's network.
func (a *Attempt) hideLookup(t target) {
	if a.Error == ClassBlocked && !t.static() {
		a.fail(ClassDNS, leadsNowhere)
	}
}

// classify maps an error to a class and a fixed sentence. The text of the error is not used because it contains URLs,
// addresses and names that the peer chose.
func classify(err error, parent, ctx context.Context, at phase) (Class, string) {
	var netErr net.Error
	var dnsErr *net.DNSError
	switch {
	case parent.Err() != nil && errors.Is(parent.Err(), context.Canceled):
		return ClassCancelled, "the attempt was cut short"
	case errors.Is(err, errRequest):
		return ClassInvalid, "the request cannot be made from what is stored"
	case errors.Is(err, ErrBlocked):
		return ClassBlocked, "the target leads to an address that is not permitted"
	case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return timeoutClass(at)
	case errors.As(err, &dnsErr):
		return ClassDNS, leadsNowhere
	case errors.Is(err, syscall.ECONNREFUSED):
		return ClassRefused, "the connection was refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH),
		errors.Is(err, syscall.EADDRNOTAVAIL):
		return ClassUnreachable, "there is no way to the address"
	}
	if why := tlsReason(err); why != "" {
		return ClassTLS, why
	}
	for _, e := range []error{syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED, io.EOF, io.ErrUnexpectedEOF,
		net.ErrClosed} {
		if errors.Is(err, e) {
			return ClassReset, "the connection ended " + endedIn[at]
		}
	}
	// The transport has no typed errors for these cases.
	if strings.Contains(err.Error(), "invalid header field") {
		return ClassInvalid, "the request cannot be made from what is stored"
	}
	if strings.Contains(err.Error(), "server closed idle connection") {
		return ClassReset, "the connection ended " + endedIn[at]
	}
	return ClassProtocol, "what came back is not a valid HTTP answer of bounded size"
}

// endedIn says when a connection ended, as the rest of a sentence.
var endedIn = map[phase]string{
	phaseDNS:     "during the look-up",
	phaseConnect: "while connecting",
	phaseTLS:     "during the TLS handshake",
	phaseSend:    "while the request was sent",
	phaseWait:    "before the answer came",
	phaseBody:    "in the middle of the answer",
}

// timeoutClass returns the class and the message of a timeout in a phase.
func timeoutClass(at phase) (Class, string) {
	switch at {
	case phaseDNS:
		return ClassTimeoutDNS, "the look-up of the host name took too long"
	case phaseConnect:
		return ClassTimeoutConnect, "connecting took too long"
	case phaseTLS:
		return ClassTimeoutTLS, "the TLS handshake took too long"
	case phaseSend:
		return ClassTimeoutSend, "the receiver took the request too slowly"
	case phaseBody:
		return ClassTimeoutBody, "the answer began and did not end in time"
	}
	return ClassTimeoutWait, "the answer took too long"
}

// tlsReason describes a failed handshake. It returns "" for other errors.
func tlsReason(err error) string {
	var (
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
		verify  *tls.CertificateVerificationError
		record  tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &unknown):
		return "the certificate is signed by an unknown authority"
	case errors.As(err, &host):
		return "the certificate is for another host name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired or is not valid yet"
	case errors.As(err, &invalid), errors.As(err, &verify):
		return "the certificate is not valid"
	case strings.Contains(err.Error(), "remote error: tls: "): // a TLS alert, whose type is not exported
		return "the receiver refused the TLS handshake"
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "the receiver does not speak TLS on this port"
	case strings.Contains(err.Error(), "tls: "):
		return "the TLS handshake failed"
	}
	return ""
}
