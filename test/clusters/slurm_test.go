package clusters

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"pleat/internal/testprogram"
)

// This file runs the fleet on a real Slurm with made-up nodes: make test-clusters. Each test has a service of its own:
// a database, a server that runs no jobs, and a fleet that looks every second.

// slurmPatience is how long a test waits for what Slurm and the fleet do.
const slurmPatience = 100 * time.Second

// TestSlurm runs what needs Slurm. The tests of the first group only use the cluster, side by side; each of the others
// breaks something for all.
func TestSlurm(t *testing.T) {
	if os.Getenv("PLEAT_TEST_SLURM") == "" || os.Getenv("PLEAT_TEST_POSTGRES") == "" {
		const text = "the fleet on Slurm needs Slurm and PostgreSQL; run: make test-clusters"
		if os.Getenv("PLEAT_TEST_CLUSTERS") != "" {
			t.Fatal(text)
		}
		t.Skip("LEFT OUT: " + text)
	}
	t.Run("shared", func(t *testing.T) {
		for name, test := range map[string]func(*slurmSite){
			"scale":    slurmScale,
			"runner":   slurmRunner,
			"killed":   slurmFleetKilled,
			"cancel":   slurmCancel,
			"requeue":  slurmRequeue,
			"walltime": slurmWalltime,
			"never":    slurmNever,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(newSlurmSite(t))
			})
		}
	})
	t.Run("preempt", func(t *testing.T) { slurmPreempt(newSlurmSite(t)) })
	t.Run("zombie", func(t *testing.T) { slurmNodeLost(newSlurmSite(t), false) })
	t.Run("node", func(t *testing.T) { slurmNodeLost(newSlurmSite(t), true) })
	t.Run("controller", func(t *testing.T) { slurmControllerGone(newSlurmSite(t)) })
	for i := range chaosRounds(t) {
		t.Run(fmt.Sprint("chaos", i+1), func(t *testing.T) { slurmChaos(newSlurmSite(t), false) })
		t.Run(fmt.Sprint("chaos", i+1, "called"), func(t *testing.T) { slurmChaos(newSlurmSite(t), true) })
	}
}

// slurmSite is a service whose workers are jobs of Slurm.
type slurmSite struct {
	*testprogram.Cluster
	class  string // name of its only class
	dir    string
	config string // file of settings of the workers
	fleet  *testprogram.Node
	called bool // the workers call the server, with a token
}

