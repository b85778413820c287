package runs

import (
	"context"
	"encoding/json"

	"pleat"
	"pleat/api"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// The origins of library items that the service makes for designs.
const (
	OriginCompiled = "WORKFLOW_INPUT" // the spec and the target of a design that was given without a graph
	originDesign   = "WORKFLOW"       // the results
)

// NewDesign is what a new workflow of kind design has besides. Its workspace, a folder named as the workflow, is made
// by the store.
type NewDesign struct {
	Graph string        // workflow.yml; empty: none yet
	Items []LibraryItem // files in the workspace, each with one file; their ids are those of NewItemID
	Fresh []string      // keys of blobs of Items that no other row refers to yet
}

// DesignView is what a workflow of kind design has besides.
type DesignView struct {
	Workspace pleat.ItemID
	Graph     string // workflow.yml as it was last saved; empty: none
}

// Graph replaces the graph of a draft.
type Graph struct {
	Text   string
	Input  json.RawMessage // what the graph says of its run
	Public bool
	Subs   []pleat.Subscription
}

// NewItemID returns the id of a library item that does not exist yet.
func NewItemID() pleat.ItemID { return pleat.ItemID(db.NewID()) }

// insertDesign stores what a new workflow has as a design.
func (s *Store) insertDesign(t *db.Tx, w *pleat.Workflow, d *NewDesign) error {
	if err := people.LockProject(t, w.Owner); err != nil {
		return err
	}
	use := people.LibraryUse{Items: 1 + len(d.Items), Bytes: int64(len(d.Graph))}
	for i := range d.Items {
		use.Bytes += d.Items[i].Files[0].Bytes
	}
	if err := s.people.GrowLibrary(t, w.Owner, use, "this design"); err != nil {
		return err
	}
	folder := LibraryItem{
		ID:       NewItemID(),
		Owner:    w.Owner,
		Name:     w.Name,
		Type:     "folder",
		Origin:   originDesign,
		Metadata: json.RawMessage("{}"),
	}
	insertItem(t, folder, 1, 0)
	for _, i := range d.Items {
		i.Owner, i.Parent, i.Type, i.Origin = w.Owner, folder.ID, "file", OriginCompiled
		i.Metadata = json.RawMessage("{}")
		f := &i.Files[0]
		insertItem(t, i, 1, f.Bytes)
		insertFile(t, i.ID, *f, f.Bytes)
	}
	t.Send("INSERT INTO design (workflow_id, workspace, graph) VALUES ($1, $2, $3)", w.ID, folder.ID, d.Graph)
	t.Send("UPDATE workflow SET input_bytes = input_bytes + $1 WHERE id = $2", len(d.Graph), w.ID)
	return nil
}

// lockFiles makes sure that the blobs of files stay: a row refers to each, which cannot be deleted before the
// transaction ends. CodeConflict: a file has been deleted since it was found.
func lockFiles(t *db.Tx, files []RunFile) error {
	for _, f := range files {
		if f.Fresh {
			continue
		}
		n := 0
		for _, table := range []string{"library_file", "artifact"} {
			err := t.Row("SELECT 1 FROM "+table+" WHERE blob_key = $1 LIMIT 1 FOR UPDATE", []any{f.Key}, &n)
			if err := db.MapNoRows(err, nil); err != nil {
				return err
			}
			if n > 0 {
				break
			}
		}
		if n == 0 {
			return pleat.Errorf(pleat.CodeConflict, "the file %s was deleted at the same moment", pleat.Clip(f.Name))
		}
	}
	return nil
}

// SaveGraph replaces the graph of a draft, and with it the draft's input, visibility and webhooks.
// [pleat.ErrWorkflowNotFound]: the draft does not exist or is out of reach. [pleat.ErrNotDraft]: it has left DRAFT.
// CodeTooLarge: the library would hold more than Limits allows.
func (s *Store) SaveGraph(
	ctx context.Context, by people.Reach, id pleat.WorkflowID, g Graph,
) (pleat.Workflow, error) {
	var w pleat.Workflow
	err := s.db.Write(ctx, "save graph", func(t *db.Tx) error {
		if err := lockDraft(t, by, id, "changed", &w); err != nil {
			return err
		}
		if err := people.LockProject(t, w.Owner); err != nil {
			return err
		}
		var before int64
		if err := t.Row("SELECT input_bytes FROM workflow WHERE id = $1", []any{id}, &before); err != nil {
			return err
		}
		bytes := int64(len(g.Input) + len(g.Text))
		if err := s.people.GrowLibrary(t, w.Owner, people.LibraryUse{Bytes: bytes - before}, "the graph"); err != nil {
			return err
		}
		w.Input, w.Public = g.Input, g.Public
		w.Version++
		t.Send("UPDATE design SET graph = $1 WHERE workflow_id = $2", g.Text, id)
		t.Send(`
			UPDATE workflow
			SET input = $1, input_bytes = $2, public = $3, version = version + 1, updated_at = $4
			WHERE id = $5`,
			string(g.Input), bytes, db.BoolToInt(g.Public), t.Now, id)
		t.Send("DELETE FROM subscription WHERE source_id = $1", id)
		t.Send("DELETE FROM endpoint WHERE run_source = $1 AND run_source <> ''", id)
		InsertSubscriptions(t, Ref{Source: pleat.Source{Workflow: id}, Owner: w.Owner}, g.Subs)
		return nil
	})
	return w, err
}

// Design reads what a workflow has as a design. It does not check who asks. [pleat.ErrWorkflowNotFound]: it is none.
func (s *Store) Design(ctx context.Context, id pleat.WorkflowID) (DesignView, error) {
	var v DesignView
	err := s.db.ReadRow(ctx, "SELECT workspace, graph FROM design WHERE workflow_id = $1", []any{id},
		&v.Workspace, &v.Graph)
	return v, db.Unavailable("read design", db.MapNoRows(err, pleat.ErrWorkflowNotFound))
}

// RunFiles reads the files that a run has pinned, in the order of their names.
func (s *Store) RunFiles(ctx context.Context, run pleat.RunID) ([]RunFile, error) {
	rows, err := s.db.Read(ctx, `
		SELECT name, main, blob_key, sha256, bytes FROM run_file WHERE run_id = $1 ORDER BY name`, run)
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (f RunFile, err error) {
		err = scan(&f.Name, db.ScanBool(&f.Main), &f.Key, &f.SHA256, &f.Bytes)
		return f, err
	})
	return out, db.Unavailable("read files of a run", err)
}

