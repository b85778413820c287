package server

import (
	"context"
	"slices"

	"pleat"
	"pleat/api"
	"pleat/internal/server/wire"
	"pleat/internal/store/mails"
)

// notifications is GET /v1/me/notifications, for any user: which mails the caller gets. 403: see ofAllProjects; a
// program with such a key need not know the person's address and what happens elsewhere.
func (s *Server) notifications(ctx context.Context, c *call) (api.Notifications, error) {
	if err := s.ofAllProjects(ctx, c); err != nil {
		return api.Notifications{}, err
	}
	m, err := s.store.Mails.MailSetting(ctx, c.who.User, mails.ListedMails)
	return s.notified(&m), err
}

// notified converts a setting with the last mails.
func (s *Server) notified(m *mails.Setting) api.Notifications {
	out := wire.Notifications(m)
	out.Available = s.cfg.Mails
	return out
}

// ofAllProjects refuses a key that reaches one project alone, since mails come from all of a person's projects, unless
// the person has nothing else to come with: such a key is what an invitation gives.
func (s *Server) ofAllProjects(ctx context.Context, c *call) error {
	if c.who.Project == "" {
		return nil
	}
	more, err := s.store.People.ReachesMore(ctx, c.who.User, c.who.Project)
	if err == nil && more {
		err = pleat.Errorf(pleat.CodeForbidden, "This key reaches one project alone, and mails come from all of "+
			"yours: sign in, or use your key that reaches all projects")
	}
	return err
}

// mayNotify refuses changes where the service sends no mail, and those of ofAllProjects.
func (s *Server) mayNotify(ctx context.Context, c *call) error {
	if !s.cfg.Mails {
		return pleat.Errorf(pleat.CodeConflict, "This service sends no mails; its operator can set mail-url")
	}
	return s.ofAllProjects(ctx, c)
}

// changed returns the settings after a change, with the last mails.
func (s *Server) changed(ctx context.Context, c *call, err error) (api.Notifications, error) {
	if err != nil {
		return api.Notifications{}, err
	}
	return s.notifications(ctx, c)
}

// setNotifications is PUT /v1/me/notifications, for persons. 403: it is a service user; 409: the service sends no mail;
// 429: the caller has named too many addresses today.
func (s *Server) setNotifications(
	ctx context.Context, c *call, in *api.SetNotifications,
) (api.Notifications, error) {
	if err := s.mayNotify(ctx, c); err != nil {
		return api.Notifications{}, err
	}
	address := ""
	if in.Mail != nil {
		address = *in.Mail
		if err := pleat.CheckMailAddress("mail", address); err != nil {
			return api.Notifications{}, err
		}
	}
	var events []pleat.MailKind
	for _, e := range in.Events {
		if !slices.Contains(pleat.MailEvents, pleat.MailKind(e)) {
			return api.Notifications{}, pleat.InvalidField("events", " has %q; there are run_completed, run_failed, "+
				"batch_ended and endpoint_disabled", pleat.Clip(e))
		}
		events = append(events, pleat.MailKind(e))
	}
	_, err := s.store.Mails.SetMail(ctx, c.actor(), address, events)
	return s.changed(ctx, c, err)
}

// askNotifications is POST /v1/me/notifications/link, for persons: another mail with a link to confirm the address.
// 409: there is none to confirm, or the service sends no mail; 429: there were too many today.
func (s *Server) askNotifications(ctx context.Context, c *call) (api.Notifications, error) {
	err := s.mayNotify(ctx, c)
	if err == nil {
		_, err = s.store.Mails.AskMail(ctx, c.actor())
	}
	return s.changed(ctx, c, err)
}

// confirmNotifications is POST /v1/me/notifications/confirm, for the person whose address it is. 404: the token does
// not confirm an address of the caller now.
func (s *Server) confirmNotifications(ctx context.Context, c *call, in *api.ConfirmMail) (api.Notifications, error) {
	if err := s.mayNotify(ctx, c); err != nil {
		return api.Notifications{}, err
	}
	id, ok := s.ring.OpenMailToken(in.Token)
	if !ok {
		return api.Notifications{}, mails.ErrNoConfirmation
	}
	_, err := s.store.Mails.ConfirmMail(ctx, c.actor(), id)
	return s.changed(ctx, c, err)
}
