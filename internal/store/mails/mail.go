package mails

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

const (
	// maxAsked bounds the mails a day that ask a user to confirm an address.
	maxAsked = 5
	// maxAskedAddress bounds such mails to one address, of all users, so that invited users cannot flood a stranger.
	maxAskedAddress = 10
	// confirmFor is how long the link in such a mail is valid.
	confirmFor = 24 * time.Hour
	// ListedMails is how many of the last mails a user sees.
	ListedMails = 20
)

// Setting is which mails a user wants, and what has become of the last ones. The zero value: none.
type Setting struct {
	Address   string
	Confirmed bool
	// AskedUntil is until when the link is valid in the last mail that asks to confirm the address; zero: there is
	// none.
	AskedUntil time.Time
	Events     []pleat.MailKind
	OffReason  string // why the service sends nothing any more; empty: it does
	Last       []Mail // newest first; SetMail and its like leave them out
}

// Mail is one mail to a user.
type Mail struct {
	ID        pleat.MailID
	Kind      pleat.MailKind
	Source    pleat.Source // zero: the mail is about an endpoint or an address
	Status    pleat.MailStatus
	Attempts  int
	NextAt    time.Time // zero: there is no further attempt
	Reason    string
	CreatedAt time.Time
}

// mailBit is the bit of a kind in mail_setting.events.
func mailBit(k pleat.MailKind) int64 {
	for i, e := range pleat.MailEvents {
		if e == k {
			return 1 << i
		}
	}
	return 0
}

// mailRow is a row of mail_setting.
type mailRow struct {
	address                           string
	confirmed, events, refusals       int64
	off, confirm                      string
	expires, day, sent, confirmations int64
}

// mailColumns are the columns of the row s of mail_setting that mailRow.scanTargets scans.
const mailColumns = `s.address, s.confirmed_at, s.events, s.refusals, s.off_reason, s.confirm_id, s.expires_at, s.day,
	s.sent, s.asked`

func (r *mailRow) scanTargets() []any {
	return []any{
		&r.address, &r.confirmed, &r.events, &r.refusals, &r.off, &r.confirm, &r.expires, &r.day, &r.sent,
		&r.confirmations,
	}
}

// setting returns the setting at a moment, without the last mails.
func (r *mailRow) setting(now int64) Setting {
	m := Setting{Address: r.address, Confirmed: r.confirmed != 0, OffReason: r.off, Events: []pleat.MailKind{}}
	if r.confirm != "" && r.expires > now {
		m.AskedUntil = db.FromMicros(r.expires)
	}
	for _, k := range pleat.MailEvents {
		if r.events&mailBit(k) != 0 {
			m.Events = append(m.Events, k)
		}
	}
	return m
}

// on moves the counters to a day.
func (r *mailRow) on(day int64) {
	if r.day != day {
		r.day, r.sent, r.confirmations = day, 0, 0
	}
}

// MailSetting reads which mails a user wants, and the last ones, at most so many.
func (s *Store) MailSetting(ctx context.Context, user pleat.UserID, last int) (Setting, error) {
	var r mailRow
	err := s.db.ReadRow(ctx, "SELECT "+mailColumns+" FROM mail_setting s WHERE s.account_id = $1", []any{user},
		r.scanTargets()...)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Setting{}, db.Unavailable("read mail setting", err)
	}
	m := r.setting(s.db.Micros())
	rows, err := s.db.Read(ctx, `
		SELECT id, kind, source_kind, source_id, status, attempts, next_at, reason, created_at
		FROM mail
		WHERE account_id = $1
		ORDER BY created_at DESC, id DESC
		LIMIT $2`, user, last)
	m.Last, err = db.ListOf(rows, err, func(scan func(...any) error) (l Mail, err error) {
		var kind pleat.SourceKind
		var id string
		err = scan(&l.ID, &l.Kind, &kind, &id, &l.Status, &l.Attempts, db.ScanTime(&l.NextAt), &l.Reason,
			db.ScanTime(&l.CreatedAt))
		l.Source = pleat.SourceOf(kind, id)
		return l, err
	})
	return m, db.Unavailable("list mails", err)
}

