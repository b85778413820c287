package people

import (
	"fmt"
	"strings"

	"pleat"
)

// Page is a part of a list of a project's rows, newest first, in SQL: a condition on the rows, their order, and the
// parameters of both, which are numbered from $1 on.
type Page struct {
	Reach        Reach
	Where, Order string
	Args         []any
}

// Column is a column and the value that it must have.
type Column struct {
	Name  string
	Value any
}

// AfterAllIDs sorts after every id, in every collation.
const AfterAllIDs = "g"

// ProjectPage returns the page of a project's rows that begins before an id; empty: with the newest. It is empty for
// who has no role in the project. The table's index of pages has the columns project_id, by, and id. The condition
// compares rows of these columns, so that no other index has the order: by its estimates, PostgreSQL would at times
// read the rows of all projects from the newest on, and those of this one may be far down.
func ProjectPage(table string, in Reach, before string, by ...Column) *Page {
	if before == "" {
		before = AfterAllIDs
	}
	p := &Page{Reach: in, Args: []any{in.Project, before}}
	columns, values := []string{table + ".project_id"}, []string{"$1"}
	for _, c := range by {
		columns, values = append(columns, table+"."+c.Name), append(values, p.Param(c.Value))
	}
	columnList, valueList := strings.Join(columns, ", "), strings.Join(values, ", ")
	p.Where = fmt.Sprintf("(%[1]s) >= (%[2]s) AND (%[1]s, %[3]s.id) < (%[2]s, $2)", columnList, valueList, table)
	if in.User != ofProject {
		p.And(MemberRole("$1", p.Param(in.User)) + " > 0")
	}
	p.Order = strings.Join(columns, " DESC, ") + " DESC, " + table + ".id DESC"
	return p
}

// Param adds a parameter and returns its name.
func (p *Page) Param(v any) string {
	p.Args = append(p.Args, v)
	return fmt.Sprint("$", len(p.Args))
}

// And adds a condition.
func (p *Page) And(condition string) { p.Where += " AND " + condition }

// Equal adds the condition that a column has a value, unless that is empty.
func (p *Page) Equal(column, value string) {
	if value != "" {
		p.And(column + " = " + p.Param(value))
	}
}

// likeEscape makes a caller's text literal inside a LIKE pattern whose escape character is a backslash.
var likeEscape = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// Contains adds the condition that a column contains a text, in any case. Databases differ in the letters that have a
// small form, so the database makes both sides small.
func (p *Page) Contains(column, text string) {
	p.And("lower(" + column + ") LIKE lower(" + p.Param("%"+likeEscape.Replace(text)+"%") + `) ESCAPE '\'`)
}

// CreatedBy adds the condition that a user created the row, unless the user is empty.
func (p *Page) CreatedBy(table string, in Reach, user pleat.UserID) {
	switch {
	case user == "":
	case IndexesCreator(in, user):
		p.Equal(table+".created_by", string(user))
	default:
		p.And(fmt.Sprintf("(%[1]s.created_by = '' OR %[1]s.created_by = %[1]s.project_id)", table))
	}
}

// CreatorPage is [ProjectPage] for the rows that a user created, in an index of creators if one has them. Its
// conditions are the index's own; with an equality instead, SQLite would take the index of pages, which has the order
// then, too.
func CreatorPage(table string, in Reach, before string, user pleat.UserID) *Page {
	if !IndexesCreator(in, user) {
		p := ProjectPage(table, in, before)
		p.CreatedBy(table, in, user)
		return p
	}
	p := ProjectPage(table, in, before, Column{"created_by", user})
	p.And(fmt.Sprintf("%[1]s.created_by <> '' AND %[1]s.created_by <> %[1]s.project_id", table))
	return p
}

// IndexesCreator reports whether the index of creators has the rows that a user created in the project of a reach. It
// has none that are of the user whose own project it is: those are nearly all.
func IndexesCreator(in Reach, user pleat.UserID) bool {
	return user != "" && user.OwnProject() != in.Project
}

// CreatorSQL is the user who created a row of a table, in SQL. Those from before projects are of the user whose own
// project it is.
func CreatorSQL(table string) string {
	return fmt.Sprintf("CASE %[1]s.created_by WHEN '' THEN %[1]s.project_id ELSE %[1]s.created_by END", table)
}

// CreatorName is the name of that user. It is a query of its own inside the statement, so that no plan of a list begins
// with the users.
func CreatorName(table string) string {
	return "COALESCE((SELECT y.name FROM account y WHERE y.id = " + CreatorSQL(table) + "), '')"
}

// DisplayName is the name of a user as others see it: empty once the user was deleted.
func DisplayName(user pleat.UserID, name string) string {
	if isErased(user, name) {
		return ""
	}
	return name
}

// SQL returns the query of the page, of at most limit rows.
func (p *Page) SQL(columns, from string, limit int) string {
	return fmt.Sprintf("SELECT %s FROM %s WHERE %s ORDER BY %s LIMIT %d", columns, from, p.Where, p.Order, limit)
}
