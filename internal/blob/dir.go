package blob

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pleat/internal/clock"
)

// Dir is a Store in a directory: the key is the relative path of the file. It uses os.Root, so that no link in the
// folder leads out of it. A key that is a folder of another one ("a" and "a/b") cannot exist beside it.
type Dir struct {
	root *os.Root
}

// temps is the folder of unfinished Puts. It is inside the root, so that a rename never crosses file systems. No key
// begins with a dot.
const temps = ".tmp"

// OpenDir opens a directory as a Store. A missing directory is created with access for its owner only.
func OpenDir(dir string) (*Dir, error) {
	if dir == "" {
		return nil, errors.New("blob: the artifact folder has no path; it must be dir:/path")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("blob: make the artifact folder: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("blob: open the artifact folder: %w", err)
	}
	if err := root.Mkdir(temps, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		root.Close()
		return nil, fmt.Errorf("blob: the artifact folder cannot be written: %w", err)
	}
	return &Dir{root}, nil
}

// Close closes the directory. Open objects stay readable.
func (d *Dir) Close() error { return d.root.Close() }

// Put writes a temporary file, syncs it, renames it to its key and syncs the folders above.
func (d *Dir) Put(ctx context.Context, key string, r io.Reader) (Info, error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	info, err := d.put(ctx, key, r)
	switch {
	case err == nil:
		return info, nil
	case DiskFull(err):
		return Info{}, fmt.Errorf("blob: put %s: %w: %w", key, ErrFull, err)
	}
	return Info{}, fmt.Errorf("blob: put %s: %w", key, err)
}

// DiskFull reports whether err means that a disk, a quota or a file size limit is exhausted.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// put writes a blob into a temporary file, syncs it, and renames it to its key. A crash leaves only a temporary file.
func (d *Dir) put(ctx context.Context, key string, r io.Reader) (info Info, err error) {
	temp := path.Join(temps, rand.Text())
	f, err := d.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return Info{}, err
	}
	defer func() {
		if err != nil {
			f.Close()
			d.root.Remove(temp)
		}
	}()
	sum := sha256.New()
	n, err := counted(ctx, f, r, sum)
	if err != nil {
		return Info{}, err
	}
	if err := f.Sync(); err != nil {
		return Info{}, err
	}
	if err := f.Close(); err != nil {
		return Info{}, err
	}
	if err := d.place(temp, key); err != nil {
		return Info{}, err
	}
	return Info{Key: key, Bytes: n, SHA256: hexSum(sum)}, nil
}

// placePatience limits how long move recreates a folder that concurrent Deletes remove.
const placePatience = 10 * time.Second

// place moves a finished file to its key, durably.
func (d *Dir) place(temp, key string) error {
	if err := d.move(temp, key); err != nil {
		return err
	}
	// If the folder is gone, the object itself was deleted in the meantime, after it existed.
	if err := d.syncFolders(path.Dir(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// move renames a file to its key and creates the folder for it. A concurrent Delete may remove the new folder while it
// is empty; move then creates it again. MkdirAll returns "exists" if the folder disappears between its two checks, and
// if an object has its name.
func (d *Dir) move(temp, key string) error {
	for watch := clock.Start(); ; {
		err := d.root.MkdirAll(path.Dir(key), 0o700)
		again := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) && !d.objectAbove(key)
		if err == nil {
			err = d.root.Rename(temp, key)
			again = errors.Is(err, fs.ErrNotExist) && d.holds(temp)
		}
		if !again || watch.Elapsed() > placePatience {
			return err
		}
	}
}

// objectAbove reports whether a folder of the key's path is an object.
func (d *Dir) objectAbove(key string) bool {
	for folder := path.Dir(key); folder != "."; folder = path.Dir(folder) {
		if stat, err := d.root.Lstat(folder); err == nil && !stat.IsDir() {
			return true
		}
	}
	return false
}

// holds reports whether a file or folder exists.
func (d *Dir) holds(name string) bool {
	_, err := d.root.Lstat(name)
	return err == nil
}

// syncFolders makes the entries of a folder, and of all folders above it, durable. It also syncs folders that existed
// before, because another Put may have created them and not synced yet.
func (d *Dir) syncFolders(folder string) error {
	for {
		f, err := d.root.Open(folder)
		if err != nil {
			return err
		}
		err = f.Sync()
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
		if folder == "." {
			return nil
		}
		folder = path.Dir(folder)
	}
}

// Open implements Store.
func (d *Dir) Open(ctx context.Context, key string) (io.ReadSeekCloser, Info, error) {
	if err := CheckKey(key); err != nil {
		return nil, Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return nil, Info{}, fmt.Errorf("blob: open %s: %w", key, context.Cause(ctx))
	}
	// Without O_NONBLOCK, opening a named pipe in the folder would block forever.
	f, err := d.root.OpenFile(key, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, Info{}, fmt.Errorf("blob: open %s: %w", key, ErrNotFound)
	}
	if err != nil {
		return nil, Info{}, fmt.Errorf("blob: open %s: %w", key, err)
	}
	stat, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, Info{}, fmt.Errorf("blob: open %s: %w", key, err)
	}
	if !stat.Mode().IsRegular() {
		f.Close()
		return nil, Info{}, fmt.Errorf("blob: open %s: it is no file: %w", key, ErrNotFound)
	}
	return f, Info{Key: key, Bytes: stat.Size(), ModTime: stat.ModTime()}, nil
}

// Stat implements Statter.
func (d *Dir) Stat(ctx context.Context, key string) (Info, error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return Info{}, fmt.Errorf("blob: stat %s: %w", key, context.Cause(ctx))
	}
	stat, err := d.root.Stat(key)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return Info{}, fmt.Errorf("blob: stat %s: %w", key, ErrNotFound)
	case err != nil:
		return Info{}, fmt.Errorf("blob: stat %s: %w", key, err)
	case !stat.Mode().IsRegular():
		return Info{}, fmt.Errorf("blob: stat %s: it is no file: %w", key, ErrNotFound)
	}
	return Info{Key: key, Bytes: stat.Size(), ModTime: stat.ModTime()}, nil
}

