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
)

// Dir is a Store in a directory: an object is the file of its key's path. It works inside an os.Root, so that no link
// planted in the folder leads out of it. Two keys of which one is a folder of the other ("a" and "a/b") exclude each
// other.
type Dir struct {
	root *os.Root
}

// temps is the folder of unfinished Puts. It lies inside the root, so that a rename never crosses file systems; no key
// begins with a dot.
const temps = ".tmp"

// OpenDir opens a directory as a Store, making it where it is missing, readable by its owner alone.
func OpenDir(dir string) (*Dir, error) {
	if dir == "" {
		return nil, errors.New("blob: the artifact folder has no path; it takes dir:/path")
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

// Close lets go of the directory. Objects that are open stay readable.
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
	case full(err):
		return Info{}, fmt.Errorf("blob: put %s: %w: %w", key, ErrFull, err)
	}
	return Info{}, fmt.Errorf("blob: put %s: %w", key, err)
}

// full says whether err is of a disk, a quota or a file that has reached its limit.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

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

// placePatience bounds how long move makes a folder again; Deletes would have to hit every try of that time.
const placePatience = 10 * time.Second

// place moves a finished file to its key, durably.
func (d *Dir) place(temp, key string) error {
	if err := d.move(temp, key); err != nil {
		return err
	}
	// Where the folder is gone, the object itself was deleted meanwhile: it was here, and that is all Put can say.
	if err := d.syncFolders(path.Dir(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// move renames a file to its key and makes the folder for it. A Delete beside it may take away the folder that was
// just made and is still empty; then it is made again. MkdirAll says "exists" where the folder went between its two
// looks, and where there is an object of its name.
func (d *Dir) move(temp, key string) error {
	for end := time.Now().Add(placePatience); ; {
		err := d.root.MkdirAll(path.Dir(key), 0o700)
		again := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) && !d.objectAbove(key)
		if err == nil {
			err = d.root.Rename(temp, key)
			again = errors.Is(err, fs.ErrNotExist) && d.holds(temp)
		}
		if !again || time.Now().After(end) {
			return err
		}
	}
}

// objectAbove says whether a folder of the key's path is an object.
func (d *Dir) objectAbove(key string) bool {
	for folder := path.Dir(key); folder != "."; folder = path.Dir(folder) {
		if stat, err := d.root.Lstat(folder); err == nil && !stat.IsDir() {
			return true
		}
	}
	return false
}

func (d *Dir) holds(name string) bool {
	_, err := d.root.Lstat(name)
	return err == nil
}

// syncFolders makes the entries of a folder durable, and the folder itself in those above it. Those above are synced
// even where they were there before: another Put may have made them and not yet come to its own sync.
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

// Open opens the file of the key.
func (d *Dir) Open(ctx context.Context, key string) (io.ReadSeekCloser, Info, error) {
	if err := CheckKey(key); err != nil {
		return nil, Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return nil, Info{}, fmt.Errorf("blob: open %s: %w", key, context.Cause(ctx))
	}
	// Without O_NONBLOCK, the opening of a pipe somebody made in the folder would wait for ever.
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

// Delete removes the file of the key, and the folders above it that it leaves empty.
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

// unlink removes a file, or with AT_REMOVEDIR an empty folder, and never the one for the other: a Put may turn the
// name of a folder that has just gone into an object, which os.Root.Remove would take too.
func (d *Dir) unlink(name string, flags int) error {
	parent, err := d.root.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer parent.Close()
	return unix.Unlinkat(int(parent.Fd()), path.Base(name), flags)
}

// isFolder is for systems that answer the unlinking of a folder with EPERM, as POSIX has it.
func (d *Dir) isFolder(name string) bool {
	stat, err := d.root.Lstat(name)
	return err == nil && stat.IsDir()
}

// Walk reads the folders below prefix. Links are not followed.
func (d *Dir) Walk(ctx context.Context, prefix string, before time.Time, fn func(Info) error) error {
	start := "."
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		start = prefix[:i]
		if CheckKey(start) != nil {
			return nil // no key begins so
		}
	}
	err := fs.WalkDir(d.root.FS(), start, func(name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil // deleted meanwhile
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

// sweepTemps removes the unfinished files that were last written before the given time.
func (d *Dir) sweepTemps(ctx context.Context, before time.Time) (int, error) {
	entries, err := fs.ReadDir(d.root.FS(), temps)
	if err != nil {
		return 0, fmt.Errorf("blob: sweep: %w", err)
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
			return removed, fmt.Errorf("blob: sweep: %w", err)
		}
	}
	return removed, nil
}
