package people

import (
	"context"
	"fmt"
	"time"

	"pleat"
	"pleat/internal/store/db"
)

// Share is a link by which anybody reads one job, batch or workflow until it ends. Its token is not stored.
type Share struct {
	ID        pleat.ShareID
	Source    pleat.Source
	CreatedBy string // name of the user
	CreatedAt time.Time
	ExpiresAt time.Time
}

// sharedKinds is what differs between the kinds of source that a link may open.
var sharedKinds = map[pleat.SourceKind]struct {
	table    string // its rows
	exists   string // the condition that a row h is one that users know
	files    string // the rows that have its files, by the id of the source, $1
	notFound *pleat.Error
}{
	pleat.SourceFold: {
		table:    "job",
		exists:   "h.deleted_at = 0",
		files:    "job SET %s WHERE id = $1",
		notFound: pleat.ErrJobNotFound,
	},
	pleat.SourceBatch: {
		table:    "batch",
		exists:   "h.deleted_at = 0 AND h.opened_at <> 0",
		files:    "job SET %s WHERE batch_id = $1",
		notFound: pleat.ErrBatchNotFound,
	},
	pleat.SourceWorkflow: {
		table:    "workflow",
		exists:   "h.deleted_at = 0",
		files:    "workflow SET %s WHERE id = $1",
		notFound: pleat.ErrWorkflowNotFound,
	},
}

// SourceNotFound is the error of a source of a kind that does not exist or is out of reach.
func SourceNotFound(kind pleat.SourceKind) error { return sharedKinds[kind].notFound }

// maxShares bounds the links of one job, batch or workflow.
const maxShares = 20

