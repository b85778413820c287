package runners

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// temporary begins the name of a folder that is being written or that was replaced. Nothing is run from it.
	temporary = ".tmp-"
	// abandonAfter is the age at which a temporary folder belongs to a process that has died. Unpacking takes less
	// than a second.
	abandonAfter = time.Hour
	// attempts bounds how often Unpack begins again because another process was faster.
	attempts = 10
)

// Dir returns the folder into which Unpack writes the embedded runners, in a folder of all versions.
func Dir(parent string) string { return filepath.Join(parent, Hash()) }

// Unpack makes sure that Dir(parent) has the embedded runners and nothing else. The folder gets its name only when it
// is complete, so that a process that is killed leaves no half of it; any number of processes may call Unpack at once.
// Files that are there are compared with the embedded ones: if one was changed, is missing or was added, all are
// replaced by new copies, and changed says which it was. A process that has the old ones open keeps them. Folders of
// other versions stay, because a process may use them.
func Unpack(parent string) (changed string, err error) {
	dir := Dir(parent)
	for range attempts {
		differs, err := compare(dir)
		if err != nil {
			return changed, fmt.Errorf("read the unpacked runners: %w", err)
		}
		if differs == "" {
			return changed, nil
		}
		if differs != missing {
			changed = differs
		}
		if err := replace(parent, dir, differs != missing); err != nil {
			return changed, fmt.Errorf("unpack the runners: %w", err)
		}
	}
	return changed, fmt.Errorf("unpack the runners: another process changes %s again and again", dir)
}

// missing is what compare returns for a folder that does not exist. No file has this name.
const missing = "/"

// compare returns the path of the first file in dir that differs from the embedded ones, was added or is missing; empty
// if there is none.
func compare(dir string) (differs string, err error) {
	left := maps.Clone(files())
	err = filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if e.IsDir() {
			if name != "." && !hasFolder(name) {
				differs = name
				return fs.SkipAll
			}
			return nil
		}
		want, ok := left[name]
		delete(left, name)
		if !ok || !e.Type().IsRegular() || !same(at, want) {
			differs = name
			return fs.SkipAll
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist): // or another process replaces it just now
		return missing, nil
	case err != nil || differs != "":
		return differs, err
	case len(left) > 0:
		return sorted(left)[0], nil
	}
	return "", nil
}

// hasFolder reports whether embedded files are in a folder or below it.
func hasFolder(name string) bool {
	for p := range files() {
		if strings.HasPrefix(p, name+"/") {
			return true
		}
	}
	return false
}

// same reports whether a file has the content. One that cannot be read has not.
func same(path string, want []byte) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() != int64(len(want)) {
		return false
	}
	have, err := os.ReadFile(path)
	return err == nil && bytes.Equal(have, want)
}

// replace writes the embedded files into a new folder and gives it the name dir. A folder that has the name now is
// moved away before, if it is wrong. If another process is faster, its folder stays.
func replace(parent, dir string, wrong bool) (err error) {
	if err := os.MkdirAll(parent, 0o755); err != nil { // not secret; another user may run the engine
		return err
	}
	removeAbandoned(parent)
	fresh, err := os.MkdirTemp(parent, temporary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(fresh)) }()
	next := filepath.Join(fresh, "new")
	if err := write(next); err != nil {
		return err
	}
	if wrong {
		err := os.Rename(dir, filepath.Join(fresh, "old"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	err = os.Rename(next, dir)
	if errors.Is(err, fs.ErrExist) { // the folder of another process
		return nil
	}
	return err
}

// write writes the embedded files into a folder. They are read-only; the folders are not, so that their owner can
// delete them without further steps.
func write(dir string) error {
	for _, name := range sorted(files()) {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, files()[name], 0o444); err != nil {
			return err
		}
	}
	return nil
}

// removeAbandoned removes the temporary folders of processes that were killed. An error is ignored: the next call tries
// again.
func removeAbandoned(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), temporary) && time.Since(info.ModTime()) > abandonAfter {
			_ = os.RemoveAll(filepath.Join(parent, e.Name()))
		}
	}
}

// sorted returns the keys in order.
func sorted(m map[string][]byte) []string { return slices.Sorted(maps.Keys(m)) }
