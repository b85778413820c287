//go:build ignore

// Make fills a database with one of everything that version 1 of the schema (migrations 1 to 4) can hold, by driving
// a program of that version over its public interface. TestDatabaseOfVersion1 opens what it wrote.
//
//	git worktree add /tmp/v1 e87e556 && (cd /tmp/v1 && go build -o /tmp/pleat-v1 ./cmd/pleat)
//	go run internal/store/testdata/v1/make.go /tmp/pleat-v1 sqlite internal/store/testdata/v1/pleat.db
//	scripts/with-postgres go run internal/store/testdata/v1/make.go /tmp/pleat-v1 postgres \
//	  internal/store/testdata/v1/pleat.sql
//
// The PostgreSQL database is written as plain SQL with one INSERT per row, so that any driver can load it.
package main

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// secretKey seals the stored tokens. It protects nothing: the fixture holds no real secret.
const secretKey = "0001020304050607080910111213141516171819202122232425262728293031"

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: make.go PROGRAM sqlite|postgres OUTPUT")
	}
	dir, err := os.MkdirTemp("", "pleat-fixture")
	check(err)
	defer os.RemoveAll(dir)
	m := &maker{program: os.Args[1], dir: dir, database: "sqlite:" + filepath.Join(dir, "pleat.db")}
	if os.Args[2] == "postgres" {
		m.database = os.Getenv("PLEAT_TEST_POSTGRES")
	}
	defer m.stop()
	m.fill()
	if os.Args[2] == "postgres" {
		dumpPostgres(m.database, os.Args[3])
	} else {
		dumpSQLite(filepath.Join(dir, "pleat.db"), os.Args[3])
	}
}

func check(err error) {
	if err != nil {
		log.Panic(err)
	}
}

// maker drives one server of version 1.
type maker struct {
	program, dir, database string
	server                 *exec.Cmd
	started                []*os.Process
	url, key               string
	statuses               map[string]int // what the receiver answers, by path
	receiver               string
}

type object map[string]any

// fill makes one of everything, for two users, and leaves the service as after a crash.
func (m *maker) fill() {
	m.receive()
	ada := m.user("ada")
	grace := m.user("grace")
	m.serve("true")

	m.key = ada
	item := m.fillAccount()
	folded := m.fillFollowUps()
	m.fillEnds(item, folded)
	m.awaitDeliveries()
	m.key = grace
	other := m.fold("private", "null", object{"recyclingSteps": 1}, nil, "GSGSGS")
	m.await("/v1/jobs/"+other, "job.status", "COMPLETED")
	m.fillUnfinished(ada, grace)
}

// fillAccount makes an endpoint and a library for the current user, and returns the library item of an alignment.
func (m *maker) fillAccount() (item string) {
	m.call("PUT", "/v1/webhooks/custom-http-config", object{
		"target_url":         m.receiver + "/ok",
		"token_value":        "tok-0123456789abcdef",
		"enabled_by_default": true,
	})
	folder := m.call("POST", "/v1/library/create", object{"name": "structures", "type": "folder"})["id"]
	item = m.call("POST", "/v1/library/create", object{
		"name": "alignments", "type": "file", "fileType": "a3m", "origin": "upload", "parent_id": folder,
		"metadata": object{"project": "x"},
	})["id"].(string)
	m.upload(item, "first.a3m", ">101\nGSGSGS\n>hit\nGSGTGS\n")
	return item
}

// fillFollowUps folds a public complex by the built-in model, with follow-ups of both kinds, and returns the job.
func (m *maker) fillFollowUps() (job string) {
	job = m.fold("Trp-cage dimer", "mini", object{"seed": "1"}, object{"webhooks": object{
		"qna": object{"enabled": true, "initial_question": "How many residues does it have?"},
		"md":  object{"enabled": true, "temp": 310, "sim_length_ns": 0.02, "step_size_ns": 0.002},
	}}, "DAYAQWLKDGGPSSGRPPPS", "GYDPETGTWG")
	m.await("/v1/jobs/"+job, "job.status", "COMPLETED")
	m.call("PATCH", "/v1/jobs/"+job+"/public", object{"isPublic": true})
	m.awaitAll("/v1/workflows?limit=50", "COMPLETED", 2)
	return job
}