// CreateShare stores a link to a job, batch or workflow under the hash of its token, and records it. The caller must be
// a member of the project that owns it. CodeNotFound: it does not exist or is out of reach. CodeConflict: it has
// maxShares links, or the job belongs to a batch.
func (s *Store) CreateShare(
	ctx context.Context, by Actor, source pleat.Source, hash string, until time.Time,
) (Share, error) {
	out := Share{Source: source, ExpiresAt: until}
	err := s.db.Write(ctx, "create share", func(t *db.Tx) error {
		owner, err := lockSource(t, by.Reach, source)
		if err != nil {
			return err
		}
		if db.ToMicros(until) <= t.Now {
			return pleat.InvalidField("expiresAt", " is in the past; it must be in the future")
		}
		t.Send("DELETE FROM share WHERE source_id = $1 AND expires_at <= $2", source.ID(), t.Now)
		var n int
		if err := t.Row("SELECT count(*) FROM share WHERE source_id = $1", []any{source.ID()}, &n); err != nil {
			return err
		}
		if n >= maxShares {
			return pleat.Errorf(pleat.CodeConflict, "it has %d links, the maximum; delete one first", n)
		}
		out.ID, out.CreatedAt = pleat.ShareID(db.NewID()), db.FromMicros(t.Now)
		t.Send(`
			INSERT INTO share (id, project_id, source_kind, source_id, hash, created_by, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			out.ID, owner, source.Kind(), source.ID(), hash, by.User, t.Now, db.ToMicros(until))
		return s.RecordAudit(t, by.In(owner), AuditShared, string(source.Kind())+" "+source.ID(),
			"until "+until.UTC().Format(time.RFC3339))
	})
	return out, err
}

// lockSource locks a job, batch or workflow for a member of its project, and returns the project.
func lockSource(t *db.Tx, by Reach, source pleat.Source) (pleat.ProjectID, error) {
	var owner pleat.ProjectID
	var role pleat.Role
	kind := sharedKinds[source.Kind()]
	err := t.Row(sourceRoleSQL(source.Kind())+" FOR UPDATE", []any{source.ID(), by.User, by.Project}, &owner, &role)
	if err != nil {
		return "", db.MapNoRows(err, kind.notFound)
	}
	return owner, role.Allow(pleat.Member, kind.notFound)
}

// sourceRoleSQL reads the project that owns the job, batch or workflow $1, and the role that the Reach ($2, $3) gives
// in it.
func sourceRoleSQL(kind pleat.SourceKind) string {
	k := sharedKinds[kind]
	return "SELECT h.project_id, " + RoleSQL("h.project_id", "$2", "$3") +
		" FROM " + k.table + " h WHERE h.id = $1 AND " + k.exists
}

// Shares lists the links of a job, batch or workflow that have not ended, newest first. The caller must be a member of
// the project that owns it. CodeNotFound: it does not exist or is out of reach.
func (s *Store) Shares(ctx context.Context, by Reach, source pleat.Source) ([]Share, error) {
	if err := s.mayShare(ctx, by, source); err != nil {
		return nil, db.Unavailable("list shares", err)
	}
	rows, err := s.db.Read(ctx, `
		SELECT h.id, COALESCE(a.name, ''), h.created_at, h.expires_at
		FROM share h
		LEFT JOIN account a ON a.id = h.created_by
		WHERE h.source_id = $1 AND h.expires_at > $2
		ORDER BY h.id DESC`,
		source.ID(), s.db.Micros())
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (Share, error) {
		h := Share{Source: source}
		err := scan(&h.ID, &h.CreatedBy, db.ScanTime(&h.CreatedAt), db.ScanTime(&h.ExpiresAt))
		return h, err
	})
	return out, db.Unavailable("list shares", err)
}

// mayShare refuses who is no member of the project that owns a job, batch or workflow.
func (s *Store) mayShare(ctx context.Context, by Reach, source pleat.Source) error {
	kind := sharedKinds[source.Kind()]
	var owner pleat.ProjectID
	var role pleat.Role
	err := s.db.ReadRow(ctx, sourceRoleSQL(source.Kind()), []any{source.ID(), by.User, by.Project}, &owner, &role)
	if err != nil {
		return db.MapNoRows(err, kind.notFound)
	}
	return role.Allow(pleat.Member, kind.notFound)
}

// DeleteShare ends a link of a job, batch or workflow at once, with the links to files that its readers have, and
// records it. CodeNotFound: there is none.
func (s *Store) DeleteShare(ctx context.Context, by Actor, source pleat.Source, id pleat.ShareID) error {
	return s.db.Write(ctx, "delete share", func(t *db.Tx) error {
		owner, err := lockSource(t, by.Reach, source)
		if err != nil {
			return err
		}
		n, err := t.Exec("DELETE FROM share WHERE id = $1 AND source_id = $2", id, source.ID())
		if err != nil {
			return err
		}
		if n == 0 {
			return pleat.Errorf(pleat.CodeNotFound, "Link not found")
		}
		raiseEpoch(t, source)
		return s.RecordAudit(t, by.In(owner), AuditUnshared, string(source.Kind())+" "+source.ID(), "")
	})
}

// raiseEpoch ends the links to files that were given out to readers of a job, batch or workflow.
func raiseEpoch(t *db.Tx, source pleat.Source) {
	t.Send("UPDATE "+fmt.Sprintf(sharedKinds[source.Kind()].files, "epoch = epoch + 1, version = version + 1"),
		source.ID())
}

// Shared returns what a token opens, and until when. CodeNotFound: nothing.
func (s *Store) Shared(ctx context.Context, hash string) (Share, error) {
	var h Share
	var source SourceRow
	err := s.db.ReadRow(ctx, `
		SELECT h.id, h.source_kind, h.source_id, h.created_at, h.expires_at FROM share h
		WHERE h.hash = $1 AND h.expires_at > $2`,
		[]any{hash, s.db.Micros()}, &h.ID, &source.Kind, &source.ID, db.ScanTime(&h.CreatedAt),
		db.ScanTime(&h.ExpiresAt))
	h.Source = source.Value()
	return h, db.Unavailable("read share", db.MapNoRows(err, pleat.Errorf(pleat.CodeNotFound,
		"The link does not exist or has expired")))
}

// SharesJob reports whether a token opens a job: by a link to the job itself, or to its batch.
func (s *Store) SharesJob(ctx context.Context, hash string, job pleat.JobID) (bool, error) {
	var n int
	err := s.db.ReadRow(ctx, `
		SELECT count(*) FROM share h
		JOIN job j ON j.id = $3 AND j.deleted_at = 0
			AND (h.source_id = j.id OR h.source_id = j.batch_id AND h.source_id <> '')
		WHERE h.hash = $1 AND h.expires_at > $2`,
		[]any{hash, s.db.Micros(), job}, &n)
	return n > 0, db.Unavailable("read share", err)
}

// SourceRow holds the columns source_kind and source_id of a row.
type SourceRow struct {
	Kind pleat.SourceKind
	ID   string
}

// Value is the source that the columns name.
func (r SourceRow) Value() pleat.Source { return pleat.SourceOf(r.Kind, r.ID) }
