// Package mail sends mails to users who want them: it claims mails, writes them, hands them to one SMTP server and
// stores the outcome of each attempt.
//
// A Pool is one sender. Any number may share a database; it keeps no state that a crash could lose, but a mail that a
// server has accepted just before the crash is sent again, under the same Message-ID. It must not decide who gets which
// mail: package mails of the store does.
package mail

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/queue"
	"pleat/internal/seal"
	"pleat/internal/store/db"
	"pleat/internal/store/mails"
	"pleat/internal/store/runs"
	"pleat/internal/webhook"
)

// Config of a Pool.
type Config struct {
	// ID is unique, and the same after a restart, so that the leases of the process before are released at once.
	ID     pleat.WorkerID
	DB     *db.DB       // its time, and the news of mails
	Mails  *mails.Store // what is sent
	Runs   *runs.Store  // renews the leases of mails
	Server Server
	Base   string // the public address of the service, without a slash at its end
	// Grace is how long a mail may take to be sent when the process is asked to stop; 0: 5 s.
	Grace time.Duration
	// Pause is the first pause after the server could not be used, in which nothing is tried; it doubles up to 100
	// times as much. 0: 1 s.
	Pause time.Duration
	Clock func() time.Time // nil: the machine's
	Log   *slog.Logger     // nil: discards
}

// Pool sends mails. Make it with New, then call Run.
type Pool struct {
	cfg      Config
	composer Composer
	leases   *queue.Leases
	pause    time.Duration // the last one; 0: the server could be used
	fault    queue.Fault
}

// storeGrace is how long the outcome of a mail may take to be stored.
const storeGrace = 5 * time.Second

// New makes a Pool. The ring signs the links that confirm addresses.
func New(cfg Config, ring *seal.Ring) *Pool {
	cfg.Grace = cmp.Or(cfg.Grace, 5*time.Second)
	cfg.Pause = cmp.Or(cfg.Pause, time.Second)
	cfg.Clock = clock.Or(cfg.Clock)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Pool{
		cfg: cfg,
		composer: Composer{
			From:    cfg.Server.From,
			Base:    cfg.Base,
			Confirm: ring.MailToken,
		},
		leases: queue.NewLeases(cfg.Runs, cfg.ID, cfg.Clock, cfg.Log),
		fault:  queue.Fault{What: "the mail server cannot be used"},
	}
}

// Run sends mails, one at a time, until ctx ends. The mail that is being sent then has Config.Grace to end, and goes
// back to the queue otherwise.
func (p *Pool) Run(ctx context.Context) error {
	run, stop, started := p.leases.Start(ctx, p.cfg.Runs, "the sender of mails cannot start")
	if !started {
		return nil
	}
	defer stop()
	sends, cut := context.WithCancel(run)
	defer cut()
	ended := context.AfterFunc(ctx, func() { time.AfterFunc(p.cfg.Grace, cut) })
	defer ended()
	queue.ClaimLoop{
		News:   p.cfg.DB,
		Topics: []string{mails.Topic()},
		Wake:   make(chan struct{}, 1),
		Log:    p.cfg.Log,
		Claim: func(ctx context.Context) error {
			for ctx.Err() == nil && (p.pause == 0 || queue.Sleep(ctx, p.pause)) {
				m, err := p.cfg.Mails.NextMail(ctx, p.cfg.ID)
				if m == nil || err != nil {
					return err
				}
				p.send(sends, run, m)
			}
			return nil
		},
	}.Run(ctx)
	return nil
}

// send sends a mail under ctx, and stores the outcome under storing.
func (p *Pool) send(ctx, storing context.Context, m *mails.OutgoingMail) {
	held := p.leases.Add(ctx, &m.Task)
	defer p.leases.Remove(held)
	log := p.cfg.Log.With("mail", m.ID, "kind", string(m.Kind), "user", m.User)
	var o mails.Outcome
	msg, err := p.composer.Compose(m, p.cfg.Clock())
	if err != nil {
		log.Error("a mail cannot be written", "error", err)
		o.Reason = "the mail could not be written; the server's log has the reason"
	} else {
		err = p.cfg.Server.Send(held.Context(), msg)
		o = p.outcome(err, held.Context().Err() != nil, m)
	}
	storing, cancel := context.WithTimeout(storing, storeGrace)
	defer cancel()
	if err := p.cfg.Mails.FinishMail(storing, m, o); err != nil {
		log.Warn("the outcome of a mail cannot be stored; its lease will expire", "error", err)
	} else {
		log.Info("mail", "ok", o.OK, "reason", o.Reason)
	}
}

// outcome decides whether and when a mail is tried again. After a fault of the server itself, nothing is sent for a
// while. A mail that a stopping process gave up does not count.
func (p *Pool) outcome(err error, stopped bool, m *mails.OutgoingMail) mails.Outcome {
	var f *Fault
	if err == nil {
		p.pause = 0
		p.fault.Over(p.cfg.Log)
		return mails.Outcome{OK: true}
	}
	if !errors.As(err, &f) {
		f = &Fault{Message: err.Error()}
	}
	switch {
	case stopped:
		return mails.Outcome{Aborted: true}
	case f.Server:
		p.pause = min(max(2*p.pause, p.cfg.Pause), 100*p.cfg.Pause)
		p.fault.Warn(p.cfg.Log, f)
	default:
		p.pause = 0
		p.fault.Over(p.cfg.Log)
	}
	o := mails.Outcome{Reason: f.Message, Refused: f.Address}
	tries := m.Task.Tries + 1
	next, again := webhook.Next(tries, p.cfg.DB.Now(), 0, rand.Float64())
	if again && tries < m.Task.MaxTries && !f.Permanent {
		o.NextAt = next
	}
	return o
}
