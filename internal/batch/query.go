package batch

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"pleat"
)

// Bounds of a filter, and of the rows that a query names.
const (
	maxFilter     = 1000 // bytes
	maxConditions = 10
	maxNamedRows  = 100
)

// Sort is the order of a table.
type Sort struct {
	Column     string // name of a score; empty: the order in which the rows were given
	Descending bool
}

// Filter selects rows of a table. The zero value selects all.
type Filter struct {
	State      pleat.State // empty: any
	CustomID   pleat.TextCondition
	Conditions []pleat.ScoreCondition
}

// operators of conditions, those first whose text has another as its beginning. The last is for text alone.
var operators = []string{">=", "<=", "!=", ">", "<", "=", contains}

// contains is the operator of a text that another has as a part.
const contains = "~"

// ParseSort reads the order of a table: the name of a score, with :asc or :desc. Without them the better values come
// first. The empty text is the order in which the rows were given.
func ParseSort(text string) (Sort, error) {
	name, direction, directed := strings.Cut(text, ":")
	if text == "" {
		return Sort{}, nil
	}
	c, err := columnNamed("sort", name)
	if err != nil {
		return Sort{}, err
	}
	switch {
	case !directed:
		return Sort{c.Name, c.HigherBetter}, nil
	case direction != "asc" && direction != "desc":
		return Sort{}, pleat.InvalidField("sort", " has the direction %q; it may be asc or desc", pleat.Clip(direction))
	}
	return Sort{c.Name, direction == "desc"}, nil
}

// columnNamed describes the column of a name that a field of the query has.
func columnNamed(field, name string) (pleat.ScoreColumn, error) {
	c, ok := pleat.ColumnOf(name)
	switch {
	case ok && c.OfPair && !strings.Contains(name, "."):
		return c, pleat.InvalidField(field, " names %q, which is a score of two chains; name them after a dot, as in "+
			"%s.A-B", name, name)
	case ok && len(name) <= 100:
		return c, nil
	}
	known := pleat.ScoreNames()
	hint := "scores are " + strings.Join(known, ", ") + ", some with a dot and chains, as in ipsae.A-B"
	if near := pleat.Nearest(name, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	return c, pleat.InvalidField(field, " names %q, which is no score; %s", pleat.Clip(name), hint)
}

// ParseFilter reads conditions that are joined by commas, such as meanPLDDT>=80,status=COMPLETED. The empty text has
// none.
func ParseFilter(text string) (Filter, error) {
	var f Filter
	if text == "" {
		return f, nil
	}
	if len(text) > maxFilter {
		return f, pleat.InvalidField("filter", " has %d bytes; at most %d are allowed", len(text), maxFilter)
	}
	parts := strings.Split(text, ",")
	if len(parts) > maxConditions {
		return f, pleat.InvalidField("filter", " has %d conditions; at most %d are allowed", len(parts), maxConditions)
	}
	for i, part := range parts {
		if err := f.parse(i+1, strings.TrimSpace(part)); err != nil {
			return Filter{}, err
		}
	}
	return f, nil
}

// parse adds condition n of a filter.
func (f *Filter) parse(n int, text string) error {
	at := strings.IndexAny(text, "><=!~")
	i := -1
	if at > 0 {
		i = slices.IndexFunc(operators, func(op string) bool { return strings.HasPrefix(text[at:], op) })
	}
	if i < 0 {
		return pleat.InvalidField("filter", ", condition %d: %q must be a name, one of >=, <=, >, <, =, != and ~, and "+
			"a value", n, pleat.Clip(text))
	}
	name, op := strings.TrimSpace(text[:at]), operators[i]
	value := strings.TrimSpace(text[at+len(op):])
	switch name {
	case "status":
		return f.parseStatus(n, op, value)
	case "customId":
		return f.parseCustomID(n, op, value)
	}
	c, err := columnNamed("filter, condition "+strconv.Itoa(n)+",", name)
	if err != nil {
		return pleat.ErrorsOf(err)[0].At("filter")
	}
	if op == contains {
		return pleat.InvalidField("filter", ", condition %d: customId alone takes ~", n)
	}
	number, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
		return pleat.InvalidField("filter", ", condition %d: %q is not a number", n, pleat.Clip(value))
	}
	f.Conditions = append(f.Conditions, pleat.ScoreCondition{Name: c.Name, Op: op, Value: number})
	return nil
}

// parseStatus reads the condition on the status of a row.
func (f *Filter) parseStatus(n int, op, value string) error {
	state := pleat.State(strings.ToUpper(value))
	switch {
	case op != "=":
		return pleat.InvalidField("filter", ", condition %d: status takes = alone", n)
	case f.State != "":
		return pleat.InvalidField("filter", ", condition %d: there is a condition on status already", n)
	case !slices.Contains(pleat.JobStates(), state):
		return pleat.InvalidField("filter", ", condition %d: %q is no status; it may be INITIALIZED, RUNNING, "+
			"COMPLETED, FAILED or STOPPED", n, pleat.Clip(value))
	}
	f.State = state
	return nil
}

// parseCustomID reads the condition on the customId of a row.
func (f *Filter) parseCustomID(n int, op, value string) error {
	switch {
	case op != "=" && op != contains:
		return pleat.InvalidField("filter", ", condition %d: customId takes = and ~ alone", n)
	case f.CustomID.Text != "":
		return pleat.InvalidField("filter", ", condition %d: there is a condition on customId already", n)
	case value == "":
		return pleat.InvalidField("filter", ", condition %d: customId%s must be followed by a text", n, op)
	}
	if err := pleat.CheckName("filter", value); err != nil {
		return err
	}
	f.CustomID = pleat.TextCondition{Text: value, IsPart: op == contains}
	return nil
}

// ParseRows reads numbers of rows that are joined by commas, such as 3,17. They are different and at most last. The
// empty text names none: nil.
func ParseRows(text string, last int) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	parts := strings.SplitN(text, ",", maxNamedRows+1)
	if len(parts) > maxNamedRows {
		return nil, pleat.InvalidField("rows", " has more than %d numbers", maxNamedRows)
	}
	var out []int
	for _, part := range parts {
		n, err := strconv.Atoi(part)
		switch {
		case err != nil || n < 1 || n > last:
			return nil, pleat.InvalidField("rows", " has %q, which is no number of a row; rows are 1 to %d",
				pleat.Clip(part), last)
		case slices.Contains(out, n):
			return nil, pleat.InvalidField("rows", " has %d twice", n)
		}
		out = append(out, n)
	}
	return out, nil
}

// Columns describes the columns of scores by their names, in the same order.
func Columns(names []string) []pleat.ScoreColumn {
	var out []pleat.ScoreColumn
	for _, name := range names {
		c, ok := pleat.ColumnOf(name)
		if !ok { // of a later version of this program
			c = pleat.ScoreColumn{Name: name}
		}
		out = append(out, c)
	}
	return out
}
