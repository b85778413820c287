package work

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"pleat"
	"pleat/internal/store/batches"
	"pleat/internal/store/storetest"
)

// A batch that cannot be advanced does not make the others wait for the next round.
func TestBrokenBatchSlowsNoOther(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	address := storetest.Databases()["sqlite"](t)
	s := storetest.OpenAt(t, address, &storetest.Clock{})
	u := storetest.User(t, s, "ada")
	create := func(n int) pleat.BatchID {
		rows := func(yield func(batches.NewRow, error) bool) {
			for i := range n {
				id := fmt.Sprint("r", i)
				in := batches.RowInput{Name: id, Sequences: []pleat.Sequence{storetest.Protein("GS")}}
				if !yield(batches.NewRow{CustomID: id, Digest: sha256.Sum256([]byte(id)), Input: in}, nil) {
					return
				}
			}
		}
		created, err := s.Batches.CreateBatch(ctx, batches.NewBatch{Batch: pleat.Batch{Owner: u.Project}, Rows: rows})
		if err != nil {
			t.Fatal(err)
		}
		return created.Batch
	}
	broken := create(1)
	storetest.Exec(t, address, "UPDATE batch_row SET input = '{' WHERE batch_id = '"+string(broken)+"'")
	create(350)
	if err := advanceAll(ctx, s.Batches); err == nil || !strings.Contains(err.Error(), string(broken)) {
		t.Errorf("%v", err)
	}
	if n := storetest.Count(t, s, "job"); n != 350 {
		t.Errorf("%d jobs", n)
	}
}
