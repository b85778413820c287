package clusters

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pleat/internal/testprogram"
)

// localFleet is a service on SQLite with a class whose workers are processes of this machine, and the path of the file
// of settings that they read.
func localFleet(t *testing.T) (*testprogram.Cluster, string) {
	t.Helper()
	dir := t.TempDir()
	n := testprogram.NewNode(t, testprogram.SQLite(t))
	classes, settings := filepath.Join(dir, "classes.yaml"), filepath.Join(dir, "pleat.yaml")
	for name, text := range map[string]string{
		classes: "classes:\n  - {name: quick, engines: [\"null\"], driver: local, idle-exit: 1s, max-workers: 2, " +
			"target-wait: 1s, options: {output: " + filepath.Join(dir, "worker.log") + "}}\n",
		settings: fmt.Sprintf("database: %s\ndata: %s\nsecret-key: %s\n", n.Database, filepath.Join(n.Dir, "data"),
			strings.Repeat("ab", 32)),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.Env = []string{"PLEAT_CLASSES=" + classes}
	n.CreateKey()
	c := &testprogram.Cluster{T: t, Server: n}
	c.Serve()
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(filepath.Join(dir, "worker.log"))
			t.Log("the workers' log ends with:\n", testprogram.LastLines(string(text), 20))
		}
	})
	return c, settings
}

// The fleet starts workers as processes of this machine, which run what waits and end by themselves.
func TestFleetLocal(t *testing.T) {
	c, settings := localFleet(t)
	jobs := []string{c.Create(500), c.Create(500), c.Create(500)}
	const before = "quick    local   3        2       0     0        0        no fleet has reported: start pleat fleet"
	if out, code := c.Server.Run("fleet", "status"); code != 0 || !strings.Contains(out, before) {
		t.Errorf("before the fleet runs: %d\n%s", code, out)
	}
	if out, code := c.Server.Run("fleet", "--once", "--config", settings); code != 0 {
		t.Fatalf("%d\n%s", code, out)
	}
	for _, j := range jobs {
		c.Await(j, "COMPLETED", 30*time.Second)
	}
	ended := func() bool {
		const live = "SELECT count(*) FROM worker WHERE stopped_at = 0 AND cluster_job LIKE 'local/%'"
		return testprogram.QueryInt(t, c.DB, live) == 0
	}
	testprogram.WaitUntil(t, 30*time.Second, "the workers have ended", ended)

	// The permanent fleet goes on, and leaves its workers when it ends.
	fleet := testprogram.NewNode(t, c.Server.Database)
	fleet.Env = []string{"PLEAT_LOG_LEVEL=info"}
	fleet.Start("fleet", "--config", settings, "--fleet-interval", "1")
	job := c.Create(3000)
	c.Await(job, "RUNNING", 30*time.Second)
	fleet.Stop()
	c.Await(job, "COMPLETED", 30*time.Second)
	testprogram.WaitUntil(t, 30*time.Second, "the worker has ended", ended)
	if n := testprogram.QueryInt(t, c.DB, "SELECT count(*) FROM attempt"); n != 4 {
		t.Errorf("%d attempts of 4 jobs", n)
	}
}

// A fleet whose workers would not find the database says so at its start.
func TestFleetSettings(t *testing.T) {
	c, settings := localFleet(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "fleet-config is empty; workers get no settings by environment"},
		{[]string{"--fleet-config", "pleat.yaml"}, `--fleet-config is "pleat.yaml"; it must be an absolute path`},
		{[]string{"--fleet-config", write("other.yaml", "quota: 5\n")},
			"which names another database than this process uses"},
		{[]string{"--fleet-config", write("relative.yaml", "database: "+c.Server.Database+"\n")},
			"where data or database is a relative path; it must be absolute"},
		{[]string{"--fleet-config", write("wrong.yaml", "qouta: 5\n")}, `unknown key "qouta"`},
		{[]string{"--config", settings, "extra"}, `pleat fleet does not accept "extra"`},
	} {
		out, code := c.Server.Run(append([]string{"fleet", "--once"}, test.args...)...)
		if code != 2 || !strings.Contains(out, test.want) {
			t.Errorf("%v: %d %s; want %q", test.args, code, out, test.want)
		}
	}
}
