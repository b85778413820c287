package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pleat/internal/store/storetest"
	"pleat/internal/testprogram"
	"pleat/internal/testprogram/pages"
)

// The commands of docs/backup.md make a copy that has everything, and that does everything twice unless it is told not
// to.
func TestBackupOfThePage(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		lookFor(t, "sqlite3")
		n, copied := newBackupNode(t), newBackupNode(t)
		for _, o := range []*testprogram.Node{n, copied} {
			o.Database = "sqlite:" + filepath.Join(o.Dir, "data", "pleat.db")
			o.Env = append(o.Env, "PLEAT_SECRET_KEY=") // the file of the data folder
		}
		backUpAndRestore(t, "sqlite", n, copied)
	})
	t.Run("postgres", func(t *testing.T) {
		lookFor(t, "pg_dump")
		lookFor(t, "pg_restore")
		n, copied := newBackupNode(t), newBackupNode(t)
		n.Database, copied.Database = storetest.Postgres(t), storetest.Postgres(t)
		backUpAndRestore(t, "postgres", n, copied)
	})
}

func lookFor(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skip(program + " is not installed")
	}
}

func newBackupNode(t *testing.T) *testprogram.Node {
	n := testprogram.NewNode(t, "")
	n.Env = []string{"PLEAT_WEBHOOK_ALLOW=127.0.0.1"}
	return n
}

func backUpAndRestore(t *testing.T, kind string, n, copied *testprogram.Node) {
	backup := t.TempDir()
	w := testprogram.NewRecorder(t)
	n.CreateKey()
	n.Serve()
	testprogram.ConfigureRecorder(t, n.Client(), w.URL)
	n.Stop()
	n.Serve("--deliver=false") // so that a delivery waits in the backup
	job := n.CreateNull(`"recyclingSteps":2`)
	testprogram.WaitUntil(t, 30*time.Second, "the job is completed", func() bool {
		_, b := n.Request("GET", "/v1/jobs/"+job, "")
		return strings.Contains(string(b), `"status":"COMPLETED"`)
	})
	runBlock(t, "backup "+kind, n, backup)
	runBlock(t, "restore "+kind, copied, backup)

	// The copy has the job, its files and the key, and sends nothing.
	copied.Key = n.Key
	copied.Serve("--deliver=false", "--work=false")
	results, err := copied.Client().Results(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	if len(results.Artifacts) == 0 {
		t.Fatalf("the copy has no files: %+v", results)
	}
	for _, a := range results.Artifacts {
		if status, body := copied.Request("GET", strings.TrimPrefix(a.URL, copied.URL), ""); status != 200 {
			t.Errorf("%s of the copy: %d %s", a.Name, status, body)
		}
	}
	copied.Stop()

	// Both send the same delivery if both deliver.
	n.Stop()
	n.Serve()
	copied.Serve()
	testprogram.WaitUntil(t, 30*time.Second, "the event is delivered twice", func() bool {
		_, repeats := w.Counts()
		return repeats > 0
	})
}

// runBlock runs the block of docs/backup.md that begins with a comment, with the folders of a node.
func runBlock(t *testing.T, comment string, n *testprogram.Node, backup string) {
	t.Helper()
	for _, b := range pages.Blocks(t, "../../docs/backup.md") {
		if b.Language != "sh" || !strings.HasPrefix(b.Text, "# "+comment+"\n") {
			continue
		}
		script := strings.ReplaceAll(b.Text, "/var/lib/pleat", filepath.Join(n.Dir, "data"))
		cmd := exec.Command("bash", "-c", "set -euo pipefail\n"+strings.ReplaceAll(script, "/backup", backup))
		cmd.Env = append(n.Command().Env, "PATH="+filepath.Dir(n.Program)+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s\n%s", comment, err, script, out)
		}
		return
	}
	t.Fatalf("docs/backup.md has no block %q", comment)
}
