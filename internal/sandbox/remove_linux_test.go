package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// A process cannot keep files by making their folders unreadable: a worker that could not empty its folder would not
// start again.
func TestRemoveAll(t *testing.T) {
	runtime.LockOSThread() // it ends with the test, and the capabilities of root with it
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	dir := filepath.Join(t.TempDir(), "scratch")
	deep := filepath.Join(dir, "process", "deep")
	for _, folder := range []string{outside, deep} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "process", "link")); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{outside, deep, filepath.Dir(deep)} {
		if err := os.Chmod(folder, 0o300); err != nil {
			t.Fatal(err)
		}
	}
	if os.RemoveAll(dir) == nil {
		t.Fatal("the folder was not unreadable")
	}
	if err := RemoveAll(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o300 {
		t.Errorf("the folder outside was changed: %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := RemoveAll(filepath.Join(outside, "nothing")); err != nil {
		t.Errorf("a folder that does not exist: %v", err)
	}
}

// A process that was killed may write for a moment longer.
func TestRemoveAllWaitsForTheLastFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "scratch")
	if err := os.MkdirAll(filepath.Join(dir, "task"), 0o700); err != nil {
		t.Fatal(err)
	}
	begun, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := range 2000 {
			err := os.WriteFile(filepath.Join(dir, "task", strconv.Itoa(i)), nil, 0o600)
			if i == 0 {
				close(begun)
			}
			if err != nil { // the folder is gone
				return
			}
		}
	}()
	<-begun
	if err := RemoveAll(dir); err != nil {
		t.Error(err)
	}
	<-ended
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}
