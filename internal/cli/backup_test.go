package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pleat/internal/store/storetest"
)

// The commands of docs/backup.md make a copy that has everything, and that does everything twice unless it is told not
// to.
func TestBackupOfThePage(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		lookFor(t, "sqlite3")
		n, copied := newBackupNode(t), newBackupNode(t)
		for _, o := range []*node{n, copied} {
			o.database = "sqlite:" + filepath.Join(o.dir, "data", "pleat.db")
			o.env = append(o.env, "PLEAT_SECRET_KEY=") // the file of the data folder
		}
		backUpAndRestore(t, "sqlite", n, copied)
	})
	t.Run("postgres", func(t *testing.T) {
		lookFor(t, "pg_dump")
		lookFor(t, "pg_restore")
		n, copied := newBackupNode(t), newBackupNode(t)
		n.database, copied.database = storetest.Postgres(t), storetest.Postgres(t)
		backUpAndRestore(t, "postgres", n, copied)
	})
}

func lookFor(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skip(program + " is not installed")
	}
}

func newBackupNode(t *testing.T) *node {
	n := newNode(t, "")
	n.env = []string{"PLEAT_WEBHOOK_ALLOW=127.0.0.1"}
	return n
}

func backUpAndRestore(t *testing.T, kind string, n, copied *node) {
	backup := t.TempDir()
	w := newRecorder(t)
	n.createKey()
	n.serve()
	configureRecorder(t, n.client(), w.URL)
	n.stop()
	n.serve("--deliver=false") // so that a delivery waits in the backup
	job := n.createNull(`"recyclingSteps":2`)
	waitUntil(t, 30*time.Second, "the job is completed", func() bool {
		_, b := n.request("GET", "/v1/jobs/"+job, "")
		return strings.Contains(string(b), `"status":"COMPLETED"`)
	})
	runBlock(t, "backup "+kind, n, backup)
	runBlock(t, "restore "+kind, copied, backup)

	// The copy has the job, its files and the key, and sends nothing.
	copied.key = n.key
	copied.serve("--deliver=false", "--work=false")
	results, err := copied.client().Results(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	if len(results.Artifacts) == 0 {
		t.Fatalf("the copy has no files: %+v", results)
	}
	for _, a := range results.Artifacts {
		if status, body := copied.request("GET", strings.TrimPrefix(a.URL, copied.url), ""); status != 200 {
			t.Errorf("%s of the copy: %d %s", a.Name, status, body)
		}
	}
	copied.stop()

	// Both send the same delivery if both deliver.
	n.stop()
	n.serve()
	copied.serve()
	waitUntil(t, 30*time.Second, "the event is delivered twice", func() bool {
		_, repeats := w.counts()
		return repeats > 0
	})
}

// createNull creates a job of the model null with further parameters, if any, and returns its id.
func (n *node) createNull(params string) string {
	n.t.Helper()
	status, b := n.request("POST", "/v1/jobs", nullJob(params))
	var created struct{ JobID string }
	if err := json.Unmarshal(b, &created); err != nil || status != 200 {
		n.t.Fatalf("create: %d %s", status, b)
	}
	return created.JobID
}

// runBlock runs the block of docs/backup.md that begins with a comment, with the folders of a node.
func runBlock(t *testing.T, comment string, n *node, backup string) {
	t.Helper()
	for _, b := range blocks(t, "docs/backup.md") {
		if b.language != "sh" || !strings.HasPrefix(b.text, "# "+comment+"\n") {
			continue
		}
		script := strings.ReplaceAll(b.text, "/var/lib/pleat", filepath.Join(n.dir, "data"))
		cmd := exec.Command("bash", "-c", "set -euo pipefail\n"+strings.ReplaceAll(script, "/backup", backup))
		cmd.Env = append(n.command().Env, "PATH="+filepath.Dir(n.program)+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s\n%s", comment, err, script, out)
		}
		return
	}
	t.Fatalf("docs/backup.md has no block %q", comment)
}
