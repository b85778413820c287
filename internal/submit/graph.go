package submit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"pleat"
	"pleat/internal/archive"
	"pleat/internal/design"
	"pleat/internal/flow"
	"pleat/internal/store/runs"
)

// defaultDesignName is the name of a design for which the request has none.
const defaultDesignName = "Design"

// EmptyDesign returns a draft of a design with an empty graph.
func (c Caller) EmptyDesign(alias, name string) runs.NewWorkflow {
	n := c.newWorkflow(alias, pleat.TaskDesign, cmp.Or(name, defaultDesignName))
	n.Draft, n.Design, n.Workflow.Input = true, &runs.NewDesign{}, json.RawMessage("{}")
	return n
}

// Graph reads the text of a graph for a draft, and checks the spec that it runs with its files. An error is like that
// of [Resolver.Workflow].
func (r *Resolver) Graph(ctx context.Context, by Caller, alias, text string) (runs.Graph, error) {
	p, g, err := parseGraph(alias, text)
	if err != nil {
		return runs.Graph{}, err
	}
	if _, err := r.checkPlan(ctx, by, p); err != nil {
		return runs.Graph{}, err
	}
	input, err := flow.GraphInput(g.Plan())
	if err != nil {
		return runs.Graph{}, err
	}
	hooks, err := r.workflowWebhooks(ctx, by.In.Project, p)
	return runs.Graph{Text: text, Input: input, Public: p.Public, Subs: hooks.Subscriptions}, err
}

// parseGraph reads a graph and the plan of its run.
func parseGraph(alias, text string) (*flow.Plan, *design.Graph, error) {
	g, err := design.ReadGraph([]byte(text))
	if err != nil {
		return nil, nil, err
	}
	p, err := flow.ParseGraph(alias, g.Plan())
	return &p, g, err
}

// draftDesignPlan returns the plan of a draft of a design, as its graph says.
func (r *Resolver) draftDesignPlan(ctx context.Context, w *pleat.Workflow) (*flow.Plan, error) {
	d, err := r.Runs.Design(ctx, w.ID)
	if err != nil {
		return nil, err
	}
	if d.Graph == "" {
		return nil, pleat.Errorf(pleat.CodeConflict,
			"the workflow has no graph; POST /v1/workflows/%s/workflow.yml saves one", w.ID)
	}
	p, _, err := parseGraph(w.Alias, d.Graph)
	return p, err
}

// fetchTarget fetches an entry of the Protein Data Bank.
func (r *Resolver) fetchTarget(ctx context.Context, id string) (*archive.Entry, error) {
	entry, failure, err := r.Archive.FetchPDB(ctx, id, MaxDirectBytes)
	switch {
	case failure == nil:
		return &entry, nil
	case failure.Retry:
		return nil, FetchError(failure, err)
	}
	return nil, pleat.InvalidField("workflow_input.target.pdbId", ": %s", failure.Message)
}

// FetchError is the error for a public database that did not answer, with err if a network failed.
func FetchError(failure *pleat.Failure, err error) error {
	return &pleat.Error{Code: pleat.CodeUnavailable, Message: failure.Message + "; try again", Err: err}
}

// newDesign returns what a workflow of a plan has as a design: its graph, and, if the spec was compiled, the spec and
// the target as files of its workspace. It stores the blobs of these, and returns the files that a run pins.
func (r *Resolver) newDesign(
	ctx context.Context, p *flow.Plan, spec *designSpec,
) (*runs.NewDesign, []runs.RunFile, error) {
	out, files := &runs.NewDesign{}, slices.Clone(spec.Files)
	stored := false
	defer func() {
		if !stored {
			r.Cleaner.Unused(ctx, out.Fresh...)
		}
	}()
	main, refs := p.Design.Spec, p.Design.Files
	if p.Design.Task != nil {
		refs = nil
		for i := range files {
			f := &files[i]
			item, err := r.workspaceItem(ctx, spec, f, out)
			if err != nil {
				return nil, nil, err
			}
			if ref := (design.Reference{Item: item, Name: f.Name}); f.Main {
				main = ref
			} else {
				refs = append(refs, ref)
			}
		}
	}
	var err error
	out.Graph, err = design.WriteGraph(p.Alias, &p.Design.Params, main, refs)
	stored = err == nil
	return out, files, err
}

// workspaceItem adds a file of a compiled spec to the workspace of a design, as an item of its own. It stores a fresh
// file, whose key it sets.
func (r *Resolver) workspaceItem(
	ctx context.Context, spec *designSpec, f *runs.RunFile, out *runs.NewDesign,
) (pleat.ItemID, error) {
	item := runs.LibraryItem{ID: runs.NewItemID(), Name: f.Name, FileType: "yml"}
	content := runs.LibraryFile{
		Name:        f.Name,
		ContentType: "application/yaml",
		Bytes:       f.Bytes,
		SHA256:      f.SHA256,
	}
	text := []byte(spec.Text)
	if !f.Main {
		item.FileType, content.ContentType, text = "protein", spec.Target.ContentType, spec.fetched
	}
	if f.Fresh {
		f.Key = NewLibraryKey(item.ID)
		if _, err := r.Blobs.Put(ctx, f.Key, bytes.NewReader(text)); err != nil {
			return "", WriteError(err)
		}
		out.Fresh = append(out.Fresh, f.Key)
	}
	content.Key = f.Key
	item.Files = []runs.LibraryFile{content}
	out.Items = append(out.Items, item)
	return item.ID, nil
}
