package kube

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/kube"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// patience is how long a test waits for what a cluster does.
const patience = 90 * time.Second

// The definitions of KEDA's types, which the module of its operator has. That of the Prometheus operator is no module.
const kedaModule = "github.com/kedacore/keda/v2@v2.21.0"

var kedaTypes = []string{"keda.sh_scaledjobs.yaml", "keda.sh_triggerauthentications.yaml"}

// needCluster skips a test where there is no control plane.
func needCluster(t *testing.T) {
	t.Helper()
	if os.Getenv("PLEAT_TEST_KUBE") == "" {
		t.Skip("LEFT OUT: the chart on a control plane; run: make test-kube")
	}
}

// command runs a program to its end and returns what it prints.
func command(t *testing.T, stdin string, argv ...string) string {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(argv, " "), err, &out, &errs)
	}
	return out.String()
}

// The API server accepts every object of every set of values but the ServiceMonitor, with strict validation. It refuses
// a field that is none.
func TestClusterDryRun(t *testing.T) {
	needCluster(t)
	var module struct{ Dir string }
	text := command(t, "", "go", "mod", "download", "-json", kedaModule)
	if err := json.Unmarshal([]byte(text), &module); err != nil {
		t.Fatal(err)
	}
	for _, file := range kedaTypes {
		path := filepath.Join(module.Dir, "config/crd/bases", file)
		command(t, "", "kubectl", "apply", "--server-side", "-f", path)
	}
	command(t, "", "kubectl", "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	command(t, "", "kubectl", "create", "namespace", "dry")
	apply := []string{"kubectl", "apply", "-n", "dry", "--dry-run=server", "--validate=strict", "-f", "-"}
	noMonitor := map[string]any{"metrics": map[string]any{"serviceMonitor": map[string]any{"enabled": false}}}
	for _, c := range chartCases {
		texts, err := render(loader.MergeMaps(c.values(t), noMonitor))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			if strings.HasSuffix(name, ".yaml") && !blank([]byte(texts[name])) {
				command(t, texts[name], apply...)
			}
		}
	}
	cmd := exec.Command(apply[0], apply[1:]...)
	cmd.Stdin = strings.NewReader("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, dat: {}}")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "unknown field") {
		t.Errorf("the API server accepts a field that is none: %s", out)
	}
}

// site is an installation of the chart on a node whose pods are processes.
type site struct {
	*testing.T
	api     kubernetes.Interface
	helm    *action.Configuration
	db      *sql.DB
	program string
	env     []string // of commands such as pleat keys
	url     string
	key     string
	values  map[string]any
	pods    string // folder of their logs
}

// newSite starts a node and prepares an installation.
func newSite(t *testing.T) *site {
	needCluster(t)
	database := os.Getenv("PLEAT_TEST_POSTGRES")
	if database == "" {
		t.Fatal("the chart on a control plane needs PostgreSQL; run: make test-kube")
	}
	dir := t.TempDir()
	s := &site{T: t, program: filepath.Join(dir, "pleat"), pods: filepath.Join(dir, "pods")}
	command(t, "", "go", "build", "-C", "../..", "-trimpath", "-o", s.program, "./cmd/pleat")
	command(t, "", "go", "build", "-trimpath", "-o", filepath.Join(dir, "procnode"), "./procnode")
	if err := os.Mkdir(s.pods, 0o700); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	secret := strings.Repeat("5a", 32)
	s.url = fmt.Sprintf("http://127.0.0.1:%d", port)
	s.env = append(os.Environ(), "PLEAT_DATABASE="+database, "PLEAT_SECRET_KEY="+secret, "PLEAT_DATA="+dir)
	s.values = loader.MergeMaps(chartCase{files: []string{"cluster"}}.values(t), map[string]any{
		"server": map[string]any{"port": port, "config": map[string]any{
			"addr":       fmt.Sprintf("127.0.0.1:%d", port),
			"public-url": s.url,
		}},
		"config": map[string]any{"blobs": filepath.Join(dir, "artifacts")},
		"secret": map[string]any{"values": map[string]any{"PLEAT_DATABASE": database, "PLEAT_SECRET_KEY": secret}},
	})
	var err error
	if s.db, err = sql.Open("pgx", database); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	s.connect()
	s.startNode(filepath.Join(dir, "procnode"))
	return s
}

// freePort returns a port that nothing listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// connect makes the clients of the API server.
func (s *site) connect() {
	s.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err == nil {
		s.api, err = kubernetes.NewForConfig(config)
	}
	if err != nil {
		s.Fatal(err)
	}
	settings := cli.New()
	settings.SetNamespace(namespace)
	s.helm = action.NewConfiguration()
	if err := s.helm.Init(settings.RESTClientGetter(), namespace, "secret"); err != nil {
		s.Fatal(err)
	}
}

// startNode runs a node until the test ends, which kills its pods.
func (s *site) startNode(program string) {
	s.Helper()
	cmd := exec.Command(program, "-program", s.program, "-dir", s.pods)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if s.Failed() {
			s.printLogs()
		}
	})
}

// printLogs shows what the pods have printed.
func (s *site) printLogs() {
	logs, _ := filepath.Glob(filepath.Join(s.pods, "*.log"))
	for _, path := range logs {
		text, _ := os.ReadFile(path)
		s.Logf("%s:\n%s", filepath.Base(path), text[max(0, len(text)-4000):])
	}
}

// until waits for a condition.
func (s *site) until(what string, ok func() bool) {
	s.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("waited %v for: %s", patience, what)
		}
	}
}

