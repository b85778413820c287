package app

import (
	"fmt"
	"os"
	"strings"
	"time"

	"pleat/internal/config"
	"pleat/internal/mail"
)

// MailServer returns the server that a configuration names, which must name one, with the password and who sends.
func MailServer(c config.Config) (mail.Server, error) {
	s, err := mail.ParseServer(c.MailURL, c.MailPlain)
	if err != nil {
		return s, c.Errorf("mail-url", "%w", err)
	}
	if s.From, err = mail.ParseFrom(c.MailFrom); err != nil {
		return s, c.Errorf("mail-from", "%w", err)
	}
	if c.MailPassword != "" {
		s.Password = c.MailPassword
	}
	if c.MailPasswordFile != "" {
		text, err := os.ReadFile(c.MailPasswordFile)
		if err != nil {
			return s, UsageError{fmt.Errorf("read the password of mail-password-file: %w", err)}
		}
		if s.Password = strings.TrimSpace(string(text)); s.Password == "" {
			return s, UsageError{fmt.Errorf("the file %s of mail-password-file is empty", c.MailPasswordFile)}
		}
	}
	if c.MailCA != "" {
		s.Roots, err = withAuthorities(c, "mail-ca", c.MailCA)
	}
	return s, err
}

// newMailer makes this process send mails; nil: the service sends none.
func (a *App) newMailer(public string) (*mail.Pool, error) {
	if a.cfg.MailURL == "" {
		return nil, nil //nolint:nilnil // no mail server is a configuration like another
	}
	server, err := MailServer(a.cfg)
	if err != nil {
		return nil, err
	}
	id, err := a.node()
	if err != nil {
		return nil, err
	}
	return mail.New(mail.Config{
		ID:     id + "/mail",
		DB:     a.Store.DB,
		Mails:  a.Store.Mails,
		Runs:   a.Store.Runs,
		Server: server,
		Base:   strings.TrimRight(public, "/"),
		Clock:  time.Now,
		Log:    a.log,
	}, a.ring), nil
}
