package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/mails"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/webhooks"
)

// mailbox is a user of a test who gets mails.
type mailbox struct {
	t *testing.T
	s *store.Store
	people.Reach
}

// newMailbox creates a user with a confirmed address who wants mails of some kinds.
func newMailbox(t *testing.T, s *store.Store, name string, events ...pleat.MailKind) mailbox {
	t.Helper()
	b := mailbox{t, s, storetest.User(t, s, name)}
	b.set(name+"@lab.test", events...)
	if _, err := s.Mails.ConfirmMail(context.Background(), people.Actor{Reach: b.Reach}, b.last(1)[0].ID); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b mailbox) set(address string, events ...pleat.MailKind) mails.Setting {
	b.t.Helper()
	m, err := b.s.Mails.SetMail(context.Background(), people.Actor{Reach: b.Reach}, address, events)
	if err != nil {
		b.t.Fatal(err)
	}
	return m
}

// last lists the last mails, of which there must be n.
func (b mailbox) last(n int) []mails.Mail {
	b.t.Helper()
	m, err := b.s.Mails.MailSetting(context.Background(), b.User, 1000)
	if err != nil || len(m.Last) != n {
		b.t.Fatalf("%d mails, want %d: %+v %v", len(m.Last), n, m.Last, err)
	}
	return m.Last
}

// next claims the next mail to be sent; nil: there is none.
func next(t *testing.T, s *store.Store) *mails.OutgoingMail {
	t.Helper()
	m, err := s.Mails.NextMail(context.Background(), "mailer")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func finishMail(t *testing.T, s *store.Store, m *mails.OutgoingMail, o mails.Outcome) {
	t.Helper()
	if err := s.Mails.FinishMail(context.Background(), m, o); err != nil {
		t.Fatal(err)
	}
}

// fold completes a fold of a user.
func (b mailbox) fold(in people.Reach) runs.Created {
	b.t.Helper()
	n := storetest.NewFold(in, "mailed")
	return storetest.CompleteFold(b.t, b.s, n)
}

// A run tells who has created it, if that person wants it; a batch tells once.
func TestMailsAreWritten(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		ada := newMailbox(t, s, "ada", pleat.MailRunCompleted, pleat.MailBatchEnded)
		quiet := newMailbox(t, s, "bob", pleat.MailRunFailed)
		if m := next(t, s); m != nil {
			t.Errorf("an address that is confirmed is asked: %+v", m)
		}
		c := ada.fold(ada.Reach)
		quiet.fold(quiet.Reach)
		quiet.last(1)
		m := next(t, s)
		if m == nil || m.User != ada.User || m.Address != "ada@lab.test" || m.Source.Job != c.Job ||
			m.Name != "mailed" || m.Project != "" || m.Run.Model != "null" ||
			m.Run.State != pleat.StateCompleted || m.Run.Result == nil ||
			m.Kind != pleat.MailRunCompleted || m.Workflow != "" {
			t.Fatalf("%+v", m)
		}
		finishMail(t, s, m, mails.Outcome{OK: true})
		if err := s.Mails.FinishMail(ctx, m, mails.Outcome{OK: true}); err == nil {
			t.Error("a mail ends twice")
		}
		const rows = 20
		created := createBatch(t, s, newBatch(ada.Reach, "many", texts(rows)...))
		advance(t, s)
		for range rows {
			finishScored(t, s, storetest.Claim(t, s, "w", storetest.FoldQueue), 80)
		}
		ada.last(2)
		advance(t, s)
		m = next(t, s)
		if m == nil || m.Batch == nil || m.Source.Batch != created.Batch || m.Name != "many" ||
			m.Batch.Counts[pleat.StateCompleted] != rows || m.Batch.State() != pleat.StateCompleted {
			t.Fatalf("%+v", m)
		}
		if again := next(t, s); again != nil {
			t.Errorf("a further mail: %+v", again)
		}
		// One that fails for now is tried again with the next lease.
		finishMail(t, s, m, mails.Outcome{NextAt: s.DB.Now().Add(time.Millisecond), Reason: "later"})
		if l := ada.last(3)[0]; l.Status != pleat.MailPending || l.Attempts != 1 || l.Reason != "later" {
			t.Errorf("%+v", l)
		}
	})
}

