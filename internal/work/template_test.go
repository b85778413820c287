package work_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pleat"
	"pleat/internal/engine/builtin"
	"pleat/internal/store/runs"
	"pleat/internal/structure"
	"pleat/internal/work"
)

// crambin is the sequence of 1CRN.
const crambin = "TTCCPSIVARSNFNVCRLPGTPEAICATYTGCIIIPGATCPGDYAN"

// An engine gets templates as files in the positions of the chain: of the library, and of the Protein Data Bank, which
// the worker asks itself. A template that cannot be read ends the run with a sentence that names the field.
func TestTemplatesReachTheEngine(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		raw, err := os.ReadFile("../structure/testdata/1crn.pdb")
		if err != nil {
			t.Fatal(err)
		}
		srv := structureServer(t, raw)
		var ran atomic.Int64
		f.startWith("w", func(c *work.Config) { c.ArchiveURLs.PDB = srv.URL + "/pdb/{id}.pdb" },
			scripted{func(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
				ran.Add(1)
				for i, got := range w.Fold.Templates {
					checkTemplate(t, w, i, got)
				}
				if len(w.Fold.Templates) != 2 || len(w.Files) != 2 {
					t.Errorf("%d templates, the digests of %d files", len(w.Fold.Templates), len(w.Files))
				}
				return builtin.Null{}.Run(ctx, w, sink)
			}})
		item := f.libraryFile("crambin.pdb", raw)
		fold := func(all ...pleat.Template) runs.Created {
			return f.create(proteins("GG"+crambin, "MKTAYIAK"), func(n *runs.NewJob) {
				n.Job.Constraints.Templates = all
			})
		}
		f.await(fold(
			pleat.Template{Item: item, Chain: "A"},
			pleat.Template{PDB: "1CRN", TemplateChain: "A", Chain: "A", Force: true, MaxDistance: 2},
		).Job, pleat.StateCompleted)
		if ran.Load() != 1 {
			t.Fatalf("the engine ran %d times", ran.Load())
		}
		for _, c := range []struct {
			template pleat.Template
			want     string
		}{
			{pleat.Template{PDB: "9XYZ", Chain: "A"}, "constraints.templates[0]: there is no structure of the PDB id 9XYZ"},
			{pleat.Template{Item: item, TemplateChain: "Q", Chain: "A"},
				`constraints.templates[0]: the file crambin.pdb has no protein chain "Q"; it has A`},
			{pleat.Template{Item: "01890a5d-ac96-774b-bcce-b302099a8057", Chain: "A"},
				"constraints.templates[0].libraryItemId is 01890a5d-ac96-774b-bcce-b302099a8057, which is no item of"},
		} {
			v := f.await(fold(c.template).Job, pleat.StateFailed)
			r := v.Run.Failure
			if r == nil || r.Kind != pleat.FailInvalidInput || !strings.Contains(r.Message, c.want) {
				t.Errorf("%+v; want %q", v.Run.Failure, c.want)
			}
		}
	})
}

// checkTemplate checks template i, crambin for a chain that has two residues more at its beginning.
func checkTemplate(t *testing.T, w pleat.Work, i int, got pleat.FoldTemplate) {
	file := fmt.Sprintf("input/template-%d.cif", i+1)
	if got.Template != i || got.Sequence != 0 || got.Chain != "A" || got.File != file {
		t.Errorf("template %d is %+v", i, got)
	}
	if len(got.Residues) != len(crambin) || got.Residues[0].Position != 3 {
		t.Errorf("template %d has %d residues from %d", i, len(got.Residues), got.Residues[0].Position)
	}
	in, err := os.Open(filepath.Join(w.Dir, got.File))
	if err != nil {
		t.Error(err)
		return
	}
	defer in.Close()
	s, err := structure.ReadCIF(in, structure.Limits{})
	if err != nil || len(s.Chains) != 1 || s.Chains[0].Sequence() != crambin || s.Chains[0].Residues[0].Seq != 3 {
		t.Errorf("the file of template %d: %v", i, err)
	}
}