// fillEnds makes a run whose input fails, a job run twice, deliveries of every state, a draft and a failed workflow.
func (m *maker) fillEnds(item, folded string) {
	m.fold("keeps the next one waiting", "null", object{"samplingSteps": 3000}, nil, "GSGS")
	failed := m.call("POST", "/v1/jobs?from="+item, job("fails", "null", nil, nil, "GSGSGS"))["jobId"].(string)
	m.upload(item, "second.a3m", ">101\nGSGSGS\n")
	m.await("/v1/jobs/"+failed, "job.status", "FAILED")
	again := m.fold("run twice", "null", object{"recyclingSteps": 2}, nil, "GSGSGSGS")
	m.await("/v1/jobs/"+again, "job.status", "COMPLETED")
	gone := m.fold("refused by its receiver", "null", nil, ownEndpoint(m.receiver+"/gone"), "GSGS")
	m.await("/v1/jobs/"+gone, "job.status", "COMPLETED")
	busy := m.fold("receiver is busy", "null", nil, ownEndpoint(m.receiver+"/busy"), "GSGS")
	m.await("/v1/jobs/"+busy, "job.status", "COMPLETED")
	m.call("POST", "/v1/workflows", object{
		"workflow_name": "evolla_v1", "name": "later", "create_mode": "draft",
		"workflow_input": object{"targetSource": "fold_job", "source_job_id": folded},
	})
	flow := m.call("POST", "/v1/workflows", object{
		"workflow_name": "qna_v1", "name": "no such entry",
		"workflow_input": object{"targetSource": "pdb", "pdbId": "1CRN", "question": "How many residues does it have?"},
	})["workflow_id"].(string)
	m.await("/v1/workflows/"+flow, "status", "FAILED")
}

// fillUnfinished leaves what the service holds when its process is killed: a running fold, a stopped one, queued ones
// and a queued workflow.
func (m *maker) fillUnfinished(ada, grace string) {
	m.key = ada
	running := m.fold("running", "null", object{"samplingSteps": 600000}, nil, "GSGS")
	m.await("/v1/jobs/"+running, "job.status", "RUNNING")
	stopped := m.fold("stopped", "null", nil, nil, "GSGS")
	m.call("POST", "/v1/jobs/"+stopped+"/cancel", nil)
	m.fold("queued", "null", nil, nil, "GSGS")
	m.key = grace
	m.fold("queued too", "null", nil, nil, "GSGS")
	m.key = ada
	check(m.server.Process.Kill())
	_ = m.server.Wait()
	m.serve("false")
	m.call("POST", "/v1/workflows", object{
		"workflow_name": "md", "name": "queued",
		"workflow_input": object{"preset": "single_idr_fasta", "sequence": "GSGSGS", "sim_length_ns": 0.1},
	})
	check(m.server.Process.Signal(os.Interrupt))
	check(m.server.Wait())
}

// stop kills the servers that a failed run of this program would leave behind.
func (m *maker) stop() {
	for _, p := range m.started {
		_ = p.Kill() // it may have ended
	}
}

// ownEndpoint returns constraints that name an endpoint for one job alone.
func ownEndpoint(url string) object {
	return object{"webhooks": object{"custom_http": object{
		"enabled": true, "target_url": url, "token_value": "tok-0123456789abcdef",
	}}}
}

// job returns the body of a request that creates a job with one chain per sequence.
func job(name, model string, params, constraints object, sequences ...string) object {
	p := object{"modelName": model}
	maps.Copy(p, params)
	body := object{"name": name, "params": p}
	var list []object
	for _, s := range sequences {
		list = append(list, object{"proteinChain": object{"sequence": s}})
	}
	body["sequences"] = list
	if constraints != nil {
		body["constraints"] = constraints
	}
	return body
}

// fold creates a job and returns its identifier.
func (m *maker) fold(name, model string, params, constraints object, sequences ...string) string {
	return m.call("POST", "/v1/jobs", job(name, model, params, constraints, sequences...))["jobId"].(string)
}

// receive starts the receiver of deliveries.
func (m *maker) receive() {
	m.statuses = map[string]int{"/ok": 200, "/gone": 410, "/busy": 503}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	m.receiver = "http://" + l.Addr().String()
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, ok := m.statuses[r.URL.Path]
		switch {
		case !ok:
			status = http.StatusNotFound // the structures that a workflow asks for
		case status == http.StatusServiceUnavailable:
			w.Header().Set("Retry-After", "86400")
		}
		w.WriteHeader(status)
	}))
}