func newSlurmSite(t *testing.T) *slurmSite {
	s := &slurmSite{Cluster: &testprogram.Cluster{T: t}, dir: t.TempDir()}
	s.class = regexp.MustCompile(`[^a-z]`).ReplaceAllString(filepath.Base(t.Name()), "")
	s.Server = testprogram.NewNode(t, testprogram.Postgres(t))
	blobs := filepath.Join(s.dir, "blobs")
	s.Server.Env = []string{"PLEAT_BLOBS=" + blobs, "PLEAT_CLASSES=" + s.file("classes.yaml"),
		"PLEAT_DATABASE_CONNECTIONS=8"}
	s.config = s.file("worker.yaml")
	s.write("worker.yaml", fmt.Sprintf("database: %s\ndatabase-connections: 6\nblobs: %s\nsecret-key: %s\ndata: %s\n",
		s.Server.Database, blobs, strings.Repeat("ab", 32), s.file("data")))
	// Workers keep their identity and scratch files below TMPDIR, which goes with the test, also those of killed ones.
	s.write("pleat", fmt.Sprintf("#!/bin/sh\nTMPDIR=%s exec %s \"$@\"\n", s.dir, s.Server.Program))
	if err := os.Chmod(s.file("pleat"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.cancelAll)
	return s
}

func (s *slurmSite) file(name string) string { return filepath.Join(s.dir, name) }

func (s *slurmSite) write(name, text string) {
	s.T.Helper()
	if err := os.WriteFile(s.file(name), []byte(text), 0o600); err != nil {
		s.T.Fatal(err)
	}
}

// begin starts the server with a class, which runs an engine, and the fleet.
func (s *slurmSite) begin(engine string, more ...string) {
	s.T.Helper()
	s.classes(engine, more...)
	s.Server.CreateKey()
	s.Serve()
	s.startFleet()
}

// classes writes the file of classes.
func (s *slurmSite) classes(engine string, more ...string) {
	s.T.Helper()
	text := fmt.Sprintf("classes:\n  - name: %s\n    engines: [%q]\n    driver: slurm\n    target-wait: 1s\n",
		s.class, engine)
	if !slices.ContainsFunc(more, func(line string) bool { return strings.HasPrefix(line, "idle-exit:") }) {
		more = append(more, "idle-exit: 2s")
	}
	for _, line := range append(more, "options:", "  output: "+s.file("worker-%j.log")) {
		text += "    " + line + "\n"
	}
	s.write("classes.yaml", text)
}

// restart starts the server again, which reads the classes.
func (s *slurmSite) restart() {
	s.T.Helper()
	s.Server.Stop()
	s.Serve()
}

func (s *slurmSite) startFleet() {
	s.T.Helper()
	s.fleet = testprogram.NewNode(s.T, s.Server.Database)
	s.fleet.Env = []string{"PLEAT_LOG_LEVEL=info"}
	flags := []string{"fleet", "--config", s.config}
	if s.called { // their settings name no database
		flags = []string{"fleet", "--fleet-config", s.config}
	}
	s.fleet.Start(append(flags, "--fleet-interval", "1", "--fleet-program", s.file("pleat"))...)
}

// callServer makes the workers call the server, which runs with its classes. They know neither the database nor the
// artifacts.
func (s *slurmSite) callServer() {
	s.T.Helper()
	s.called, s.Addr = true, strings.TrimPrefix(s.Server.URL, "http://")
	token, err := s.Server.Command("fleet", "token", s.class).Output()
	if err != nil {
		s.T.Fatal(err)
	}
	s.write("token", string(token))
	s.write("worker.yaml", fmt.Sprintf("server: %s\ntoken-file: %s\ndata: %s\n", s.Server.URL, s.file("token"),
		s.file("data")))
}

// slurmJob is a job as squeue lists it.
type slurmJob struct{ id, state string }

// jobs lists the unfinished jobs of the site, or those in some states.
func (s *slurmSite) jobs(states ...string) []slurmJob {
	s.T.Helper()
	var out []slurmJob
	for line := range strings.Lines(s.slurm("squeue", "--noheader", "--format=%i|%T|%k")) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) == 3 && strings.HasSuffix(f[2], "/"+s.class) && (len(states) == 0 || slices.Contains(states, f[1])) {
			out = append(out, slurmJob{f[0], f[1]})
		}
	}
	slices.SortFunc(out, func(a, b slurmJob) int { // by number
		return cmp.Or(len(a.id)-len(b.id), strings.Compare(a.id, b.id))
	})
	return out
}

// slurm runs a program of Slurm and returns what it prints.
func (s *slurmSite) slurm(program string, args ...string) string {
	s.T.Helper()
	out, err := trySlurm(program, args...)
	if err != nil {
		s.T.Fatal(err)
	}
	return out
}

// trySlurm runs a program of Slurm, which may say no.
func trySlurm(program string, args ...string) (string, error) {
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %v: %w\n%s", program, args, err, out)
	}
	return string(out), nil
}

// cancelAll ends the jobs of the site, so that those of the next test find room.
func (s *slurmSite) cancelAll() {
	if s.T.Failed() {
		logs, _ := filepath.Glob(s.file("worker-*.log"))
		for _, name := range logs {
			text, _ := os.ReadFile(name)
			s.T.Logf("%s ends with:\n%s", filepath.Base(name), testprogram.LastLines(string(text), 15))
		}
		s.T.Logf("the controller's log ends with:\n%s", testprogram.LastLines(slurmLog(s.T), 30))
	}
	if s.fleet != nil {
		s.fleet.Kill()
	}
	for _, j := range s.jobs() {
		s.slurm("scancel", "--quiet", j.id)
	}
	testprogram.WaitUntil(s.T, slurmPatience, "the jobs of the test have ended", func() bool {
		return len(s.jobs()) == 0
	})
}

