package docs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
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

// A server and a worker that become idle close what keeps memory, as decision 050 says. Their connections to SQLite
// show it: each has the write-ahead log open.
func TestIdleProcessesCloseConnections(t *testing.T) {
	for name, start := range map[string]func(*testprogram.Node){
		"server": func(n *testprogram.Node) { n.Serve() },
		"worker": func(n *testprogram.Node) { n.Start("worker") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := testprogram.NewNode(t, testprogram.SQLite(t))
			n.CreateKey()
			start(n)
			log := strings.TrimPrefix(n.Database, "sqlite:") + "-wal"
			most := 0
			storetest.Eventually(t, "connections close", func() bool {
				now := opened(n, log)
				most = max(most, now)
				return now > 0 && now < most
			})
		})
	}
}

// opened returns how often the process of a node has a file open.
func opened(n *testprogram.Node, path string) (times int) {
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", n.Cmd.Process.Pid))
	if err != nil || len(links) == 0 {
		n.T.Fatalf("the open files of the process are not known: %v", err)
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == path {
			times++
		}
	}
	return times
}
