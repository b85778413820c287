package kube

import (
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
)

// defineKEDA makes the types of KEDA, which the module of its operator has.
func defineKEDA(t *testing.T) {
	t.Helper()
	var module struct{ Dir string }
	text := command(t, "", "go", "-C", "keda", "mod", "download", "-json", "github.com/kedacore/keda/v2")
	if err := json.Unmarshal([]byte(text), &module); err != nil {
		t.Fatal(err)
	}
	command(t, "", "kubectl", "apply", "--server-side", "-f", filepath.Join(module.Dir, "config/crd/bases"))
	command(t, "", "kubectl", "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
}

// The API server accepts every object of every set of values but the ServiceMonitor, whose type no module has, with
// strict validation. It refuses a field that is none.
func TestClusterDryRun(t *testing.T) {
	needCluster(t)
	defineKEDA(t)
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

// The chart is installed, folds, is upgraded to two workers, and rolled back. A worker's pod that is deleted during a
// fold gives it back, and the other worker finishes it; no try is spent.
func TestCluster(t *testing.T) {
	s := newSite(t)
	s.install()
	s.workers(1)
	s.finish(s.fold(`"modelName": "mini"`))

	s.replicas(2)
	s.upgrade()
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