// runs waits until n jobs run, and returns all that are unfinished.
func (s *slurmSite) runs(n int) []slurmJob {
	s.T.Helper()
	testprogram.WaitUntil(s.T, slurmPatience, fmt.Sprintf("%d jobs of Slurm run", n), func() bool {
		return len(s.jobs("RUNNING")) == n
	})
	return s.jobs()
}

// gone waits until all workers have ended by themselves.
func (s *slurmSite) gone() {
	s.T.Helper()
	testprogram.WaitUntil(s.T, slurmPatience, "the workers have ended", func() bool { return len(s.jobs()) == 0 })
}

// slurmLog returns the log of the controller.
func slurmLog(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(os.Getenv("PLEAT_TEST_SLURM"), "log", "slurmctld.log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wantOnce checks that every task has ended, once, and that none has spent more tries than the one that spent so many.
func (s *slurmSite) wantOnce(tries int) {
	s.T.Helper()
	testprogram.WantZero(s.T, s.DB, map[string]string{
		"tasks that were completed twice": testprogram.CompletedTwice,
		"miscounted µs":                   testprogram.Miscounted,
		"tasks that have not ended":       testprogram.OpenTasks,
	})
	const spent = "SELECT coalesce(max(n), 0) FROM (" +
		"SELECT count(*) AS n FROM attempt WHERE outcome IN ('lost', 'failed') GROUP BY task_id) x"
	if got := testprogram.QueryInt(s.T, s.DB, spent); got != tries {
		s.T.Errorf("a task has spent %d tries, want %d", got, tries)
	}
}

// outcomes counts the attempts that ended in a way.
func (s *slurmSite) outcomes(outcome string) int {
	s.T.Helper()
	return testprogram.QueryInt(s.T, s.DB, "SELECT count(*) FROM attempt WHERE outcome = '"+outcome+"'")
}

// fold creates a fold with a model.
func (s *slurmSite) fold(n *testprogram.Node, model, sequence string) string {
	s.T.Helper()
	status, raw := n.Request("POST", "/v1/jobs", fmt.Sprintf(
		`{"name":"x","sequences":[{"proteinChain":{"sequence":%q}}],"params":{"modelName":%q,"seed":"7"}}`, sequence,
		model))
	var out struct{ JobID string }
	if err := json.Unmarshal(raw, &out); err != nil || out.JobID == "" {
		s.T.Fatalf("%d %s %v", status, raw, err)
	}
	return out.JobID
}

// Jobs are accepted while no worker lives. Workers start, end by themselves when nothing is left to do, and give the
// results that a single machine gives.
func slurmScale(s *slurmSite) {
	s.begin("mini", "max-workers: 2")
	sequences := []string{"GSGSGSAA", "GGGGGG", "AAAAKKKK"}
	var jobs []string
	for _, q := range sequences {
		jobs = append(jobs, s.fold(s.Server, "mini", q))
	}
	for _, j := range jobs {
		s.Await(j, "COMPLETED", slurmPatience)
	}
	s.gone()
	s.wantOnce(0)
	submitted := s.submitted()
	if len(submitted) < 1 || len(submitted) > 3 {
		s.T.Errorf("%d workers were submitted for at most two at a time", len(submitted))
	}
	for _, id := range submitted {
		testprogram.WaitUntil(s.T, slurmPatience, "Slurm knows how job "+id+" ended", func() bool {
			return strings.Contains(slurmLog(s.T), "job_complete: JobId="+id+" done")
		})
		if !strings.Contains(slurmLog(s.T), "job_complete: JobId="+id+" WEXITSTATUS 0\n") {
			s.T.Errorf("job %s was not completed with the status 0", id)
		}
	}
	alone := testprogram.NewNode(s.T, "sqlite:"+s.file("alone.db"))
	alone.Env = []string{"PLEAT_ENGINES=mini", "PLEAT_BLOBS=" + s.file("alone")}
	alone.CreateKey()
	alone.Serve()
	one := &testprogram.Cluster{T: s.T, Server: alone, DB: alone.Open()}
	for i, q := range sequences {
		job := s.fold(alone, "mini", q)
		one.Await(job, "COMPLETED", slurmPatience)
		if d := diff.Diff(files(one, "j.id = $1", job), files(s.Cluster, "j.id = $1", jobs[i])); d != "" {
			s.T.Errorf("the files of %s on one machine (-) and on Slurm (+):\n%s", q, d)
		}
	}
}

// An engine that needs a GPU runs in a process of its own on the one that Slurm has given its worker.
func slurmRunner(s *slurmSite) {
	s.write("nvidia-smi", "#!/bin/sh\nprintf '%s\\n' '0, GPU-a, Made-up, 49152' '1, GPU-b, Made-up, 49152'\n")
	s.write("pleat", fmt.Sprintf("#!/bin/sh\nPATH=%s:$PATH TMPDIR=%s exec %s \"$@\"\n", s.dir, s.dir, s.Server.Program))
	for _, name := range []string{"nvidia-smi", "pleat"} {
		if err := os.Chmod(s.file(name), 0o755); err != nil {
			s.T.Fatal(err)
		}
	}
	if err := os.MkdirAll(s.file("runners/helix"), 0o700); err != nil {
		s.T.Fatal(err)
	}
	example, err := os.ReadFile("../../runners/example/runner.py")
	if err != nil {
		s.T.Fatal(err)
	}
	const check = `
        if os.environ.get("CUDA_VISIBLE_DEVICES") not in ("GPU-a", "GPU-b"):
            job.fail("internal", f"the devices are {os.environ.get('CUDA_VISIBLE_DEVICES')}")
        chain`
	program := strings.NewReplacer(`"example"`, `"helix"`, "import math\n", "import math\nimport os\n", "\n        chain",
		check)
	s.write("runners/helix/runner.py", program.Replace(string(example)))
	s.write("runners/helix/manifest.json", `{"engine": "helix", "version": "1", "protocol": 1,
		"argv": ["{python}", "runner.py"], "device": "cuda", "entities": ["protein"], "max_tokens": 100,
		"mem_model": {"base_gb": 20}, "params_schema": {"seed": {"type": "string"}},
		"models": [{"name": "helix", "title": "Helix", "licence": "none"}]}`)
	settings, err := os.ReadFile(s.config)
	if err != nil {
		s.T.Fatal(err)
	}
	s.write("worker.yaml", string(settings)+"runners: "+s.file("runners")+"\n")
	s.Server.Env = append(s.Server.Env, "PLEAT_RUNNERS="+s.file("runners"))
	s.begin("helix", "max-workers: 2", "devices: 1", "device-memory: 40GB")
	var jobs []string
	for i := range 4 {
		jobs = append(jobs, s.fold(s.Server, "helix", strings.Repeat("G", 10+i)))
	}
	for _, j := range jobs {
		s.Await(j, "COMPLETED", slurmPatience)
	}
	s.gone()
	s.wantOnce(0)
	devices := testprogram.QueryStrings(s.T, s.DB, "SELECT DISTINCT devices FROM worker WHERE class = '"+s.class+"'")
	for _, text := range devices {
		if strings.Count(text, "Made-up") != 1 {
			s.T.Errorf("a worker has %s", text)
		}
	}
	if len(devices) == 0 {
		s.T.Error("no worker has registered")
	}
}

// submitted returns the ids of all jobs of Slurm that workers of the site were.
func (s *slurmSite) submitted() []string {
	s.T.Helper()
	logs, err := filepath.Glob(s.file("worker-*.log"))
	if err != nil {
		s.T.Fatal(err)
	}
	var out []string
	for _, name := range logs {
		out = append(out, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), "worker-"), ".log"))
	}
	return out
}

