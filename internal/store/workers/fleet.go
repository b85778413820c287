package workers

import (
	"context"

	"pleat"
	"pleat/internal/store/db"
)

// FleetTokenKind says what a token of the fleet may be used for.
type FleetTokenKind string

// The kinds of token.
const (
	TokenDemand FleetTokenKind = "demand" // reads the demand for the workers of each class
	TokenWorker FleetTokenKind = "worker" // registers workers of one class
)

// FleetToken is a token of the fleet without its secret.
type FleetToken struct {
	Kind  FleetTokenKind
	Class string // of the workers that it registers; empty for other kinds
	Hash  string // see seal.HashKey
}

// maxFleetTokens bounds the tokens of a kind, and those of a class. Each autoscaler may have one of its own.
const maxFleetTokens = 100

var errTooManyFleetTokens = pleat.Errorf(pleat.CodeConflict,
	"there are %d tokens of this kind already; revoke them first", maxFleetTokens)

// CreateFleetToken stores a token. CodeConflict: there are as many of its kind and class as there may be.
func (s *Store) CreateFleetToken(ctx context.Context, f FleetToken) error {
	return s.db.Write(ctx, "create fleet token", func(t *db.Tx) error {
		var n int
		if err := t.Row("SELECT count(*) FROM fleet_token WHERE kind = $1 AND class = $2",
			[]any{f.Kind, f.Class}, &n); err != nil {
			return err
		}
		if n >= maxFleetTokens {
			return errTooManyFleetTokens
		}
		_, err := t.Exec("INSERT INTO fleet_token (hash, kind, class, created_at) VALUES ($1, $2, $3, $4)",
			f.Hash, f.Kind, f.Class, t.Now)
		return err
	})
}

// RevokeFleetTokens ends all tokens of a kind and class and returns how many there were. The workers that registered
// with them have stopped then, and their tasks are in their queues again, as [runs.Store.ReleaseAll] leaves them.
func (s *Store) RevokeFleetTokens(ctx context.Context, kind FleetTokenKind, class string) (int, error) {
	var hashes []string
	err := s.db.Write(ctx, "revoke fleet tokens", func(t *db.Tx) (err error) {
		hashes, err = db.ColumnOf[string](t.Query(
			"DELETE FROM fleet_token WHERE kind = $1 AND class = $2 RETURNING hash", kind, class))
		if err != nil || kind != TokenWorker {
			return err
		}
		for _, hash := range hashes {
			if err := s.stopWorkersOf(t, hash); err != nil {
				return err
			}
		}
		return nil
	})
	return len(hashes), err
}

// stopWorkersOf takes their tasks from the workers that registered with a token, and marks them as stopped.
func (s *Store) stopWorkersOf(t *db.Tx, token string) error {
	if _, err := s.runs.ReleaseTasks(
		t, "worker_id IN (SELECT id FROM worker WHERE token = $1)", token, nil,
	); err != nil {
		return err
	}
	_, err := wakeWorkers(t, `
		UPDATE worker SET stopped_at = $1
		WHERE id IN (
			SELECT id FROM worker WHERE token = $2 AND stopped_at = 0
			ORDER BY id
			FOR NO KEY UPDATE)
		RETURNING id`,
		t.Now, token)
	return err
}

// FleetTokens returns the tokens of a kind that are valid: their hashes, with the class of each.
func (s *Store) FleetTokens(ctx context.Context, kind FleetTokenKind) (map[string]string, error) {
	out, err := db.MapOf[string, string](s.db.Read(ctx, "SELECT hash, class FROM fleet_token WHERE kind = $1", kind))
	return out, db.Unavailable("read fleet tokens", err)
}

// HasFleetToken reports whether a token of a kind is valid.
func (s *Store) HasFleetToken(ctx context.Context, kind FleetTokenKind, hash string) (bool, error) {
	var n int
	err := s.db.ReadRow(ctx, "SELECT count(*) FROM fleet_token WHERE hash = $1 AND kind = $2", []any{hash, kind}, &n)
	return n > 0, db.Unavailable("read fleet token", err)
}
