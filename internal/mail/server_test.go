package mail_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pleat/internal/mail"
	"pleat/internal/mail/mailtest"
)

func TestParseServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		plain bool
		want  string // host, port, and what protects it; empty: it is refused
	}{
		{text: "smtp://mail.example.org", want: "mail.example.org:587 starttls"},
		{text: "smtp://mail.example.org:25", want: "mail.example.org:25 starttls"},
		{text: "smtps://u:p@mail.example.org/", want: "mail.example.org:465 tls u p"},
		{text: "smtp://127.0.0.1:25", want: "127.0.0.1:25 plain"},
		{text: "smtp://localhost", want: "localhost:587 plain"},
		{text: "smtp://mail.example.org", plain: true, want: "mail.example.org:587 plain"},
		{text: "smtps://mail.example.org", plain: true, want: "mail.example.org:465 tls"},
		{text: "mail.example.org:25"},
		{text: "http://mail.example.org"},
		{text: "smtp://mail.example.org/path"},
		{text: "smtp://mail.example.org:0"},
		{text: "smtp://mail.example.org?tls=no"},
		{text: "smtp://"},
		{text: "smtp://u:se%zzcret@mail.example.org"},
	} {
		s, err := mail.ParseServer(c.text, c.plain)
		got := ""
		if err == nil {
			got = s.String()
			switch {
			case s.TLS:
				got += " tls"
			case s.Plain:
				got += " plain"
			default:
				got += " starttls"
			}
			got = strings.TrimSpace(got + " " + s.User + " " + s.Password)
		} else if strings.Contains(err.Error(), "cret") {
			t.Errorf("%v shows the password", err)
		}
		if got != c.want {
			t.Errorf("%s: %q, not %q (%v)", c.text, got, c.want, err)
		}
	}
}

// Nothing is said to a server that is not the right one: without STARTTLS, with a certificate that nobody vouches for,
// or with another password.
func TestServerIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		server mailtest.Options
		change func(s *mail.Server, m *mailtest.Server)
		want   string // in the fault; empty: none
	}{
		{"plain", mailtest.Options{}, func(s *mail.Server, _ *mailtest.Server) { s.Plain = true }, ""},
		{"no STARTTLS", mailtest.Options{}, func(*mail.Server, *mailtest.Server) {}, "does not support STARTTLS"},
		{"STARTTLS", mailtest.Options{StartTLS: true, Auth: true}, nil, ""},
		{"TLS", mailtest.Options{TLS: true, Auth: true}, nil, ""},
		{"unknown authority", mailtest.Options{StartTLS: true}, func(*mail.Server, *mailtest.Server) {}, "certificate"},
		{"unknown authority, TLS", mailtest.Options{TLS: true}, func(s *mail.Server, _ *mailtest.Server) { s.TLS = true },
			"certificate"},
		{"password", mailtest.Options{StartTLS: true, Auth: true}, func(s *mail.Server, m *mailtest.Server) {
			s.Roots, s.User, s.Password = m.Roots, mailtest.User, "mail-mistake"
		}, "535"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := mailtest.New(t, c.server)
			s := serverOf(t, m)
			s.Plain = false
			if c.change == nil {
				s.Roots, s.User, s.Password, s.TLS = m.Roots, mailtest.User, mailtest.Password, c.server.TLS
			} else {
				c.change(&s, m)
			}
			err := s.Check(context.Background())
			var f *mail.Fault
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (!errors.As(err, &f) || !f.Server || f.Permanent || !strings.Contains(f.Message, c.want)):
				t.Errorf("%v; want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "mistake") {
				t.Errorf("%v shows the password", err)
			}
		})
	}
}