// files returns the hashes of the files of the jobs that a condition selects, by the names of job and file; empty for
// files that hold times.
func files(c *testprogram.Cluster, where string, args ...any) map[string]string {
	c.T.Helper()
	rows, err := c.DB.Query(
		"SELECT j.name, a.name, a.sha256 FROM artifact a JOIN job j ON j.run_id = a.run_id WHERE "+where, args...)
	if err != nil {
		c.T.Fatal(err)
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var job, name, sum string
		if err := rows.Scan(&job, &name, &sum); err != nil {
			c.T.Fatal(err)
		}
		if slices.Contains(timedFiles, name) {
			sum = ""
		}
		out[job+"/"+name] = sum
	}
	if err := rows.Err(); err != nil || len(out) == 0 {
		c.T.Fatalf("%d files, %v", len(out), err)
	}
	return out
}

// timedFiles hold times, and so differ from one run of a job to the next.
var timedFiles = []string{"metrics.json", "results.zip"}

// A fleet that is killed and starts again finds its jobs, also those that have not started.
func slurmFleetKilled(s *slurmSite) {
	options := []string{"devices: 2", "idle-exit: 10m"} // two of four GPUs
	s.begin("null", append(options, "min-workers: 4")...)
	running := ids(s.runs(2))[:2]
	testprogram.WaitUntil(s.T, slurmPatience, "four jobs are there", func() bool { return len(s.jobs()) == 4 })
	before := ids(s.jobs())
	s.fleet.Kill()
	s.classes("null", append(options, "min-workers: 5")...)
	s.restart()
	s.startFleet()
	testprogram.WaitUntil(s.T, slurmPatience, "the new fleet starts a fifth worker", func() bool {
		return len(s.jobs()) > 4
	})
	if after := ids(s.jobs()); len(after) != 5 || !slices.Equal(after[:4], before) {
		s.T.Errorf("jobs %v before, %v after", before, after)
	}
	s.classes("null", options...)
	s.restart()
	testprogram.WaitUntil(s.T, slurmPatience, "those that have not started are cancelled", func() bool {
		return len(s.jobs()) < 3
	})
	if left := ids(s.jobs("RUNNING")); !slices.Equal(left, running) {
		s.T.Errorf("jobs %v run on, want %v", left, running)
	}
	s.fleet.Stop()
}