// Mails are for who may see what they are about when they are sent.
func TestMailsAreSkipped(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		ada := newMailbox(t, s, "ada", pleat.MailRunCompleted)
		bob := newMailbox(t, s, "bob", pleat.MailRunCompleted, pleat.MailRunFailed)
		operator := people.Actor{Database: true}
		p, err := s.People.CreateProject(ctx, operator, "Lab", "ada")
		if err != nil {
			t.Fatal(err)
		}
		in := people.Reach{User: bob.User, Project: p.ID}
		manager := people.Actor{Reach: people.Reach{User: ada.User, Project: p.ID}}
		member := func(role pleat.Role) {
			t.Helper()
			if _, err := s.People.SetMember(ctx, manager, "bob", role); err != nil {
				t.Fatal(err)
			}
		}
		skipped := func(n int, why string) {
			t.Helper()
			if m := next(t, s); m != nil {
				t.Errorf("%s: %+v is sent", why, m)
			}
			if l := bob.last(n)[0]; l.Status != pleat.MailSkipped || !strings.Contains(l.Reason, why) {
				t.Errorf("%s: %+v", why, l)
			}
		}
		member(pleat.Member)
		bob.fold(in)
		m := next(t, s)
		if m == nil || m.Project != "Lab" {
			t.Fatalf("%+v", m)
		}
		finishMail(t, s, m, mails.Outcome{OK: true})
		bob.fold(in)
		member(pleat.NoRole)
		skipped(3, "no role")
		c := bob.fold(bob.Reach)
		if err := s.Ops.DeleteJob(ctx, bob.Reach, c.Job); err != nil {
			t.Fatal(err)
		}
		skipped(4, "deleted")
		bob.fold(bob.Reach)
		bob.set("bob@lab.test", pleat.MailRunFailed)
		skipped(5, "turned off")
		bob.set("bob@lab.test", pleat.MailRunCompleted)
		bob.fold(bob.Reach)
		bob.set("other@lab.test", pleat.MailRunCompleted)
		if m := next(t, s); m == nil || m.Kind != pleat.MailConfirm || m.Address != "other@lab.test" {
			t.Errorf("%+v", m)
		}
		if _, err := s.Mails.ConfirmMail(ctx, people.Actor{Reach: bob.Reach}, bob.last(7)[0].ID); err != nil {
			t.Fatal(err)
		}
		bob.fold(bob.Reach)
		clock.Advance(5 * 24 * time.Hour)
		skipped(8, "in time")
		bob.fold(bob.Reach)
		if _, err := s.People.SetDisabled(ctx, operator, "bob", true); err != nil {
			t.Fatal(err)
		}
		skipped(9, "disabled")
		if _, err := s.People.SetDisabled(ctx, operator, "bob", false); err != nil {
			t.Fatal(err)
		}
		bob.set("third@lab.test", pleat.MailRunCompleted)
		m = next(t, s)
		finishMail(t, s, m, mails.Outcome{Aborted: true})
		if l := bob.last(10)[0]; l.Attempts != 0 || l.NextAt.IsZero() {
			t.Errorf("a mail that a process gave back: %+v", l)
		}
		clock.Advance(25 * time.Hour)
		skipped(10, "expired")
	})
}

// On a day a user gets so many mails, of which the last says so; the next day there are more.
func TestMailsOfADay(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		clock.Stop()
		clock.Advance(s.DB.Now().Truncate(24 * time.Hour).Add(25 * time.Hour).Sub(s.DB.Now()))
		ada := newMailbox(t, s, "ada", pleat.MailRunCompleted)
		for range mails.MailsPerDay + mails.ListedMails + 10 {
			ada.fold(ada.Reach)
		}
		ada.last(mails.MailsPerDay + mails.ListedMails) // with the one that has asked
		sent := 0
		for m := next(t, s); m != nil; m = next(t, s) {
			sent++
			if m.Last != (sent == mails.MailsPerDay) {
				t.Fatalf("mail %d: last is %v", sent, m.Last)
			}
			o := mails.Outcome{OK: sent > 1}
			if sent == 1 { // what was not sent does not count
				finishMail(t, s, m, mails.Outcome{Reason: "no"})
				sent--
				m = next(t, s)
				sent++
				o.OK = true
			}
			finishMail(t, s, m, o)
		}
		if sent != mails.MailsPerDay {
			t.Errorf("%d were sent", sent)
		}
		if l := ada.last(mails.MailsPerDay + mails.ListedMails)[0]; l.Status != pleat.MailSkipped ||
			!strings.Contains(l.Reason, "100 mails") {
			t.Errorf("%+v", l)
		}
		clock.Advance(24 * time.Hour)
		ada.fold(ada.Reach)
		if m := next(t, s); m == nil || m.Last {
			t.Errorf("the next day: %+v", m)
		}
		if n, err := s.Mails.ForgetMails(context.Background(), s.DB.Now().Add(-time.Hour), 1000); err != nil ||
			n != mails.MailsPerDay+mails.ListedMails {
			t.Errorf("%d, %v", n, err)
		}
		ada.last(1)
		// The attempts of mails that are gone are gone too.
		if got := storetest.Query(t, s, "SELECT count(*) FROM attempt WHERE run_id IS NULL"); got[0][0] != "1" {
			t.Errorf("attempts: %v", got)
		}
	})
}

// An address is confirmed at once only if the issuer vouches for exactly it.
func TestVouchedAddress(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		c := claimsOf(s, "s1", "ada")
		c.Email = "ada@lab.test"
		b := mailbox{t, s, people.Own(accountFor(t, s, c))}
		if m := b.set("ada@lab.test"); !m.Confirmed || !m.AskedUntil.IsZero() {
			t.Errorf("%+v", m)
		}
		b.last(0)
		if m := b.set("Ada@lab.test"); m.Confirmed || m.AskedUntil.IsZero() {
			t.Errorf("%+v", m)
		}
		other := mailbox{t, s, storetest.User(t, s, "bob")}
		if m := other.set("ada@lab.test"); m.Confirmed {
			t.Errorf("%+v", m)
		}
	})
}

