package client

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pleat/internal/submit"
)

// Files that an input names are uploaded as a library stores them, so that repeating a command finds them there; an
// input itself may be compressed, too.
func TestCompressedSources(t *testing.T) {
	dir := t.TempDir()
	packed, err := os.ReadFile("../../bcif/testdata/molstar.bcif")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"a.a3m.gz": zipped(t, ">x\nGS\n"), "b.bcif.gz": zipped(t, string(packed)), "bomb.a3m.gz": zipped(t, ">x\n"+
			strings.Repeat("G\n", submit.MaxFile/2)), "c.a3m.gz": zipped(t, ">x\nGS\n")[:20],
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := &sources{folders: []sourceFolder{{root, dir}}, found: map[string]*sourceFile{}}
	defer s.close()
	for _, c := range []struct {
		name, stored, start, fault string
		kind                       sourceKind
	}{
		{"a.a3m.gz", "a-", ">x\nGS\n", "", sourceAlignment},
		{"b.bcif.gz", "b-", "data_1L2Y\n", "", sourceStructure},
		{"bomb.a3m.gz", "", "", "a row of more than 1048576 letters", sourceAlignment},
		{"c.a3m.gz", "", "", `the compressed file "c.a3m.gz" is damaged or incomplete`, sourceAlignment},
	} {
		err := s.add(c.name, c.kind)
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: %v; want %s", c.name, err, c.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		f := s.found[c.name]
		in, err := f.open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err = errors.Join(err, in.Close()); err != nil || !strings.HasPrefix(string(text), c.start) {
			t.Errorf("%s: %.60q, %v", c.name, text, err)
		}
		ending := map[sourceKind]string{sourceAlignment: ".a3m", sourceStructure: ".cif"}[c.kind]
		if name := storedName(f); !strings.HasPrefix(name, c.stored) || filepath.Ext(name) != ending {
			t.Errorf("%s is stored as %s", c.name, name)
		}
	}
	if text, err := readText(strings.NewReader(zipped(t, ">x\nGS\n")), "x.fasta.gz", 100); text != ">x\nGS\n" {
		t.Errorf("%q, %v", text, err)
	}
	if got := inputStem("folder/my.protein.fasta.gz"); got != "my.protein" {
		t.Error(got)
	}
}

// zipped returns a text compressed with gzip.
func zipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write([]byte(text))
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