func ids(jobs []slurmJob) (out []string) {
	for _, j := range jobs {
		out = append(out, j.id)
	}
	return out
}

// The job of Slurm that folds is cancelled: another worker runs the fold, and no try is spent.
func slurmCancel(s *slurmSite) {
	s.begin("null", "max-workers: 1")
	job := s.Create(6000)
	s.Await(job, "RUNNING", slurmPatience)
	s.slurm("scancel", s.runs(1)[0].id)
	s.Await(job, "COMPLETED", slurmPatience)
	s.gone()
	s.wantOnce(0)
	if n := s.outcomes("released"); n != 1 {
		s.T.Errorf("%d attempts were released, want 1", n)
	}
	if n := len(s.submitted()); n != 2 {
		s.T.Errorf("%d workers were started, want 2", n)
	}
}

// The job of Slurm that folds is requeued: it starts again as another worker, which the fleet does not double.
func slurmRequeue(s *slurmSite) {
	s.begin("null", "max-workers: 1")
	job := s.Create(6000)
	s.Await(job, "RUNNING", slurmPatience)
	id := s.runs(1)[0].id
	s.slurm("scontrol", "requeue", id)
	s.Await(job, "COMPLETED", slurmPatience)
	s.gone()
	s.wantOnce(0)
	if n := s.outcomes("released"); n != 1 {
		s.T.Errorf("%d attempts were released, want 1", n)
	}
	if got := s.submitted(); !slices.Equal(got, []string{id}) {
		s.T.Errorf("the workers were the jobs %v; want %s alone", got, id)
	}
	second := "SELECT count(*) FROM worker WHERE cluster_job = 'slurm/" + id + "/1'"
	if n := testprogram.QueryInt(s.T, s.DB, second); n != 1 {
		s.T.Errorf("%d workers are the second start of job %s", n, id)
	}
}

