package runs

import (
	"fmt"

	"pleat"
	"pleat/internal/store/people"
)

// Plans are queries that must scan no table, with parameters.
var Plans = map[string][]any{
	heldTasksSQL(leaseExpired, 1000): {1},
	nextLease:                        nil,

	"SELECT 1 FROM session WHERE " + people.TimesAhead(0)[0].Where: {0},
}

// CreatorPages are queries of what one person has created in a shared project, by the index that they must use.
func CreatorPages() map[string]*people.Page {
	in := people.Reach{User: "ada", Project: "lab"}
	out := map[string]*people.Page{}
	add := func(p *people.Page, format string) { out[fmt.Sprintf(format, p.Where, p.Order)] = p }
	jobs := "SELECT " + jobRowColumns("'me'") +
		" FROM job AS j JOIN run r ON r.id = j.run_id WHERE %s ORDER BY %s LIMIT 9"
	add((&Filter{Creator: "eve", Limit: 9}).page(in), jobs)
	add((&Filter{Creator: "eve", State: pleat.StateFailed}).page(in), jobs)
	add((&WorkflowFilter{Creator: "eve", Limit: 9}).page(in), "SELECT "+workflowColumns+
		" FROM workflow w WHERE %s ORDER BY %s LIMIT 9")
	return out
}
