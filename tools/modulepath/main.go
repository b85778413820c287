// Command modulepath changes the path of the module in the current folder: modulepath PATH. scripts/module-path runs
// it.
//
// It changes the go.mod files, of nested modules too, the imports of Go code, and where comments, strings and other
// text files name a package by its path, such as "go get PATH/api". A path counts there only if it ends with a folder
// of the module that has Go code, and that of the root package only after "go get" and its like, since the last element
// of a path may be a common word. All files are read before the first is written.
package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: modulepath PATH")
		os.Exit(2)
	}
	if err := change(".", os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "module-path: %v\n", err)
		os.Exit(1)
	}
}

// change gives the module in the folder root another path, and says what it did.
func change(root, to string) error {
	warning, err := check(to)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	from := modfile.ModulePath(text)
	if from == "" {
		return fmt.Errorf("go.mod names no module")
	}
	if from == to {
		fmt.Printf("the path of the module is %s already\n", to)
		return nil
	}
	files, err := list(root)
	if err != nil {
		return err
	}
	r := newRewriter(from, to, files)
	changed := map[string][]byte{}
	for _, name := range files {
		before, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		after, err := r.file(name, before)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !bytes.Equal(before, after) {
			changed[name] = after
		}
	}
	for name, text := range changed {
		if err := overwrite(filepath.Join(root, name), text); err != nil {
			return err
		}
	}
	fmt.Printf("the path of the module is %s now; it was %s; %d files changed\n", to, from, len(changed))
	if warning != "" {
		fmt.Println(warning)
	}
	return nil
}

// list returns the regular files of the tree by their paths relative to root: those that git tracks or would track, or
// without a Git repository all except those in node_modules.
func list(root string) ([]string, error) {
	if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
		git := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
		out, err := git.Output()
		if err != nil {
			return nil, fmt.Errorf("git ls-files: %w", err)
		}
		var files []string
		for name := range strings.SplitSeq(string(out), "\x00") {
			if info, err := os.Lstat(filepath.Join(root, name)); name != "" && err == nil && info.Mode().IsRegular() {
				files = append(files, name)
			}
		}
		return files, nil
	}
	var files []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "node_modules":
			return fs.SkipDir
		case d.Type().IsRegular():
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

// overwrite replaces the content of a file and keeps its permissions.
func overwrite(name string, text []byte) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, info.Mode().Perm())
}
