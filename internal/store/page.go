package store

import (
	"fmt"
	"strings"
)

// page is a part of a list of a project's rows, newest first, in SQL: a condition on the rows, their order, and the
// parameters of both, which are numbered from $1 on.
type page struct {
	where, order string
	args         []any
}

// column is a column and the value that it must have.
type column struct {
	name  string
	value any
}

// afterAllIDs sorts after every id, in every collation.
const afterAllIDs = "g"

// pageOf returns the page of a project's rows that begins before an id; empty: with the newest. It is empty for who has
// no role in the project. The table's index of pages has the columns project_id, by, and id. The condition compares
// rows of these columns, so that no other index has the order: by its estimates, PostgreSQL would at times read the
// rows of all projects from the newest on, and those of this one may be far down.
func pageOf(table string, in Reach, before string, by ...column) *page {
	if before == "" {
		before = afterAllIDs
	}
	p := &page{args: []any{in.Project, before}}
	columns, values := []string{table + ".project_id"}, []string{"$1"}
	for _, c := range by {
		columns, values = append(columns, table+"."+c.name), append(values, p.param(c.value))
	}
	of, to := strings.Join(columns, ", "), strings.Join(values, ", ")
	p.where = fmt.Sprintf("(%[1]s) >= (%[2]s) AND (%[1]s, %[3]s.id) < (%[2]s, $2)", of, to, table)
	if in.User != ofProject {
		p.and(memberRole("$1", p.param(in.User)) + " > 0")
	}
	p.order = strings.Join(columns, " DESC, ") + " DESC, " + table + ".id DESC"
	return p
}

// param adds a parameter and returns its name.
func (p *page) param(v any) string {
	p.args = append(p.args, v)
	return fmt.Sprint("$", len(p.args))
}

// and adds a condition.
func (p *page) and(condition string) { p.where += " AND " + condition }

// equal adds the condition that a column has a value, unless that is empty.
func (p *page) equal(column, value string) {
	if value != "" {
		p.and(column + " = " + p.param(value))
	}
}

// sql returns the query of the page, of at most limit rows.
func (p *page) sql(columns, from string, limit int) string {
	return fmt.Sprintf("SELECT %s FROM %s WHERE %s ORDER BY %s LIMIT %d", columns, from, p.where, p.order, limit)
}
