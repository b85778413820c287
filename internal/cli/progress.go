package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"pleat"
	"pleat/api"
)

// Progress shows the stages of a run: as bars on a terminal, else as lines. It is made by NewProgress, and Close ends
// it. Several goroutines may use it.
type Progress struct {
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

// NewProgress returns a progress that draws bars if out is a terminal of at least 60 columns, and otherwise writes
// lines, which a log can hold.
func NewProgress(out io.Writer) *Progress {
	return &Progress{out: out, bars: newBars(out)}
}

// DrawsBars reports whether out is a terminal with room for bars. Some terminals report a width of 0.
func DrawsBars(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	return err == nil && width >= 60
}

// newBars returns a container for bars; nil: out has no room for them.
func newBars(out io.Writer) *mpb.Progress {
	if !DrawsBars(out) {
		return nil
	}
	return mpb.New(mpb.WithOutput(out), mpb.WithWidth(40), mpb.WithAutoRefresh())
}

// barEnd is the end of a bar: the percentage and the time that has passed.
func barEnd() mpb.BarOption {
	return mpb.AppendDecorators(decor.Percentage(decor.WC{W: 5}), decor.Elapsed(decor.ET_STYLE_GO, decor.WC{W: 6}))
}

// Note prints a line, above the bars if there are any.
func (p *Progress) Note(line string) { fmt.Fprintln(p, line) }

// Write writes text, above the bars if there are any.
func (p *Progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bars != nil {
		return p.bars.Write(text)
	}
	return p.out.Write(text)
}

// Event shows one event of a run. A stage that begins again after a retry gets a new bar.
func (p *Progress) Event(e api.Event) {
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
func (p *Progress) draw() {
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
			barEnd())
	}
	p.bar.SetTotal(int64(p.total), false)
	p.bar.SetCurrent(int64(p.done))
}

// line returns the stage with its progress, such as "diffusion 20/200"; without numbers if the total is unknown.
func (p *Progress) line() string {
	if p.total <= 0 {
		return pleat.Clip(p.stage)
	}
	return fmt.Sprintf("%s %d/%d", pleat.Clip(p.stage), p.done, p.total)
}

// Finish completes the bar of the current stage.
func (p *Progress) Finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish()
}

func (p *Progress) finish() {
	if p.bar == nil {
		return
	}
	p.bar.SetTotal(int64(max(p.total, 1)), false)
	p.bar.SetCurrent(int64(max(p.total, 1)))
	p.bar.SetTotal(-1, true)
	p.bar = nil
}

// Close ends all bars and restores the terminal.
func (p *Progress) Close() {
	if p.bars == nil {
		return
	}
	if p.bar != nil {
		p.bar.Abort(false)
	}
	p.bars.Wait()
}
