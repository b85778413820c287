package batch

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"

	"pleat"
	"pleat/internal/words"
)

// TableWriter writes a table. Close completes the file, and does not close what it is written to.
type TableWriter interface {
	Write(r pleat.BatchRow) error
	Close() error
}

// csvTable writes CSV (RFC 4180 with line feeds).
type csvTable struct {
	w       *csv.Writer
	columns []pleat.ScoreColumn
	cells   []string
}

// NewCSV returns a writer of CSV with a header. A score that a row lacks is an empty cell. Texts are words.Cell.
func NewCSV(w io.Writer, columns []pleat.ScoreColumn) TableWriter {
	t := &csvTable{w: csv.NewWriter(w), columns: columns}
	t.cells = []string{"row", "customId", "jobId", "name", "status"}
	for _, c := range columns {
		t.cells = append(t.cells, c.Name)
	}
	_ = t.w.Write(append(t.cells, "error")) // Close returns what the writer could not write
	return t
}

// Write adds a row.
func (t *csvTable) Write(r pleat.BatchRow) error {
	t.cells = append(t.cells[:0], strconv.Itoa(r.Number), words.Cell(r.CustomID), string(r.Job), words.Cell(r.Name),
		string(r.State))
	for _, c := range t.columns {
		text := ""
		if v := r.Score(c.Name); v != nil {
			text = strconv.FormatFloat(*v, 'g', -1, 64)
		}
		t.cells = append(t.cells, text)
	}
	t.cells = append(t.cells, words.Cell(failure(&r)))
	return t.w.Write(t.cells)
}

// Close writes what is buffered.
func (t *csvTable) Close() error {
	t.w.Flush()
	return t.w.Error()
}

// jsonlTable writes one JSON object in each line.
type jsonlTable struct {
	w       io.Writer
	columns []pleat.ScoreColumn
	line    []byte
}

// NewJSONL returns a writer of JSON Lines. Each row has all fields; a score that it lacks is null.
func NewJSONL(w io.Writer, columns []pleat.ScoreColumn) TableWriter {
	return &jsonlTable{w: w, columns: columns}
}

// Write adds a row.
func (t *jsonlTable) Write(r pleat.BatchRow) error {
	t.line = t.line[:0]
	field := func(name string, value any) error {
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		b, err := json.Marshal(value)
		if err != nil {
			return err
		}
		separator := byte(',')
		if len(t.line) == 0 {
			separator = '{'
		}
		t.line = append(append(append(append(t.line, separator), key...), ':'), b...)
		return nil
	}
	fields := []any{"row", r.Number, "customId", r.CustomID, "jobId", optional(string(r.Job)), "name", r.Name,
		"status", string(r.State)}
	for _, c := range t.columns {
		fields = append(fields, c.Name, r.Score(c.Name))
	}
	fields = append(fields, "error", optional(failure(&r)))
	for i := 0; i < len(fields); i += 2 {
		if err := field(fields[i].(string), fields[i+1]); err != nil {
			return err
		}
	}
	_, err := t.w.Write(append(t.line, '}', '\n'))
	return err
}

// Close has nothing to do.
func (t *jsonlTable) Close() error { return nil }

// failure is why a row failed or was stopped; empty: it did not.
func failure(r *pleat.BatchRow) string {
	if r.Failure == nil {
		return ""
	}
	return r.Failure.Message
}

// optional returns nil for an absent text.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
