package runner

import (
	"archive/tar"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The service unpacks an archive of weights once: the files that match, and none outside of the folder.
func TestUnpackWeights(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(names ...string) {
		t.Helper()
		out, err := os.Create(filepath.Join(dir, "params.tar"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		w := tar.NewWriter(out)
		for _, name := range names {
			head := &tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(name)), Mode: 0o600}
			if name == "link_ptm.npz" {
				head = &tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}
			}
			if err := w.WriteHeader(head); err != nil {
				t.Fatal(err)
			}
			if head.Size > 0 {
				if _, err := w.Write([]byte(name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	m := &Manifest{Weights: []WeightFile{
		{File: "params.tar", Unpack: &Unpack{To: "params", Only: "*_ptm.npz"}},
		{File: "missing.tar", Unpack: &Unpack{To: ".", Only: "*"}},
	}}
	write("LICENSE", "./model_1_ptm.npz", "model_1.npz", "../evil_ptm.npz", "/abs_ptm.npz", "link_ptm.npz",
		"model_2_ptm.npz")
	for range 2 {
		if err := m.unpackWeights(dir); err != nil {
			t.Fatal(err)
		}
		got, err := filepath.Glob(filepath.Join(dir, "params", "*"))
		for i := range got {
			got[i] = filepath.Base(got[i])
		}
		if want := []string{"model_1_ptm.npz", "model_2_ptm.npz"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("unpacked %v, %v; want %v", got, err, want)
		}
		write("model_3_ptm.npz") // an archive is unpacked once
	}
	if _, err := os.Stat(filepath.Join(dir, "evil_ptm.npz")); err == nil {
		t.Error("a file outside of the folder was written")
	}
	if text, err := os.ReadFile(filepath.Join(dir, "params", "model_1_ptm.npz")); string(text) != "./model_1_ptm.npz" {
		t.Errorf("%q, %v", text, err)
	}
}
