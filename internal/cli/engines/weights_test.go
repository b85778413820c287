package engines

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pleat/internal/config"
	"pleat/internal/engine/runner"
)

// installWeights runs the installation of an engine without packages and returns what it prints.
func installWeights(t *testing.T, dir string, accept bool, files ...runner.WeightFile) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := enginesInstallCmd()
	cmd.SetContext(t.Context())
	cmd.SetOut(&out)
	if err := cmd.ParseFlags([]string{"--yes", fmt.Sprintf("--accept-changed=%t", accept)}); err != nil {
		t.Fatal(err)
	}
	i := &install{
		cmd:      cmd,
		cfg:      config.Config{Data: dir, Weights: filepath.Join(dir, "weights")},
		name:     "small",
		manifest: &runner.Manifest{Engine: "small", Version: "1", Weights: files},
	}
	err := i.run()
	return out.String(), err
}

// The first installation records files that the publisher does not pin: another file under the same address is refused
// until it is accepted.
func TestChangedWeights(t *testing.T) {
	var content atomic.Value
	content.Store("first")
	var down atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		fmt.Fprint(w, content.Load())
	}))
	defer s.Close()
	dir := t.TempDir()
	file := runner.WeightFile{File: "model.ckpt", URL: s.URL + "/main/model.ckpt"}
	path := filepath.Join(dir, "weights", "small", "model.ckpt")
	install := func(accept bool, want ...string) {
		t.Helper()
		said, err := installWeights(t, dir, accept, file)
		for _, text := range want {
			if !strings.Contains(said+fmt.Sprint(err), text) {
				t.Errorf("said %s, error %v; want %q", said, err, text)
			}
		}
	}
	const first = "a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e" // of «first»
	const warning = "WARNING: 1 of 1 weight files have no published SHA-256"
	install(false, warning+"; their downloads cannot be verified:\n  model.ckpt; its address names no revision\n",
		"1 of these addresses name no revision", "has 5 bytes and the SHA-256 "+first, "small was installed",
		warning+" and were not verified: model.ckpt\n", "installed.json has the SHA-256 of their first installation")

	content.Store("another")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	down.Store(true)
	install(true, "could not be downloaded", "1 weight files are missing")
	down.Store(false) // the record has not changed:
	install(false, "the download is not the expected file", "instead of "+first, "1 weight files are missing")
	if _, err := os.Stat(path); err == nil {
		t.Error("the changed file was installed")
	}
	install(true, "has 7 bytes", "small was installed")
	install(false, "small was installed")

	if err := os.WriteFile(path, []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	install(false, "is not the file that was installed", "--accept-changed")
	install(true, "model.ckpt was recorded", "small was installed")
	install(false, "small was installed")
}

// A file that the operator has put there is recorded once; one that the manifest pins must be that file.
func TestOwnWeights(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "weights", "small", "own.ckpt")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	own := runner.WeightFile{File: "own.ckpt"}
	if said, err := installWeights(t, dir, false, own); err != nil || !strings.Contains(said, "own.ckpt was recorded") {
		t.Errorf("%s, %v", said, err)
	}
	own.SHA256 = strings.Repeat("0", 64)
	for _, accept := range []bool{false, true} { // what the manifest says cannot be accepted away
		_, err := installWeights(t, dir, accept, own)
		if err == nil || !strings.Contains(err.Error(), "is not the file of the manifest") {
			t.Errorf("accept %v: %v", accept, err)
		}
	}
}