func (m *maker) command(args ...string) *exec.Cmd {
	c := exec.Command(m.program, args...)
	c.Env = append(os.Environ(), "PLEAT_SECRET_KEY="+secretKey, "PLEAT_WEBHOOK_ALLOW=127.0.0.0/8",
		"PLEAT_DATA="+m.dir, "PLEAT_DATABASE="+m.database, "PLEAT_LOG_LEVEL=warn", "PLEAT_DEVICES=none")
	c.Stderr = os.Stderr
	return c
}

func (m *maker) user(name string) string {
	key, err := m.command("keys", "create", "--user", name).Output()
	check(err)
	return strings.TrimSpace(string(key))
}

func (m *maker) serve(works string) {
	m.server = m.command("serve", "--addr", "127.0.0.1:0", "--engines", "mini,calvados,analyst,null",
		"--work="+works, "--deliver="+works, "--threads", "2",
		"--pdb-url", m.receiver+"/pdb/{id}")
	out, err := m.server.StdoutPipe()
	check(err)
	check(m.server.Start())
	m.started = append(m.started, m.server.Process)
	line, err := bufio.NewReader(out).ReadString('\n')
	check(err)
	m.url = strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	go io.Copy(io.Discard, out)
}

func (m *maker) call(method, path string, body any) object {
	raw, err := json.Marshal(body)
	check(err)
	if body == nil {
		raw = nil
	}
	return m.send(method, path, "application/json", raw)
}

func (m *maker) send(method, path, kind string, body []byte) object {
	req, err := http.NewRequest(method, m.url+path, bytes.NewReader(body))
	check(err)
	req.Header.Set("Authorization", "Bearer "+m.key)
	req.Header.Set("Content-Type", kind)
	res, err := http.DefaultClient.Do(req)
	check(err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	check(err)
	if res.StatusCode >= 300 {
		log.Panicf("%s %s: %s: %s", method, path, res.Status, raw)
	}
	var out object
	_ = json.Unmarshal(raw, &out) // some answers are not objects
	return out
}

func (m *maker) upload(item, name, text string) {
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("files", name)
	check(err)
	_, err = io.WriteString(part, text)
	check(err)
	check(form.Close())
	m.send("POST", "/v1/library/"+item+"/upload-files", form.FormDataContentType(), b.Bytes())
}

// poll calls done twice a second until it is true.
func poll(what string, done func() bool) {
	for end := time.Now().Add(4 * time.Minute); !done(); time.Sleep(500 * time.Millisecond) {
		if time.Now().After(end) {
			log.Panic("waited too long for ", what)
		}
	}
}

func (m *maker) await(path, field, want string) {
	poll(path+" "+want, func() bool {
		var v any = map[string]any(m.call("GET", path, nil))
		for _, f := range strings.Split(field, ".") {
			o, _ := v.(map[string]any)
			v = o[f]
		}
		return v == want
	})
}

func (m *maker) awaitAll(path, state string, n int) {
	poll(path, func() bool {
		raw, err := json.Marshal(m.call("GET", path, nil))
		check(err)
		return strings.Count(string(raw), `"`+state+`"`) >= n
	})
}

// awaitDeliveries waits until deliveries have succeeded, failed and been tried once.
func (m *maker) awaitDeliveries() {
	poll("deliveries", func() bool {
		raw, err := json.Marshal(m.call("GET", "/v1/webhooks/deliveries?limit=100", nil))
		check(err)
		for _, s := range []string{`"SUCCEEDED"`, `"FAILED"`, `"response_status":503`} {
			if !bytes.Contains(raw, []byte(s)) {
				return false
			}
		}
		return true
	})
}

func dumpSQLite(path, to string) {
	db, err := sql.Open("sqlite", "file:"+path)
	check(err)
	defer db.Close()
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		log.Panic(err)
	}
	_, err = db.Exec("VACUUM INTO ?", to)
	check(err)
}

func dumpPostgres(address, to string) {
	out, err := exec.Command("pg_dump", "--inserts", "--no-owner", "--no-privileges", address).Output()
	check(err)
	var b strings.Builder
	fmt.Fprintln(&b, "-- Written by make.go from a database of version 1.")
	for line := range strings.Lines(string(out)) {
		switch {
		case strings.TrimSpace(line) == "", strings.HasPrefix(line, "--"), strings.HasPrefix(line, "\\"),
			strings.HasPrefix(line, "SET "), strings.HasPrefix(line, "SELECT pg_catalog.set_config"):
		default:
			b.WriteString(line)
		}
	}
	check(os.WriteFile(to, []byte(b.String()), 0o600))
}
