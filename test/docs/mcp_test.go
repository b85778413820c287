package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pleat/internal/testprogram"
)

// TestMCPClients runs two clients of the Model Context Protocol that others wrote, against a real server: the
// conformance suite of the protocol, for versions up to 2025-11-25 and for 2026-07-28, and the Python SDK.
// scripts/test-mcp installs them.
func TestMCPClients(t *testing.T) {
	suite, python := os.Getenv("PLEAT_TEST_MCP"), os.Getenv("PLEAT_TEST_MCP_PYTHON")
	if suite == "" {
		t.Skip("scripts/test-mcp installs the clients")
	}
	n := testprogram.NewNode(t, testprogram.SQLite(t))
	n.Env = []string{"PLEAT_ENGINES=mini,analyst"}
	n.CreateKey()
	n.Serve()
	data, err := filepath.Abs("../../internal/mcp/testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"conformance", []string{"node", filepath.Join(data, "conformance.mjs"), suite,
			filepath.Join(data, "conformance.yml")}},
		{"conformance 2026-07-28", []string{"node", filepath.Join(data, "conformance.mjs"), suite,
			filepath.Join(data, "conformance-2026-07-28.yml"), "--suite", "all", "--spec-version", "2026-07-28"}},
		{"python", []string{python, filepath.Join(data, "client.py"), n.Program}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command(c.args[0], c.args[1:]...)
			cmd.Dir = t.TempDir() // the suite leaves its results there
			cmd.Env = append(os.Environ(), "PLEAT_URL="+n.URL, "PLEAT_KEY="+n.Key)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			_, summary, found := strings.Cut(string(out), "=== SUMMARY ===")
			if !found {
				summary = string(out)
			}
			t.Log(strings.TrimSpace(summary))
		})
	}
}
