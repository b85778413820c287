package store

import (
	"context"

	"pleat"
)

// FleetTokenKind says what a token of the fleet may be used for.
type FleetTokenKind string

// TokenDemand is a token that may read the demand for the workers of each class.
const TokenDemand FleetTokenKind = "demand"

// maxFleetTokens bounds the tokens of a kind. Each autoscaler may have one of its own.
const maxFleetTokens = 100

var errTooManyFleetTokens = pleat.Errorf(pleat.CodeConflict,
	"there are %d tokens of this kind already; revoke them first", maxFleetTokens)

// CreateFleetToken stores the hash of a token, see seal.HashKey. CodeConflict: there are as many as there may be.
func (s *Store) CreateFleetToken(ctx context.Context, kind FleetTokenKind, hash string) error {
	return s.write(ctx, "create fleet token", func(t *tx) error {
		var n int
		if err := t.row("SELECT count(*) FROM fleet_token WHERE kind = $1", []any{kind}, &n); err != nil {
			return err
		}
		if n >= maxFleetTokens {
			return errTooManyFleetTokens
		}
		_, err := t.exec("INSERT INTO fleet_token (hash, kind, created_at) VALUES ($1, $2, $3)", hash, kind, t.now)
		return err
	})
}

// RevokeFleetTokens ends all tokens of a kind and returns how many there were.
func (s *Store) RevokeFleetTokens(ctx context.Context, kind FleetTokenKind) (int, error) {
	var n int64
	err := s.write(ctx, "revoke fleet tokens", func(t *tx) error {
		var err error
		n, err = t.exec("DELETE FROM fleet_token WHERE kind = $1", kind)
		return err
	})
	return int(n), err
}

// HasFleetToken reports whether a token of a kind is valid.
func (s *Store) HasFleetToken(ctx context.Context, kind FleetTokenKind, hash string) (bool, error) {
	var n int
	err := s.readRow(ctx, "SELECT count(*) FROM fleet_token WHERE hash = $1 AND kind = $2", []any{hash, kind}, &n)
	return n > 0, unavailable("read fleet token", err)
}
