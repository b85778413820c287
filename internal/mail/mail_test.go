package mail_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	netmail "net/mail"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"pleat"
	"pleat/internal/mail"
	"pleat/internal/mail/mailtest"
	"pleat/internal/seal"
	"pleat/internal/store"
	"pleat/internal/store/mails"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
)

const base = "https://fold.example.org"

// fixture is a store whose mails a test causes and sends.
type fixture struct {
	t     *testing.T
	s     *store.Store
	clock *storetest.Clock
	ring  *seal.Ring
	user  people.Reach
}

func onEachStore(t *testing.T, fn func(t *testing.T, f *fixture)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ring, err := seal.Parse(strings.Repeat("ab", 32))
		if err != nil {
			t.Fatal(err)
		}
		f := &fixture{t: t, s: s, clock: clock, ring: ring}
		f.user = storetest.User(t, s, "ada")
		fn(t, f)
	})
}

// serverOf returns how a test's server is reached without TLS.
func serverOf(t *testing.T, s *mailtest.Server) mail.Server {
	t.Helper()
	host, text, err := net.SplitHostPort(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	port, _ := strconv.Atoi(text)
	from := netmail.Address{Name: "Pleat", Address: "pleat@lab.test"}
	return mail.Server{Host: host, Port: port, Plain: true, From: from}
}

// start runs a Pool until the test ends, or stop is called.
func (f *fixture) start(server *mailtest.Server, change ...func(*mail.Config)) (stop func()) {
	f.t.Helper()
	cfg := mail.Config{
		ID:     "mailer",
		DB:     f.s.DB,
		Mails:  f.s.Mails,
		Runs:   f.s.Runs,
		Server: serverOf(f.t, server),
		Base:   base,
		Pause:  time.Millisecond,
		Log:    slog.New(slog.NewTextHandler(f.t.Output(), nil)),
	}
	for _, fn := range change {
		fn(&cfg)
	}
	pool := mail.New(cfg, f.ring)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := pool.Run(ctx); err != nil {
			f.t.Error(err)
		}
	}()
	stop = func() { cancel(); <-ended }
	f.t.Cleanup(stop)
	return stop
}

func (f *fixture) actor() people.Actor { return people.Actor{Reach: f.user} }

// want sets the address and the events of the user, and confirms the address by the last mail.
func (f *fixture) want(events ...pleat.MailKind) {
	f.t.Helper()
	if _, err := f.s.Mails.SetMail(context.Background(), f.actor(), "ada@lab.test", events); err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.s.Mails.ConfirmMail(context.Background(), f.actor(), f.list()[0].ID); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) list() []mails.Mail {
	f.t.Helper()
	m, err := f.s.Mails.MailSetting(context.Background(), f.user.User, mails.ListedMails)
	if err != nil {
		f.t.Fatal(err)
	}
	return m.Last
}

// await waits until the last mail has a status and so many attempts, and returns it.
func (f *fixture) await(status pleat.MailStatus, attempts int) (m mails.Mail) {
	f.t.Helper()
	storetest.Eventually(f.t, fmt.Sprint("the mail is ", status), func() bool {
		list := f.list()
		if len(list) == 0 {
			return false
		}
		m = list[0]
		return m.Status == status && m.Attempts == attempts
	})
	return m
}

// wake queues the mails whose time has come.
func (f *fixture) wake(after time.Duration) {
	f.t.Helper()
	f.clock.Advance(after)
	if _, err := f.s.Runs.Reap(context.Background(), f.s.DB.Now()); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) fold(name string) runs.Created {
	f.t.Helper()
	return storetest.CompleteFold(f.t, f.s, storetest.NewFold(f.user, name))
}

func TestPoolSends(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		server := mailtest.New(t, mailtest.Options{})
		f.start(server)
		if _, err := f.s.Mails.SetMail(context.Background(), f.actor(), "ada@lab.test",
			[]pleat.MailKind{pleat.MailRunCompleted}); err != nil {
			t.Fatal(err)
		}
		confirm := f.await(pleat.MailSent, 1)
		c := f.fold("before the address is confirmed")
		mails := server.Mails()
		_, token, found := strings.Cut(mails[0].Body, base+"/ui/confirm#")
		token, _, _ = strings.Cut(token, "\n")
		id, ok := f.ring.OpenMailToken(token)
		if !found || !ok || id != confirm.ID || len(mails) != 1 || mails[0].To != "ada@lab.test" {
			t.Fatalf("%+v", mails)
		}
		if _, err := f.s.Mails.ConfirmMail(context.Background(), f.actor(), id); err != nil {
			t.Fatal(err)
		}
		c = f.fold("crambin")
		sent := f.await(pleat.MailSent, 1)
		got := server.Mails()[1]
		if got.Subject != "Pleat: the fold «crambin» has completed" || got.From != "pleat@lab.test" {
			t.Errorf("%q from %s", got.Subject, got.From)
		}
		for name, want := range map[string]string{
			"From":             `"Pleat" <pleat@lab.test>`,
			"To":               "<ada@lab.test>",
			"Auto-Submitted":   "auto-generated",
			"Message-Id":       "<" + string(sent.ID) + "@lab.test>",
			"List-Unsubscribe": "<" + base + "/ui/notifications>",
			"Content-Type":     "text/plain; charset=UTF-8",
		} {
			if is := got.Header.Get(name); is != want {
				t.Errorf("%s is %q, not %q", name, is, want)
			}
		}
		for _, want := range []string{"Model:       null\n", "Confidence:  pLDDT 71.5", base + "/ui/jobs/" + string(c.Job)} {
			if !strings.Contains(got.Body, want) {
				t.Errorf("no %q in\n%s", want, got.Body)
			}
		}
		if strings.Contains(got.Raw, "GSGS") {
			t.Error("the sequence was sent")
		}
	})
}

