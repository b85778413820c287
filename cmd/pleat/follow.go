package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"pleat"
	"pleat/api"
)

// follow shows a job's progress on stderr until it ends, and returns its last state. Interrupting leaves the job running.
func follow(cmd *cobra.Command, c *api.Client, job string) (string, error) {
	return following(cmd, c, c.Follow, "job", job, "pleat jobs results "+job+" --wait", "pleat jobs cancel "+job)
}

// followWorkflow is follow for a workflow.
func followWorkflow(cmd *cobra.Command, c *api.Client, id string) (string, error) {
	return following(cmd, c, c.FollowWorkflow, "workflow", id, "pleat workflows get "+id+" --wait", "pleat workflows cancel "+id)
}

// following shows what a stream tells until it ends. Resume and stop are the commands that an interrupted caller goes on with.
func following(cmd *cobra.Command, c *api.Client, stream func(context.Context, string, int64, func(api.Event) error) error, what, id, resume, stop string) (string, error) {
	show := newProgress(cmd.ErrOrStderr())
	var last api.Event
	err := stream(cmd.Context(), id, 0, func(e api.Event) error {
		if e.Kind == "state" {
			last = e
		}
		show.event(e)
		return nil
	})
	show.close()
	if errors.Is(err, context.Canceled) && cmd.Context().Err() != nil {
		return "", &exit{exitInterrupted, fmt.Errorf("interrupted; the %s goes on. Go on with: %s; stop it with: %s", what, resume, stop)}
	}
	if err != nil {
		return "", fmt.Errorf("follow the %s %s: %w", what, id, explain(c, err))
	}
	return last.State, nil
}

// progress draws a run's stages: bars on a terminal, else a line now and then.
type progress struct {
	out   io.Writer
	bars  *mpb.Progress // nil: lines
	bar   *mpb.Bar
	drawn int // bars so far
	stage string
	done  int
	total int
	spoke time.Time // when the last line was written
}

func newProgress(out io.Writer) *progress {
	p := &progress{out: out}
	if f, ok := out.(*os.File); ok && wide(f) {
		p.bars = mpb.New(mpb.WithOutput(out), mpb.WithWidth(40), mpb.WithAutoRefresh())
	}
	return p
}

// wide reports whether f is a terminal with room for a bar; some say that they have no width.
func wide(f *os.File) bool {
	width, _, err := term.GetSize(int(f.Fd()))
	return err == nil && width >= 60
}

func (p *progress) event(e api.Event) {
	switch e.Kind {
	case "stage":
		if e.Stage != p.stage {
			p.finish()
			p.stage, p.spoke = e.Stage, time.Time{}
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

// draw shows where the stage stands. Lines come at most every two seconds, but always at a stage's begin and end.
func (p *progress) draw() {
	if p.bars == nil {
		if time.Since(p.spoke) > 2*time.Second || p.total > 0 && p.done == p.total {
			p.spoke = time.Now()
			fmt.Fprintln(p.out, p.line())
		}
		return
	}
	if p.bar == nil {
		p.drawn++
		p.bar = p.bars.AddBar(int64(p.total),
			mpb.BarOptional(mpb.BarRemoveOnComplete(), p.drawn > 12), // many chains have more stages than a terminal lines
			mpb.PrependDecorators(decor.Name(fmt.Sprintf("%-12s", pleat.Clip(p.stage)))),
			mpb.AppendDecorators(decor.Percentage(decor.WC{W: 5}), decor.Elapsed(decor.ET_STYLE_GO, decor.WC{W: 6})))
	}
	p.bar.SetTotal(int64(p.total), false)
	p.bar.SetCurrent(int64(p.done))
}

func (p *progress) line() string {
	if p.total <= 0 {
		return pleat.Clip(p.stage)
	}
	return fmt.Sprintf("%s %d/%d", pleat.Clip(p.stage), p.done, p.total)
}

// finish ends the bar of the stage that was.
func (p *progress) finish() {
	if p.bar == nil {
		return
	}
	p.bar.SetTotal(int64(max(p.total, 1)), false)
	p.bar.SetCurrent(int64(max(p.total, 1)))
	p.bar.SetTotal(-1, true)
	p.bar = nil
}

// close leaves the terminal as it was.
func (p *progress) close() {
	if p.bars == nil {
		return
	}
	if p.bar != nil {
		p.bar.Abort(false)
	}
	p.bars.Wait()
}