// addDesigns adds the results of a design to its workspace, in the folder results: an item for each structure of the
// final set, each table and the report. They count in the library, whose next upload is refused if it is full then. If
// the workspace is gone, the folder is at the top of the library.
func addDesigns(t *db.Tx, r endingRun, artifacts []pleat.Artifact) error {
	var workspace pleat.ItemID
	err := t.Row(`
		SELECT i.id FROM design d JOIN library_item i ON i.id = d.workspace
		WHERE d.workflow_id = $1 AND i.deleted_at = 0`,
		[]any{r.source.Workflow}, &workspace)
	if err := db.MapNoRows(err, nil); err != nil {
		return err
	}
	folder := LibraryItem{
		ID:       NewItemID(),
		Owner:    r.owner,
		Parent:   workspace,
		Name:     "results",
		Type:     "folder",
		Origin:   originDesign,
		Workflow: r.source.Workflow,
		Metadata: json.RawMessage("{}"),
	}
	insertItem(t, folder, 1, 0)
	for _, a := range artifacts {
		i := LibraryItem{
			ID:       NewItemID(),
			Owner:    r.owner,
			Parent:   folder.ID,
			Name:     a.Name,
			Type:     "file",
			Origin:   originDesign,
			Workflow: r.source.Workflow,
		}
		detail := map[string]any{"workflow_id": r.source.Workflow}
		switch a.Kind {
		case pleat.ArtifactDesign:
			i.FileType = "cif"
			if rank, id, ok := pleat.ParseDesignFileName(a.Name); ok {
				detail["design_id"], detail["final_rank"] = id, rank
			}
		case pleat.ArtifactDesignTable:
			i.FileType = "csv"
		case pleat.ArtifactDesignReport:
			i.FileType = "pdf"
		default:
			continue
		}
		if i.Metadata, err = api.Encode(detail); err != nil {
			return err
		}
		shareArtifact(t, i, a, true)
	}
	return nil
}
