package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"

	"pleat"
	"pleat/internal/config"
	"pleat/internal/store"
)

// style is how a line or a cell is emphasised on a terminal, as the parameter of an SGR sequence; empty: not at all.
type style string

const (
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	yellow style = "33"
)

// cell is a text in a table. It must be safe for a terminal; see safe.
type cell struct {
	text  string
	style style
}

// column describes a column of a table.
type column struct {
	head  string
	right bool // aligned to the right
	// least is the width to which the column may be shortened; 0: it keeps its width.
	least int
	// drop: where the table is too wide, the column with the largest drop is left out first; 0: it stays.
	drop int
	tail bool // a shortened text keeps its end, not its beginning
}

// section is a table with its title, which is the head of its first column.
type section struct {
	columns []column
	rows    [][]cell
	empty   string // what the only row says if there are none
	counted int    // of the rows that the table is about, more than those that it has; 0: no more
}

// safe makes text of users, engines and hosts safe for a terminal: one line of characters that are visible.
func safe(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || unicode.IsPrint(r) {
			return r
		}
		return '\ufffd'
	}, strings.ToValidUTF8(s, "\ufffd"))
}

func textCell(s string) cell { return cell{text: safe(s)} }

// count writes a number of tasks, which was counted up to a bound.
func count(n int) cell {
	switch {
	case n == 0:
		return cell{"-", dim}
	case n >= store.GlanceCounted:
		return cell{strconv.Itoa(n) + "+", ""}
	}
	return cell{strconv.Itoa(n), ""}
}

// sections returns the tables of a snapshot, in their order.
func (s *topSnapshot) sections() []section {
	return []section{s.queueTable(), s.workerTable(), s.runningTable(), s.timingTable()}
}

// summary returns the lines above the tables.
func (s *topSnapshot) summary() []cell {
	m, live, silent := &s.Minute, 0, 0
	for _, w := range s.Workers {
		switch w.State {
		case string(pleat.WorkerLive), string(pleat.WorkerDraining):
			live++
		case string(pleat.WorkerSilent):
			silent++
		}
	}
	workers := "1 worker"
	if live != 1 {
		workers = fmt.Sprintf("%d workers", live)
	}
	if silent > 0 {
		workers += fmt.Sprintf(", %d silent", silent)
	}
	number := func(n int) string { return strings.Replace(count(n).text, "-", "0", 1) }
	failed := func(text string, n int) cell {
		if n > 0 {
			return cell{text, yellow}
		}
		return cell{text: text}
	}
	lines := []cell{
		{strings.Join([]string{"pleat " + s.Version, s.Database, s.At.Format("15:04:05 UTC"), workers}, "  "), bold},
		failed(fmt.Sprintf("runs in the last minute: %s created, %s completed, %s failed, %s stopped",
			number(m.Created), number(m.Completed), number(m.Failed), number(m.Stopped)), m.Failed),
		failed(fmt.Sprintf("deliveries in the last minute: %s done, %s failed for good",
			number(m.Delivered), number(m.DeliveriesFailed)), m.DeliveriesFailed),
	}
	for _, p := range s.Paused {
		text := fmt.Sprintf("paused for %s: %s", shortTime(p.Age), p.Model)
		if p.Reason != "" {
			text += ", " + p.Reason
		}
		lines = append(lines, cell{safe(text), yellow})
	}
	return lines
}

func (s *topSnapshot) queueTable() section {
	out := section{empty: "no task waits or runs", columns: []column{
		{head: "QUEUE", least: 12}, {head: "QUEUED", right: true}, {head: "WAITING", right: true},
		{head: "RUNNING", right: true}, {head: "OLDEST", right: true}}}
	for _, q := range s.Queues {
		oldest := cell{"-", dim}
		if q.Queued > 0 {
			oldest = cell{shortTime(q.Oldest), ""}
		}
		out.rows = append(out.rows, []cell{
			textCell(q.Queue), count(q.Queued), count(q.Waiting), count(q.Running), oldest,
		})
	}
	return out
}

