// Package mailtest is an SMTP server for tests, which keeps the mails that it accepts and can refuse them.
package mailtest

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"mime"
	"net"
	"net/http/httptest"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// User and Password are those of a server that wants them.
const User, Password = "pleat", "mail-secret"

// Mail is a mail that a server has accepted.
type Mail struct {
	From, To string // of the envelope
	Header   mail.Header
	Subject  string // decoded
	Body     string // decoded
	Raw      string
}

// Options of a Server.
type Options struct {
	TLS      bool // from the first byte
	StartTLS bool
	Auth     bool // User and Password are wanted
	// Answer, if set, is called at the steps connect, mail, rcpt and data, and its error is the answer: a
	// *smtp.SMTPError, or another one, which closes the connection. It may block.
	Answer func(step string) error
}

// Server is an SMTP server on 127.0.0.1.
type Server struct {
	Addr  string
	Roots *x509.CertPool // trust its certificate, which is for 127.0.0.1
	PEM   []byte         // of the certificate

	opt   Options
	mu    sync.Mutex
	mails []Mail
	steps []string
	open  int // connections
	most  int // of them at once
}

// New starts a server, which runs until its test ends.
func New(t testing.TB, opt Options) *Server {
	t.Helper()
	s, stop, err := Start(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return s
}

// Start starts a server, which runs until stop is called.
func Start(opt Options) (_ *Server, stop func(), err error) {
	web := httptest.NewUnstartedServer(nil) // for its certificate
	web.StartTLS()
	defer web.Close()
	s := &Server{opt: opt, Roots: x509.NewCertPool(), PEM: certificate(web)}
	s.Roots.AddCert(web.Certificate())
	config := &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	s.Addr = l.Addr().String()
	if opt.TLS {
		l = tls.NewListener(l, config)
	}
	server := smtp.NewServer(smtp.BackendFunc(s.session))
	server.Domain, server.MaxRecipients, server.MaxMessageBytes = "mail.test", 1, 1<<20
	server.AllowInsecureAuth = true
	server.ErrorLog = log.New(io.Discard, "", 0)
	if opt.StartTLS {
		server.TLSConfig = config
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // ends with the close below
	}()
	return s, func() {
		_ = server.Close()
		<-ended
	}, nil
}

// Mails returns the mails that were accepted.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}

// Steps returns the steps of all connections, in their order.
func (s *Server) Steps() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.steps)
}

// MostOpen returns how many connections were open at once.
func (s *Server) MostOpen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// answer records a step and returns the answer to it.
func (s *Server) answer(c *smtp.Conn, step string) error {
	s.mu.Lock()
	s.steps = append(s.steps, step)
	s.mu.Unlock()
	if s.opt.Answer == nil {
		return nil
	}
	err := s.opt.Answer(step)
	var answer *smtp.SMTPError
	if err != nil && !errors.As(err, &answer) {
		_ = c.Conn().Close()
	}
	return err
}

func (s *Server) session(c *smtp.Conn) (smtp.Session, error) {
	s.mu.Lock()
	s.open++
	s.most = max(s.most, s.open)
	s.mu.Unlock()
	if err := s.answer(c, "connect"); err != nil {
		s.countClosed()
		return nil, err
	}
	return &session{server: s, conn: c, known: !s.opt.Auth}, nil
}

func (s *Server) countClosed() {
	s.mu.Lock()
	s.open--
	s.mu.Unlock()
}

// session is one connection.
type session struct {
	server   *Server
	conn     *smtp.Conn
	known    bool
	from, to string
}

func (s *session) AuthMechanisms() []string {
	if !s.server.opt.Auth {
		return nil
	}
	return []string{sasl.Plain}
}

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != User || password != Password {
			return smtp.ErrAuthFailed
		}
		s.known = true
		return nil
	}), nil
}

func (s *session) Reset() {}

func (s *session) Logout() error {
	s.server.countClosed()
	return nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if !s.known {
		return smtp.ErrAuthRequired
	}
	s.from = from
	return s.server.answer(s.conn, "mail")
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	return s.server.answer(s.conn, "rcpt")
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := s.server.answer(s.conn, "data"); err != nil {
		return err
	}
	m := Mail{From: s.from, To: s.to, Raw: string(raw)}
	parsed, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	m.Header = parsed.Header
	if m.Subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		return err
	}
	body, err := readBody(parsed)
	if err != nil {
		return err
	}
	m.Body = strings.ReplaceAll(body, "\r\n", "\n")
	s.server.mu.Lock()
	s.server.mails = append(s.server.mails, m)
	s.server.mu.Unlock()
	return nil
}
