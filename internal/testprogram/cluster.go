package testprogram

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"pleat/internal/blob/blobtest"
	"pleat/internal/store/storetest"
)

// Cluster is a server that does not run jobs, and workers, on one PostgreSQL database and one bucket for artifacts, or
// one folder where there is no S3 server.
type Cluster struct {
	T      *testing.T
	Server *Node
	Addr   string // at which the server listens; empty: any
	DB     *sql.DB

	jobs atomic.Int64 // jobs; each has a seed of its own, or the result cache would complete it
}

// NewCluster returns a cluster whose server has not been started, and skips the test where there is no PostgreSQL.
func NewCluster(t *testing.T) *Cluster {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	c := &Cluster{T: t}
	if blobtest.Available() {
		t.Setenv("PLEAT_BLOBS", blobtest.Address(t, blobtest.Bucket(t), "fleet"))
	} else {
		t.Setenv("PLEAT_BLOBS", filepath.Join(t.TempDir(), "blobs"))
	}
	c.Server = NewNode(t, Postgres(t))
	c.Server.CreateKey()
	return c
}

// Serve starts the server. Its workers must have registered by then: it refuses jobs for models that no worker has.
func (c *Cluster) Serve() {
	flags := []string{"--work=false"}
	if c.Addr != "" {
		flags = append(flags, "--addr", c.Addr)
	}
	c.Server.Serve(flags...)
	c.DB = c.Server.Open()
}

// Worker starts a worker with a data folder of its own and waits until it has registered.
func (c *Cluster) Worker() *Node {
	n := NewNode(c.T, c.Server.Database)
	db := n.Open()
	known := func() (workers int) { // 0 until there are tables
		_ = db.QueryRow("SELECT count(*) FROM worker").Scan(&workers)
		return workers
	}
	before := known()
	n.Start("worker")
	WaitUntil(c.T, 30*time.Second, "the worker is known", func() bool { return known() > before })
	return n
}

// Call sends a request to the server and returns the response, with its status under "code".
func (c *Cluster) Call(method, path, body string) map[string]any {
	c.T.Helper()
	status, raw := c.Server.Request(method, path, body)
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		c.T.Fatalf("%s %s: %d %s %v", method, path, status, raw, err)
	}
	out["code"] = status
	return out
}

// Create creates a job whose run takes some milliseconds.
func (c *Cluster) Create(ms int) string {
	c.T.Helper()
	out := c.Call("POST", "/v1/jobs", NullJob(fmt.Sprintf(`"seed":"%d","samplingSteps":%d`, c.jobs.Add(1), ms)))
	id, _ := out["jobId"].(string)
	if id == "" {
		c.T.Fatal(out)
	}
	return id
}

// State returns the state of a job.
func (c *Cluster) State(job string) string {
	out := c.Call("GET", "/v1/jobs/"+job, "")
	j, _ := out["job"].(map[string]any)
	s, _ := j["status"].(string)
	return s
}

// Await waits until a job has a state.
func (c *Cluster) Await(job, state string, limit time.Duration) {
	c.T.Helper()
	WaitUntil(c.T, limit, job+" is "+state, func() bool { return c.State(job) == state })
}

// NullJob returns the body of a request that creates a job of the model null with further parameters, if any.
func NullJob(params string) string {
	if params != "" {
		params = "," + params
	}
	return `{"name":"x","sequences":[{"proteinChain":{"sequence":"GSGS"}}],"params":{"modelName":"null"` + params + `}}`
}

// SQLite makes an SQLite database with the schema, which goes with the test, and returns its address.
func SQLite(t *testing.T) string {
	t.Helper()
	return storetest.Migrated()["sqlite"](t)
}

// Postgres is SQLite on PostgreSQL. Without a server the test is skipped.
func Postgres(t *testing.T) string {
	t.Helper()
	fresh := storetest.Migrated()["postgres"]
	if fresh == nil {
		t.Skip("PLEAT_TEST_POSTGRES names no server; make test starts one")
	}
	return fresh(t)
}
