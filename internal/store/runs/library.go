package runs

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// LibraryItem is a file or folder of a project's library. An item of type file may hold several files, such as a
// structure and its PAE.
type LibraryItem struct {
	ID       pleat.ItemID
	Owner    pleat.ProjectID
	Parent   pleat.ItemID // empty: at the top
	Name     string
	Type     string // file or folder
	FileType string
	Origin   string
	Workflow pleat.WorkflowID // whose task created it; empty: uploaded
	Metadata json.RawMessage
	Files    []LibraryFile
	Children []LibraryItem // without files or children of their own
	Created  time.Time
	Updated  time.Time
}

// LibraryFile is one file of an item. Its bytes are in the blob store under Key.
type LibraryFile struct {
	Name        string
	ContentType string
	Bytes       int64
	SHA256      string
	Key         string // of the blob
	Created     time.Time
}

// ErrNoItem refuses a call on a library item that does not exist or is out of reach.
var ErrNoItem = pleat.Errorf(pleat.CodeNotFound, "Library item not found")

// itemColumns are the columns that scanItem reads, of the row i of library_item.
const itemColumns = `i.id, i.project_id, i.parent_id, i.name, i.type, i.file_type, i.origin, i.workflow_id, i.metadata,
	i.created_at, i.updated_at`

// scanItem reads an item from itemColumns.
func scanItem(scan func(...any) error) (LibraryItem, error) {
	var i LibraryItem
	var meta string
	err := scan(&i.ID, &i.Owner, &i.Parent, &i.Name, &i.Type, &i.FileType, &i.Origin, &i.Workflow, &meta,
		db.ScanTime(&i.Created), db.ScanTime(&i.Updated))
	i.Metadata = json.RawMessage(meta)
	return i, err
}

// CreateItem stores an item without files in the library of i.Owner, and returns it with its id and times. Its parent,
// if it has one, must be a folder of the same library. CodeNotFound: there is no such parent. CodeInvalid: the parent
// is no folder. CodeConflict or CodeTooLarge: the library would hold more items or bytes than Limits allows.
func (s *Store) CreateItem(ctx context.Context, by people.Reach, i LibraryItem) (LibraryItem, error) {
	err := s.db.Write(ctx, "create library item", func(t *db.Tx) error {
		if err := people.NeedRole(t, people.Reach{User: by.User, Project: i.Owner}, pleat.Member); err != nil {
			return err
		}
		if err := people.LockProject(t, i.Owner); err != nil {
			return err
		}
		add := people.LibraryUse{Items: 1, Bytes: int64(len(i.Metadata))}
		if err := s.people.GrowLibrary(t, i.Owner, add, "this item"); err != nil {
			return err
		}
		if i.Parent != "" {
			var kind string
			err := t.Row("SELECT type FROM library_item WHERE id = $1 AND project_id = $2 AND deleted_at = 0",
				[]any{i.Parent, i.Owner}, &kind)
			if err != nil {
				return db.MapNoRows(err, pleat.Errorf(pleat.CodeNotFound, "parent_id: Library item not found").
					At("parent_id"))
			}
			if kind != "folder" {
				return pleat.InvalidField("parent_id", " names a %s; it must name a folder", kind)
			}
		}
		i.ID, i.Created, i.Updated = pleat.ItemID(db.NewID()), db.FromMicros(t.Now), db.FromMicros(t.Now)
		insertItem(t, i, 1, 0)
		return nil
	})
	return i, err
}

// insertItem stores an item, whose id the caller has made. Entries is 1 if it counts against Limits.LibraryItems, else
// 0; counted is how many bytes of its files count.
func insertItem(t *db.Tx, i LibraryItem, entries int, counted int64) {
	t.Send(`
		INSERT INTO library_item (
			id, project_id, parent_id, name, type, file_type, origin, workflow_id, metadata, created_at, updated_at,
			deleted_at, entries, bytes)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, 0, $11, $12)`,
		i.ID, i.Owner, i.Parent, i.Name, i.Type, i.FileType, i.Origin, i.Workflow, string(i.Metadata), t.Now, entries,
		int64(len(i.Metadata))+counted)
}

