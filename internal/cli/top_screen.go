package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// The sequences of a terminal that top uses.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l" // another screen, without a cursor and without wrapping
	leaveScreen = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
	homeCursor  = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
	resetStyle  = "\x1b[0m"
)

// watchTop shows snapshots in a terminal until the user quits or ctx ends. It draws anew when the terminal changes its
// size, and leaves the terminal as it was, also if it panics.
func watchTop(ctx context.Context, r *topReader, out *os.File, every time.Duration) error {
	before, err := term.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		return fmt.Errorf("the terminal cannot be used: %w; try --once", err)
	}
	defer func() {
		_, _ = io.WriteString(out, leaveScreen)
		_ = term.Restore(int(os.Stdin.Fd()), before)
	}()
	if _, err := io.WriteString(out, enterScreen); err != nil {
		return err
	}
	ctx, quit := context.WithCancel(ctx)
	defer quit()
	go readKeys(os.Stdin, quit) // it ends with the process: nothing interrupts the read of a terminal
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	screen := &topScreen{out: out, colour: os.Getenv("NO_COLOR") == ""}
	return screen.run(ctx, r.read, resized, every)
}

// readKeys calls quit when a key is pressed that ends top, or when there are no more keys. In raw mode an interrupt is
// a key too.
func readKeys(in io.Reader, quit func()) {
	defer quit()
	const interrupt, end = 3, 4
	keys := make([]byte, 64)
	for {
		n, err := in.Read(keys)
		for _, k := range keys[:n] {
			if k == 'q' || k == 'Q' || k == interrupt || k == end {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// topScreen draws snapshots on a terminal.
type topScreen struct {
	out    *os.File
	colour bool

	last  *topSnapshot // nil: none was read yet
	fault error        // of the last refresh
}

// run reads and draws a snapshot each interval until ctx ends. While one is read, which a slow database delays, keys
// and changes of the size still have effect. A failed refresh leaves the last snapshot on the screen.
func (s *topScreen) run(ctx context.Context, read func(context.Context) (*topSnapshot, error),
	resized <-chan os.Signal, every time.Duration) error {
	type refresh struct {
		snapshot *topSnapshot
		err      error
		panicked any // what the read panicked with, and where; this goroutine restores the terminal
	}
	ready := make(chan refresh, 1)
	begin := func() {
		var v refresh
		defer func() {
			if p := recover(); p != nil {
				v.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
			ready <- v
		}()
		v.snapshot, v.err = read(ctx)
	}
	go begin()
	reading := true
	defer func() {
		if reading {
			<-ready // the store must not be closed under it
		}
	}()
	next := time.NewTimer(every)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-resized:
		case v := <-ready:
			reading = false
			if v.panicked != nil {
				panic(v.panicked)
			}
			if s.fault = v.err; v.err == nil {
				s.last = v.snapshot
			}
			next.Reset(every)
		case <-next.C:
			if !reading {
				reading = true
				go begin()
			}
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		if err := s.draw(); err != nil {
			return fmt.Errorf("the terminal cannot be written: %w", err)
		}
	}
}

// draw writes the screen in one write, so that it does not flicker.
func (s *topScreen) draw() error {
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	_, err = io.WriteString(s.out, s.frame(width, height))
	return err
}

// frame returns what the terminal gets to show the last snapshot.
func (s *topScreen) frame(width, height int) string {
	var b strings.Builder
	b.WriteString(homeCursor)
	for i, line := range s.lines(width, height) {
		if i > 0 {
			b.WriteString("\r\n")
		}
		left := width
		for _, c := range line {
			text := runewidth.Truncate(c.text, left, "")
			left -= runewidth.StringWidth(text)
			if c.style != "" && s.colour {
				text = "\x1b[" + string(c.style) + "m" + text + resetStyle
			}
			b.WriteString(text)
		}
		b.WriteString(clearLine)
	}
	b.WriteString(clearBelow)
	return b.String()
}

// lines returns at most height lines: the summary, the tables, each with its share of the rows, and the keys.
func (s *topScreen) lines(width, height int) []styledLine {
	footer := cell{" q quit", dim}
	if s.fault != nil {
		footer = cell{" " + safe(sentence(s.fault)) + "; trying again, q quit", red}
	}
	var out []styledLine
	if s.last == nil {
		out = append(out, styledLine{{"reading the database …", dim}})
	} else {
		for _, c := range s.last.summary() {
			out = append(out, styledLine{c})
		}
		out = append(out, s.tables(width, height-len(out)-1)...)
	}
	out = out[:min(len(out), max(height-1, 0))]
	for len(out) < height-1 {
		out = append(out, nil)
	}
	return append(out, styledLine{footer})
}

// tables draws the tables in a height. Each has its head; the rows share what is left evenly, and blank lines stand
// between the tables where there is room for them.
func (s *topScreen) tables(width, height int) []styledLine {
	tables := s.last.sections()
	wanted := make([]int, len(tables))
	sum := len(tables)
	for i := range tables {
		wanted[i] = max(len(tables[i].rows), 1)
		if tables[i].counted > len(tables[i].rows) {
			wanted[i]++
		}
		sum += wanted[i]
	}
	gap := 0
	if height >= sum+len(tables) || height >= 30 {
		gap = 1
	}
	share := shares(wanted, height-len(tables)*(1+gap))
	var out []styledLine
	for i := range tables {
		if gap > 0 {
			out = append(out, nil)
		}
		out = append(out, tables[i].lines(width, share[i])...)
	}
	return out
}

// shares divides rows among tables: none gets more than it wants, and those that want more get the same.
func shares(wanted []int, rows int) []int {
	out := make([]int, len(wanted))
	for rows > 0 {
		least := -1
		for i := range wanted {
			if out[i] < wanted[i] && (least < 0 || out[i] < out[least]) {
				least = i
			}
		}
		if least < 0 {
			break
		}
		out[least]++
		rows--
	}
	return out
}
