package calvados

import (
	"archive/tar"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"pleat"
)

// checkpoint is the complete state on which the rest of a run depends: a run continued from it produces the same
// bits as an uninterrupted one. It includes the positions from which the neighbour lists were last built, because
// the order in which forces are summed follows from the lists.
//
// The file has "PLCV", version 1, the digest of the system, step, frames, bytes of the energy table, state of the
// noise, number of beads, then x, v and the lists' reference in nm and nm/ps as 64-bit floats, and the CRC-32C of
// everything before it; little-endian throughout.
type checkpoint struct {
	digest  [32]byte
	step    int64
	frames  int64
	energy  int64 // bytes of the energy table
	noise   noise
	x, v    []vec
	listRef []vec
}

// checkpointMagic starts every checkpoint file and contains its version.
const checkpointMagic = "PLCV\x01\x00\x00\x00"

// castagnoli is the polynomial of the checksum that ends a checkpoint (CRC-32C).
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checkpoint returns the current state. frames and energy are the frames written and the length of the energy table
// in bytes.
func (d *Dynamics) checkpoint(frames, energy int64) *checkpoint {
	return &checkpoint{
		digest:  d.s.digest(),
		step:    d.step,
		frames:  frames,
		energy:  energy,
		noise:   d.noise,
		x:       d.x,
		v:       d.v,
		listRef: d.field.lists.ref,
	}
}

// restore sets d to the state of the checkpoint.
func (d *Dynamics) restore(c *checkpoint) {
	d.step, d.noise = c.step, c.noise
	copy(d.x, c.x)
	copy(d.v, c.v)
	d.field.load(c.listRef)
	d.field.relist(c.listRef)
}

// encode returns the file's bytes.
func (c *checkpoint) encode() []byte {
	le := binary.LittleEndian
	b := append([]byte(checkpointMagic), c.digest[:]...)
	for _, v := range []int64{c.step, c.frames, c.energy} {
		b = le.AppendUint64(b, uint64(v))
	}
	for _, v := range c.noise.s {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint32(b, uint32(len(c.x)))
	for _, list := range [][]vec{c.x, c.v, c.listRef} {
		for _, p := range list {
			for _, v := range p {
				b = le.AppendUint64(b, math.Float64bits(v))
			}
		}
	}
	return le.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeCheckpoint reads a file's bytes. It returns false for anything but an undamaged checkpoint.
func decodeCheckpoint(b []byte) (*checkpoint, bool) {
	const head = 8 + 32 + 3*8 + 4*8 + 4
	le := binary.LittleEndian
	if len(b) < head+4 || string(b[:8]) != checkpointMagic ||
		crc32.Checksum(b[:len(b)-4], castagnoli) != le.Uint32(b[len(b)-4:]) {
		return nil, false
	}
	c := &checkpoint{digest: [32]byte(b[8:40])}
	for k, v := range []*int64{&c.step, &c.frames, &c.energy} {
		*v = int64(le.Uint64(b[40+8*k:]))
	}
	for k := range c.noise.s {
		c.noise.s[k] = le.Uint64(b[64+8*k:])
	}
	n := int(le.Uint32(b[96:]))
	if n > MaxBeads || len(b) != head+3*24*n+4 || c.step < 0 || c.frames < 0 || c.energy < 0 {
		return nil, false
	}
	b = b[head:]
	for _, list := range []*[]vec{&c.x, &c.v, &c.listRef} {
		*list = make([]vec, n)
		for i := range *list {
			for k := range 3 {
				(*list)[i][k] = math.Float64frombits(le.Uint64(b))
				b = b[8:]
			}
		}
	}
	return c, true
}

// writeDurable replaces a file so that, after a crash, it has either the old or the new content.
func writeDurable(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// loadCheckpoint reads the checkpoint in the folder. It returns nil where there is none, or a damaged one; the run
// then starts from the beginning.
func loadCheckpoint(dir string, s *System) (*checkpoint, error) {
	b, err := os.ReadFile(filepath.Join(dir, CheckpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read checkpoint: %w", err)
	}
	c, ok := decodeCheckpoint(b)
	if !ok {
		return nil, nil
	}
	if c.digest != s.digest() || len(c.x) != s.Len() || c.frames != c.step/s.params.Every() {
		return nil, pleat.Errorf(pleat.CodeConflict,
			"the folder holds the checkpoint of another simulation; a run continues only its own")
	}
	for _, f := range []struct {
		name string
		size int64
	}{{TrajectoryFile, dcdStart + c.frames*frameBytes(s.Len())}, {EnergyFile, c.energy}} {
		if sizeOf(filepath.Join(dir, f.name)) < f.size {
			return nil, nil // what the checkpoint continues is not there
		}
	}
	return c, nil
}

// sizeOf returns the size of a file in bytes, or −1 where it cannot be read.
func sizeOf(path string) int64 {
	if info, err := os.Stat(path); err == nil {
		return info.Size()
	}
	return -1
}

// Pack writes what another machine needs to continue the run in dir as a tar archive: the checkpoint and, up to the
// lengths that it records, the trajectory, the energies and the topology. The run in dir must not continue
// meanwhile. An error that wraps fs.ErrNotExist means that there is no checkpoint yet.
func Pack(w io.Writer, dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, CheckpointFile))
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	c, ok := decodeCheckpoint(b)
	if !ok {
		return pleat.Errorf(pleat.CodeInternal, "pack: the checkpoint is damaged")
	}
	top, err := os.Stat(filepath.Join(dir, TopologyFile))
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	t := tar.NewWriter(w)
	for _, f := range []struct {
		name string
		size int64
	}{
		{TopologyFile, top.Size()}, {TrajectoryFile, dcdStart + c.frames*frameBytes(len(c.x))}, {EnergyFile, c.energy},
		{CheckpointFile, int64(len(b))},
	} {
		if err := packFile(t, dir, f.name, f.size); err != nil {
			return fmt.Errorf("pack %s: %w", f.name, err)
		}
	}
	return t.Close()
}

// packFile adds the first size bytes of a file to the archive.
func packFile(t *tar.Writer, dir, name string, size int64) error {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size}); err != nil {
		return err
	}
	_, err = io.CopyN(t, f, size)
	return err
}

// Unpack extracts an archive of [Pack] into dir, for [Run] to continue. It returns an error for other names and for
// files larger than a run can write.
func Unpack(r io.Reader, dir string) error {
	t := tar.NewReader(r)
	for range 4 {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		switch h.Name {
		case TopologyFile, TrajectoryFile, EnergyFile, CheckpointFile:
		default:
			return pleat.Invalidf("unpack: the archive holds %q, which is no part of a run", pleat.Clip(h.Name))
		}
		if h.Typeflag != tar.TypeReg || h.Size > MaxBytes+1<<20 {
			return pleat.Invalidf("unpack: %s is no regular file of at most %d MiB", h.Name, MaxBytes>>20)
		}
		f, err := os.OpenFile(filepath.Join(dir, h.Name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		_, err = io.CopyN(f, t, h.Size)
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("unpack %s: %w", h.Name, err)
		}
	}
	return nil
}