// lockMail locks the mail setting of a user, which it creates.
func lockMail(t *db.Tx, user pleat.UserID, r *mailRow) error {
	if _, err := t.Exec(`
		INSERT INTO mail_setting (account_id, address, confirmed_at, events, refusals, off_reason, confirm_id,
			expires_at, day, sent, asked)
		VALUES ($1, '', 0, 0, 0, '', '', 0, 0, 0, 0)
		ON CONFLICT (account_id) DO NOTHING`, user); err != nil {
		return err
	}
	err := t.Row("SELECT "+mailColumns+" FROM mail_setting s WHERE s.account_id = $1 FOR UPDATE", []any{user},
		r.scanTargets()...)
	r.on(t.Today())
	return err
}

// storeMail stores a locked mail setting.
func storeMail(t *db.Tx, user pleat.UserID, r *mailRow) error {
	_, err := t.Exec(`
		UPDATE mail_setting
		SET address = $1, confirmed_at = $2, events = $3, refusals = $4, off_reason = $5, confirm_id = $6,
			expires_at = $7, day = $8, sent = $9, asked = $10
		WHERE account_id = $11`,
		r.address, r.confirmed, r.events, r.refusals, r.off, r.confirm, r.expires, r.day, r.sent, r.confirmations, user)
	return err
}

// SetMail sets the address of a user and which mails the user wants, and records that there was a change. An address
// that the issuer of the user confirms is confirmed at once; another one gets a mail that asks for that. Mails that
// the service has turned off are on again. CodeForbidden: it is a service user. CodeLimited: too many addresses were
// asked about today.
func (s *Store) SetMail(
	ctx context.Context, by people.Actor, address string, events []pleat.MailKind,
) (m Setting, err error) {
	err = s.db.Write(ctx, "set mail", func(t *db.Tx) error {
		var service string
		if err := t.Row("SELECT kind FROM account WHERE id = $1", []any{by.User}, &service); err != nil {
			return err
		}
		if service == "service" {
			return pleat.Errorf(pleat.CodeForbidden, "A service user gets no mail; set it for a person")
		}
		var r mailRow
		if err := lockMail(t, by.User, &r); err != nil {
			return err
		}
		r.events, r.refusals, r.off = 0, 0, ""
		for _, k := range events {
			r.events |= mailBit(k)
		}
		if address != r.address {
			r.address, r.confirmed, r.confirm = address, 0, ""
			var known int
			if err := t.Row(`
				SELECT count(*) FROM account_identity
				WHERE account_id = $1 AND email = $2 AND email <> '' AND suspended = 0`, []any{by.User, address},
				&known); err != nil {
				return err
			}
			if known == 1 {
				r.confirmed = t.Now
			} else if err := askToConfirm(t, by.User, &r); err != nil {
				return err
			}
		}
		m = r.setting(t.Now)
		if err := storeMail(t, by.User, &r); err != nil {
			return err
		}
		return s.people.RecordAudit(t, by, people.AuditMailSet, "", "")
	})
	return m, err
}

// askToConfirm writes the mail that asks whether the address of a locked mail setting is the user's.
func askToConfirm(t *db.Tx, user pleat.UserID, r *mailRow) error {
	if r.address == "" {
		return nil
	}
	if r.confirmations >= maxAsked {
		return pleat.Errorf(pleat.CodeLimited,
			"%d mails with a link to confirm were sent to you today, the maximum; try again tomorrow (UTC)", maxAsked)
	}
	var count int
	if err := t.Row(`
		INSERT INTO mail_asked (day, address, asked) VALUES ($1, $2, 1)
		ON CONFLICT (day, address) DO UPDATE SET asked = mail_asked.asked + 1
		RETURNING asked`, []any{r.day, mailbox(r.address)}, &count); err != nil {
		return err
	}
	if count > maxAskedAddress {
		return pleat.Errorf(pleat.CodeLimited,
			"%d mails with a link to confirm were sent to this address today, the maximum; try again tomorrow (UTC)",
			maxAskedAddress).At("mail")
	}
	t.Send("DELETE FROM mail_asked WHERE day < $1", r.day)
	r.confirmations++
	r.confirm = string(insertMail(t, user, newMail{kind: pleat.MailConfirm}))
	r.expires = t.Now + confirmFor.Microseconds()
	return t.Wait()
}