// An endpoint that the service disables is told to the managers who want it, once, and not more than twenty a day.
func TestMailsAboutEndpoints(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		ada := newMailbox(t, s, "ada", pleat.MailEndpointDisabled)
		bob := newMailbox(t, s, "bob", pleat.MailEndpointDisabled)
		eve := newMailbox(t, s, "eve")
		p, err := s.People.CreateProject(ctx, people.Actor{Database: true}, "Lab", "ada")
		if err != nil {
			t.Fatal(err)
		}
		in := people.Reach{User: ada.User, Project: p.ID}
		for name, role := range map[string]pleat.Role{"bob": pleat.Member, "eve": pleat.Manager} {
			if _, err := s.People.SetMember(ctx, people.Actor{Reach: in}, name, role); err != nil {
				t.Fatal(err)
			}
		}
		yes := true
		e, err := s.Webhooks.PutEndpoint(ctx, people.Actor{Reach: in}, webhooks.EndpointSettings{
			Address: new(storetest.Receiver("https://receiver.example.org/secret-path")),
			Token:   new("t"), Secret: "s", EnabledByDefault: &yes,
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			n := storetest.NewFold(in, fmt.Sprint("told ", i))
			n.Subs = []pleat.Subscription{{
				Destination: pleat.DestCustom, Alias: "custom_http", TargetType: "custom_http", Endpoint: e.ID,
			}}
			storetest.CompleteFold(t, s, n)
		}
		disable := func() {
			t.Helper()
			claims, err := s.Webhooks.ClaimDeliveries(ctx, "c", "", 8, limitN(8))
			if err != nil || len(claims.List) == 0 {
				t.Fatal(len(claims.List), err)
			}
			for _, d := range claims.List {
				list := []webhooks.DeliveryOutcome{{Claimed: d, Status: 410, Reason: "gone"}}
				if err := s.Webhooks.FinishDeliveries(ctx, "c", list,
					func(webhooks.Endpoint, []webhooks.DeliveryOutcome, time.Time) webhooks.EndpointUpdate {
						return webhooks.EndpointUpdate{Disable: "it answered 410"}
					}); err != nil {
					t.Fatal(err)
				}
			}
		}
		disable()
		bob.last(1)
		eve.last(1)
		ada.last(2)
		m := next(t, s)
		if m == nil || m.User != ada.User || m.Endpoint != "https://receiver.example.org:443" ||
			m.Reason != "it answered 410" || m.Project != "Lab" {
			t.Fatalf("%+v", m)
		}
		finishMail(t, s, m, mails.Outcome{OK: true})
		clock.Stop()
		for range 30 {
			if _, err := s.Webhooks.SwitchEndpoint(
				ctx, people.Actor{Reach: in}, webhooks.Default, webhooks.EndpointResume,
			); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Webhooks.PingEndpoint(ctx, people.Actor{Reach: in}, webhooks.Default); err != nil {
				t.Fatal(err)
			}
			clock.Advance(time.Second)
			disable()
		}
		ada.last(1 + 20) // and the one that has asked
	})
}

// A user who is deleted leaves neither an address nor mails.
func TestErasedMail(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ada := newMailbox(t, s, "ada", pleat.MailRunCompleted)
		ada.fold(ada.Reach)
		if _, err := s.Ops.EraseUser(context.Background(), people.Actor{Database: true}, "ada"); err != nil {
			t.Fatal(err)
		}
		if n := storetest.Count(t, s, "mail") + storetest.Count(t, s, "mail_setting"); n != 0 {
			t.Errorf("%d rows stay", n)
		}
		if m := next(t, s); m != nil {
			t.Errorf("%+v", m)
		}
		if n := storetest.Query(t, s, "SELECT count(*) FROM task WHERE kind = 'mail'"); n[0][0] != "0" {
			t.Errorf("tasks: %v", n)
		}
	})
}

// Several users together cannot have an address flooded with links to confirm it.
func TestAddressIsNotFlooded(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ask := func(user, address string) error {
			u := storetest.User(t, s, user)
			_, err := s.Mails.SetMail(context.Background(), people.Actor{Reach: u}, address, nil)
			return err
		}
		for i := range 10 {
			if err := ask(fmt.Sprint("user-", i), fmt.Sprintf("Victim+%d@lab.test", i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := ask("another", "victim@Lab.test"); pleat.CodeOf(err) != pleat.CodeLimited {
			t.Errorf("an eleventh link: %v", err)
		}
		if err := ask("another", "own@lab.test"); err != nil {
			t.Error(err)
		}
		clock.Advance(24 * time.Hour)
		if err := ask("another", "victim@lab.test"); err != nil {
			t.Errorf("a day later: %v", err)
		}
		if n := storetest.Count(t, s, "mail_asked"); n != 1 {
			t.Errorf("%d addresses are counted, want those of the day", n)
		}
	})
}
