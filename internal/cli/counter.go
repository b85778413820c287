package cli

import (
	"fmt"
	"io"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Counter shows how many of several jobs have ended: as a bar on a terminal, else as lines.
type Counter struct {
	out         io.Writer
	done, total int
	bars        *mpb.Progress // nil: lines
	bar         *mpb.Bar
}

// NewCounter returns a counter of so many jobs. Close ends it.
func NewCounter(out io.Writer, total int) *Counter {
	p := &Counter{out: out, total: total, bars: newBars(out)}
	if p.bars != nil {
		p.bar = p.bars.AddBar(int64(total), mpb.PrependDecorators(decor.CountersNoUnit("%d of %d jobs ")), barEnd())
	}
	return p
}

// Note prints a line, above the bar if there is one.
func (p *Counter) Note(line string) {
	out := p.out
	if p.bars != nil {
		out = p.bars
	}
	fmt.Fprintln(out, line)
}

// Add counts a job that has ended; text says how.
func (p *Counter) Add(text string) {
	if p.done++; p.bar != nil {
		p.bar.Increment()
		return
	}
	fmt.Fprintf(p.out, "%d of %d: %s\n", p.done, p.total, PrintableLine(text))
}

// Close ends the bar and restores the terminal.
func (p *Counter) Close() {
	if p.bars == nil {
		return
	}
	if p.done < p.total {
		p.bar.Abort(false)
	}
	p.bars.Wait()
}