// A worker whose walltime is over, though it had counted on more, returns its task.
func slurmWalltime(s *slurmSite) {
	s.begin("null", "max-workers: 1", "walltime: 10m")
	first := s.Create(85_000)
	s.Await(first, "RUNNING", slurmPatience)
	s.slurm("scontrol", "update", "JobId="+s.runs(1)[0].id, "TimeLimit=1")
	testprogram.WaitUntil(s.T, slurmPatience, "the time of the worker is over", func() bool {
		return s.outcomes("released") > 0
	})
	s.Call("POST", "/v1/jobs/"+first+"/cancel", "")
	s.gone()
	s.wantOnce(0)
}

// A class that the cluster can never serve says so to those who wait.
func slurmNever(s *slurmSite) {
	s.begin("null", "walltime: 72h") // the partition allows a day
	job := s.Create(1)
	reason := ""
	testprogram.WaitUntil(s.T, slurmPatience, "the reason is shown", func() bool {
		w, _ := s.Call("GET", "/v1/jobs/"+job, "")["waiting"].(map[string]any)
		reason, _ = w["reason"].(string)
		return strings.Contains(reason, "PartitionTimeLimit")
	})
	const want = "Slurm says PartitionTimeLimit: the class's walltime is longer than the partition allows; " +
		"no worker of this class starts until that changes"
	if !strings.Contains(reason, want) {
		s.T.Errorf("the reason is %q; want %q", reason, want)
	}
	if n := len(s.jobs()); n != 1 {
		s.T.Errorf("%d jobs wait for ever", n)
	}
	s.classes("null", "walltime: 1h")
	s.restart()
	s.Await(job, "COMPLETED", slurmPatience)
	s.gone()
}

// A job of higher priority takes the nodes: the task returns to the queue, and its worker comes back afterwards.
func slurmPreempt(s *slurmSite) {
	s.begin("null", "max-workers: 1", "devices: 2")
	long := s.Create(80_000) // Slurm takes its time
	s.Await(long, "RUNNING", slurmPatience)
	id := s.runs(1)[0].id
	s.slurm("sbatch", "--partition=urgent", "--nodes=2", "--gres=gpu:2", "--output=/dev/null", "--wrap=sleep 6")
	testprogram.WaitUntil(s.T, slurmPatience, "the task returns to its queue", func() bool {
		return s.outcomes("released") == 1
	})
	short := s.Create(1)
	s.Call("POST", "/v1/jobs/"+long+"/cancel", "")
	s.Await(short, "COMPLETED", slurmPatience)
	s.gone()
	s.wantOnce(0)
	if got := s.submitted(); !slices.Equal(got, []string{id}) {
		s.T.Errorf("the workers were the jobs %v; want %s alone, twice", got, id)
	}
}

