package workers

import (
	"context"
	"strings"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/msa"
	"pleat/internal/store/runs"
	"pleat/internal/workerapi"
)

// claimSearches is POST searches: which searches for alignments the worker makes, so that no other makes the same.
func (g *Gateway) claimSearches(
	ctx context.Context, c *caller, in *workerapi.ClaimSearches,
) (workerapi.ClaimedSearches, error) {
	var out workerapi.ClaimedSearches
	if err := g.checkSearches(ctx, c, len(in.Searches)); err != nil {
		return out, err
	}
	searches := make([]runs.Search, len(in.Searches))
	for i, s := range in.Searches {
		field := indexed("searches", i)
		if err := checkSearchKey(field+".key", s.Key); err != nil {
			return out, err
		}
		if s.Owner != "" && !pleat.IsUUID(string(s.Owner)) {
			return out, pleat.InvalidField(field+".user", " is no id of a project")
		}
		if s.Protein != "" && !digestForm.MatchString(s.Protein) {
			return out, pleat.InvalidField(field+".protein", " is no SHA-256 in hex")
		}
		searches[i] = runs.Search(s)
	}
	err := g.writes(ctx, func() (err error) {
		out.Granted, err = g.store.Runs.ClaimSearches(ctx, c.Worker, searches)
		return err
	})
	return out, err
}

// endSearches is POST searches/end: searches of the worker have ended, with or without an alignment.
func (g *Gateway) endSearches(ctx context.Context, c *caller, in *workerapi.EndSearches) (none, error) {
	if err := g.checkSearches(ctx, c, len(in.Keys)); err != nil {
		return none{}, err
	}
	for i, key := range in.Keys {
		if err := checkSearchKey(indexed("keys", i), key); err != nil {
			return none{}, err
		}
	}
	return none{}, g.writes(ctx, func() error { return g.store.Runs.EndSearches(ctx, c.Worker, in.Keys, in.Found) })
}

// pauseSearches is POST searches/pause: for how long all workers leave a server of alignments alone. It writes only
// what the server asked the worker for.
func (g *Gateway) pauseSearches(
	ctx context.Context, c *caller, in *workerapi.PauseSearches,
) (out workerapi.PausedSearches, err error) {
	if err := g.checkSearches(ctx, c, 1); err != nil {
		return out, err
	}
	if in.Server == "" {
		return out, pleat.InvalidField("server", " is empty; it must be the host of a server of alignments")
	}
	if err := checkName("server", in.Server, workerapi.MaxServerName); err != nil {
		return out, err
	}
	pause := func() error {
		left, err := g.store.Runs.PauseSearches(ctx, in.Server, in.Pause.Duration())
		out.Left = workerapi.SecondsOf(left)
		return err
	}
	if in.Pause <= 0 {
		return out, pause()
	}
	return out, g.writes(ctx, pause)
}

// checkSearches checks that the class of a worker makes searches, and how many there are.
func (g *Gateway) checkSearches(ctx context.Context, c *caller, n int) error {
	k, _, err := g.findClass(ctx, c.Class)
	switch {
	case err != nil:
		return err
	case k.Alignments == pleat.AlignmentsNever:
		return pleat.Errorf(pleat.CodeForbidden, "workers of the class %s make no alignments", c.Class)
	}
	return checkCount("searches", n, workerapi.MaxSearches)
}

// checkSearchKey checks the key of a cached alignment.
func checkSearchKey(field, key string) error {
	if !strings.HasPrefix(key, msa.Prefix) || blob.CheckKey(key) != nil {
		return pleat.InvalidField(field, " is no key of an alignment")
	}
	return nil
}
