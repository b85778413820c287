package cli

import (
	"fmt"
	"io"
	"os"
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

// printResult prints a response: with --json as JSON, otherwise by calling human.
func printResult(cmd *cobra.Command, v any, human func() error) error {
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSON(cmd.OutOrStdout(), v)
	}
	return human()
}

// printJSON writes a value as indented JSON, with the fields of the API.
func printJSON(w io.Writer, v any) error {
	b, err := api.EncodeIndent(v)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// table writes rows in columns; the first row is the head. Cells come from a server, so control characters are
// replaced. On a terminal long ones are shortened; a file or a program gets them whole.
func table(w io.Writer, rows [][]string) error {
	cell := printableLine
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

// number returns a score in the format of package fmt, or a dash if the engine gives none.
func number(v *float64, format string) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf(format, *v)
}

// formatTime returns a time as text, or a dash for nil.
func formatTime[T interface{ Format(layout string) string }](t *T) string {
	if t == nil {
		return "-"
	}
	return (*t).Format(time.DateTime)
}

// textOr returns a text, or a dash for nil.
func textOr(text *string) string {
	if text == nil {
		return "-"
	}
	return *text
}

// printable returns text from a server with its control characters, except line breaks and tabs, replaced: they could
// change what a terminal shows.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029') {
			return '\ufffd'
		}
		return r
	}, s)
}

// printableLine is printable of one line: every run of white space, such as a line break, is replaced by a space.
func printableLine(s string) string { return strings.Join(strings.Fields(printable(s)), " ") }

// seconds writes seconds for a table; nil is not known.
func seconds(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', 1, 64)
}
