package kube

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
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
	"helm.sh/helm/v4/pkg/chart"
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

// site is an installation of the chart on a node whose pods are processes.
type site struct {
	*testing.T
	api      kubernetes.Interface
	helm     *action.Configuration
	chart    chart.Charter
	db       *sql.DB
	program  string
	env      []string // of commands such as pleat keys
	url      string
	services string // a proxy that knows the services of the cluster
	key      string
	values   map[string]any
	logs     string // folder of the files and logs of pods
}

// newSite starts a node and prepares an installation with the values of files, on a database of its own.
func newSite(t *testing.T, files ...string) *site {
	needCluster(t)
	database := newDatabase(t, "cluster")
	dir := t.TempDir()
	s := &site{T: t, program: filepath.Join(dir, "pleat"), logs: filepath.Join(dir, "pods")}
	command(t, "", "go", "build", "-C", "../..", "-trimpath", "-o", s.program, "./cmd/pleat")
	command(t, "", "go", "build", "-trimpath", "-o", filepath.Join(dir, "procnode"), "./procnode")
	if err := os.Mkdir(s.logs, 0o700); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	secret := strings.Repeat("5a", 32)
	s.url = fmt.Sprintf("http://127.0.0.1:%d", port)
	s.env = append(os.Environ(), "PLEAT_DATABASE="+database, "PLEAT_SECRET_KEY="+secret, "PLEAT_DATA="+dir)
	s.values = loader.MergeMaps(chartCase{files: append([]string{"cluster"}, files...)}.values(t), map[string]any{
		"server": map[string]any{"port": port, "config": map[string]any{
			"addr":       fmt.Sprintf("127.0.0.1:%d", port),
			"public-url": s.url,
		}},
		"config": map[string]any{"blobs": filepath.Join(dir, "artifacts")},
		"secret": map[string]any{"values": map[string]any{"PLEAT_DATABASE": database, "PLEAT_SECRET_KEY": secret}},
	})
	s.db = openDatabase(t, database)
	s.startServices()
	s.connect()
	s.startNode(filepath.Join(dir, "procnode"))
	return s
}

// newDatabase makes a database of the test and returns its address.
func newDatabase(t *testing.T, purpose string) string {
	t.Helper()
	address, err := url.Parse(os.Getenv("PLEAT_TEST_POSTGRES"))
	if err != nil || address.Host+address.RawQuery == "" {
		t.Fatalf("the chart on a control plane needs PostgreSQL (%v); run: make test-kube", err)
	}
	db := openDatabase(t, address.String())
	address.Path = "/" + strings.ToLower(t.Name()+"_"+purpose)
	if _, err := db.ExecContext(t.Context(), "CREATE DATABASE "+address.Path[1:]); err != nil {
		t.Fatal(err)
	}
	return address.String()
}

// openDatabase opens a database until the test ends.
func openDatabase(t *testing.T, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
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

// startServices runs a proxy to the server, for requests to the server's service: this machine does not have the names
// and addresses of a cluster's services. Workers that call the server call it through the proxy.
func (s *site) startServices() {
	s.Helper()
	to, err := url.Parse(s.url)
	if err != nil {
		s.Fatal(err)
	}
	server := httputil.NewSingleHostReverseProxy(to)
	server.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { // a caller or the server went away
		w.WriteHeader(http.StatusBadGateway)
	}
	service := net.JoinHostPort(release+"."+namespace+".svc", "80")
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != service && r.Host+":80" != service {
			http.Error(w, "no such service: "+r.Host, http.StatusBadGateway)
			return
		}
		server.ServeHTTP(w, r)
	}))
	s.Cleanup(proxy.Close)
	defaults, _ := s.values["workerDefaults"].(map[string]any)
	s.services = proxy.URL
	s.values["workerDefaults"] = loader.MergeMaps(map[string]any{
		"extraEnv": []any{map[string]any{"name": "HTTP_PROXY", "value": proxy.URL}},
	}, defaults)
}

// secret makes a Secret with one value.
func (s *site) secret(name, key, value string) {
	s.Helper()
	_, err := s.api.CoreV1().Secrets(namespace).Create(s.Context(), &core.Secret{
		ObjectMeta: meta.ObjectMeta{Name: name},
		StringData: map[string]string{key: value},
	}, meta.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { s.kubectl("delete", "secret", name) })
}

