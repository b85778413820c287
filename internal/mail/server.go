package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// Server is an SMTP server that accepts mails for others, and who sends there.
type Server struct {
	Host     string
	Port     int
	TLS      bool // from the first byte; else by STARTTLS, without which nothing is sent
	Plain    bool // neither: nothing is encrypted
	User     string
	Password string
	From     mail.Address
	Roots    *x509.CertPool // nil: those of the system
	Timeout  time.Duration  // of a mail, from the connection to the answer; 0: 30 s
}

// ParseServer reads the address of a server: smtp://HOST:587, smtps://HOST:465, with USER:PASSWORD@ before the host or
// without. Plain allows smtp:// without TLS, which on this machine needs no permission. The text of an error continues
// a sentence that begins with the setting, and shows no secret.
func ParseServer(text string, plain bool) (Server, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" || u.Path != "" && u.Path != "/" ||
		u.RawQuery != "" || u.Fragment != "" {
		return Server{}, errors.New("must be smtp://HOST:587 or smtps://HOST:465, with USER:PASSWORD@ before " +
			"the host where the server wants them")
	}
	s := Server{Host: u.Hostname(), Port: 587, TLS: u.Scheme == "smtps", User: u.User.Username()}
	s.Password, _ = u.User.Password()
	if s.TLS {
		s.Port = 465
	}
	if text := u.Port(); text != "" {
		if s.Port, err = strconv.Atoi(text); err != nil || s.Port < 1 || s.Port > 65535 {
			return Server{}, errors.New("has a port that is not from 1 to 65535")
		}
	}
	s.Plain = !s.TLS && (plain || isLoopback(s.Host))
	return s, nil
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// ParseFrom reads the address from which mails come, with a name or without.
func ParseFrom(text string) (mail.Address, error) {
	a, err := mail.ParseAddress(text)
	if err != nil || strings.ContainsFunc(a.Address, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return mail.Address{}, errors.New("must be an address such as pleat@example.org, " +
			"or Pleat <pleat@example.org>")
	}
	return *a, nil
}

// String names the server without secrets.
func (s *Server) String() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

// Fault is why a mail was not sent. Its text shows no secret.
type Fault struct {
	// Server is set if the server was not reached, or refused the connection or who sends: it is no fault of this mail.
	Server bool
	// Permanent is set if the server refuses the mail for good, and Address if it refuses where it goes.
	Permanent, Address bool
	Message            string
}

func (f *Fault) Error() string { return f.Message }

// connect opens a connection and identifies who sends. The connection closes at the end of ctx; the
// caller calls done. The error is a *Fault.
func (s *Server) connect(ctx context.Context) (c *gomail.Client, done func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	config := &tls.Config{ServerName: s.Host, RootCAs: s.Roots, MinVersion: tls.VersionTLS12}
	ended := func() bool { return true }
	dial := func(dialing context.Context, network, address string) (net.Conn, error) {
		var c net.Conn
		var err error
		if s.TLS {
			c, err = (&tls.Dialer{Config: config}).DialContext(dialing, network, address)
		} else {
			c, err = (&net.Dialer{}).DialContext(dialing, network, address)
		}
		if err == nil {
			ended = context.AfterFunc(ctx, func() { _ = c.Close() })
		}
		return c, err
	}
	options := []gomail.Option{
		gomail.WithPort(s.Port), gomail.WithTimeout(2 * s.timeout()), gomail.WithDialContextFunc(dial),
		gomail.WithTLSConfig(config), gomail.WithoutNoop(), gomail.WithoutSMTPUTF8(), gomail.WithTLSPolicy(s.policy()),
	}
	if s.TLS {
		options = append(options, gomail.WithSSL())
	}
	if s.User != "" {
		options = append(options, gomail.WithUsername(s.User), gomail.WithPassword(s.Password),
			gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin))
	}
	if c, err = gomail.NewClient(s.Host, options...); err == nil {
		err = c.DialWithContext(ctx)
	}
	if err != nil {
		err = s.fault(ctx, err, true)
	}
	return c, func() { ended(); cancel() }, err
}

// policy is whether STARTTLS is required: this machine needs no TLS, and others none that are allowed to do without.
func (s *Server) policy() gomail.TLSPolicy {
	if s.Plain {
		return gomail.NoTLS
	}
	return gomail.TLSMandatory
}

// timeout is that of a mail.
func (s *Server) timeout() time.Duration { return cmp.Or(s.Timeout, 30*time.Second) }

// Check connects, identifies who sends and says goodbye, as before a mail. The error is a *Fault.
func (s *Server) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout())
	defer cancel()
	c, done, err := s.connect(ctx)
	defer done()
	if err == nil {
		_ = c.Close()
	}
	return err
}

// Send sends one mail over a connection of its own. The error is a *Fault.
func (s *Server) Send(ctx context.Context, m *gomail.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout())
	defer cancel()
	c, done, err := s.connect(ctx)
	defer done()
	if err != nil {
		return err
	}
	err = c.Send(m)
	_ = c.Close()
	if err == nil || m.IsDelivered() { // what the server says after it has accepted the mail does not matter
		return nil
	}
	return s.fault(ctx, err, false)
}

// fault tells what an error means. Before a mail was offered, every fault is the server's.
func (s *Server) fault(ctx context.Context, err error, before bool) error {
	f := &Fault{Server: before}
	var reply *textproto.Error
	var send *gomail.SendError
	switch {
	case errors.As(err, &send) && send.ErrorCode() != 0:
		f.Message = fmt.Sprintf("%s refused the mail with %d", s, send.ErrorCode())
		f.Server = send.Reason == gomail.ErrSMTPMailFrom
		f.Permanent = send.ErrorCode() >= 500 && !f.Server
		f.Address = f.Permanent && send.Reason == gomail.ErrSMTPRcptTo
		switch {
		case f.Server: // every mail would fail until an operator mends it
			f.Message = fmt.Sprintf("%s refused the sender %s with %d", s, s.From.Address, send.ErrorCode())
		case f.Address:
			f.Message = fmt.Sprintf("%s refused the address with %d", s, send.ErrorCode())
		}
	case errors.As(err, &reply):
		f.Message = fmt.Sprintf("%s answered %d before a mail was offered", s, reply.Code)
	case errors.Is(ctx.Err(), context.DeadlineExceeded), isTimeout(err):
		f.Server, f.Message = true, fmt.Sprintf("%s did not answer in time", s)
	case before:
		f.Message = fmt.Sprintf("%s cannot be used: %v", s, cause(err))
	default:
		f.Server, f.Message = true, fmt.Sprintf("the connection to %s broke", s)
	}
	return f
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// cause is the innermost error that says enough: that of the network, without addresses that it repeats.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err
	}
	return err
}
