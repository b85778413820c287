package runs

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/tasks"
)

// Search is a search for an alignment, or for paired alignments.
type Search struct {
	Key     string          // of the entry in the cache of alignments, see package msa
	Owner   pleat.ProjectID // whose runs may use the entry; empty: all
	Protein string          // SHA-256 of the sequence, in hex; empty: of several, paired
}

// ClaimSearches decides which of some searches a worker makes: those that no other worker makes at the moment. A claim
// lasts for [pleat.SearchLease], unless the worker claims the search again. The result is in the order of the searches.
func (s *Store) ClaimSearches(ctx context.Context, worker pleat.WorkerID, searches []Search) ([]bool, error) {
	granted := make([]bool, len(searches))
	order := make([]int, len(searches)) // of the rows that are locked
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(searches[a].Key, searches[b].Key) })
	err := s.db.Write(ctx, "claim searches", func(t *db.Tx) error {
		for _, i := range order {
			q := &searches[i]
			granted[i] = false
			t.Ask(`
				INSERT INTO msa_search (key, project_id, protein, worker_id, lease_until, found_at)
				VALUES ($1, $2, $3, $4, $5, 0)
				ON CONFLICT (key) DO UPDATE SET worker_id = $4, lease_until = $5
				WHERE msa_search.worker_id = $4 OR msa_search.lease_until < $6
				RETURNING 1`,
				[]any{q.Key, q.Owner, q.Protein, worker, tasks.LeaseEnd(t, pleat.SearchLease), t.Now},
				func(scan func(...any) error) error {
					granted[i] = true
					return scan(new(int64))
				})
		}
		return t.Wait()
	})
	return granted, err
}

// EndSearches ends the claims of a worker: the alignments were found and are in the cache, or were not. Claims that it
// does not hold any more are left alone.
func (s *Store) EndSearches(ctx context.Context, worker pleat.WorkerID, keys []string, found bool) error {
	return s.db.Write(ctx, "end searches", func(t *db.Tx) error {
		for _, key := range slices.Sorted(slices.Values(keys)) {
			if found {
				t.Send("UPDATE msa_search SET lease_until = 0, found_at = $1 WHERE key = $2 AND worker_id = $3",
					t.Now, key, worker)
				continue
			}
			t.Send("UPDATE msa_search SET lease_until = 0 WHERE key = $1 AND worker_id = $2", key, worker)
		}
		return t.Wait()
	})
}

// maxPausedServers bounds the rows of msa_pause. The workers of a service query one server, or a few.
const maxPausedServers = 100

// PauseSearches returns for how long a server of alignments is still to be left alone; 0: it may be queried. It first
// records that the server asked for a pause, unless that is 0. The longest pause counts, and none lasts for more than
// [pleat.MaxSearchPause]: a longer one was recorded while a clock was ahead.
func (s *Store) PauseSearches(ctx context.Context, server string, pause time.Duration) (time.Duration, error) {
	if pause > 0 {
		if err := s.recordPause(ctx, server, min(pause, pleat.MaxSearchPause)); err != nil {
			return 0, err
		}
	}
	var until int64
	err := s.db.ReadRow(ctx, "SELECT paused_until FROM msa_pause WHERE server = $1", []any{server}, &until)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	left := time.UnixMicro(until).Sub(s.db.Now())
	if err != nil || left < 0 || left > pleat.MaxSearchPause {
		return 0, db.Unavailable("read the pause of searches", err)
	}
	return left, nil
}

// recordPause records a pause, and deletes those that are over.
func (s *Store) recordPause(ctx context.Context, server string, pause time.Duration) error {
	return s.db.Write(ctx, "pause searches", func(t *db.Tx) error {
		latest := t.Now + pleat.MaxSearchPause.Microseconds()
		t.Send("DELETE FROM msa_pause WHERE paused_until <= $1 OR paused_until > $2", t.Now, latest)
		t.Send(`
			INSERT INTO msa_pause (server, paused_until)
			SELECT CAST($1 AS text), CAST($2 AS bigint)
			WHERE (SELECT count(*) FROM msa_pause WHERE server <> $1) < $3
			ON CONFLICT (server) DO UPDATE SET paused_until = excluded.paused_until
			WHERE msa_pause.paused_until < excluded.paused_until`,
			server, t.Now+pause.Microseconds(), maxPausedServers)
		return t.Wait()
	})
}

// CountAlignments returns how many of some proteins, given by the SHA-256 of their sequences in hex, have an alignment
// in the cache that a project may use. It counts what was found, which may have been searched for in another database.
func (s *Store) CountAlignments(ctx context.Context, owner pleat.ProjectID, proteins []string) (int, error) {
	total := 0
	for list := range slices.Chunk(proteins, db.MaxStatementRows) {
		ids := db.Pad(db.Args(list))
		args := append([]any{owner}, ids...)
		var n int
		err := s.db.ReadRow(ctx, `
			SELECT count(DISTINCT protein) FROM msa_search
			WHERE project_id IN ($1, '') AND found_at <> 0 AND protein IN (`+db.Params(2, len(ids))+")", args, &n)
		if err != nil {
			return 0, db.Unavailable("count alignments", err)
		}
		total += n
	}
	return total, nil
}

// ForgetSearches deletes what is known of searches that ended, with or without an alignment, before a time. The cache
// entries are deleted by their age, too.
func (s *Store) ForgetSearches(ctx context.Context, before time.Time) error {
	return s.db.Write(ctx, "forget searches", func(t *db.Tx) error {
		_, err := t.Exec("DELETE FROM msa_search WHERE found_at < $1 AND lease_until < $1", before.UnixMicro())
		return err
	})
}