// Text that users write cannot become a header, a line or an order of characters of its own, and is short.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		server := mailtest.New(t, mailtest.Options{})
		f.want(pleat.MailRunCompleted)
		f.start(server)
		names := []string{
			"a\r\nBcc: eve@evil.test\r\n\r\n<b>hello</b>",
			"\u202egnp.exe\u2066\u200b\x1b[31m",
			strings.Repeat("ж", 10_000),
			"=?utf-8?q?=0d=0aBcc:_eve@evil.test?=",
			".\n.\nQUIT",
		}
		for _, name := range names {
			f.fold(name)
		}
		storetest.Eventually(t, "all are sent", func() bool { return len(server.Mails()) == len(names) })
		for i, m := range server.Mails() {
			if m.Header.Get("Bcc") != "" || m.To != "ada@lab.test" || len(m.Raw) > 20_000 {
				t.Errorf("%d: %d bytes to %s\n%s", i, len(m.Raw), m.To, m.Raw)
			}
			if strings.ContainsAny(m.Subject, "\r\n\x00\x1b\u202e\u2066\u200b") || len(m.Subject) > 500 {
				t.Errorf("the subject is %q", m.Subject)
			}
			if first, _, _ := strings.Cut(m.Body, "\n"); !strings.HasPrefix(first, "The fold «") ||
				!strings.HasSuffix(first, "» has completed.") {
				t.Errorf("the first line is %q", first)
			}
		}
	})
}

// A mail to an address that nobody has confirmed has no link but that of the service, whatever its user is called.
func TestStrangerGetsNoLink(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ada":                             "sign in as ada and confirm",
		"Ada Lovelace, Dr. phil.":         "sign in as Ada Lovelace, Dr. phil. and confirm",
		"win a prize at evil.test":        "sign in as the user who asked and confirm",
		"https://evil.test\r\nBcc: x@y.z": "sign in as the user who asked and confirm",
	} {
		c := mail.Composer{Base: base, Confirm: func(pleat.MailID) string { return "token" }}
		c.From.Address = "pleat@lab.test"
		m, err := c.Compose(&mails.OutgoingMail{
			ID:       "id",
			Kind:     pleat.MailConfirm,
			Address:  "ada@lab.test",
			UserName: name,
		}, time.Now())
		var text strings.Builder
		if err == nil {
			_, err = m.WriteTo(&text)
		}
		body := strings.NewReplacer("=\r\n", "", "\r\n", " ").Replace(text.String())
		if err != nil || !strings.Contains(body, want) || strings.Contains(body, "evil") {
			t.Errorf("%q: %v\n%s", name, err, body)
		}
	}
}

// A mail that a server refuses for now, or that breaks off, is tried again by the schedule, under one Message-ID; one
// that it refuses for good fails, and an address that it refuses three times gets no more.
func TestPoolTriesAgain(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		var at, code atomic.Value
		at.Store("rcpt")
		code.Store(451)
		server := mailtest.New(t, mailtest.Options{Answer: func(step string) error {
			switch n, _ := code.Load().(int); {
			case step != at.Load() || n == 0:
				return nil
			case n == 1:
				return errors.New("the connection breaks")
			default:
				return &smtp.SMTPError{Code: n, Message: "no"}
			}
		}})
		f.want(pleat.MailRunCompleted)
		f.start(server)
		f.fold("again")
		m := f.await(pleat.MailPending, 1)
		if in := m.NextAt.Sub(f.s.DB.Now()); in > 7*time.Second || !strings.Contains(m.Reason, "451") {
			t.Errorf("%+v", m)
		}
		at.Store("data")
		f.wake(7 * time.Second)
		f.await(pleat.MailPending, 2)
		at.Store("connect")
		code.Store(421)
		f.wake(time.Hour)
		f.await(pleat.MailPending, 3)
		at.Store("data")
		code.Store(1)
		f.wake(time.Hour)
		if m := f.await(pleat.MailPending, 4); !strings.Contains(m.Reason, "broke") {
			t.Errorf("%+v", m)
		}
		at.Store("mail")
		code.Store(550) // the fault of who has set the sender: the mails wait
		f.wake(4 * time.Hour)
		m = f.await(pleat.MailPending, 5)
		if !strings.Contains(m.Reason, "refused the sender pleat@lab.test with 550") {
			t.Errorf("%+v", m)
		}
		code.Store(0)
		f.wake(12 * time.Hour)
		m = f.await(pleat.MailSent, 6)
		if got := server.Mails(); len(got) != 1 || got[0].Header.Get("Message-Id") != "<"+string(m.ID)+"@lab.test>" {
			t.Errorf("%+v", got)
		}
		at.Store("data")
		code.Store(552)
		f.fold("too large, say")
		if m := f.await(pleat.MailFailed, 1); !strings.Contains(m.Reason, "refused the mail with 552") {
			t.Errorf("%+v", m)
		}
		at.Store("rcpt")
		code.Store(550)
		for i := range 3 {
			f.fold(fmt.Sprint("refused ", i))
			f.await(pleat.MailFailed, 1)
		}
		storetest.Eventually(t, "mails are off", func() bool {
			set, err := f.s.Mails.MailSetting(context.Background(), f.user.User, mails.ListedMails)
			return err == nil && strings.Contains(set.OffReason, "refused ada@lab.test 3 times")
		})
		before := len(f.list())
		f.fold("nobody is told")
		if n := len(f.list()); n != before {
			t.Errorf("%d mails, before %d", n, before)
		}
	})
}

