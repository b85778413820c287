package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"pleat"
	"pleat/api"
)

// PrintResult prints the result of a command on its standard output: with --json as JSON, otherwise by calling human.
func PrintResult(cmd *cobra.Command, v any, human func() error) error {
	if IsOn(cmd, "json") {
		return PrintJSON(cmd.OutOrStdout(), v)
	}
	return human()
}

// PrintLine prints the result of a command on its standard output: with --json as JSON, otherwise as a line of text.
func PrintLine(cmd *cobra.Command, v any, text string) error {
	return PrintResult(cmd, v, func() error {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), text)
		return err
	})
}

// Say ends a command that makes a change: it prints a line on standard output, in the format of package fmt, unless the
// change has failed with an error, which it returns.
func Say(cmd *cobra.Command, err error, format string, args ...any) error {
	if err == nil {
		fmt.Fprintf(cmd.OutOrStdout(), format+"\n", args...)
	}
	return err
}

// PrintJSON writes a value as indented JSON, with the fields of the API.
func PrintJSON(w io.Writer, v any) error {
	b, err := api.EncodeIndent(v)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// PrintTable writes rows in columns; the first row is the head. Cells come from a server, so control characters are
// replaced. On a terminal long ones are shortened; a file or a program gets them whole.
func PrintTable(w io.Writer, rows [][]string) error {
	cell := PrintableLine
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		cell = pleat.Clip
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i := range row {
			row[i] = cell(row[i])
		}
		fmt.Fprintln(t, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	return t.Flush()
}

// Rows returns a table for [PrintTable]: the head, and a row for each entry of a list.
func Rows[T any](head []string, list []T, row func(*T) []string) [][]string {
	rows := [][]string{head}
	for i := range list {
		rows = append(rows, row(&list[i]))
	}
	return rows
}

// RMSDColumn is the head of the column of predicted RMSD in Å, which few models give.
const RMSDColumn = "PREDICTED RMSD"

// WithoutEmpty returns a table without a column in which every row has a dash.
func WithoutEmpty(rows [][]string, head string) [][]string {
	at := slices.Index(rows[0], head)
	if at < 0 || slices.ContainsFunc(rows[1:], func(row []string) bool { return row[at] != "-" }) {
		return rows
	}
	out := make([][]string, len(rows))
	for i, row := range rows {
		out[i] = slices.Delete(slices.Clone(row), at, at+1)
	}
	return out
}

// PrintRows prints a list as the result of a command: with --json as JSON, otherwise as a table with a row for each
// entry.
func PrintRows[T any](cmd *cobra.Command, list []T, head []string, row func(*T) []string) error {
	return PrintResult(cmd, list, func() error { return PrintTable(cmd.OutOrStdout(), Rows(head, list, row)) })
}

// FormatScore returns a score in the format of package fmt, or a dash if the engine gives none.
func FormatScore(v *float64, format string) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf(format, *v)
}

// FormatTime returns a time to the second, or a dash for nil.
func FormatTime[T interface{ Format(layout string) string }](t *T) string {
	if t == nil {
		return "-"
	}
	return (*t).Format(time.DateTime)
}

// TextOrDash returns a text, or a dash for nil.
func TextOrDash(text *string) string { return ValueOr(text, "-") }

// NumberOrDash returns a number, or a dash for nil.
func NumberOrDash(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

// ValueOr returns a value, or another one for nil.
func ValueOr[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}

// TextOrNil returns a text, or nil for an empty one, as requests have texts that may be left out.
func TextOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Printable returns text from a server with its control characters, except line breaks and tabs, replaced: they could
// change what a terminal shows.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029') {
			return '\ufffd'
		}
		return r
	}, s)
}

// PrintableLine is Printable for one line: every run of white space, such as a line break, is replaced by a space.
func PrintableLine(s string) string { return strings.Join(strings.Fields(Printable(s)), " ") }
