package people

import (
	"context"
	"slices"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/mails"
)

// notifications is GET /v1/me/notifications, for any user: which mails the caller gets. 403: see ofAllProjects; a
// program with such a key need not know the person's address and what happens elsewhere.
func (h *Handlers) notifications(ctx context.Context, c *route.Call) (api.Notifications, error) {
	if err := h.ofAllProjects(ctx, c); err != nil {
		return api.Notifications{}, err
	}
	m, err := h.Mails.MailSetting(ctx, c.Who.User, mails.ListedMails)
	return h.notified(&m), err
}

// notified converts a setting with the last mails.
func (h *Handlers) notified(m *mails.Setting) api.Notifications {
	out := wire.Notifications(m)
	out.Available = h.SendsMail
	return out
}

// ofAllProjects refuses a key that reaches one project alone, since mails come from all of a person's projects, unless
// the person has nothing else to come with: such a key is what an invitation gives.
func (h *Handlers) ofAllProjects(ctx context.Context, c *route.Call) error {
	if c.Who.Project == "" {
		return nil
	}
	more, err := h.People.ReachesMore(ctx, c.Who.User, c.Who.Project)
	if err == nil && more {
		err = pleat.Errorf(pleat.CodeForbidden, "This key reaches one project alone, and mails come from all of "+
			"yours: sign in, or use your key that reaches all projects")
	}
	return err
}

// mayNotify refuses changes where the service sends no mail, and those of ofAllProjects.
func (h *Handlers) mayNotify(ctx context.Context, c *route.Call) error {
	if !h.SendsMail {
		return pleat.Errorf(pleat.CodeConflict, "This service sends no mails; its operator can set mail-url")
	}
	return h.ofAllProjects(ctx, c)
}

// changed returns the settings after a change, with the last mails.
func (h *Handlers) changed(ctx context.Context, c *route.Call, err error) (api.Notifications, error) {
	if err != nil {
		return api.Notifications{}, err
	}
	return h.notifications(ctx, c)
}

// setNotifications is PUT /v1/me/notifications, for persons. 403: it is a service user; 409: the service sends no mail;
// 429: the caller has named too many addresses today.
func (h *Handlers) setNotifications(
	ctx context.Context, c *route.Call, in *api.SetNotifications,
) (api.Notifications, error) {
	if err := h.mayNotify(ctx, c); err != nil {
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
	_, err := h.Mails.SetMail(ctx, c.Actor(), address, events)
	return h.changed(ctx, c, err)
}

// askNotifications is POST /v1/me/notifications/link, for persons: another mail with a link to confirm the address.
// 409: there is none to confirm, or the service sends no mail; 429: there were too many today.
func (h *Handlers) askNotifications(ctx context.Context, c *route.Call) (api.Notifications, error) {
	err := h.mayNotify(ctx, c)
	if err == nil {
		_, err = h.Mails.AskMail(ctx, c.Actor())
	}
	return h.changed(ctx, c, err)
}

// confirmNotifications is POST /v1/me/notifications/confirm, for the person whose address it is. 404: the token does
// not confirm an address of the caller now.
func (h *Handlers) confirmNotifications(
	ctx context.Context, c *route.Call, in *api.ConfirmMail,
) (api.Notifications, error) {
	if err := h.mayNotify(ctx, c); err != nil {
		return api.Notifications{}, err
	}
	id, ok := h.Ring.OpenMailToken(in.Token)
	if !ok {
		return api.Notifications{}, mails.ErrNoConfirmation
	}
	_, err := h.Mails.ConfirmMail(ctx, c.Actor(), id)
	return h.changed(ctx, c, err)
}