// A server that hangs holds up no more than its own mails, one connection at a time, and no longer than the timeout.
func TestServerHangs(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		hangs := make(chan struct{})
		server := mailtest.New(t, mailtest.Options{Answer: func(step string) error {
			if step == "mail" {
				<-hangs
			}
			return nil
		}})
		t.Cleanup(func() { close(hangs) })
		f.want(pleat.MailRunCompleted)
		f.start(server, func(c *mail.Config) { c.Server.Timeout = 200 * time.Millisecond })
		f.fold("one")
		f.fold("two")
		f.await(pleat.MailPending, 1)
		storetest.Eventually(t, "both were tried", func() bool {
			list := f.list()
			return list[0].Attempts > 0 && list[1].Attempts > 0
		})
		if m := f.list()[0]; !strings.Contains(m.Reason, "did not answer in time") {
			t.Errorf("%+v", m)
		}
	})
}

// A process that stops gives up the mail that it sends and counts no attempt; one that dies loses none: another process
// sends it.
func TestPoolStopsAndDies(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		hangs := make(chan struct{})
		stuck := mailtest.New(t, mailtest.Options{Answer: func(step string) error {
			if step == "data" {
				<-hangs
				return errors.New("too late")
			}
			return nil
		}})
		t.Cleanup(func() { close(hangs) })
		f.want(pleat.MailRunCompleted)
		f.fold("stopped")
		stop := f.start(stuck, func(c *mail.Config) { c.Grace = time.Millisecond })
		storetest.Eventually(t, "it is being sent", func() bool {
			steps := stuck.Steps()
			return len(steps) > 0 && steps[len(steps)-1] == "data"
		})
		stop()
		if m := f.list()[0]; m.Attempts != 0 || m.Status != pleat.MailPending {
			t.Errorf("after a stop: %+v", m)
		}
		// A process that dies after its claim stores nothing: its lease ends.
		if m, err := f.s.Mails.NextMail(context.Background(), "dead"); err != nil || m == nil || m.Name != "stopped" {
			t.Fatal(m, err)
		}
		f.clock.Advance(time.Minute)
		if _, err := f.s.Runs.Reap(context.Background(), f.s.DB.Now()); err != nil {
			t.Fatal(err)
		}
		well := mailtest.New(t, mailtest.Options{})
		f.start(well)
		if m := f.await(pleat.MailSent, 2); len(well.Mails()) != 1 {
			t.Errorf("%+v, %d mails", m, len(well.Mails()))
		}
	})
}

// A mail about an endpoint names it and leads to the page of its project.
func TestDisabledEndpoint(t *testing.T) {
	t.Parallel()
	s := mailtest.New(t, mailtest.Options{})
	server := serverOf(t, s)
	c := mail.Composer{From: server.From, Base: base}
	for _, m := range []mails.OutgoingMail{
		{Project: "Lab", Owner: "p1", Label: "archive"},
		{Owner: "p2"},
	} {
		m.ID, m.Kind, m.Address = "m1", pleat.MailEndpointDisabled, "ada@lab.test"
		m.Endpoint, m.Reason = "https://receiver.lab.test", "the receiver answered 410: it is gone"
		msg, err := c.Compose(&m, time.Now())
		if err == nil {
			err = server.Send(t.Context(), msg)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, wants := range [][]string{
		{"the webhook endpoint «archive» at https://receiver.lab.test.", "Lab", "410", base + "/ui/webhooks?project=p1\n"},
		{"the webhook endpoint at https://receiver.lab.test.", base + "/ui/webhooks\n"},
	} {
		for _, want := range wants {
			if text := s.Mails()[i].Body; !strings.Contains(text, want) {
				t.Errorf("mail %d lacks %q:\n%s", i, want, text)
			}
		}
	}
}
