package docs

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat/internal/store/storetest"
	"pleat/internal/testprogram"
)

// readBundle returns the files of a bundle by name.
func readBundle(t *testing.T, name string) map[string]string {
	t.Helper()
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the bundle has the mode %v, %v", info.Mode(), err)
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for files := tar.NewReader(z); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		out[path.Base(head.Name)] = string(text)
	}
}

// planted are secrets in every place where a service has some.
var planted = map[string]string{
	"PLEAT_METRICS_TOKEN":   "planted-metrics-token",
	"PLEAT_INGEST_SECRET":   "planted-ingest-secret",
	"PLEAT_WEBHOOK_TOKEN":   "planted-listen-token",
	"PLEAT_MSA_SERVER":      "https://msa.example.org",
	"PLEAT_PDB_URL":         "https://files.example.org/{id}.cif?apikey=planted-in-url",
	"PLEAT_MSA_KEY":         "planted-msa-key",
	"PLEAT_KEY":             "pleat_planted0client0key0planted0client0key0",
	"AWS_SECRET_ACCESS_KEY": "planted-aws-secret",
	"PGPASSWORD":            "planted-pg-password",
}

// A bundle of a service that runs has all parts, and none of the secrets, sequences and names that the service knows.
func TestDebugBundle(t *testing.T) {
	n := testprogram.NewNode(t, testprogram.SQLite(t))
	n.CreateKey()
	for name, value := range planted {
		n.Env = append(n.Env, name+"="+value)
	}
	listening := regexp.MustCompile(`"health and metrics are served" address=(\S+)`)
	n.Env = append(n.Env, "PLEAT_LOG_LEVEL=debug", "PLEAT_WEBHOOK_ALLOW=127.0.0.1")
	n.Serve("--metrics-listen", "127.0.0.1:0")
	job := func(milliseconds int) string {
		return fmt.Sprintf(`{"name":"planted-job-name","params":{"modelName":"null","msaAlgorithm":"none",`+
			`"samplingSteps":%d},"sequences":[{"proteinChain":{"sequence":"PLANTEDSEQWENCE","count":1}}]}`, milliseconds)
	}
	for _, r := range []struct{ method, path, body string }{
		{http.MethodPut, "/v1/webhooks/custom-http-config",
			`{"target_url":"http://127.0.0.1:9/hook?t=planted-hook-query","token_value":"planted-hook-token"}`},
		{http.MethodPost, "/v1/jobs", job(1)},
		{http.MethodPost, "/v1/jobs", job(600_000)}, // it runs until the end
		{http.MethodPost, "/v1/jobs?key=planted-query", `{"name":"planted-refused","sequences":"PLANTEDSEQWENCE"}`},
	} {
		code, body := n.Request(r.method, r.path, r.body)
		if refused := strings.Contains(r.body, "refused"); code >= 300 != refused {
			t.Fatalf("%s %s: %d %s", r.method, r.path, code, body)
		}
	}
	for _, path := range []string{"/planted-path", "/v1/jobs/planted-job"} {
		if code, body := n.Request(http.MethodGet, path, ""); code != http.StatusNotFound {
			t.Fatalf("%s: %d %s", path, code, body)
		}
	}
	storetest.Eventually(t, "a job has ended", func() bool {
		return strings.Contains(n.Log.String(), "outcome=completed")
	})
	address := listening.FindStringSubmatch(n.Log.String())
	if address == nil {
		t.Fatal("the address of the metrics is not in the log")
	}
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	cmd := n.Command("debug", "bundle", "--metrics-listen", address[1], file)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	parts := readBundle(t, file)
	for name, want := range map[string]string{
		"versions.json":  `"database": "sqlite 3.`,
		"settings.txt":   "metrics-token = (set) (PLEAT_METRICS_TOKEN)",
		"doctor.txt":     "agrees with the database's clock",
		"machine.txt":    "free in ",
		"activity.json":  `"queue": "fold/null"`,
		"metrics.txt":    "pleat_runs_ended_total{",
		"goroutines.txt": "goroutine profile: total ",
		"log.txt":        "outcome=completed",
		"README.txt":     "before you send",
	} {
		if !strings.Contains(parts[name], want) {
			t.Errorf("%s lacks %q:\n%s", name, want, testprogram.LastLines(parts[name], 20))
		}
		if strings.Contains(parts[name], "from=127") || strings.Contains(parts[name], `"from":"127`) {
			t.Errorf("%s has the address of a caller", name)
		}
		delete(parts, name)
	}
	if len(parts) > 0 {
		t.Errorf("further parts: %v", parts)
	}
	wantNoSecrets(t, n.Key, readBundle(t, file))
	for _, want := range []string{"goroutines.txt", "Look at it before you send it"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	if out, err := n.Command("debug", "bundle", file).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "exists; name a file that does not") {
		t.Errorf("a file was replaced: %s", out)
	}
}

// wantNoSecrets looks in each file for what was planted.
func wantNoSecrets(t *testing.T, key string, parts map[string]string) {
	t.Helper()
	for name, text := range parts {
		for _, secret := range []string{
			"lanted", "PLANTEDSEQ", key, strings.Repeat("ab", 32), `"ada"`,
		} {
			if i := strings.Index(strings.ToLower(text), strings.ToLower(secret)); i >= 0 && secret != "" {
				t.Errorf("%s has a secret: %q", name, text[max(0, i-100):min(len(text), i+60)])
			}
		}
	}
}

// Without a process that answers, and without a database, there is a bundle too, which says what is missing.
func TestDebugBundleOfNothing(t *testing.T) {
	program, err := testprogram.Released()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	cmd := exec.Command(program, "debug", "bundle", file)
	cmd.Env = append(os.Environ(), "PLEAT_DATA="+t.TempDir(), "PLEAT_SECRET_KEY="+strings.Repeat("ab", 32),
		"PLEAT_METRICS_TOKEN=planted-metrics-token", "PLEAT_METRICS_LISTEN=127.0.0.1:9", "PLEAT_DATABASE_DIRECT=",
		"PLEAT_DATABASE=postgres://pleat:planted-password@127.0.0.1:9/pleat?sslmode=disable")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	parts := readBundle(t, file)
	wantNoSecrets(t, "", parts)
	var names []string
	for name := range parts {
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{"README.txt", "doctor.txt", "errors.txt", "machine.txt", "settings.txt", "versions.json"}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
	for _, want := range []string{"log.txt: nothing listens at http://127.0.0.1:9", "activity.json: "} {
		if !strings.Contains(parts["errors.txt"], want) {
			t.Errorf("errors.txt lacks %q:\n%s", want, parts["errors.txt"])
		}
	}
}
