package structure

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReaderFiles reads the structure files in the folder that PLEAT_TEST_READERS names and writes the atoms of each
// beside it, in a file that ends in .pleat, for scripts/test-readers, which compares them with what gemmi and biotite
// read. A file that is refused has the error there.
func TestReaderFiles(t *testing.T) {
	dir := os.Getenv("PLEAT_TEST_READERS")
	if dir == "" {
		t.Skip("make test-readers compares what is read with gemmi and biotite")
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".pleat") {
			continue
		}
		if err := writeAtoms(filepath.Join(dir, f.Name())); err != nil {
			t.Errorf("%s: %v", f.Name(), err)
		}
	}
}

// writeAtoms writes what is read from a file beside it.
func writeAtoms(path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	var content io.Reader = in
	if strings.HasSuffix(path, ".gz") {
		zipped, err := gzip.NewReader(in)
		if err != nil {
			return os.WriteFile(path+".pleat", []byte("refused\tno gzip\n"), 0o600)
		}
		content = zipped
	}
	out, err := os.Create(path + ".pleat")
	if err != nil {
		return err
	}
	defer out.Close()
	w := bufio.NewWriter(out)
	s, refused := Read(content, Limits{})
	if refused != nil {
		fmt.Fprintf(w, "refused\t%v\n", refused)
		return w.Flush()
	}
	for i := range s.Chains {
		c := &s.Chains[i]
		for j := range c.Residues {
			r := &c.Residues[j]
			for k := range r.Atoms {
				a := &r.Atoms[k]
				fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%v\t%v\t%v\n", c.ID, r.Auth, r.Ins, r.Comp, a.Name, a.Element,
					a.Pos[0], a.Pos[1], a.Pos[2])
			}
		}
	}
	return w.Flush()
}
