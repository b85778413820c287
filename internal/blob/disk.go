package blob

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pleat"
)

// FreeBytes returns how many bytes can still be written to the file system of a folder.
func FreeBytes(folder string) (int64, error) {
	s, err := spaceOf(folder)
	if err != nil {
		return 0, fmt.Errorf("blob: the free space of %s: %w", folder, err)
	}
	return s.Free, nil
}

func spaceOf(folder string) (Space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return Space{}, err
	}
	size := int64(s.Bsize) //nolint:unconvert // their types differ between systems
	return Space{folder, int64(s.Bavail) * size, int64(s.Blocks) * size}, nil
}

// Space is the space of the file system of a folder, in bytes.
type Space struct {
	Folder      string
	Free, Total int64
}

// Spaces returns the space of each folder. One that cannot be measured is left out.
func (d *Disk) Spaces() []Space {
	if d == nil {
		return nil
	}
	var out []Space
	for _, folder := range d.Folders {
		if s, err := spaceOf(folder); err == nil {
			out = append(out, s)
		}
	}
	return out
}

// diskAge is how old the measure of the free disk may be.
const diskAge = time.Second

// Disk measures the free space of the folders into which a process writes. Below the least free space no new work may
// start, so that the results of what runs find space. It is safe for concurrent use; nil has no limit. Its fields must
// not change after the first call.
type Disk struct {
	Folders []string         // none: there is no limit
	Least   int64            // bytes; 0: no limit
	Clock   func() time.Time // required
	Log     *slog.Logger     // required

	mu       sync.Mutex
	measured time.Time // zero: never
	free     int64     // in the folder that has least
	err      error     // why free is not known
	full     bool      // as of the last check
}

// Free returns the free bytes of the fullest folder, measured at most a second ago.
func (d *Disk) Free() (int64, error) {
	if d == nil || len(d.Folders) == 0 {
		return 0, errors.New("blob: this process has no folder whose space is measured")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.measure()
}

// measure is Free for a caller that holds mu.
func (d *Disk) measure() (int64, error) {
	now := d.Clock()
	if age := now.Sub(d.measured); !d.measured.IsZero() && age >= 0 && age < diskAge {
		return d.free, d.err
	}
	d.measured, d.free, d.err = now, 0, nil
	for i, folder := range d.Folders {
		free, err := FreeBytes(folder)
		if err != nil {
			d.err = err
			break
		}
		if i == 0 || free < d.free {
			d.free = free
		}
	}
	return d.free, d.err
}

// Check refuses new work if less space is free than there must be, or if that cannot be measured. It logs when this
// begins and when it ends. An error has CodeUnavailable.
func (d *Disk) Check() error {
	if d == nil || d.Least == 0 || len(d.Folders) == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	free, err := d.measure()
	full := err != nil || free < d.Least
	switch {
	case full && !d.full && err != nil:
		d.Log.Warn("the free disk cannot be measured; no new work starts", "error", err)
	case full && !d.full:
		d.Log.Warn("the disk is almost full; no new work starts", "free_bytes", free, "least_bytes", d.Least)
	case d.full && !full:
		d.Log.Info("the disk has space again; new work starts", "free_bytes", free)
	}
	if d.full = full; !full {
		return nil
	}
	return &pleat.Error{
		Code: pleat.CodeUnavailable,
		Message: "the disk of the server is almost full, so it accepts no new jobs, workflows or files; " +
			"running work continues; try again later",
		Err: err,
	}
}