// call sends a request to the server and decodes the answer.
func (s *site) call(method, path, body string, to any) {
	s.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("X-API-Key", s.key)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode < 300 {
		err = json.Unmarshal(text, to)
	}
	if err != nil || res.StatusCode >= 300 {
		s.Fatalf("%s %s: %s: %v: %s", method, path, res.Status, err, text)
	}
}

// fold creates a job with the parameters, which name its model.
func (s *site) fold(params string) string {
	s.Helper()
	var job struct {
		ID string `json:"jobId"`
	}
	s.call("POST", "/v1/jobs", `{"name": "x", "sequences": [{"proteinChain": {"sequence": "NLYIQWLKDGGPSSGRPPPS"}}],
		"params": {`+params+`}}`, &job)
	return job.ID
}

// finish waits until a job has completed.
func (s *site) finish(id string) {
	s.Helper()
	var job struct{ Job struct{ Status string } }
	s.until("the end of job "+id, func() bool {
		s.call("GET", "/v1/jobs/"+id, "", &job)
		return job.Job.Status == "COMPLETED" || job.Job.Status == "FAILED"
	})
	if job.Job.Status != "COMPLETED" {
		s.Errorf("job %s is %s", id, job.Job.Status)
	}
}

// workers returns the pods of workers that run and are not to be deleted, once there are n.
func (s *site) workers(n int) []core.Pod {
	s.Helper()
	var out []core.Pod
	s.until(fmt.Sprintf("%d workers", n), func() bool {
		list, err := s.api.CoreV1().Pods(namespace).List(s.Context(),
			meta.ListOptions{LabelSelector: "app.kubernetes.io/component=worker"})
		if err != nil {
			s.Fatal(err)
		}
		out = slices.DeleteFunc(list.Items, func(p core.Pod) bool {
			return p.Status.Phase != core.PodRunning || p.DeletionTimestamp != nil
		})
		return len(out) == n
	})
	return out
}

// attempts returns the outcomes and the workers of the attempts at the newest fold, in order. An attempt that ended as
// lost or failed has spent a try.
func (s *site) attempts() (outcomes, workers []string) {
	s.Helper()
	rows, err := s.db.QueryContext(s.Context(), `SELECT outcome, worker_id FROM attempt
		WHERE run_id = (SELECT id FROM run WHERE kind = 'fold' ORDER BY created_at DESC LIMIT 1) ORDER BY number`)
	if err != nil {
		s.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var outcome, worker string
		if err := rows.Scan(&outcome, &worker); err != nil {
			s.Fatal(err)
		}
		outcomes, workers = append(outcomes, outcome), append(workers, worker)
	}
	if err := rows.Err(); err != nil {
		s.Fatal(err)
	}
	return outcomes, workers
}

// replicas sets how many workers of the class there are.
func (s *site) replicas(n int) {
	s.values["workers"].([]any)[0].(map[string]any)["replicas"] = n
}

// The chart is installed, folds, is upgraded to two workers, and rolled back. A worker's pod that is deleted during a
// fold gives it back, and the other worker finishes it; no try is spent.
func TestCluster(t *testing.T) {
	s := newSite(t)
	chart, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(s.helm)
	install.ReleaseName, install.Namespace, install.CreateNamespace = release, namespace, true
	install.WaitStrategy, install.Timeout = kube.StatusWatcherStrategy, patience
	if _, err := install.Run(chart, s.values); err != nil {
		t.Fatal(err)
	}
	s.until("the server", func() bool {
		res, err := http.Get(s.url + "/readyz")
		if err == nil {
			res.Body.Close()
		}
		return err == nil && res.StatusCode == http.StatusOK
	})
	keys := exec.Command(s.program, "keys", "create", "--user", "ada")
	keys.Env = s.env
	key, err := keys.Output()
	if err != nil {
		t.Fatal(err)
	}
	s.key = strings.TrimSpace(string(key))
	s.workers(1)
	s.finish(s.fold(`"modelName": "mini"`))

	s.replicas(2)
	upgrade := action.NewUpgrade(s.helm)
	upgrade.Namespace, upgrade.WaitStrategy, upgrade.Timeout = namespace, kube.StatusWatcherStrategy, patience
	if _, err := upgrade.Run(release, chart, s.values); err != nil {
		t.Fatal(err)
	}
	s.workers(2)
	s.deletedDuringFold()

	rollback := action.NewRollback(s.helm)
	rollback.Version, rollback.WaitStrategy, rollback.Timeout = 1, kube.StatusWatcherStrategy, patience
	if err := rollback.Run(release); err != nil {
		t.Fatal(err)
	}
	s.workers(1)
	s.finish(s.fold(`"modelName": "null"`))
	history, err := action.NewHistory(s.helm).Run(release)
	if err != nil || len(history) != 3 {
		t.Errorf("the release has %d revisions: %v", len(history), err)
	}
}

// deletedDuringFold deletes the pod that folds.
func (s *site) deletedDuringFold() {
	s.Helper()
	id := s.fold(`"modelName": "null", "samplingSteps": 8000`) // milliseconds
	s.until("the first attempt", func() bool {
		outcomes, _ := s.attempts()
		return len(outcomes) == 1
	})
	_, workers := s.attempts()
	var pod string
	err := s.db.QueryRowContext(s.Context(), "SELECT cluster_job FROM worker WHERE id = $1", workers[0]).Scan(&pod)
	if err != nil {
		s.Fatal(err)
	}
	pod = strings.TrimPrefix(pod, "kubernetes/")
	command(s.T, "", "kubectl", "delete", "pod", "-n", namespace, pod)
	s.finish(id)
	outcomes, workers := s.attempts()
	if !slices.Equal(outcomes, []string{"released", "done"}) || workers[0] == workers[1] {
		s.Errorf("the attempts ended with %v by %v", outcomes, workers)
	}
}