// kubectl runs it in the namespace of the release and returns what it prints.
func (s *site) kubectl(args ...string) string {
	s.Helper()
	return command(s.T, "", append([]string{"kubectl", "--namespace", namespace}, args...)...)
}

// startNode runs a node until the test ends, which kills its pods.
func (s *site) startNode(program string) {
	s.Helper()
	cmd := exec.Command(program, "-program", s.program, "-dir", s.logs)
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

// install installs the chart, waits for the server and makes a key. The test's end uninstalls it.
func (s *site) install() {
	s.Helper()
	var err error
	if s.chart, err = loader.Load(chartDir); err != nil {
		s.Fatal(err)
	}
	install := action.NewInstall(s.helm)
	install.ReleaseName, install.Namespace, install.CreateNamespace = release, namespace, true
	install.WaitStrategy, install.Timeout = kube.HookOnlyStrategy, patience // workers wait for a Secret
	s.Cleanup(s.uninstall)
	if _, err := install.Run(s.chart, s.values); err != nil {
		s.Fatal(err)
	}
	s.untilReady()
}

// untilReady waits for the server, and makes a key.
func (s *site) untilReady() {
	s.Helper()
	s.until("the server", func() bool {
		res, err := http.Get(s.url + "/readyz")
		if err == nil {
			res.Body.Close()
		}
		return err == nil && res.StatusCode == http.StatusOK
	})
	s.key = s.pleat("keys", "create", "--user", "ada")
}

// upgrade installs the chart again, with the values as they are now.
func (s *site) upgrade() {
	s.Helper()
	upgrade := action.NewUpgrade(s.helm)
	upgrade.Namespace, upgrade.WaitStrategy, upgrade.Timeout = namespace, kube.StatusWatcherStrategy, patience
	if _, err := upgrade.Run(release, s.chart, s.values); err != nil {
		s.Fatal(err)
	}
}

// uninstall removes the release, and waits until its pods have ended.
func (s *site) uninstall() {
	uninstall := action.NewUninstall(s.helm)
	uninstall.WaitStrategy, uninstall.Timeout = kube.StatusWatcherStrategy, patience
	if _, err := uninstall.Run(release); err != nil {
		s.Error(err)
	}
	s.until("the end of all pods", func() bool {
		list, err := s.api.CoreV1().Pods(namespace).List(context.Background(), meta.ListOptions{})
		return err == nil && len(list.Items) == 0
	})
}

// pleat runs a command of the program on the database and returns what it prints.
func (s *site) pleat(args ...string) string {
	s.Helper()
	cmd := exec.Command(s.program, args...)
	cmd.Env = s.env
	out, err := cmd.Output()
	if err != nil {
		s.Fatalf("pleat %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// printLogs shows what the pods have printed.
func (s *site) printLogs() {
	logs, _ := filepath.Glob(filepath.Join(s.logs, "*.log"))
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

// fold creates a job of Trp-cage with parameters, which name its model.
func (s *site) fold(params string) string { return s.create("x", "NLYIQWLKDGGPSSGRPPPS", params) }

// create creates a job.
func (s *site) create(name, sequence, params string) string {
	s.Helper()
	var job struct {
		ID string `json:"jobId"`
	}
	s.call("POST", "/v1/jobs", fmt.Sprintf(
		`{"name": %q, "sequences": [{"proteinChain": {"sequence": %q}}], "params": {%s}}`, name, sequence, params), &job)
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

// pods returns the pods of a component.
func (s *site) pods(component string) []core.Pod {
	s.Helper()
	list, err := s.api.CoreV1().Pods(namespace).List(s.Context(),
		meta.ListOptions{LabelSelector: "app.kubernetes.io/component=" + component})
	if err != nil {
		s.Fatal(err)
	}
	return list.Items
}

// running returns the pods of a component that run and are not to be deleted.
func (s *site) running(component string) []core.Pod {
	s.Helper()
	return slices.DeleteFunc(s.pods(component), func(p core.Pod) bool {
		return p.Status.Phase != core.PodRunning || p.DeletionTimestamp != nil
	})
}

// workers waits until n workers run.
func (s *site) workers(n int) {
	s.Helper()
	s.until(fmt.Sprintf("%d workers", n), func() bool { return len(s.running("worker")) == n })
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
