package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/cli"
)

// stream is the event stream of a job or workflow.
type stream struct {
	// kind is job or workflow, and id its identifier.
	kind, id string
	// follow calls fn with each event, and returns when the job or workflow has ended.
	follow func(ctx context.Context, id string, after int64, fn func(api.Event) error) error
	// waiting returns why it waits; nil: it does not.
	waiting func(ctx context.Context) (*api.Waiting, error)
	// resume and stop are the commands to wait for it again and to cancel it, for a user who interrupted this one.
	resume, stop string
}

// follow shows the progress of a job's latest run on standard error until it ends. It reconnects if the stream breaks.
// After an interruption the job continues, and the error has cli.ExitInterrupted and says how to resume.
func follow(cmd *cobra.Command, c *api.Client, job string) error {
	return stream{
		kind:    "job",
		id:      job,
		follow:  c.Follow,
		waiting: jobWaiting(c, job),
		resume:  "pleat jobs results " + job + " --wait",
		stop:    "pleat jobs cancel " + job,
	}.show(cmd, c)
}

// followWorkflow is follow for a workflow.
func followWorkflow(cmd *cobra.Command, c *api.Client, id string) error {
	return stream{
		kind:   "workflow",
		id:     id,
		follow: c.FollowWorkflow,
		waiting: func(ctx context.Context) (*api.Waiting, error) {
			v, err := c.Workflow(ctx, id)
			return v.Waiting, err
		},
		resume: "pleat workflows get " + id + " --wait",
		stop:   "pleat workflows cancel " + id,
	}.show(cmd, c)
}

// show prints the events until the stream ends. How the job ended is not its concern: the caller reads the result.
func (s stream) show(cmd *cobra.Command, c *api.Client) error {
	show := cli.NewProgress(cmd.ErrOrStderr())
	w := newWaiter(show.Note)
	err := w.during(cmd.Context(), s.waiting, func() error {
		return s.follow(cmd.Context(), s.id, 0, func(e api.Event) error {
			w.event()
			show.Event(e)
			return nil
		})
	})
	show.Close()
	if interrupted(cmd, err) {
		const text = "interrupted; the %s continues. To wait for it: %s; to cancel it: %s"
		return cli.Exitf(cli.ExitInterrupted, text, s.kind, s.resume, s.stop)
	}
	if err != nil {
		return fmt.Errorf("follow the %s %s: %w", s.kind, s.id, explain(c, err))
	}
	return nil
}

// interrupted reports whether an error is that of a call which the user of the command has interrupted.
func interrupted(cmd *cobra.Command, err error) bool {
	return errors.Is(err, context.Canceled) && cmd.Context().Err() != nil
}

// noReason stands for the reason of a run that ended without a result and without a reason.
const noReason = "it gives no reason"

// The first look at why a run waits comes soon after the last event, the others ever later.
const (
	firstLook = 3 * time.Second
	mostLook  = 30 * time.Second
)

// waiter says why runs wait that are followed one after the other: their events do not.
type waiter struct {
	// heard gets a value with each event; one that is not read is enough.
	heard chan struct{}
	// note prints a line; printed is the last reason printed.
	note    func(line string)
	printed string
}

func newWaiter(note func(line string)) *waiter {
	return &waiter{heard: make(chan struct{}, 1), note: note}
}

// event notes that an event has come.
func (w *waiter) event() {
	select {
	case w.heard <- struct{}{}:
	default:
	}
}

// during prints why a run waits while fn runs: when no event has come for some seconds, and again when the reason
// changes.
func (w *waiter) during(
	ctx context.Context, waiting func(context.Context) (*api.Waiting, error), fn func() error,
) error {
	ctx, stop := context.WithCancel(ctx)
	var ended sync.WaitGroup
	ended.Go(func() { w.watch(ctx, waiting) })
	defer ended.Wait()
	defer stop()
	return fn()
}

func (w *waiter) watch(ctx context.Context, waiting func(context.Context) (*api.Waiting, error)) {
	for pause := firstLook; ; {
		select {
		case <-ctx.Done():
			return
		case <-w.heard:
			pause = firstLook
			continue
		case <-time.After(pause):
		}
		pause = min(2*pause, mostLook)
		why, err := waiting(ctx)
		switch {
		case err != nil: // the stream reports faults
		case why == nil:
			w.printed = ""
		case why.Reason != w.printed:
			w.printed = why.Reason
			w.note("waiting: " + cli.PrintableLine(w.printed))
		}
	}
}

// jobWaiting returns the function that asks why a job waits.
func jobWaiting(c *api.Client, job string) func(context.Context) (*api.Waiting, error) {
	return func(ctx context.Context) (*api.Waiting, error) {
		v, err := c.Job(ctx, job)
		return v.Waiting, err
	}
}