// mailbox returns the address by which mails to one mailbox are counted.
func mailbox(address string) string {
	name, domain, _ := strings.Cut(strings.ToLower(address), "@")
	name, _, _ = strings.Cut(name, "+")
	return name + "@" + domain
}

// AskMail sends another mail with a link that confirms the address of a user; the link before is not valid any more.
// CodeConflict: there is nothing to confirm. CodeLimited: there were too many today.
func (s *Store) AskMail(ctx context.Context, by people.Actor) (m Setting, err error) {
	err = s.db.Write(ctx, "ask to confirm", func(t *db.Tx) error {
		var r mailRow
		if err := lockMail(t, by.User, &r); err != nil {
			return err
		}
		switch {
		case r.address == "":
			return pleat.Errorf(pleat.CodeConflict, "You have no address for mails; set one first")
		case r.confirmed != 0:
			return pleat.Errorf(pleat.CodeConflict, "Your address is confirmed already")
		}
		if err := askToConfirm(t, by.User, &r); err != nil {
			return err
		}
		m = r.setting(t.Now)
		return storeMail(t, by.User, &r)
	})
	return m, err
}

// ConfirmMail confirms the address of a user by the link in a mail, once, and records it. CodeNotFound: it is not the
// last mail to this user that asks for it, its time has passed, or it was used before.
func (s *Store) ConfirmMail(ctx context.Context, by people.Actor, id pleat.MailID) (m Setting, err error) {
	err = s.db.Write(ctx, "confirm mail", func(t *db.Tx) error {
		var r mailRow
		if err := lockMail(t, by.User, &r); err != nil {
			return err
		}
		if r.confirm == "" || r.confirm != string(id) || r.expires <= t.Now {
			return ErrNoConfirmation
		}
		r.confirmed, r.confirm, r.refusals, r.off = t.Now, "", 0, ""
		m = r.setting(t.Now)
		if err := storeMail(t, by.User, &r); err != nil {
			return err
		}
		return s.people.RecordAudit(t, by, people.AuditMailConfirmed, "", "")
	})
	return m, err
}

// ErrNoConfirmation refuses a link that confirms nothing.
var ErrNoConfirmation = pleat.Errorf(pleat.CodeNotFound,
	"This link does not confirm an address of yours: it was used, a later mail has replaced it, 24 hours have "+
		"passed, or it was sent to another user; ask for another one under Notifications")

// ForgetMails deletes up to n mails that were written before a moment, whatever has become of them, with their tasks
// and attempts, and returns how many it deleted. A caller repeats it while it returns n.
func (s *Store) ForgetMails(ctx context.Context, before time.Time, n int) (int, error) {
	deleted := 0
	err := s.db.Write(ctx, "forget mails", func(t *db.Tx) error {
		ids, err := db.IDsOf(t.Query("SELECT id FROM mail WHERE created_at < $1 ORDER BY created_at LIMIT $2",
			db.ToMicros(before), n))
		deleted = len(ids)
		for len(ids) > 0 {
			part := db.Pad(ids[:min(len(ids), db.MaxStatementRows)])
			ids = ids[min(len(ids), db.MaxStatementRows):]
			in := " IN (" + db.Params(1, len(part)) + ")"
			t.Send("DELETE FROM attempt WHERE task_id"+in, part...)
			t.Send("DELETE FROM task WHERE id"+in, part...)
			t.Send("DELETE FROM mail WHERE id"+in, part...)
		}
		if err != nil {
			return err
		}
		return t.Wait()
	})
	return deleted, err
}

// EraseUser deletes the address of a user, and the mails.
func EraseUser(t *db.Tx, user pleat.UserID) {
	for _, q := range []string{
		"DELETE FROM attempt WHERE task_id IN (SELECT id FROM mail WHERE account_id = $1)",
		"DELETE FROM task WHERE id IN (SELECT id FROM mail WHERE account_id = $1)",
		"DELETE FROM mail WHERE account_id = $1",
		"DELETE FROM mail_setting WHERE account_id = $1",
	} {
		t.Send(q, user)
	}
}
