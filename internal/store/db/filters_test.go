package db_test

import (
	"testing"

	"pleat"
	"pleat/internal/store/batches"
	"pleat/internal/store/storetest"
)

// The texts of queries that users can make by filters, orders and limits are few, since SQLite's are kept.
func TestFiltersMakeFewQueries(t *testing.T) {
	t.Parallel()
	s := storetest.OpenAt(t, "sqlite:"+t.TempDir()+"/pleat.db", nil)
	walking := batches.New(s.DB, s.People, s.Runs, batches.Options{Driving: -1})
	b := &pleat.Batch{ID: "x", Counts: map[pleat.State]int{pleat.StateRunning: 3000}}
	operators := []string{">=", "<=", "!=", ">", "<", "="}
	before := s.DB.Statements()
	for i := range 2000 {
		q := batches.TableQuery{Sort: []string{"", "ptm_score"}[i%2], Descending: i/2%2 == 1, Limit: 1 + i/2}
		if i/4%2 == 1 {
			q.State = pleat.StateCompleted
		}
		if i/8%3 > 0 {
			q.CustomID = pleat.TextCondition{Text: "a", IsPart: i/8%3 == 1}
		}
		for k := i; len(q.Conditions) < i%11; k /= 6 {
			c := pleat.ScoreCondition{Name: []string{"meanPLDDT", "ptm_score"}[k%2], Op: operators[k%6], Value: 1}
			q.Conditions = append(q.Conditions, c)
		}
		if _, _, err := walking.BatchTable(t.Context(), b, q); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.DB.Statements() - before; n > 250 {
		t.Errorf("2000 filters made %d different queries", n)
	}
}
