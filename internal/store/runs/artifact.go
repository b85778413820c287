package runs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/tasks"
)

// artifactColumns are the columns that scanArtifact reads, of the row a of artifact.
const artifactColumns = `a.id, a.run_id, a.sequence_id, a.name, a.kind, a.content_type, a.bytes, a.sha256, a.blob_key,
	a.created_at`

// artifacts reads the files of a run.
func (s *Store) artifacts(ctx context.Context, run pleat.RunID) ([]pleat.Artifact, error) {
	rows, err := s.db.Read(ctx, "SELECT "+artifactColumns+" FROM artifact a WHERE a.run_id = $1 ORDER BY a.id", run)
	return db.ListOf(rows, err, scanArtifact)
}

// scanArtifact reads an artifact from artifactColumns.
func scanArtifact(scan func(...any) error) (pleat.Artifact, error) {
	var a pleat.Artifact
	var at int64
	err := scan(&a.ID, &a.Run, &a.Sequence, &a.Name, &a.Kind, &a.ContentType, &a.Bytes, &a.SHA256, &a.Key, &at)
	a.CreatedAt = db.FromMicros(at)
	return a, err
}

// SetMSA stores the state of the alignment of a run that has not ended, which readers see at once. [pleat.ErrLost]: the
// lease is no longer held.
func (s *Store) SetMSA(ctx context.Context, l tasks.Lease, msa pleat.State) error {
	return s.db.Write(ctx, "set alignment state", func(t *db.Tx) error {
		h, err := tasks.Renew(t, l)
		if err != nil {
			return err
		}
		var source pleat.Source
		var state pleat.State
		if err := t.Row(`
			UPDATE run SET msa = $1, changed_at = $2 WHERE id = $3
			RETURNING COALESCE(job_id, ''), COALESCE(workflow_id, ''), state`,
			[]any{msa, t.Now, h.Run}, &source.Job, &source.Workflow, &state); err != nil {
			return db.MapNoRows(err, pleat.ErrLost)
		}
		setState(t, source, h.Run, state) // readers see a new version
		return nil
	})
}

// AddArtifact makes one file readable before its run ends. A file of the same name, such as one of an earlier attempt,
// is replaced. If this attempt does not complete the run, the file goes when another does; see replaceArtifacts.
// [pleat.ErrLost]: the lease is no longer held.
func (s *Store) AddArtifact(ctx context.Context, l tasks.Lease, a pleat.Artifact) error {
	return s.db.Write(ctx, "add artifact", func(t *db.Tx) error {
		h, err := tasks.Renew(t, l)
		if err != nil {
			return err
		}
		var source pleat.Source
		var state pleat.State
		if err := t.Row("SELECT COALESCE(job_id, ''), COALESCE(workflow_id, ''), state FROM run WHERE id = $1",
			[]any{h.Run}, &source.Job, &source.Workflow, &state); err != nil {
			return db.MapNoRows(err, pleat.ErrLost)
		}
		setState(t, source, h.Run, state) // readers see a new version
		insertArtifact(t, h.Run, l.Attempt, a)
		addProgress(t, h.Run, []pleat.Progress{{Kind: pleat.ProgressArtifact, Line: a.Name}})
		return nil
	})
}

