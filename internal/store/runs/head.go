package runs

import (
	"context"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// headColumns are the columns of a Head, of the row j of job and the row c of the caller's key, if there is one.
var headColumns = "j.project_id, j.public, j.version, j.epoch, j.run_id, j.state, " +
	"COALESCE(c.account_id, ''), COALESCE(c.scopes, ''), " +
	"CASE WHEN COALESCE(c.project_id, '') NOT IN ('', j.project_id) THEN 0 ELSE " +
	memberRoleOf + " END"

// memberRoleOf is the role of the caller c in the project of the job j.
var memberRoleOf = people.MemberRole("j.project_id", "c.account_id")

// Head reads what every request on a job checks first, and which user a credential authenticates, in one query, so that
// ownership and credential are those of one moment. One that is not valid leaves Caller empty: the job may be public.
// ErrJobNotFound: the job does not exist or was deleted.
func (s *Store) Head(ctx context.Context, job pleat.JobID, by people.Credential) (Head, error) {
	h, public, scopes := Head{Source: pleat.Source{Job: job}}, int64(0), ""
	err := s.db.ReadRow(ctx, headQuery(by), []any{s.db.Micros(), by.Hash, job},
		&h.Owner, &public, &h.Version, &h.Epoch, &h.Run, &h.State, &h.Caller, &scopes, &h.Role)
	if err != nil {
		return Head{}, db.Unavailable("read job", db.MapNoRows(err, pleat.ErrJobNotFound))
	}
	h.Public, h.Scopes = public == 1, people.ScopesOf(scopes)
	return h, nil
}

// headQuery reads the Head of the job $3 at the moment $1 for the hash $2 of a credential.
func headQuery(by people.Credential) string {
	return "SELECT " + headColumns + `
		FROM job j
		LEFT JOIN (SELECT k.account_id, k.scopes, k.project_id FROM ` + by.Keys("$2") + `) c ON 1 = 1
		WHERE j.id = $3 AND j.deleted_at = 0`
}
