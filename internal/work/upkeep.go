package work

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/garbage"
	"pleat/internal/msa"
	"pleat/internal/queue"
	"pleat/internal/store"
	"pleat/internal/store/batches"
	"pleat/internal/store/runs"
	"pleat/internal/submit"
	"pleat/internal/tracing"
)

// Upkeep is the work that a service needs besides its tasks, and that any process with the database and the artifact
// store may do: it starts follow-ups, makes and ends the jobs of batches, and deletes what is kept no longer. Every
// server does it; workers that call a server do not.
type Upkeep struct {
	Store *store.Store
	Blobs *blob.Monitor
	// Worker is the identity under which follow-ups are claimed.
	Worker pleat.WorkerID
	// MaxTime bounds how long a simulation that a follow-up starts may be expected to take; 0: no limit.
	MaxTime time.Duration
	// Disk tells when too little space is free to start follow-ups; nil: they always start.
	Disk *blob.Disk
	// KeepAlignments is how long alignments are kept for further jobs; 0: for ever.
	KeepAlignments time.Duration
	// Tune says that this process tunes the database; see ops.Store.Tune.
	Tune bool
	// Tracer begins the spans of follow-ups; nil: there are none.
	Tracer *tracing.Tracer
	Clock  func() time.Time
	Log    *slog.Logger
}

const (
	garbageInterval = 10 * time.Minute
	// deletedInterval is the time between looks for deleted jobs and workflows of which something is left: the server
	// removes what it can when they are deleted.
	deletedInterval = 10 * time.Second
	// batchPause is the time between looks for batches that can be advanced: the least while they have news, the most
	// without.
	batchPause, batchInterval = 100 * time.Millisecond, 3 * time.Second
	// forgetInterval is the time between looks for old alignments.
	forgetInterval = 6 * time.Hour
	// recountInterval is the time between two counts of what the users' runs hold.
	recountInterval = 24 * time.Hour
)

// Run does the work until ctx ends.
func (u *Upkeep) Run(ctx context.Context) {
	var duties sync.WaitGroup
	duties.Go(func() { u.collectGarbage(ctx) })
	duties.Go(func() { u.removeDeleted(ctx) })
	duties.Go(func() { u.startFollowUps(ctx) })
	duties.Go(func() { u.advanceBatches(ctx) })
	duties.Go(func() { u.forgetAlignments(ctx) })
	duties.Go(func() { u.keepDatabase(ctx) })
	duties.Wait()
}

// advanceBatches makes the jobs of batches and ends them.
func (u *Upkeep) advanceBatches(ctx context.Context) {
	news, stop := u.Store.DB.Subscribe(runs.BatchesTopic)
	defer stop()
	for {
		if err := advanceAll(ctx, u.Store.Batches); err != nil && ctx.Err() == nil {
			u.Log.Warn("a batch could not be advanced", "error", err)
		}
		if !queue.Sleep(ctx, batchPause) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-news:
		case <-time.After(batchInterval):
		}
	}
}

// advanceAll takes the steps of batches that can be taken now. A batch that cannot be advanced does not slow the
// others; its error is returned once they have no more steps.
func advanceAll(ctx context.Context, b *batches.Store) error {
	for {
		if more, err := b.AdvanceBatches(ctx); !more {
			return err
		}
	}
}

// keepDatabase tunes the database, and counts once a day what the users' runs hold.
func (u *Upkeep) keepDatabase(ctx context.Context) {
	if u.Tune {
		if err := u.Store.Ops.Tune(ctx); err != nil && ctx.Err() == nil {
			u.Log.Warn("the database could not be tuned and will be slower with many jobs", "error", err)
		}
	}
	for queue.Sleep(ctx, recountInterval) {
		if err := u.Store.People.RecountResults(ctx); err != nil && ctx.Err() == nil {
			u.Log.Warn("the size of the users' results could not be counted", "error", err)
		}
	}
}

// resolver makes the decisions about follow-ups that the HTTP API makes about workflows.
func (u *Upkeep) resolver() *submit.Resolver {
	return &submit.Resolver{
		References: submit.References{People: u.Store.People, Runs: u.Store.Runs},
		Workers:    u.Store.Workers,
		Webhooks:   u.Store.Webhooks,
		MaxTime:    u.MaxTime,
	}
}

// mailsKept is for how long users see which mails they got.
const mailsKept = 30 * 24 * time.Hour

// forgetMails deletes old mails, whether or not a mail server is still configured.
func (u *Upkeep) forgetMails(ctx context.Context) error {
	const atOnce = 1000
	for {
		if n, err := u.Store.Mails.ForgetMails(ctx, u.Clock().Add(-mailsKept), atOnce); n < atOnce || err != nil {
			return err
		}
	}
}

// collectGarbage deletes, from time to time, files that nothing refers to, old entries of the audit log and old mails.
func (u *Upkeep) collectGarbage(ctx context.Context) {
	for queue.Sleep(ctx, garbageInterval) {
		if err := u.Store.People.ExpireAudit(ctx); err != nil && ctx.Err() == nil {
			u.Log.Warn("old entries of the audit log could not be deleted", "error", err)
		}
		if err := u.forgetMails(ctx); err != nil && ctx.Err() == nil {
			u.Log.Warn("old mails could not be deleted", "error", err)
		}
		n, err := garbage.Collect(ctx, u.Store.Ops, u.Store.Runs, u.Blobs, u.Clock().Add(-garbage.Age))
		if err != nil && ctx.Err() == nil {
			u.Log.Warn("garbage collection stopped", "error", err)
		}
		if n > 0 {
			u.Log.Info("orphan files removed", "files", n)
		}
	}
}

// removeDeleted deletes jobs and workflows that are kept no longer, and what deleted ones have left once nothing is
// under way for them.
func (u *Upkeep) removeDeleted(ctx context.Context) {
	for queue.Sleep(ctx, deletedInterval) {
		expired, err := u.Store.Ops.ExpireResults(ctx)
		if expired > 0 {
			u.Log.Info("old jobs and workflows deleted", "number", expired)
		}
		if err == nil {
			_, err = garbage.RemoveDeleted(ctx, u.Store.Ops, u.Store.Runs, u.Blobs)
		}
		if err != nil && ctx.Err() == nil {
			u.Log.Warn("deleted or old jobs could not be removed", "error", err)
		}
	}
}

// forgetAlignments deletes cached alignments once they are old: search databases grow, and sequences should not be kept
// for ever.
func (u *Upkeep) forgetAlignments(ctx context.Context) {
	for u.KeepAlignments > 0 && queue.Sleep(ctx, forgetInterval) {
		n := 0
		err := u.Blobs.Walk(ctx, msa.Prefix, u.Clock().Add(-u.KeepAlignments), func(i blob.Info) error {
			n++
			return u.Blobs.Delete(ctx, i.Key)
		})
		if err == nil {
			err = u.Store.Runs.ForgetSearches(ctx, u.Clock().Add(-u.KeepAlignments))
		}
		if err != nil && ctx.Err() == nil {
			u.Log.Warn("old alignments cannot be deleted", "error", err)
		}
		if n > 0 {
			u.Log.Info("old alignments deleted", "files", n)
		}
	}
}
