package docs

import (
	"bytes"
	"os"
	"strings"
	"testing"

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
	if !bytes.Contains(program, []byte("/internal/cli.New")) {
		t.Fatal("the program has no names of functions")
	}
	if bytes.Contains(program, []byte("text/template.(*Template).Execute")) {
		t.Error("the program executes templates of text/template or html/template; see decision 050")
	}
}

// A server and a worker that become idle after work return memory, as decision 050 says.
func TestIdleProcessesReturnMemory(t *testing.T) {
	for name, start := range map[string]func(*testprogram.Node){
		"server": func(n *testprogram.Node) {
			n.Serve()
			n.CreateNull("")
		},
		"worker": func(n *testprogram.Node) {
			n.Serve("--work=false")
			n.CreateNull("")
			n.Stop()
			n.Start("worker")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := testprogram.NewNode(t, testprogram.SQLite(t))
			n.Env = []string{"PLEAT_LOG_LEVEL=debug"}
			n.CreateKey()
			start(n)
			storetest.Eventually(t, "memory is returned", func() bool {
				return strings.Contains(n.Log.String(), "unused memory was returned")
			})
		})
	}
}
