package db

import (
	"slices"
	"strconv"
	"strings"
)

// MaxStatementRows bounds the rows of one statement. Lists are cut into few different lengths, so that few statements
// are prepared.
const MaxStatementRows = 128

// Padded returns the next power of two.
func Padded(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}

// Args returns values as parameters of a statement.
func Args[T any](values []T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// Pad repeats the last of some ids up to the next power of two. Inside IN that changes nothing, and the statement is
// one of a few that stay prepared. There must be at least one id.
func Pad(ids []any) []any {
	out := slices.Clone(ids)
	for n := Padded(len(ids)); len(out) < n; {
		out = append(out, ids[len(ids)-1])
	}
	return out
}

// RowParts cuts the values of many rows, one row after the other, into parts whose numbers of rows are powers of two,
// at most [MaxStatementRows]. 200 rows become parts of 128, 64 and 8.
func RowParts(args []any, columns int) func(yield func([]any) bool) {
	return func(yield func([]any) bool) {
		for size := MaxStatementRows; size > 0; size /= 2 {
			for len(args) >= size*columns {
				if !yield(args[: size*columns : size*columns]) {
					return
				}
				args = args[size*columns:]
			}
		}
	}
}

// PaddedRowParts is [RowParts] with fewer parts: it repeats the last row up to the next power of two. It is for
// statements to which a repeated row makes no difference.
func PaddedRowParts(args []any, columns int) func(yield func([]any) bool) {
	return func(yield func([]any) bool) {
		for part := range slices.Chunk(args, MaxStatementRows*columns) {
			row := part[len(part)-columns:]
			part = slices.Clip(part)
			for n := Padded(len(part)/columns) * columns; len(part) < n; {
				part = append(part, row...)
			}
			if !yield(part) {
				return
			}
		}
	}
}

// IdempotentRowParts cuts rows for a statement to which a repeated row makes no difference: on PostgreSQL into few
// parts, since each statement costs more there.
func (t *Tx) IdempotentRowParts(args []any, columns int) func(yield func([]any) bool) {
	if t.pg != nil {
		return PaddedRowParts(args, columns)
	}
	return RowParts(args, columns)
}

// Params returns «$from, $from+1, …», n of them, for an IN list.
func Params(from, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(from + i))
	}
	return b.String()
}

// Values returns a VALUES list of rows with a parameter for each column, of which the first is «$from». Both databases
// name the columns column1, column2 …. The casts tell PostgreSQL the types, which it cannot infer in a VALUES list.
func Values(from, rows int, types ...string) string {
	var b strings.Builder
	b.WriteString("VALUES ")
	for i := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('(')
		for k, typ := range types {
			if k > 0 {
				b.WriteString(", ")
			}
			b.WriteString("CAST($" + strconv.Itoa(from+i*len(types)+k) + " AS " + typ + ")")
		}
		b.WriteByte(')')
	}
	return b.String()
}