// Delete removes the file of the key and the folders above it that become empty.
func (d *Dir) Delete(ctx context.Context, key string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("blob: delete %s: %w", key, context.Cause(ctx))
	}
	err := d.unlink(key, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EISDIR),
		errors.Is(err, unix.EPERM) && d.isFolder(key):
		return nil // absent, or a folder of other keys
	case err != nil:
		return fmt.Errorf("blob: delete %s: %w", key, err)
	}
	for folder := path.Dir(key); folder != "." &&
		d.unlink(folder, unix.AT_REMOVEDIR) == nil; folder = path.Dir(folder) {
	}
	return nil
}

// unlink removes a file, or with AT_REMOVEDIR an empty folder, and never the other kind. A concurrent Put may replace a
// removed folder by an object, which os.Root.Remove would delete.
func (d *Dir) unlink(name string, flags int) error {
	parent, err := d.root.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer parent.Close()
	return unix.Unlinkat(int(parent.Fd()), path.Base(name), flags)
}

// isFolder is needed on systems that report EPERM when a folder is unlinked, as POSIX specifies.
func (d *Dir) isFolder(name string) bool {
	stat, err := d.root.Lstat(name)
	return err == nil && stat.IsDir()
}

// Walk implements Store. It does not follow links.
func (d *Dir) Walk(ctx context.Context, prefix string, before time.Time, fn func(Info) error) error {
	start := "."
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		start = prefix[:i]
		if CheckKey(start) != nil {
			return nil // no key begins with this prefix
		}
	}
	err := fs.WalkDir(d.root.FS(), start, func(name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil // deleted in the meantime
		}
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || !strings.HasPrefix(name, prefix) || CheckKey(name) != nil {
			return nil
		}
		stat, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !before.IsZero() && !stat.ModTime().Before(before) {
			return nil
		}
		return fn(Info{Key: name, Bytes: stat.Size(), ModTime: stat.ModTime()})
	})
	if err != nil {
		return fmt.Errorf("blob: walk: %w", err)
	}
	return nil
}

// removeTemps removes unfinished files that were last written before the given time.
func (d *Dir) removeTemps(ctx context.Context, before time.Time) (int, error) {
	entries, err := fs.ReadDir(d.root.FS(), temps)
	if err != nil {
		return 0, fmt.Errorf("blob: collect garbage: %w", err)
	}
	removed := 0
	for _, e := range entries {
		if ctx.Err() != nil {
			return removed, context.Cause(ctx)
		}
		stat, err := e.Info()
		if err != nil || !stat.ModTime().Before(before) {
			continue
		}
		if err := d.root.Remove(path.Join(temps, e.Name())); err == nil {
			removed++
		} else if !errors.Is(err, fs.ErrNotExist) {
			return removed, fmt.Errorf("blob: collect garbage: %w", err)
		}
	}
	return removed, nil
}
