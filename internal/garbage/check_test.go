package garbage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/blob/blobtest"
	"pleat/internal/garbage"
	"pleat/internal/store"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// openDir opens an artifact store in an empty folder.
func openDir(t *testing.T) blob.Store {
	t.Helper()
	dir, err := blob.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	return dir
}

// openBucket opens an artifact store in an empty bucket, where there is an S3 server.
func openBucket(t *testing.T) blob.Store {
	t.Helper()
	bucket, err := blob.Open(t.Context(), blobtest.Address(t, blobtest.Bucket(t), ""))
	if err != nil {
		t.Fatal(err)
	}
	return bucket
}

// check returns the faults, sorted, and the counts.
func check(
	t *testing.T, s *store.Store, b blob.Store, deep bool, before time.Time,
) ([]string, garbage.Checked) {
	t.Helper()
	var got []string
	c, err := garbage.Check(context.Background(), s.Ops, s.Runs, b, deep, before, func(f garbage.Fault) error {
		got = append(got, string(f.Kind)+" "+f.Key)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	return got, c
}

// A file that is missing, truncated or changed is found, and so is one without a row; one that was stored just now is
// none of these, except that it may be missing. Check calls exactly those files orphans that Collect deletes.
func TestCheck(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		t.Run("dir", func(t *testing.T) { checkStore(t, s, openDir(t)) })
		t.Run("bucket", func(t *testing.T) { checkStore(t, s, openBucket(t)) })
	})
}

func checkStore(t *testing.T, s *store.Store, b blob.Store) {
	ctx := context.Background()
	put := func(key, content string) pleat.Artifact {
		info, err := b.Put(ctx, key, strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		return pleat.Artifact{Name: key, Key: key, Bytes: info.Bytes, SHA256: info.SHA256}
	}
	done := storetest.Completed()
	done.Artifacts = nil
	for _, name := range []string{"whole", "missing", "short", "changed"} {
		done.Artifacts = append(done.Artifacts, put("runs/1/"+name, "content"))
	}
	storetest.CreateJob(t, s, storetest.NewFold(storetest.User(t, s, "ada"), "x"))
	task := storetest.Claim(t, s, "w", storetest.FoldQueue).Task
	if err := s.Runs.FinishRun(ctx, tasks.LeaseOf(&task), done); err != nil {
		t.Fatal(err)
	}
	later, earlier := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	if got, c := check(t, s, b, true, later); got != nil || c.Files != 4 {
		t.Fatalf("%q, %+v", got, c)
	}
	if err := b.Delete(ctx, "runs/1/missing"); err != nil {
		t.Fatal(err)
	}
	put("runs/1/short", "cont")
	put("runs/1/changed", "CONTENT")
	put("runs/2/orphan", "12345")
	put("library/orphan", "1")
	put("msa/kept", "not referred to by rows")
	orphans := []string{"orphan library/orphan", "orphan runs/2/orphan"}
	for _, c := range []struct {
		deep   bool
		before time.Time
		want   []string
		count  garbage.Checked
	}{
		{false, later, append([]string{"damaged runs/1/short", "missing runs/1/missing"}, orphans...),
			garbage.Checked{Files: 4, Missing: 1, Damaged: 1, Orphans: 2, OrphanBytes: 6}},
		{true, later, append([]string{"damaged runs/1/changed", "damaged runs/1/short", "missing runs/1/missing"},
			orphans...), garbage.Checked{Files: 4, Missing: 1, Damaged: 2, Orphans: 2, OrphanBytes: 6}},
		{true, earlier, []string{"missing runs/1/missing"}, garbage.Checked{Files: 4, Missing: 1}},
	} {
		got, count := check(t, s, b, c.deep, c.before)
		if diff := cmp.Diff(c.want, got); diff != "" || count != c.count {
			t.Errorf("deep %t: %s%+v", c.deep, diff, count)
		}
	}
	if n, err := garbage.Collect(ctx, s.Ops, s.Runs, b, later); n != 2 || err != nil {
		t.Errorf("collected %d files: %v", n, err)
	}
	if _, c := check(t, s, b, false, later); c.Orphans != 0 || c.Missing != 1 {
		t.Errorf("after the collection: %+v", c)
	}
	stop := errors.New("stop")
	_, err := garbage.Check(ctx, s.Ops, s.Runs, b, false, later, func(garbage.Fault) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("an error of the report: %v", err)
	}
}

// A row that is deleted after it was read is no fault, and more files than a page has are all checked.
func TestCheckBesideServers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		var last runs.Created
		const jobs, files = 3, 400
		for i := range jobs {
			last = storetest.CreateJob(t, s, storetest.NewFold(u, "x"))
			task := storetest.Claim(t, s, "w", storetest.FoldQueue).Task
			done := storetest.Completed()
			done.Artifacts = nil
			for k := range files {
				name := fmt.Sprintf("%d", k)
				done.Artifacts = append(done.Artifacts, pleat.Artifact{
					Name: name,
					Key:  fmt.Sprintf("runs/%d/1/%s", i, name),
				})
			}
			if err := s.Runs.FinishRun(ctx, tasks.LeaseOf(&task), done); err != nil {
				t.Fatal(err)
			}
		}
		deleting := &deletingStore{Store: openDir(t), delete: func() {
			if err := s.Ops.DeleteJob(ctx, u, last.Job); err != nil {
				t.Error(err)
			}
			for {
				p, err := s.Ops.PurgeDeleted(ctx)
				if err != nil {
					t.Error(err)
				}
				if p.Rows == 0 {
					return
				}
			}
		}}
		_, c := check(t, s, deleting, false, time.Now())
		if c.Missing != (jobs-1)*files {
			t.Errorf("%+v; want %d missing", c, (jobs-1)*files)
		}
	})
}

// deletingStore calls delete once, when the first file of the last job is opened.
type deletingStore struct {
	blob.Store
	once   sync.Once
	delete func()
}

// Open implements blob.Store.
func (d *deletingStore) Open(ctx context.Context, key string) (io.ReadSeekCloser, blob.Info, error) {
	if strings.HasPrefix(key, "runs/2/") {
		d.once.Do(d.delete)
	}
	return d.Store.Open(ctx, key)
}
