package runner

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"pleat/internal/report"
)

// A process lives longer than a job and works for many users, so it has a scratch folder of its own, the only one that
// it may write besides its cache. The folder of a request is made in the folder of the work, moved into the scratch
// folder while the process works on it, and moved back before anything in it is used. In the sandbox, a process can
// then neither read the files of another request, nor change what the service has checked. The service never follows a
// path that a process can change: it holds the folder itself open.

// errMoved is the error of a folder that a process has replaced.
var errMoved = errors.New("the folder of the work was moved or replaced")

// moveTo moves the folder of a request into the scratch folder of a process.
func (q *predictRequest) moveTo(scratch string) error {
	folder, err := os.OpenRoot(q.dir)
	if err != nil {
		return err
	}
	q.workdir = filepath.Join(scratch, filepath.Base(q.dir))
	if err := os.Rename(q.dir, q.workdir); err != nil {
		return errors.Join(err, folder.Close())
	}
	q.folder = folder
	return nil
}

// moveBack moves the folder back from the process. An error says that the process has replaced it: then nothing in it
// may be used.
func (q *predictRequest) moveBack() error {
	defer q.folder.Close()
	want, err := q.folder.Stat(".")
	if err != nil {
		return err
	}
	if err := os.Rename(q.workdir, q.dir); err != nil {
		return errMoved
	}
	// Lstat does not follow a link that stands in place of the folder.
	if got, err := os.Lstat(q.dir); err != nil || !os.SameFile(got, want) {
		return errMoved
	}
	return nil
}

// copyOut copies a regular file of the folder to a path outside, which the process cannot change. One of more than
// maxResultFile bytes is refused: a file without content would fill the disk with its copy. The error completes a
// sentence about the file.
func (q *predictRequest) copyOut(name, to string) error {
	in, info, err := openRegular(q.folder, name)
	if err != nil {
		return err
	}
	defer in.Close()
	if info.Size() > maxResultFile {
		return fmt.Errorf("has more than %d bytes", int64(maxResultFile))
	}
	return report.WriteFile(to, func(out io.Writer) error {
		_, err := io.Copy(out, io.LimitReader(in, info.Size()))
		return err
	})
}

// openRegular opens a file of a folder, which must be a regular one and no link. The check, and the information that it
// returns, are of the file that is open: a process may replace it at any time. The error completes a sentence about the
// file.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	if !local(name) {
		return nil, nil, errors.New("is outside the folder of the work")
	}
	before, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, errors.New("does not exist")
	case err != nil:
		return nil, nil, errors.New("cannot be accessed inside the folder of the work")
	case !before.Mode().IsRegular(): // opening a pipe would wait for its writer
		return nil, nil, errors.New("is not a regular file")
	}
	in, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return nil, nil, errors.New("cannot be read")
	}
	info, err := in.Stat()
	if err != nil || !os.SameFile(before, info) {
		return nil, nil, errors.Join(errors.New("was replaced"), in.Close())
	}
	return in, info, nil
}

// makeScratch makes the scratch folder of a process in a folder, with a place for its temporary files.
func makeScratch(in string) (string, error) {
	dir, err := os.MkdirTemp(in, "process-")
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o700); err != nil {
		return "", fmt.Errorf("make the folder of temporary files: %w", err)
	}
	return dir, nil
}