// insertFile stores a file of an item, which must not have one of that name. Counted is how many of its bytes count
// against Limits.LibraryBytes.
func insertFile(t *db.Tx, item pleat.ItemID, f LibraryFile, counted int64) {
	t.Send(`
		INSERT INTO library_file (item_id, name, content_type, bytes, sha256, blob_key, created_at, counted)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		item, f.Name, f.ContentType, f.Bytes, f.SHA256, f.Key, t.Now, counted)
}

// addToLibrary adds the structure that a simulation ran on to its owner's library, where another workflow can start
// from it. It counts for nothing in the library.
func addToLibrary(t *db.Tx, r endingRun, artifacts []pleat.Artifact) {
	at := slices.IndexFunc(artifacts, func(a pleat.Artifact) bool { return a.Kind == pleat.ArtifactTopology })
	if at < 0 {
		return
	}
	a := artifacts[at]
	i := LibraryItem{
		ID:       pleat.ItemID(db.NewID()),
		Owner:    r.owner,
		Name:     r.name,
		Type:     "file",
		FileType: "pdb",
		Origin:   "workflow",
		Workflow: r.source.Workflow,
		Metadata: json.RawMessage("{}"),
	}
	shareArtifact(t, i, a, false)
}

// shareArtifact stores an item with a file of a run, whose blob it shares. Counts says whether the item and the file
// count in the library.
func shareArtifact(t *db.Tx, i LibraryItem, a pleat.Artifact, counts bool) {
	entries, counted := 0, int64(0)
	if counts {
		entries, counted = 1, a.Bytes
	}
	insertItem(t, i, entries, counted)
	insertFile(t, i.ID, LibraryFile{
		Name:        a.Name,
		ContentType: a.ContentType,
		Bytes:       a.Bytes,
		SHA256:      a.SHA256,
		Key:         a.Key,
	}, counted)
}

// AddFile adds a file to an item, or replaces the one of the same name, whose blob it returns: nothing refers to it any
// more, unless a run does. The blob of f must be stored already. [ErrNoItem]: the item is no file in reach.
// CodeConflict or CodeTooLarge: the library would hold more than Limits allows; the blob of f is then garbage.
func (s *Store) AddFile(
	ctx context.Context, by people.Reach, item pleat.ItemID, f LibraryFile,
) (replaced string, err error) {
	err = s.db.Write(ctx, "add library file", func(t *db.Tx) error {
		owner, err := lockItem(t, by, item)
		if err != nil {
			return err
		}
		var old int64
		replaced = ""
		err = t.Row("SELECT blob_key, counted FROM library_file WHERE item_id = $1 AND name = $2", []any{item, f.Name},
			&replaced, &old)
		if err := db.MapNoRows(err, nil); err != nil {
			return err
		}
		add := people.LibraryUse{Items: 1, Bytes: f.Bytes - old}
		if old > 0 {
			add.Items = 0
		}
		if err := s.people.GrowLibrary(t, owner, add, "this file"); err != nil {
			return err
		}
		n, err := t.Exec(`
			UPDATE library_item SET updated_at = $1, entries = entries + $3, bytes = bytes + $4
			WHERE id = $2 AND type = 'file' AND deleted_at = 0`,
			t.Now, item, add.Items, add.Bytes)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrNoItem
		}
		if _, err := t.Exec("DELETE FROM library_file WHERE item_id = $1 AND name = $2", item, f.Name); err != nil {
			return err
		}
		insertFile(t, item, f, f.Bytes)
		return nil
	})
	return replaced, err
}

// lockItem locks the library of which an item is for a caller who may change it. ErrNoItem: the item does not exist or
// is out of reach.
func lockItem(t *db.Tx, by people.Reach, item pleat.ItemID) (owner pleat.ProjectID, err error) {
	var role pleat.Role
	err = t.Row("SELECT i.project_id, "+people.RoleSQL("i.project_id", "$2", "$3")+`
		FROM library_item i WHERE i.id = $1 AND i.deleted_at = 0`, []any{item, by.User, by.Project}, &owner, &role)
	if err != nil {
		return "", db.MapNoRows(err, ErrNoItem)
	}
	if err := role.Allow(pleat.Member, ErrNoItem); err != nil {
		return "", err
	}
	return owner, people.LockProject(t, owner)
}

// Item reads an item with its files, the oldest first, and at most 1000 children. [ErrNoItem]: it does not exist or is
// out of reach.
func (s *Store) Item(ctx context.Context, by people.Reach, id pleat.ItemID) (LibraryItem, error) {
	rows, err := s.db.Read(ctx, `
		SELECT `+itemColumns+`
		FROM library_item i
		WHERE i.id = $1 AND i.deleted_at = 0 AND `+people.RoleSQL("i.project_id", "$2", "$3")+` > 0`,
		id, by.User, by.Project)
	return s.item(ctx, id, rows, err)
}

// SignedItem is [Store.Item] for callers with a signed link to a file of the item.
func (s *Store) SignedItem(ctx context.Context, id pleat.ItemID) (LibraryItem, error) {
	rows, err := s.db.Read(ctx, "SELECT "+itemColumns+" FROM library_item i WHERE i.id = $1 AND i.deleted_at = 0", id)
	return s.item(ctx, id, rows, err)
}

// item reads an item whose row a query finds.
func (s *Store) item(ctx context.Context, id pleat.ItemID, rows db.Rows, err error) (LibraryItem, error) {
	i, err := db.OneOf(rows, err, scanItem)
	if err != nil {
		return i, db.Unavailable("read library item", db.MapNoRows(err, ErrNoItem))
	}
	rows, err = s.db.Read(ctx, `
		SELECT name, content_type, bytes, sha256, blob_key, created_at
		FROM library_file
		WHERE item_id = $1
		ORDER BY created_at, name`,
		id)
	i.Files, err = db.ListOf(rows, err, func(scan func(...any) error) (f LibraryFile, err error) {
		err = scan(&f.Name, &f.ContentType, &f.Bytes, &f.SHA256, &f.Key, db.ScanTime(&f.Created))
		return f, err
	})
	if err != nil {
		return i, db.Unavailable("read library item", err)
	}
	rows, err = s.db.Read(ctx, `
		SELECT `+itemColumns+`
		FROM library_item i
		WHERE i.parent_id = $1 AND i.deleted_at = 0
		ORDER BY i.id
		LIMIT 1000`,
		id)
	i.Children, err = db.ListOf(rows, err, scanItem)
	return i, db.Unavailable("read library item", err)
}

// Items reads a page of a project's library, newest first, without files and children. Items in folders are listed too.
func (s *Store) Items(ctx context.Context, by people.Reach, before string, limit int) ([]LibraryItem, error) {
	p := people.ProjectPage("i", by, before)
	p.And("i.deleted_at = 0")
	rows, err := s.db.Read(ctx, p.SQL(itemColumns, "library_item i", limit), p.Args...)
	out, err := db.ListOf(rows, err, scanItem)
	return out, db.Unavailable("list library", err)
}

// DeleteItem deletes an item and everything below it. It returns the blobs of the files, to which nothing refers any
// more, unless a run does. Runs that used a file keep their results. [ErrNoItem]: it does not exist or is out of reach.
func (s *Store) DeleteItem(ctx context.Context, by people.Reach, id pleat.ItemID) (blobs []string, err error) {
	err = s.db.Write(ctx, "delete library item", func(t *db.Tx) error {
		if _, err := lockItem(t, by, id); err != nil {
			return err
		}
		const below = `
			WITH RECURSIVE below (id) AS (
				SELECT CAST($1 AS text)
				UNION ALL
				SELECT i.id FROM library_item i JOIN below b ON i.parent_id = b.id
			)
			`
		blobs, err = DeleteBlobRows(t, below+`
			DELETE FROM library_file WHERE item_id IN (SELECT id FROM below) RETURNING blob_key`, id)
		if err != nil {
			return err
		}
		_, err = t.Exec(below+"DELETE FROM library_item WHERE id IN (SELECT id FROM below)", id)
		return err
	})
	return blobs, err
}

// DeleteBlobRows deletes rows by a statement that returns the blob key of each, and returns the keys. The key of a row
// without a blob is empty.
func DeleteBlobRows(t *db.Tx, text string, args ...any) ([]string, error) {
	return db.ColumnOf[string](t.Query(text, args...))
}
