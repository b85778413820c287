package kube

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	splitter "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

const (
	chartDir  = "../../deploy/helm/pleat"
	release   = "pleat"
	namespace = "folding"
)

// chartCase is one set of values: files in testdata, of which later ones override, and what the cluster has already.
type chartCase struct {
	name    string
	files   []string
	outside []string // objects that the values name and the chart does not make
}

var chartCases = []chartCase{
	{"required", []string{"required"}, nil},
	{"keda", []string{"required", "keda"}, []string{"Secret/pleat-demand-token"}},
	{"replicas", []string{"required", "replicas"}, nil},
	{"gpu", []string{"required", "gpu"}, []string{"Secret/pleat-demand-token", "Secret/fold-tls"}},
	{"tokens", []string{"required", "tokens"}, []string{"Secret/pleat-workers", "Secret/pleat-gpu"}},
	{"existing", []string{"existing"}, []string{"Secret/pleat-settings", "PersistentVolumeClaim/weights"}},
}

// values returns the values of the files.
func (c chartCase) values(t *testing.T) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, name := range c.files {
		text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		own := map[string]any{}
		if err := yaml.UnmarshalStrict(text, &own); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = loader.MergeMaps(out, own)
	}
	return out
}

// render returns the text of each template of the chart. The error is Helm's, for values that the chart refuses.
func render(values map[string]any) (map[string]string, error) {
	chart, err := loader.Load(chartDir)
	if err != nil {
		return nil, err
	}
	options := common.ReleaseOptions{Name: release, Namespace: namespace, IsInstall: true, Revision: 1}
	full, err := util.ToRenderValues(chart, values, options, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, full)
}

// strict decodes objects of Kubernetes and refuses fields that their types do not have.
var strict = serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// decode returns the objects of a text, each in its own type.
func decode(t *testing.T, name, text string) []runtime.Object {
	t.Helper()
	var out []runtime.Object
	documents := splitter.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if blank(document) {
			continue
		}
		o, _, err := strict.Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v in\n%s", name, err, document)
		}
		out = append(out, o)
	}
}

// blank reports whether a document has comments alone.
func blank(document []byte) bool {
	return !slices.ContainsFunc(strings.Split(string(document), "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return line != "" && line != "---" && !strings.HasPrefix(line, "#")
	})
}

// rendered returns the objects of a case.
func rendered(t *testing.T, c chartCase) *objects {
	t.Helper()
	texts, err := render(c.values(t))
	if err != nil {
		t.Fatal(err)
	}
	out := &objects{outside: c.outside}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if strings.HasSuffix(name, ".yaml") {
			out.all = append(out.all, decode(t, name, texts[name])...)
		}
	}
	return out
}

// Helm's linter finds nothing but that the chart has no icon.
func TestLint(t *testing.T) {
	for _, c := range chartCases {
		for _, m := range lint.RunAll(chartDir, c.values(t), namespace).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", c.name, m)
			}
		}
	}
}

// The notes name the objects of the release and end with one line.
func TestNotes(t *testing.T) {
	for _, c := range chartCases {
		texts, err := render(c.values(t))
		if err != nil {
			t.Fatal(err)
		}
		notes := texts["pleat/templates/NOTES.txt"]
		server := "deploy/" + rendered(t, c).deployment(t, "server").Name
		if !strings.Contains(notes, server+" ") || strings.Contains(notes, "\n\n\n") {
			t.Errorf("%s: the notes do not name %s, or have empty lines:\n%s", c.name, server, notes)
		}
		demand := strings.Contains(notes, "pleat fleet token --demand")
		if scaled := strings.Contains(texts["pleat/templates/keda.yaml"], "kind"); demand != scaled {
			t.Errorf("%s: with KEDA %v, the notes speak of its token: %v", c.name, scaled, demand)
		}
		for _, p := range rendered(t, c).component("worker") {
			made := strings.Contains(notes, "pleat fleet token "+p.labels["pleat/class"]+") &&\n")
			if calls := p.labels["pleat/reaches"] == "server"; made != calls {
				t.Errorf("%s: %s calls the server %v, and the notes make its token %v", c.name, p.owner, calls, made)
			}
		}
	}
}

// Values that would give an installation that does not work are refused with a sentence that names them.
func TestRefusedValues(t *testing.T) {
	for _, c := range []struct{ values, want string }{
		{"servers: {}", "servers"},
		{"server: {replica: 2}", "replica"},
		{"config: {blobs: ''}", "config.blobs"},
		{"config: {database: postgres://x}", "database"},
		{"workers: [{class: {name: a, engines: [mini]}, config: {secret-key: x}}]", "secret-key"},
		{"secret: {values: {PLEAT_SECRET_KEY: ''}}", "secret.values.PLEAT_SECRET_KEY"},
		{"secret: {values: {PLEAT_SECRET: x}}", "PLEAT_SECRET"},
		{"metrics: {token: true}", "metrics.token"},
		{"workers: [{replicas: 1}]", "class"},
		{"workers: [{class: {name: a, engines: [mini], driver: slurm}}]", "driver"},
		{"workers: [{class: {name: a, engines: [mini], idle-exit: 5m}}]", "idle-exit"},
		{"workers: [{class: {name: a, engines: [mini], memory: 8Gi}}]", "memory"},
		{"workers: [{class: {name: a, engines: [mini]}}, {class: {name: a, engines: [mini]}}]", "class a"},
		{"workers: [{class: {name: a, engines: [mini]}, terminationGracePeriodSeconds: 60}]", "GracePeriodSeconds"},
		{"workerDefaults: {terminationGracePeriodSeconds: 60}", "GracePeriodSeconds"},
		{"workers: [{class: {name: a, engines: [mini]}, tokenSecret: {secret: x}}]", "tokenSecret"},
		{"workerDefaults: {config: {token-file: x}}", "token-file"},
		{"keda: {enabled: true}", "keda.tokenSecret.name"},
		{"weights: {enabled: true, install: [{engine: boltz, class: gpu}]}", "class gpu"},
		{"ingress: {enabled: true}", "ingress.host"},
	} {
		own := map[string]any{}
		if err := yaml.Unmarshal([]byte(c.values), &own); err != nil {
			t.Fatal(err)
		}
		_, err := render(loader.MergeMaps(chartCases[0].values(t), own))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.values, err, c.want)
		}
	}
}
