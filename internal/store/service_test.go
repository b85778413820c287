package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/ops"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
)

// Nodes that start at once agree on the name of the database, the artifact store and the secret keys. A database that
// was not migrated yet has none of them.
func TestNodesAgree(t *testing.T) {
	t.Parallel()
	for name, fresh := range storetest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, address := context.Background(), fresh(t)
			unmigrated, err := store.Open(ctx, address, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := unmigrated.Ops.Service(ctx)
			if diff := gocmp.Diff(ops.Service{}, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
			if err := unmigrated.DB.Close(); err != nil {
				t.Fatal(err)
			}
			s := storetest.OpenAt(t, address, nil)
			const nodes = 8
			var names, markers [nodes]string
			var refused [nodes]bool
			var wg sync.WaitGroup
			for i := range nodes {
				wg.Go(func() {
					var err error
					if names[i], err = s.Ops.NameDatabase(ctx); err != nil {
						t.Error(err)
					}
					a, err := s.Ops.AdoptArtifacts(ctx, ops.ArtifactStore{Marker: fmt.Sprint(i), Address: "dir:/x"})
					if err != nil {
						t.Error(err)
					}
					markers[i] = a.Marker
					err = s.Ops.AgreeOnSecrets(ctx, []string{fmt.Sprint(i)})
					if refused[i] = errors.Is(err, ops.ErrOtherSecrets); err != nil && !refused[i] {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			got, err = s.Ops.Service(ctx)
			if err != nil {
				t.Fatal(err)
			}
			accepted := slices.Index(refused[:], false)
			want := ops.Service{
				Database:  names[0],
				Artifacts: &ops.ArtifactStore{Marker: markers[0], Address: "dir:/x"},
				Secrets:   []string{fmt.Sprint(accepted)},
			}
			if diff := gocmp.Diff(want, got); diff != "" || names[0] == "" {
				t.Error(diff)
			}
			for i := range nodes {
				if names[i] != names[0] || markers[i] != markers[0] || refused[i] != (i != accepted) {
					t.Errorf("node %d has %s, %s, %t", i, names[i], markers[i], refused[i])
				}
			}
		})
	}
}

// Keys are replaced one after the other: a node needs one key of the node before it.
func TestAgreeOnSecrets(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		for i, step := range []struct {
			keys []string
			ok   bool
		}{
			{[]string{"old"}, true},
			{[]string{"new"}, false},
			{[]string{"old", "new"}, true},
			{[]string{"old"}, true},
			{[]string{"new"}, false},
			{[]string{"new", "old"}, true},
			{[]string{"new"}, true},
			{[]string{"old"}, false},
			{[]string{"new"}, true},
		} {
			err := s.Ops.AgreeOnSecrets(ctx, step.keys)
			if step.ok && err != nil || !step.ok && !errors.Is(err, ops.ErrOtherSecrets) {
				t.Errorf("step %d, %v: %v", i, step.keys, err)
			}
		}
		if err := s.Ops.ReplaceSecrets(ctx, []string{"other"}); err != nil {
			t.Error(err)
		}
		a := ops.ArtifactStore{Marker: "m", Address: "dir:/y"}
		if err := s.Ops.ReplaceArtifacts(ctx, a); err != nil {
			t.Error(err)
		}
		got, err := s.Ops.Service(ctx)
		if diff := gocmp.Diff(ops.Service{Artifacts: &a, Secrets: []string{"other"}}, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

// Pages list every file that a row refers to once, in the order of the keys: artifacts that runs share, library files
// and checkpoints.
func TestBlobRefs(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		var want []ops.BlobRef
		for i := range 7 {
			created := storetest.CreateJob(t, s, storetest.NewFold(u, "x"))
			task := storetest.Claim(t, s, "w", storetest.FoldQueue).Task
			done := storetest.Completed()
			own := ops.BlobRef{Key: fmt.Sprintf("runs/%d/1/a", i), Bytes: int64(i), SHA256: fmt.Sprint("0", i)}
			done.Artifacts = []pleat.Artifact{
				{Name: "a", Key: own.Key, Bytes: own.Bytes, SHA256: own.SHA256},
				{Name: "shared", Key: "runs/3/1/shared", Bytes: 9, SHA256: "09"},
			}
			if err := s.Runs.FinishRun(ctx, tasks.LeaseOf(&task), done); err != nil {
				t.Fatal(created, err)
			}
			want = append(want, own)
		}
		want = append(want, ops.BlobRef{Key: "runs/3/1/shared", Bytes: 9, SHA256: "09"})
		storetest.CreateJob(t, s, storetest.NewFold(u, "x"))
		task := storetest.Claim(t, s, "w", storetest.FoldQueue).Task
		saved := pleat.Checkpoint{Key: "runs/4/1/checkpoint-5", Step: 5}
		if err := s.Runs.SaveCheckpoint(ctx, tasks.LeaseOf(&task), saved); err != nil {
			t.Fatal(err)
		}
		item, err := s.Runs.CreateItem(ctx, u,
			runs.LibraryItem{Owner: u.Project, Name: "x", Type: "file", Metadata: []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
		file := runs.LibraryFile{Name: "x.pdb", Key: "library/x", Bytes: 4, SHA256: "0f"}
		if _, err := s.Runs.AddFile(ctx, u, item.ID, file); err != nil {
			t.Fatal(err)
		}
		want = append(want, ops.BlobRef{Key: saved.Key, Bytes: -1},
			ops.BlobRef{Key: file.Key, Bytes: file.Bytes, SHA256: file.SHA256})
		slices.SortFunc(want, func(a, b ops.BlobRef) int { return strings.Compare(a.Key, b.Key) })
		for _, limit := range []int{1, 3, 100} {
			var got []ops.BlobRef
			for after := ""; ; after = got[len(got)-1].Key {
				page, err := s.Ops.BlobRefs(ctx, after, limit)
				if err != nil || len(page) > limit {
					t.Fatalf("%d files of %d: %v", len(page), limit, err)
				}
				if len(page) == 0 {
					break
				}
				got = append(got, page...)
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("pages of %d: %s", limit, diff)
			}
		}
	})
}

// A rotation of the secret key asks which endpoints have values that a key cannot open.
func TestCountSealed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		for token, address := range map[string]string{"old.1": "new.3", "new.1": "new.3", "new.4": "old.3"} {
			_, err := s.Webhooks.PutEndpoint(
				ctx,
				people.Actor{Reach: storetest.User(t, s, token)},
				webhooks.EndpointSettings{
					Address: &pleat.Address{Origin: "https://example.org", Sealed: address},
					Token:   new(token),
					Secret:  "new.2",
				},
			)
			if err != nil {
				t.Fatal(err)
			}
		}
		for prefix, want := range map[string]int{"new.": 2, "old.": 3, "": 0} {
			n, err := s.Ops.CountSealed(ctx, func(v string) bool { return strings.HasPrefix(v, prefix) })
			if err != nil || n != want {
				t.Errorf("%q: %d endpoints, %v; want %d", prefix, n, err, want)
			}
		}
	})
}
