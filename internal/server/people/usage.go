package people

import (
	"context"
	"encoding/csv"
	"net/http"
	"slices"
	"strings"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
)

const (
	// maxSpentDays bounds the days of one table of usage, and maxSpentRows its rows.
	maxSpentDays, maxSpentRows = 400, 10_000
)

// spentQuery reads from, to and by of a table of usage, whose sums are split by some of the keys; by the first two
// if the request names none. The days are those of this month unless it names others.
func (h *Handlers) spentQuery(c *route.Call, keys ...people.UsageKey) (people.SpentQuery, error) {
	now := h.DB.Now().UTC()
	q := people.SpentQuery{Limit: maxSpentRows + 1}
	var err error
	if q.To, err = c.DayQuery("to", now.Truncate(24*time.Hour)); err != nil {
		return q, err
	}
	first := time.Date(q.To.Year(), q.To.Month(), 1, 0, 0, 0, 0, time.UTC)
	if q.From, err = c.DayQuery("from", first); err != nil {
		return q, err
	}
	days := int(q.To.Sub(q.From)/(24*time.Hour)) + 1
	switch {
	case days < 1:
		return q, pleat.InvalidField("from", " is %s, after to, which is %s", q.From.Format(time.DateOnly),
			q.To.Format(time.DateOnly))
	case days > maxSpentDays:
		return q, pleat.InvalidField("from", " is %d days before to; at most %d days are allowed", days-1, maxSpentDays)
	}
	values, named := c.R.URL.Query()["by"]
	if !named {
		q.By = keys[:2]
		return q, nil
	}
	for name := range strings.SplitSeq(values[0], ",") {
		key := people.UsageKey(strings.TrimSpace(name))
		switch {
		case key == "":
		case !slices.Contains(keys, key):
			return q, pleat.InvalidField("by", " names %q; it may name %s", pleat.Clip(name), listed(keys))
		case !slices.Contains(q.By, key):
			q.By = append(q.By, key)
		}
	}
	return q, nil
}

// listed writes keys for a message.
func listed(keys []people.UsageKey) string {
	var names []string
	for _, k := range keys {
		names = append(names, string(k))
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// checkSpent refuses a table with more rows than one answer may have.
func checkSpent(list []people.Spent) error {
	if len(list) > maxSpentRows {
		return pleat.InvalidField("by", " would make more than %d rows; choose fewer days with from and to, or leave "+
			"a key out of by", maxSpentRows)
	}
	return nil
}

// spentFormat reads the query parameter format.
func spentFormat(r *http.Request) (isCSV bool, err error) {
	switch v := r.URL.Query().Get("format"); v {
	case "", "json":
		return false, nil
	case "csv":
		return true, nil
	default:
		return false, pleat.InvalidField("format", " is %q; it may be json or csv", pleat.Clip(v))
	}
}

// answerSpent writes a document with a table, or the table alone as CSV.
func answerSpent(c *route.Call, document any, t *api.SpentTable) error {
	asCSV, err := spentFormat(c.R)
	if err != nil {
		return err
	}
	if !asCSV {
		return c.JSON(document)
	}
	c.Attach("text/csv; charset=utf-8", "usage-"+t.From+"-"+t.To+".csv")
	w := csv.NewWriter(c.W)
	if err := w.Write(wire.SpentHeader()); err != nil {
		return err
	}
	for i := range t.Usage {
		if err := w.Write(wire.SpentCells(&t.Usage[i])); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// usage is GET /v1/usage, for any user: how many jobs and runs were created today (UTC), how many workflows were
// started, how many rows of batches were created, the quotas, and when the next day starts; and what the caller's runs
// have spent in the project.
func (h *Handlers) usage(ctx context.Context, c *route.Call) error {
	q, err := h.spentQuery(c, people.UsageByModel, people.UsageByDay, people.UsageByProject, people.UsageByUser)
	if err != nil {
		return err
	}
	q.User = c.Who.User
	u, err := h.People.Usage(ctx, c.In)
	if err != nil {
		return err
	}
	list, err := h.People.Spent(ctx, c.In, false, q)
	if err == nil {
		err = checkSpent(list)
	}
	if err != nil {
		return err
	}
	jobs := wire.Quota(u.Jobs)
	out := api.Usage{
		Limit:      jobs.Limit,
		Used:       jobs.Used,
		Remaining:  jobs.Remaining,
		ResetAt:    jobs.ResetAt,
		Workflows:  wire.Quota(u.Workflows),
		BatchRows:  wire.Quota(u.BatchRows),
		SpentTable: wire.SpentTable(&q, list),
	}
	return answerSpent(c, out, &out.SpentTable)
}

// projectUsage is GET /v1/projects/{id}/usage, for those who have a role in it, and operators: what its runs have
// spent. Only its managers and operators see what each user's have. 403: the caller is none.
func (h *Handlers) projectUsage(ctx context.Context, c *route.Call) error {
	q, err := h.spentQuery(c, people.UsageByModel, people.UsageByDay, people.UsageByProject, people.UsageByUser)
	if err == nil {
		_, err = h.member(ctx, c, pleat.Viewer)
	}
	if err != nil {
		return err
	}
	list, err := h.People.Spent(ctx, c.In, c.Who.Operator, q)
	if err == nil {
		err = checkSpent(list)
	}
	if err != nil {
		return err
	}
	budget, err := h.People.BudgetUse(ctx, c.In, c.Who.Operator)
	if err != nil {
		return err
	}
	out := api.ProjectUsage{
		ProjectID:  string(c.In.Project),
		Budget:     wire.BudgetUse(&budget),
		SpentTable: wire.SpentTable(&q, list),
	}
	return answerSpent(c, out, &out.SpentTable)
}

// allUsage is GET /v1/operator/usage, for operators: what the runs of all projects have spent. 403: the caller is none.
func (h *Handlers) allUsage(ctx context.Context, c *route.Call) error {
	q, err := h.spentQuery(c, people.UsageByProject, people.UsageByModel, people.UsageByUser, people.UsageByDay)
	if err != nil {
		return err
	}
	list, err := h.People.SpentByAll(ctx, q)
	if err == nil {
		err = checkSpent(list)
	}
	if err != nil {
		return err
	}
	out := wire.SpentTable(&q, list)
	return answerSpent(c, out, &out)
}
