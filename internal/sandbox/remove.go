package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// RemoveAll deletes a folder in which a limited process could write, with everything in it. Unlike os.RemoveAll it
// deletes what is in folders that the process has made unreadable; it follows no link out of the folder. A process that
// was killed, or whose worker was, may still write for a moment: RemoveAll waits at most settleTime for its last file.
func RemoveAll(dir string) error {
	err := removeAll(dir)
	for range 100 {
		if !errors.Is(err, syscall.ENOTEMPTY) {
			return err
		}
		time.Sleep(settleTime / 100)
		err = removeAll(dir)
	}
	return err
}

// settleTime is how long a process that was killed may go on writing. The system ends it within milliseconds.
const settleTime = 5 * time.Second

func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	err = fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.IsDir() {
			_ = root.Chmod(path, 0o700) // before it is read; the deletion reports what is left
		}
		return nil
	})
	if err := errors.Join(err, root.Close()); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
