package client

import (
	"fmt"
	"io"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"pleat/internal/cli"
)

// counter shows how many of several jobs have ended: as a bar on a terminal, else as lines.
type counter struct {
	out         io.Writer
	done, total int
	bars        *mpb.Progress // nil: lines
	bar         *mpb.Bar
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
	fmt.Fprintf(p.out, "%d of %d: %s\n", p.done, p.total, cli.PrintableLine(text))
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

// newCounter returns a counter of so many jobs.
func newCounter(out io.Writer, total int) *counter {
	p := &counter{out: out, total: total}
	if cli.DrawsBars(out) {
		p.bars = mpb.New(mpb.WithOutput(out), mpb.WithWidth(40), mpb.WithAutoRefresh())
		p.bar = p.bars.AddBar(int64(total), mpb.PrependDecorators(decor.CountersNoUnit("%d of %d jobs ")),
			mpb.AppendDecorators(decor.Percentage(decor.WC{W: 5}), decor.Elapsed(decor.ET_STYLE_GO, decor.WC{W: 6})))
	}
	return p
}