// insertArtifact stores a file of an attempt, in place of the run's file of the same name, whose blob becomes garbage.
// The new row has a new id, so that no link shows other content than before.
func insertArtifact(t *db.Tx, run pleat.RunID, attempt int, a pleat.Artifact) {
	t.Send("DELETE FROM artifact WHERE run_id = $1 AND name = $2", run, a.Name)
	t.Send(`
		INSERT INTO artifact (
			id, run_id, sequence_id, name, kind, content_type, bytes, sha256, blob_key, attempt, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		db.NewID(), run, a.Sequence, a.Name, a.Kind, a.ContentType, a.Bytes, a.SHA256, a.Key, attempt, t.Now)
}

// artifactOf reads an artifact whose run belongs to a row of a table: job or workflow. Both have the columns of Head.
func artifactOf(table string) string {
	return `
		SELECT ` + artifactColumns + `,
			COALESCE(r.job_id, ''), COALESCE(r.workflow_id, ''), h.project_id, h.public, h.version, h.epoch, h.run_id,
			h.state, h.name
		FROM artifact a
		JOIN run r ON r.id = a.run_id
		JOIN ` + table + ` h ON h.id = r.` + table + `_id
		WHERE a.id = $1 AND h.deleted_at = 0`
}

// artifactQuery finds an artifact by its id, whether its run belongs to a job or to a workflow. Two joins instead of
// outer ones let both databases use the primary keys.
var artifactQuery = artifactOf("job") + "\nUNION ALL" + artifactOf("workflow")

// Artifact reads one file's row and the head of its job or workflow, whose Caller is empty. It does not check who asks.
// CodeNotFound: the file was replaced, or its job or workflow was deleted.
func (s *Store) Artifact(ctx context.Context, id pleat.ArtifactID) (pleat.Artifact, Head, error) {
	var a pleat.Artifact
	var h Head
	err := s.db.ReadRow(ctx, artifactQuery, []any{id},
		&a.ID, &a.Run, &a.Sequence, &a.Name, &a.Kind, &a.ContentType, &a.Bytes, &a.SHA256, &a.Key,
		db.ScanTime(&a.CreatedAt), &h.Source.Job, &h.Source.Workflow, &h.Owner, db.ScanBool(&h.Public), &h.Version,
		&h.Epoch, &h.Run, &h.State, &h.Name)
	return a, h, db.Unavailable(
		"read artifact",
		db.MapNoRows(err, pleat.Errorf(pleat.CodeNotFound, "Artifact not found")),
	)
}

// UnreferencedBlobs returns those of the blob keys that no artifact, checkpoint or library file refers to, and that are
// not of an attempt under way. Garbage collection deletes them if they are old enough: a blob is stored before its row,
// so a young one may be referred to soon. The first files of an attempt may wait for hours until the store has room for
// its last ones.
func (s *Store) UnreferencedBlobs(ctx context.Context, keys []string) ([]string, error) {
	var out []string
	for _, k := range keys {
		var n int
		run, attempt := attemptOf(k)
		err := s.db.ReadRow(ctx, `
			SELECT 1 FROM artifact WHERE blob_key = $1
			UNION ALL
			SELECT 1 FROM task WHERE checkpoint = $1 AND checkpoint <> ''
			UNION ALL
			SELECT 1 FROM library_file WHERE blob_key = $1
			UNION ALL
			SELECT 1 FROM run_file WHERE blob_key = $1
			UNION ALL
			SELECT 1 FROM task WHERE run_id = $2 AND attempt = $3 AND state = 'running'
			LIMIT 1`,
			[]any{k, run, attempt}, &n)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			out = append(out, k)
		case err != nil:
			return nil, db.Unavailable("read blobs", err)
		}
	}
	return out, nil
}

// StoredFile returns the name and the SHA-256 of the file whose blob has a key, as its row has them; empty: no row has
// them, as with checkpoints and cached alignments.
func (s *Store) StoredFile(ctx context.Context, key string) (name, sha256 string, err error) {
	err = s.db.ReadRow(ctx, `
		SELECT name, sha256 FROM artifact WHERE blob_key = $1
		UNION ALL
		SELECT name, sha256 FROM library_file WHERE blob_key = $1
		UNION ALL
		SELECT name, sha256 FROM run_file WHERE blob_key = $1
		LIMIT 1`,
		[]any{key}, &name, &sha256)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", nil
	}
	return name, sha256, db.Unavailable("read blobs", err)
}

// ArtifactKey returns the blob key of a file of an attempt: runs/RUN/ATTEMPT/NAME, so that no two attempts share one.
func ArtifactKey(t *pleat.Task, name string) string {
	return fmt.Sprintf("runs/%s/%d/%s", t.Run, t.Attempt, name)
}

// checkpointName begins the names of checkpoints.
const checkpointName = "checkpoint-"

// CheckpointKey returns the blob key of an attempt's checkpoint at a step, with the extension of its file.
func CheckpointKey(t *pleat.Task, step int64, extension string) string {
	return ArtifactKey(t, fmt.Sprintf("%s%d%s", checkpointName, step, extension))
}

// attemptOf returns the run and the attempt that a blob is of, by an ArtifactKey; empty if it is of none. Checkpoints
// are of none, since all but the last are garbage while the attempt goes on.
func attemptOf(key string) (run pleat.RunID, attempt int) {
	parts := strings.SplitN(key, "/", 4)
	if len(parts) < 4 || parts[0] != "runs" || strings.HasPrefix(parts[3], checkpointName) {
		return "", 0
	}
	n, err := strconv.Atoi(parts[2])
	if err != nil {
		return "", 0
	}
	return pleat.RunID(parts[1]), n
}
