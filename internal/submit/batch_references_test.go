package submit

import (
	"fmt"
	"testing"

	"pleat"
	"pleat/internal/batch"
)

// Rows may name the same template as often as they like, and a bounded number of different ones.
func TestTemplatesOfRows(t *testing.T) {
	t.Parallel()
	var p preparedBatch
	row := func(number int, id, chain string) *batch.Row {
		r := batch.Row{Path: fmt.Sprintf("jobs[%d]", number), Number: number + 1}
		r.Job.Constraints.Templates = []pleat.Template{{PDB: id, Chain: chain}}
		return &r
	}
	for i := range 3 * maxBatchTemplates {
		if err := p.addTemplates(row(i, fmt.Sprintf("1%03d", i%maxBatchTemplates), fmt.Sprintf("C%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.templates) != maxBatchTemplates {
		t.Errorf("%d different templates; want %d", len(p.templates), maxBatchTemplates)
	}
	err := p.addTemplates(row(7, "2ABC", "A"))
	if pleat.CodeOf(err) != pleat.CodeInvalid {
		t.Errorf("one more: %v", err)
	}
}
