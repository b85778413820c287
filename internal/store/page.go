package store

import (
	"fmt"
	"strings"

	"pleat"
)

// page is a part of a list of a project's rows, newest first, in SQL: a condition on the rows, their order, and the
// parameters of both, which are numbered from $1 on.
type page struct {
	in           Reach
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
	p := &page{in: in, args: []any{in.Project, before}}
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

// created adds the condition that a user created the row, unless the user is empty.
func (p *page) created(table string, in Reach, user pleat.UserID) {
	switch {
	case user == "":
	case indexesCreator(in, user):
		p.equal(table+".created_by", string(user))
	default:
		p.and(fmt.Sprintf("(%[1]s.created_by = '' OR %[1]s.created_by = %[1]s.project_id)", table))
	}
}

// pageOfCreator is pageOf for the rows that a user created, in an index of creators if one has them. Its conditions are
// the index's own; with an equality instead, SQLite would take the index of pages, which has the order then, too.
func pageOfCreator(table string, in Reach, before string, user pleat.UserID) *page {
	if !indexesCreator(in, user) {
		p := pageOf(table, in, before)
		p.created(table, in, user)
		return p
	}
	p := pageOf(table, in, before, column{"created_by", user})
	p.and(fmt.Sprintf("%[1]s.created_by <> '' AND %[1]s.created_by <> %[1]s.project_id", table))
	return p
}

// indexesCreator reports whether the index of creators has the rows that a user created in the project of a reach. It
// has none that are of the user whose own project it is: those are nearly all.
func indexesCreator(in Reach, user pleat.UserID) bool {
	return user != "" && user.OwnProject() != in.Project
}

// creatorSQL is the user who created a row of a table, in SQL. Those from before projects are of the user whose own
// project it is.
func creatorSQL(table string) string {
	return fmt.Sprintf("CASE %[1]s.created_by WHEN '' THEN %[1]s.project_id ELSE %[1]s.created_by END", table)
}

// creatorName is the name of that user. It is a query of its own inside the statement, so that no plan of a list begins
// with the users.
func creatorName(table string) string {
	return "COALESCE((SELECT y.name FROM account y WHERE y.id = " + creatorSQL(table) + "), '')"
}

// shownName is the name of a user as others see it: empty once the user was deleted.
func shownName(user pleat.UserID, name string) string {
	if isErased(user, name) {
		return ""
	}
	return name
}

// sql returns the query of the page, of at most limit rows.
func (p *page) sql(columns, from string, limit int) string {
	return fmt.Sprintf("SELECT %s FROM %s WHERE %s ORDER BY %s LIMIT %d", columns, from, p.where, p.order, limit)
}
