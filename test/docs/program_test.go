package docs

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"pleat/api"
	"pleat/internal/store/storetest"
	"pleat/internal/testprogram"
)

// The program executes no template, as decision 050 says: the linker would keep every exported method. The names of all
// functions are in a program.
func TestProgramExecutesNoTemplate(t *testing.T) {
	path, err := testprogram.Released()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(program, []byte("/internal/cli/program.New")) {
		t.Fatal("the program has no names of functions")
	}
	if bytes.Contains(program, []byte("text/template.(*Template).Execute")) {
		t.Error("the program executes templates of text/template or html/template; see decision 050")
	}
}

// A server that becomes idle after work closes connections, as decision 050 says. Nothing else closes those to SQLite.
func TestIdleServerReturnsMemory(t *testing.T) {
	t.Parallel()
	n := testprogram.NewNode(t, testprogram.SQLite(t))
	n.CreateKey()
	n.Serve()
	most := 0
	for range 100 {
		var requests sync.WaitGroup
		for range 16 {
			requests.Go(func() {
				if _, err := n.Client().Jobs(t.Context(), api.JobsFilter{}); err != nil {
					t.Error(err)
				}
			})
		}
		requests.Wait()
		most = max(most, n.SQLiteConnections())
	}
	if most < 4 {
		t.Fatalf("16 requests at once open %d connections, of which one writes", most)
	}
	storetest.Eventually(t, "connections close", func() bool { return n.SQLiteConnections() <= most/2 })
}

// A worker that becomes idle after work returns memory.
func TestIdleWorkerReturnsMemory(t *testing.T) {
	t.Parallel()
	n := testprogram.NewNode(t, testprogram.SQLite(t))
	n.Env = []string{"PLEAT_LOG_LEVEL=debug"}
	n.CreateKey()
	n.Serve("--work=false")
	n.CreateNull("")
	n.Stop()
	before := len(n.Log.String())
	n.Start("worker")
	storetest.Eventually(t, "memory is returned", func() bool {
		return strings.Contains(n.Log.String()[before:], "unused memory was returned")
	})
}
