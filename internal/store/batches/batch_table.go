package batches

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// TableQuery selects and orders rows of a batch. The zero value selects all, in the order in which they were given;
// Limit must be set.
type TableQuery struct {
	Sort       string // name of a score; empty: the order as given. Rows that lack the score come last
	Descending bool
	State      pleat.State // empty: any
	CustomID   pleat.TextCondition
	Conditions []pleat.ScoreCondition
	Numbers    []int        // of the rows, different ones from 1 to that of the last; nil: all
	After      *RowPosition // the last row of the page before; nil: the first page
	Limit      int
}

// RowPosition is the place of a row in a table that is sorted.
type RowPosition struct {
	Value  *float64 // of the score by which the table is sorted; nil: none
	First  int      // the first of the rows that share its job
	Number int
}

// TableRow is a row of a table.
type TableRow = pleat.BatchRow

// maxColumns is how many columns a table has: users name the chains by which scores are called.
const maxColumns = 200

// BatchColumns lists the names of the scores that rows of a batch have, in the order of [pleat.SortColumns]. If there
// are more than maxColumns, it lists the scores without chains and the first others by name. It steps from name to name
// in an index.
func (s *Store) BatchColumns(ctx context.Context, id pleat.BatchID) ([]string, error) {
	all := pleat.ScoreNames()
	args := append([]any{id, maxColumns}, db.Args(all)...)
	named, err := db.ColumnOf[string](s.db.Read(ctx, `
		WITH RECURSIVE named (name, n) AS (
			SELECT (SELECT min(name) FROM batch_score WHERE batch_id = $1), 1
			UNION ALL
			SELECT (SELECT min(s.name) FROM batch_score s WHERE s.batch_id = $1 AND s.name > named.name), named.n + 1
			FROM named WHERE named.name IS NOT NULL AND named.n < $2
		)
		SELECT name FROM named WHERE name IS NOT NULL
		UNION
		SELECT v.column1 FROM (`+db.Values(3, len(all), "text")+`) AS v
		WHERE EXISTS (SELECT 1 FROM batch_score s WHERE s.batch_id = $1 AND s.name = v.column1)`,
		args...))
	if err != nil {
		return nil, db.Unavailable("read columns", err)
	}
	out := slices.DeleteFunc(all, func(name string) bool { return !slices.Contains(named, name) })
	slices.Sort(named)
	for _, name := range named {
		if len(out) < maxColumns && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	pleat.SortColumns(out)
	return out, nil
}

// BatchTable reads a page of the rows of a batch. The next page begins after the position that it returns; nil: there
// is none. It does not check who asks. Its time hardly grows with the batch: a condition that few rows meet is
// answered from its index, any other in the order of the table.
func (s *Store) BatchTable(
	ctx context.Context, b *pleat.Batch, q TableQuery,
) ([]TableRow, *RowPosition, error) {
	list, err := s.drivenRows(ctx, b, &q)
	if err == nil && list == nil {
		list, err = s.walkedRows(ctx, b, &q)
	}
	if err != nil {
		return nil, nil, db.Unavailable("read table", err)
	}
	list, next := q.cut(list)
	return list, next, nil
}

// cut returns a page of which one row more may have been read, and the position of its last row if there was one more.
func (q *TableQuery) cut(list []TableRow) ([]TableRow, *RowPosition) {
	if len(list) <= q.Limit {
		return list, nil
	}
	last := &list[q.Limit-1]
	return list[:q.Limit], new(q.position(last))
}

// rows returns the rows of a list that meet the conditions of the query and come after its position, in its order.
func (q *TableQuery) rows(list []TableRow) []TableRow {
	list = slices.DeleteFunc(slices.Clone(list), func(r TableRow) bool {
		return !q.meets(&r) || q.After != nil && q.compare(q.position(&r), *q.After) <= 0
	})
	slices.SortFunc(list, func(x, y TableRow) int { return q.compare(q.position(&x), q.position(&y)) })
	return list
}

// position is the position of a row.
func (q *TableQuery) position(r *TableRow) RowPosition {
	p := RowPosition{First: r.First, Number: r.Number}
	if q.Sort != "" {
		p.Value = r.Score(q.Sort)
	}
	return p
}

// compare orders two rows of the table as the indexes do: rows with equal scores by their job and number, upwards or
// downwards.
func (q *TableQuery) compare(a, b RowPosition) int {
	switch {
	case a.Value == nil && b.Value == nil:
		return cmp.Compare(a.Number, b.Number)
	case a.Value == nil:
		return 1
	case b.Value == nil:
		return -1
	}
	order := cmp.Or(cmp.Compare(*a.Value, *b.Value), cmp.Compare(a.First, b.First), cmp.Compare(a.Number, b.Number))
	if q.Descending {
		return -order
	}
	return order
}

// meets reports whether a row meets the conditions of the query.
func (q *TableQuery) meets(r *TableRow) bool {
	if q.State != "" && r.State != q.State {
		return false
	}
	for _, c := range q.Conditions {
		if v := r.Score(c.Name); v == nil || !c.Holds(*v) {
			return false
		}
	}
	return true
}

// spanOf returns a condition as two bounds, which values that meet it are within, both included, or not: 1 or 0. The
// text of a query must not depend on the operator, since the texts that users can make are kept.
func spanOf(c *pleat.ScoreCondition) (low, high float64, within int) {
	switch c.Op {
	case ">=":
		return c.Value, math.MaxFloat64, 1
	case "<=":
		return -math.MaxFloat64, c.Value, 1
	case ">":
		return math.Nextafter(c.Value, math.Inf(1)), math.MaxFloat64, 1
	case "<":
		return -math.MaxFloat64, math.Nextafter(c.Value, math.Inf(-1)), 1
	case "!=":
		return c.Value, c.Value, 0
	}
	return c.Value, c.Value, 1
}

// drivenRows reads one row more than the page by the condition of the query that selects fewest rows, if it selects at
// most Options.Driving; nil if none does.
func (s *Store) drivenRows(ctx context.Context, b *pleat.Batch, q *TableQuery) ([]TableRow, error) {
	if q.Numbers != nil {
		return s.someRows(ctx, b, q, q.Numbers)
	}
	if q.CustomID.Text != "" {
		p := &people.Page{Args: []any{b.ID}, Where: "r.batch_id = $1"}
		addCustomID(p, q.CustomID)
		numbers, err := s.numbers(ctx, fmt.Sprint("SELECT r.number FROM batch_row r WHERE ", p.Where, " LIMIT ",
			s.driving+1), p.Args...)
		if err != nil {
			return nil, err
		}
		if len(numbers) <= s.driving {
			return s.someRows(ctx, b, q, numbers)
		}
	}
	var driving []int
	found := false
	try := func(query string, args ...any) error {
		numbers, err := s.numbers(ctx, query+fmt.Sprint(" LIMIT ", s.driving+1), args...)
		if err == nil && len(numbers) <= s.driving && (!found || len(numbers) < len(driving)) {
			driving, found = numbers, true
		}
		return err
	}
	if q.State != "" && q.State != unmadeState(b) && b.Counts[q.State] <= s.driving {
		if err := try("SELECT batch_row FROM job WHERE state = $2 AND batch_id = $1 AND batch_id <> ''",
			b.ID, q.State); err != nil {
			return nil, err
		}
	}
	for _, c := range q.Conditions {
		low, high, within := spanOf(&c)
		if within == 0 { // nearly all rows that have the score
			low, high = -math.MaxFloat64, math.MaxFloat64
		}
		if err := try(`
			SELECT number FROM batch_score WHERE batch_id = $1 AND name = $2 AND value >= $3 AND value <= $4`,
			b.ID, c.Name, low, high); err != nil {
			return nil, err
		}
	}
	driving, err := s.sharingRows(ctx, b, driving)
	if err != nil || !found || len(driving) > s.driving {
		return nil, err
	}
	return s.someRows(ctx, b, q, driving)
}

// someRows reads one row more than the page of those rows with the numbers that the query selects.
func (s *Store) someRows(ctx context.Context, b *pleat.Batch, q *TableQuery, numbers []int) ([]TableRow, error) {
	numbers, err := s.identifiedRows(ctx, b, q, numbers)
	if err != nil {
		return nil, err
	}
	list, err := s.tableRows(ctx, b, numbers)
	if err != nil {
		return nil, err
	}
	list = q.rows(list)
	return list[:min(len(list), q.Limit+1)], nil
}

// numbers reads the numbers of rows.
func (s *Store) numbers(ctx context.Context, query string, args ...any) ([]int, error) {
	return db.ColumnOf[int](s.db.Read(ctx, query, args...))
}

// identifiedRows returns those of the rows with the numbers, in the same order, that meet the condition on their
// CustomID.
func (s *Store) identifiedRows(ctx context.Context, b *pleat.Batch, q *TableQuery, numbers []int) ([]int, error) {
	if q.CustomID.Text == "" {
		return numbers, nil
	}
	p := &people.Page{Args: []any{b.ID}, Where: "r.batch_id = $1"}
	addCustomID(p, q.CustomID)
	met := map[int]bool{}
	for part := range slices.Chunk(numbers, db.MaxStatementRows) {
		err := s.eachOf(ctx, "SELECT r.number FROM batch_row r WHERE "+p.Where+" AND r.number", p.Args,
			db.Args(part), func(scan func(...any) error) error {
				var number int
				err := scan(&number)
				met[number] = true
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(numbers), func(number int) bool { return !met[number] }), nil
}

// addCustomID adds the condition on the CustomID of the row r.
func addCustomID(p *people.Page, c pleat.TextCondition) {
	switch {
	case c.Text == "":
	case c.IsPart:
		p.Contains("r.custom_id", c.Text)
	default:
		p.And("r.custom_id = " + p.Param(c.Text))
	}
}

// sharingRows returns the numbers of the rows that share the jobs of rows, in the order of these, which it includes.
func (s *Store) sharingRows(ctx context.Context, b *pleat.Batch, jobs []int) ([]int, error) {
	if b.Jobs == b.Rows {
		return jobs, nil
	}
	sharing := map[int][]int{}
	for part := range slices.Chunk(jobs, db.MaxStatementRows) {
		for _, number := range part {
			sharing[number] = []int{number}
		}
		err := s.eachOf(ctx, `
			SELECT same_as, number FROM batch_row WHERE batch_id = $1 AND same_as <> number AND same_as`,
			[]any{b.ID}, db.Args(part), func(scan func(...any) error) error {
				var same, number int
				err := scan(&same, &number)
				sharing[same] = append(sharing[same], number)
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	var out []int
	for _, number := range jobs {
		slices.Sort(sharing[number])
		out = append(out, sharing[number]...)
	}
	return out, nil
}

// walkedRows reads one row more than the page in the order of the table: first the rows that have the score by which it
// is sorted, then those that lack it.
func (s *Store) walkedRows(ctx context.Context, b *pleat.Batch, q *TableQuery) ([]TableRow, error) {
	var numbers []int
	if q.Sort != "" && (q.After == nil || q.After.Value != nil) {
		var err error
		if numbers, err = s.scoredNumbers(ctx, b, q); err != nil {
			return nil, err
		}
	}
	if len(numbers) <= q.Limit && !slices.ContainsFunc(q.Conditions, func(c pleat.ScoreCondition) bool {
		return c.Name == q.Sort
	}) {
		rest, err := s.unscoredNumbers(ctx, b, q, q.Limit+1-len(numbers))
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, rest...)
	}
	return s.tableRows(ctx, b, numbers)
}

// scoredNumbers reads the numbers of rows in the order of their scores, from the index of these, one more than the page
// if there are. The condition compares rows of its columns, as people.ProjectPage does, so that PostgreSQL uses no
// other index, whatever it estimates.
func (s *Store) scoredNumbers(ctx context.Context, b *pleat.Batch, q *TableQuery) ([]int, error) {
	low, high := q.bounds()
	p := &people.Page{Args: []any{b.ID, q.Sort, *low.Value, low.First, *high.Value, high.First}}
	const columns = "s.batch_id, s.name, s.value, s.number"
	p.Where = "(" + columns + ") >= ($1, $2, $3, $4) AND (" + columns + ") <= ($1, $2, $5, $6)"
	p.Order = columns
	if q.Descending {
		p.Order = strings.ReplaceAll(columns, ",", " DESC,") + " DESC"
	}
	addQuery(p, b, q, "s")
	if q.CustomID.Text != "" { // of a row that has the job
		rows := &people.Page{Args: p.Args, Where: "r.batch_id = s.batch_id"}
		addCustomID(rows, q.CustomID)
		p.Args = rows.Args
		p.And("(EXISTS (SELECT 1 FROM batch_row r WHERE " + rows.Where + " AND r.number = s.number) OR " +
			"EXISTS (SELECT 1 FROM batch_row r WHERE " + rows.Where + " AND r.same_as = s.number " +
			"AND r.same_as <> r.number))")
	}
	// The first job may have had all its rows on the page before.
	jobs, err := s.numbers(ctx, p.SQL("s.number", "batch_score s", fewLimits(q.Limit+2)), p.Args...)
	if err != nil {
		return nil, err
	}
	if q.Descending {
		slices.Reverse(jobs)
	}
	numbers, err := s.sharingRows(ctx, b, jobs)
	if err != nil {
		return nil, err
	}
	if q.Descending {
		slices.Reverse(numbers)
	}
	if q.After != nil {
		numbers = numbers[slices.Index(numbers, q.After.Number)+1:]
	}
	numbers, err = s.identifiedRows(ctx, b, q, numbers)
	return numbers[:min(len(numbers), q.Limit+1)], err
}

// bounds are the positions between which the jobs are that have the score by which the table is sorted, by the last row
// of the page before, whose job may have further ones, and the conditions on the score.
func (q *TableQuery) bounds() (low, high RowPosition) {
	low = RowPosition{Value: new(-math.MaxFloat64)}
	high = RowPosition{Value: new(math.MaxFloat64), First: math.MaxInt64}
	for _, c := range q.Conditions {
		if c.Name != q.Sort {
			continue
		}
		from, to, within := spanOf(&c)
		if within == 1 && from > *low.Value {
			low = RowPosition{Value: &from}
		}
		if within == 1 && to < *high.Value {
			high = RowPosition{Value: &to, First: math.MaxInt64}
		}
	}
	up := TableQuery{}
	switch {
	case q.After == nil:
	case q.Descending && up.compare(*q.After, high) < 0:
		high = *q.After
	case !q.Descending && up.compare(*q.After, low) > 0:
		low = *q.After
	}
	return low, high
}

// unscoredNumbers reads the numbers of rows that lack the score by which the table is sorted, of all rows if it is not.
func (s *Store) unscoredNumbers(ctx context.Context, b *pleat.Batch, q *TableQuery, limit int) ([]int, error) {
	after := 0
	if q.After != nil && q.After.Value == nil {
		after = q.After.Number
	}
	p := &people.Page{
		Args:  []any{b.ID, after},
		Where: "(r.batch_id, r.number) > ($1, $2) AND r.batch_id <= $1",
		Order: "r.batch_id, r.number",
	}
	if q.Sort != "" {
		p.And(`NOT EXISTS (
			SELECT 1 FROM batch_score s
			WHERE s.batch_id = r.batch_id AND s.number = r.same_as AND s.name = ` + p.Param(q.Sort) + ")")
	}
	addQuery(p, b, q, "r")
	addCustomID(p, q.CustomID)
	numbers, err := s.numbers(ctx, p.SQL("r.number", "batch_row r", fewLimits(limit)), p.Args...)
	return numbers[:min(len(numbers), limit)], err
}

// fewLimits returns a limit that is not smaller, one of two for all pages that a user may ask for: the text of a query
// has it.
func fewLimits(n int) int {
	if n <= 128 {
		return 128
	}
	return max(1024, db.Padded(n))
}

// addQuery adds the conditions of a query on the job of a row of batch_score s or batch_row r. It repeats the last one,
// so that there are few different numbers of them. The bounds of the query have those of the score s.
func addQuery(p *people.Page, b *pleat.Batch, q *TableQuery, table string) {
	job := map[string]string{"s": "s.number", "r": "r.same_as"}[table]
	list := slices.DeleteFunc(slices.Clone(q.Conditions), func(c pleat.ScoreCondition) bool {
		_, _, within := spanOf(&c)
		return table == "s" && c.Name == q.Sort && within == 1
	})
	for n := db.Padded(len(list)); 0 < len(list) && len(list) < n; {
		list = append(list, list[len(list)-1])
	}
	for _, c := range list {
		low, high, within := spanOf(&c)
		p.And(`EXISTS (
			SELECT 1 FROM batch_score c
			WHERE c.batch_id = ` + table + ".batch_id AND c.number = " + job + " AND c.name = " + p.Param(c.Name) +
			" AND CASE WHEN c.value >= " + p.Param(low) + " AND c.value <= " + p.Param(high) +
			" THEN 1 ELSE 0 END = " + p.Param(within) + ")")
	}
	if q.State != "" {
		p.And(`COALESCE((
			SELECT j.state FROM job j
			WHERE j.batch_id = ` + table + ".batch_id AND j.batch_id <> '' AND j.batch_row = " + job + "), " +
			p.Param(unmadeState(b)) + ") = " + p.Param(q.State))
	}
}
