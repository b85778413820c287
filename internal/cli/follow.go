package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"pleat"
	"pleat/api"
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
// After an interruption the job continues, and the error has exitInterrupted and says how to resume.
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
	show := newProgress(cmd.ErrOrStderr())
	w := newWaiter(show.note)
	err := w.during(cmd.Context(), s.waiting, func() error {
		return s.follow(cmd.Context(), s.id, 0, func(e api.Event) error {
			w.event()
			show.event(e)
			return nil
		})
	})
	show.close()
	if errors.Is(err, context.Canceled) && cmd.Context().Err() != nil {
		const text = "interrupted; the %s continues. To wait for it: %s; to cancel it: %s"
		return &exit{exitInterrupted, fmt.Errorf(text, s.kind, s.resume, s.stop)}
	}
	if err != nil {
		return fmt.Errorf("follow the %s %s: %w", s.kind, s.id, explain(c, err))
	}
	return nil
}

// progress shows the stages of a run: as bars on a terminal, else as lines.
type progress struct {
	mu  sync.Mutex // guards what follows
	out io.Writer
	// bars is nil if the progress is written as lines, and bar is that of the current stage.
	bars *mpb.Progress
	bar  *mpb.Bar
	// count is the number of bars so far: a long run with many retries has many stages.
	count int
	// stage is the current one, with done of total steps; a total of 0 is unknown.
	stage string
	done  int
	total int
	// printed is when the last line was written.
	printed time.Time
}

// newProgress returns a progress that draws bars if out is a terminal of at least 60 columns, and otherwise writes
// lines, which a log can hold.
func newProgress(out io.Writer) *progress {
	p := &progress{out: out}
	if f, ok := out.(*os.File); ok && wide(f) {
		p.bars = mpb.New(mpb.WithOutput(out), mpb.WithWidth(40), mpb.WithAutoRefresh())
	}
	return p
}

// wide reports whether f is a terminal with room for a bar. Some terminals report a width of 0.
func wide(f *os.File) bool {
	width, _, err := term.GetSize(int(f.Fd()))
	return err == nil && width >= 60
}

// The first look at why a run waits comes soon after the last event, the others ever later.
const (
	firstLook = 3 * time.Second
	mostLook  = 30 * time.Second
)

// waiter says why runs wait that are followed one after the other: their events do not.
type waiter struct {
	// heard gets a value with each event; one that is not read is enough.
	heard chan struct{}
	// note prints a line; told is the last reason that was printed of what still waits.
	note func(line string)
	told string
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
			w.told = ""
		case why.Reason != w.told:
			w.told = why.Reason
			w.note("waiting: " + oneLine(printable(w.told)))
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

// note prints a line, above the bars if there are any.
func (p *progress) note(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.out
	if p.bars != nil {
		out = p.bars
	}
	fmt.Fprintln(out, line)
}

// event shows one event of a run. A stage that begins again after a retry gets a new bar.
func (p *progress) event(e api.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case "stage":
		if e.Stage != p.stage {
			p.finish()
			p.stage, p.printed = e.Stage, time.Time{}
		}
		p.done, p.total = e.Done, e.Total
		p.draw()
	case "state":
		if api.Terminal(e.State) {
			p.finish()
		}
		if p.bars == nil {
			fmt.Fprintln(p.out, pleat.Clip(e.State))
		}
	}
}

// draw shows the progress of the stage. Lines are at least two seconds apart, except at the start and end of a stage.
func (p *progress) draw() {
	if p.bars == nil {
		if time.Since(p.printed) > 2*time.Second || p.total > 0 && p.done == p.total {
			p.printed = time.Now()
			fmt.Fprintln(p.out, p.line())
		}
		return
	}
	if p.bar == nil {
		p.count++
		p.bar = p.bars.AddBar(int64(p.total),
			mpb.BarOptional(mpb.BarRemoveOnComplete(), p.count > 12), // a terminal has few lines
			mpb.PrependDecorators(decor.Name(fmt.Sprintf("%-12s", pleat.Clip(p.stage)))),
			mpb.AppendDecorators(decor.Percentage(decor.WC{W: 5}), decor.Elapsed(decor.ET_STYLE_GO, decor.WC{W: 6})))
	}
	p.bar.SetTotal(int64(p.total), false)
	p.bar.SetCurrent(int64(p.done))
}

// line returns the stage with its progress, such as "diffusion 20/200"; without numbers if the total is unknown.
func (p *progress) line() string {
	if p.total <= 0 {
		return pleat.Clip(p.stage)
	}
	return fmt.Sprintf("%s %d/%d", pleat.Clip(p.stage), p.done, p.total)
}

// finish completes the bar of the current stage.
func (p *progress) finish() {
	if p.bar == nil {
		return
	}
	p.bar.SetTotal(int64(max(p.total, 1)), false)
	p.bar.SetCurrent(int64(max(p.total, 1)))
	p.bar.SetTotal(-1, true)
	p.bar = nil
}

// close ends all bars and restores the terminal.
func (p *progress) close() {
	if p.bars == nil {
		return
	}
	if p.bar != nil {
		p.bar.Abort(false)
	}
	p.bars.Wait()
}

// counter shows how many of several jobs have ended: as a bar on a terminal, else as lines.
type counter struct {
	out         io.Writer
	done, total int
	bars        *mpb.Progress // nil: lines
	bar         *mpb.Bar
}

// newCounter returns a counter of so many jobs.
func newCounter(out io.Writer, total int) *counter {
	p := &counter{out: out, total: total}
	if f, ok := out.(*os.File); ok && wide(f) {
		p.bars = mpb.New(mpb.WithOutput(out), mpb.WithWidth(40), mpb.WithAutoRefresh())
		p.bar = p.bars.AddBar(int64(total), mpb.PrependDecorators(decor.CountersNoUnit("%d of %d jobs ")),
			mpb.AppendDecorators(decor.Percentage(decor.WC{W: 5}), decor.Elapsed(decor.ET_STYLE_GO, decor.WC{W: 6})))
	}
	return p
}

// note prints a line, above the bar if there is one.
func (p *counter) note(line string) {
	out := p.out
	if p.bars != nil {
		out = p.bars
	}
	fmt.Fprintln(out, line)
}

// add counts a job that has ended; text says how.
func (p *counter) add(text string) {
	if p.done++; p.bar != nil {
		p.bar.Increment()
		return
	}
	fmt.Fprintf(p.out, "%d of %d: %s\n", p.done, p.total, oneLine(printable(text)))
}

// close ends the bar and restores the terminal.
func (p *counter) close() {
	if p.bars == nil {
		return
	}
	if p.done < p.total {
		p.bar.Abort(false)
	}
	p.bars.Wait()
}