// A node is lost. Its worker dies with it, or lives on beside the one that Slurm starts in its place.
func slurmNodeLost(s *slurmSite, dies bool) {
	s.begin("null", "max-workers: 1")
	job := s.Create(map[bool]int{true: 5_000, false: 20_000}[dies])
	s.Await(job, "RUNNING", slurmPatience)
	id := s.runs(1)[0].id
	node := strings.TrimSpace(s.slurm("squeue", "--noheader", "--format=%N", "--jobs="+id))
	dir := os.Getenv("PLEAT_TEST_SLURM")
	killPID(s.T, filepath.Join(dir, "slurmd-"+node+".pid"))
	s.T.Cleanup(func() { s.startNode(node) })
	if dies {
		for _, pid := range s.workers() {
			// First the process of Slurm that would report the end of the worker.
			kill(s.T, parent(s.T, pid))
			kill(s.T, pid)
		}
	} else { // or Slurm finds it out only when the worker that lives on has ended
		s.slurm("scontrol", "update", "NodeName="+node, "State=DOWN", "Reason=test")
	}
	testprogram.WaitUntil(s.T, slurmPatience, "Slurm requeues the job", func() bool {
		return strings.Contains(s.slurm("scontrol", "show", "job", id), "Restarts=1")
	})
	testprogram.WaitUntil(s.T, slurmPatience, "the job of Slurm is another worker", func() bool {
		return testprogram.QueryInt(s.T, s.DB, "SELECT count(*) FROM worker WHERE cluster_job = 'slurm/"+id+"/1'") == 1
	})
	s.Await(job, "COMPLETED", slurmPatience)
	s.wantOnce(map[bool]int{true: 1, false: 0}[dies])
	s.gone()
	testprogram.WaitUntil(s.T, slurmPatience, "no worker is left", func() bool { return len(s.workers()) == 0 })
}

// startNode starts a node again, and waits until jobs can use it.
func (s *slurmSite) startNode(node string) {
	s.T.Helper()
	s.slurm(filepath.Join(os.Getenv("PLEAT_TEST_SLURM"), "start-slurmd"), node)
	testprogram.WaitUntil(s.T, slurmPatience, "the node is back", func() bool {
		return strings.Contains(s.slurm("sinfo", "--noheader", "--nodes="+node, "--format=%t"), "idle")
	})
}

// killPID kills the process whose number a file has.
func killPID(t *testing.T, file string) {
	t.Helper()
	kill(t, readPID(t, file))
}

// readPID reads the number of a process.
func readPID(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
}

// parent returns the parent of a process.
func parent(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\nPPid:\t")
	number, _, _ := strings.Cut(after, "\n")
	ppid, err := strconv.Atoi(number)
	if err != nil || ppid <= 1 {
		t.Fatalf("process %d has the parent %q", pid, number)
	}
	return ppid
}

// workers returns the processes of the site's workers, which their settings tell from others.
func (s *slurmSite) workers() (pids []int) {
	s.T.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		s.T.Fatal(err)
	}
	for _, name := range files {
		text, _ := os.ReadFile(name)
		if args := strings.Split(string(text), "\x00"); len(args) > 3 && args[1] == "worker" && args[3] == s.config {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// The controller is gone for a while: what runs goes on, nothing is started, and users see why.
func slurmControllerGone(s *slurmSite) {
	s.begin("null", "max-workers: 2")
	first := s.Create(4000)
	s.Await(first, "RUNNING", slurmPatience)
	dir := os.Getenv("PLEAT_TEST_SLURM")
	// A controller that is killed forgets what it has not saved for seconds, such as that a job has started. One that
	// is told to end saves its state first.
	pid := readPID(s.T, filepath.Join(dir, "slurmctld.pid"))
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		s.T.Fatal(err)
	}
	testprogram.WaitUntil(s.T, slurmPatience, "the controller has ended", func() bool {
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return len(command) == 0
	})
	started := false
	start := func() {
		if !started {
			started = true
			s.slurm(filepath.Join(dir, "start-slurmctld"))
		}
	}
	s.T.Cleanup(start)
	s.Await(first, "COMPLETED", slurmPatience)
	testprogram.WaitUntil(s.T, slurmPatience, "the worker has ended", func() bool { return len(s.workers()) == 0 })
	second := s.Create(1)
	testprogram.WaitUntil(s.T, slurmPatience, "the reason is shown", func() bool {
		w, _ := s.Call("GET", "/v1/jobs/"+second, "")["waiting"].(map[string]any)
		reason, _ := w["reason"].(string)
		return strings.Contains(reason, "Slurm does not answer")
	})
	start()
	s.Await(second, "COMPLETED", slurmPatience)
	s.gone()
	s.wantOnce(0)
}