func (s *topSnapshot) workerTable() section {
	out := section{empty: "none: jobs wait until one starts", columns: []column{
		{head: "WORKER", least: 8, tail: true}, {head: "HOST", least: 8}, {head: "CLASS", least: 7},
		{head: "STATE"}, {head: "TASKS", right: true}, {head: "DEVICES", least: 12},
		{head: "SEEN", right: true}}}
	for _, w := range s.Workers {
		state, tasks := cell{w.State, ""}, cell{"?", dim}
		if w.State != string(pleat.WorkerLive) {
			state.style = yellow
		}
		if w.Tasks != nil {
			tasks = count(*w.Tasks)
		}
		out.rows = append(out.rows, []cell{textCell(w.ID), textCell(w.Host), textCell(w.Class), state, tasks,
			textCell(w.devices()), {shortTime(w.Seen) + " ago", ""}})
	}
	return out
}

// devices names the accelerators of a worker with their memory, alike ones once; without any, its memory.
func (w *topWorker) devices() string {
	var names []string
	alike := map[string]int{}
	for _, d := range w.Devices {
		name := d.Name
		if d.Memory > 0 {
			name += " " + config.Bytes(d.Memory).String()
		}
		if alike[name]++; alike[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if n := alike[name]; n > 1 {
			names[i] = fmt.Sprintf("%d x %s", n, name)
		}
	}
	switch {
	case len(names) > 0:
		return strings.Join(names, ", ")
	case w.Memory > 0:
		return "cpu, " + config.Bytes(w.Memory).String()
	}
	return "cpu"
}

func (s *topSnapshot) runningTable() section {
	out := section{empty: "nothing runs", columns: []column{
		{head: "RUNNING", least: 13, tail: true}, {head: "PROJECT", least: 8}, {head: "MODEL", least: 8},
		{head: "STAGE", least: 9}, {head: "PROGRESS"}, {head: "TIME", right: true},
		{head: "TRY", right: true, drop: 1}, {head: "WORKER", least: 8, drop: 2, tail: true}}}
	for i := range s.Running {
		r := &s.Running[i]
		project := r.User
		if runewidth.StringWidth(safe(project)) > 20 {
			project = runewidth.Truncate(safe(project), 20, "…")
		}
		out.rows = append(out.rows, []cell{
			textCell(r.Job), textCell(project), textCell(r.Model), textCell(r.Stage), r.progress(),
			{shortTime(r.Duration), ""}, {strconv.Itoa(r.Attempt), ""}, textCell(r.Worker),
		})
	}
	if len(s.Running) >= store.GlanceRunning {
		for _, q := range s.Queues {
			out.counted += q.Running
		}
	}
	return out
}

// progress draws how much of a stage is done.
func (r *topRunning) progress() cell {
	const width = 8
	if r.Total <= 0 {
		return cell{strings.Repeat("·", width), dim}
	}
	done := min(max(float64(r.Done)/float64(r.Total), 0), 1)
	full := int(done * width)
	return cell{strings.Repeat("█", full) + strings.Repeat("░", width-full) + fmt.Sprintf(" %3.0f%%", done*100), ""}
}

// timingTable has three rows for each model. Stages that no run has are left out.
func (s *topSnapshot) timingTable() section {
	out := section{empty: "no run has completed yet", columns: []column{
		{head: "TIMES OF", least: 10}, {head: "RUNS", right: true}, {head: ""}}}
	var stages []string
	for _, stage := range pleat.Stages {
		for _, m := range s.Models {
			if _, ok := m.Stages[stage]; ok {
				stages = append(stages, stage)
				out.columns = append(out.columns, column{head: strings.ToUpper(stage), right: true})
				break
			}
		}
	}
	for _, m := range s.Models {
		for i, name := range []string{"p50", "p90", "p99"} {
			row := []cell{{}, {}, {name, dim}}
			if i == 0 {
				row = []cell{textCell(m.Model), count(m.Runs), {name, dim}}
			}
			for _, stage := range stages {
				p, ok := m.Stages[stage]
				if !ok {
					row = append(row, cell{"-", dim})
					continue
				}
				row = append(row, cell{shortTime([]float64{p.P50, p.P90, p.P99}[i]), ""})
			}
			out.rows = append(out.rows, row)
		}
	}
	return out
}

// text returns the snapshot as text of any width and length, without styles.
func (s *topSnapshot) text() string {
	var b strings.Builder
	for _, line := range s.summary() {
		b.WriteString(line.text + "\n")
	}
	for _, table := range s.sections() {
		b.WriteString("\n")
		for _, line := range table.lines(0, len(table.rows)) {
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		}
	}
	return b.String()
}

// styledLine is a line of cells that are padded to the widths of their columns.
type styledLine []cell

// String returns the line without styles.
func (l styledLine) String() string {
	var b strings.Builder
	for _, c := range l {
		b.WriteString(c.text)
	}
	return b.String()
}

// lines draws the table in a width, 0 for any, with its head and at most so many rows. If it has more, the last line
// says how many.
func (t *section) lines(width, most int) []styledLine {
	columns, rows := t.fit(width)
	head := make([]cell, len(columns))
	for i, c := range columns {
		head[i] = cell{c.head, bold}
	}
	out := []styledLine{t.line(columns, head)}
	if len(rows) == 0 {
		return append(out, styledLine{{"  " + t.empty, dim}})
	}
	shown, total := len(rows), max(len(rows), t.counted)
	if shown > most || total > shown {
		shown = min(shown, max(most-1, 0))
	}
	for _, row := range rows[:shown] {
		out = append(out, t.line(columns, row))
	}
	if total > shown {
		out = append(out, styledLine{{fmt.Sprintf("  and %d more", total-shown), dim}})
	}
	return out
}

// fittedColumn is a column with its width, in cells of the terminal.
type fittedColumn struct {
	column
	width int
}

const columnGap = "  "

// fit returns the columns that a width has room for, 0 for all, with the rows' cells in them. Columns that may be are
// left out first; then the widest are shortened.
func (t *section) fit(width int) ([]fittedColumn, [][]cell) {
	var columns []fittedColumn
	var kept []int // columns of the table
	sum := -len(columnGap)
	for k, c := range t.columns {
		w := runewidth.StringWidth(c.head)
		for _, row := range t.rows {
			w = max(w, runewidth.StringWidth(row[k].text))
		}
		columns, kept = append(columns, fittedColumn{c, w}), append(kept, k)
		sum += len(columnGap) + w
	}
	for width > 0 && sum > width {
		i := nextToDrop(columns)
		if i < 0 {
			break
		}
		sum -= len(columnGap) + columns[i].width
		columns, kept = slices.Delete(columns, i, i+1), slices.Delete(kept, i, i+1)
	}
	for width > 0 && sum > width {
		i := nextToShorten(columns)
		if i < 0 {
			break
		}
		columns[i].width--
		sum--
	}
	rows := make([][]cell, len(t.rows))
	for i, row := range t.rows {
		for _, k := range kept {
			rows[i] = append(rows[i], row[k])
		}
	}
	return columns, rows
}

// nextToDrop returns the column with the largest drop; -1 if none may be left out.
func nextToDrop(columns []fittedColumn) int {
	next := -1
	for i, c := range columns {
		if c.drop > 0 && (next < 0 || c.drop > columns[next].drop) {
			next = i
		}
	}
	return next
}

// nextToShorten returns the widest column that may be shortened; -1 if none may be.
func nextToShorten(columns []fittedColumn) int {
	next := -1
	for i, c := range columns {
		if c.least > 0 && c.width > c.least && (next < 0 || c.width > columns[next].width) {
			next = i
		}
	}
	return next
}

// line pads or shortens the cells of a row to the widths of their columns.
func (t *section) line(columns []fittedColumn, row []cell) styledLine {
	var out styledLine
	for i, c := range columns {
		text := row[i].text
		if over := runewidth.StringWidth(text) - c.width; over > 0 && c.tail {
			text = runewidth.TruncateLeft(text, over+1, "…")
		} else if over > 0 {
			text = runewidth.Truncate(text, c.width, "…")
		}
		if c.right {
			text = runewidth.FillLeft(text, c.width)
		} else {
			text = runewidth.FillRight(text, c.width)
		}
		if i > 0 {
			text = columnGap + text
		}
		out = append(out, cell{text, row[i].style})
	}
	return out
}
