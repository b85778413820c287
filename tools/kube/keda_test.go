package kube

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
)

// KEDA asks the server how many workers a class needs, and starts and ends them: none while nothing waits, as many as
// the class may have while much does, and none again. The workers hold a token of their class and nothing else.
func TestClusterKEDA(t *testing.T) {
	needCluster(t)
	keda := os.Getenv("PLEAT_TEST_KEDA") // its operator
	if keda == "" {
		t.Skip("LEFT OUT: the operator of KEDA; PLEAT_KUBE=build builds it, once")
	}
	s := newSite(t, "callers")
	s.startKEDA(keda)
	s.install()
	s.secret("pleat-workers", "quick", s.pleat("fleet", "token", "quick"))
	s.secret("pleat-demand", "token", s.pleat("fleet", "token", "--demand"))
	s.values["keda"].(map[string]any)["enabled"] = true
	s.upgrade()
	ready := func() bool {
		return strings.Contains(s.kubectl("get", "scaledjob", "-o",
			`jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}`), "True")
	}
	s.until("KEDA knows the class", ready)
	s.until("the workers of the Deployment are gone", func() bool { return len(s.pods("worker")) == 0 })
	var jobs []string
	for i := range 12 {
		jobs = append(jobs, s.fold(fmt.Sprintf(`"modelName": "null", "seed": "%d", "samplingSteps": 4000`, i)))
	}
	most := 0
	s.until("four workers", func() bool {
		most = max(most, len(s.running("worker")))
		return most == 4
	})
	for _, id := range jobs {
		s.finish(id)
	}
	s.until("no worker", func() bool {
		most = max(most, len(s.running("worker")))
		return len(s.running("worker")) == 0
	})
	if most != 4 {
		t.Errorf("%d workers ran at once, of a class that may have 4", most)
	}
	for _, p := range s.pods("worker") {
		if p.Status.Phase == core.PodFailed {
			t.Errorf("the worker %s failed: %+v", p.Name, p.Status.ContainerStatuses)
		}
	}
	if n := count(t, s.db, "SELECT count(*) FROM attempt WHERE outcome <> 'done'"); n != 0 {
		t.Errorf("%d attempts did not end well", n)
	}
}

// startKEDA runs the operator of KEDA until the test ends.
func (s *site) startKEDA(program string) {
	s.Helper()
	defineKEDA(s.T)
	certificates := s.TempDir()
	file := func(name string) string { return filepath.Join(certificates, name) }
	command(s.T, "", "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=keda",
		"-addext", "subjectAltName=DNS:keda-operator", "-keyout", file("tls.key"), "-out", file("tls.crt"))
	for _, pair := range [][2]string{{"tls.crt", "ca.crt"}, {"tls.key", "ca.key"}} {
		if err := os.Link(file(pair[0]), file(pair[1])); err != nil {
			s.Fatal(err)
		}
	}
	listen := func(flag string) string { return fmt.Sprintf("--%s=127.0.0.1:%d", flag, freePort(s.T)) }
	cmd := exec.Command(program, "--kubeconfig="+os.Getenv("KUBECONFIG"),
		listen("metrics-bind-address"), listen("health-probe-bind-address"), listen("metrics-service-bind-address"),
		"--enable-cert-rotation=false", "--cert-dir="+certificates, "--ca-dir="+certificates,
		"--enable-webhook-patching=false", "--enable-apiservice-patching=false", "--leader-elect=false")
	cmd.Env = append(os.Environ(), "POD_NAMESPACE=default", "KEDA_CLUSTER_OBJECT_NAMESPACE=default", "POD_NAME=keda",
		"OPERATOR_NAME=keda-operator", "WATCH_NAMESPACE=", "HTTP_PROXY="+s.services, "NO_PROXY=127.0.0.1")
	log, err := os.Create(filepath.Join(s.logs, "keda.log"))
	if err != nil {
		s.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = log.Close()
	})
}
