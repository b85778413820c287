package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"pleat"
	"pleat/internal/blob"
)

// maxNodes bounds the processes that may share one data folder. It ends the search for a free identity.
const maxNodes = 1024

// lockFile is a locked file. The system releases the lock when the process ends, even if it was killed. The content is
// the identity or the process that the lock stands for.
type lockFile struct{ f *os.File }

// errHeld means that another process has locked the file. The lock is that of flock(2): it is the file's, so a copy of
// the data folder is not locked.
var errHeld = errors.New("held by another process")

// lock creates the file if needed and locks it. It does not wait: errHeld if another process has locked it.
func lock(path string) (*lockFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errHeld
		}
		return nil, err
	}
	return &lockFile{f}, nil
}

// read returns the content, at most 1 KiB of it, without the end of the line.
func (l *lockFile) read() (string, error) {
	b, err := io.ReadAll(io.NewSectionReader(l.f, 0, 1<<10))
	return strings.TrimSpace(string(b)), err
}

// write replaces the content and waits until it is on the disk.
func (l *lockFile) write(text string) error {
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	if _, err := l.f.WriteAt([]byte(text+"\n"), 0); err != nil {
		return err
	}
	return l.f.Sync()
}

// release unlocks the file; nil is allowed. The file is not removed: two processes could then lock the same path.
func (l *lockFile) release() {
	if l != nil {
		_ = l.f.Close()
	}
}

// lockIdentity gives this process the first worker identity of the data folder that no other process holds. A process
// that starts again gets the one of its predecessor, and so frees at once the tasks that the predecessor held.
// Processes that run at the same time on one folder get different identities.
func lockIdentity(data string) (pleat.WorkerID, *lockFile, error) {
	for n := range maxNodes {
		l, err := lock(filepath.Join(data, fmt.Sprintf("node-%d.lock", n)))
		if errors.Is(err, errHeld) {
			continue
		}
		if err != nil {
			return "", nil, fmt.Errorf("lock a node identity in %s: %w", data, err)
		}
		id, err := l.read()
		if err == nil && !pleat.IsUUID(id) {
			id = uuid.Must(uuid.NewV7()).String()
			if err = l.write(id); blob.DiskFull(err) {
				err = nil // the leases of this process then end by their time
			}
		}
		if err != nil {
			l.release()
			return "", nil, fmt.Errorf("lock a node identity in %s: %w", data, err)
		}
		return pleat.WorkerID(id), l, nil
	}
	return "", nil, fmt.Errorf("%d processes use the data folder %s already", maxNodes, data)
}

// lockServer makes this process the only server of an SQLite database. The file next to the database holds the number
// of the process, which the message of a second server shows.
func lockServer(database string) (*lockFile, error) {
	path := database + ".lock"
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the database's folder: %w", err)
	}
	l, err := lock(path)
	if errors.Is(err, errHeld) {
		who := ""
		if pid, err := os.ReadFile(path); err == nil && len(pid) > 1 && len(pid) < 20 {
			who = " (process " + strings.TrimSpace(string(pid)) + ")"
		}
		return nil, fmt.Errorf("another pleat serve%s uses the database %s; stop it, choose another --data, "+
			"or use PostgreSQL to run several servers", who, database)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the database: %w", err)
	}
	// The number of the process is for people; a server whose disk is full can do without.
	if err := l.write(fmt.Sprint(os.Getpid())); err != nil && !blob.DiskFull(err) {
		l.release()
		return nil, fmt.Errorf("lock the database: %w", err)
	}
	return l, nil
}
