package calvados

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"pleat"
	"pleat/internal/structure"
)

// A DCD file, as CHARMM and NAMD write it: Fortran records, each between two copies
// of its length. Header (84 bytes), titles, number of atoms; then per frame the cell
// (A, γ, B, β, α, C in Å and degrees) and all x, all y, all z in Å as 32-bit floats.
// All frames are of one size, so that frame i is found without reading the others
// and a torn last frame is seen by the file's length.
//
// Source: the plugin of VMD (molfile, dcdplugin.c) and OpenMM's dcdfile.py.

// akma is the time unit of the header in ps.
const akma = 0.0488882129

// Sizes in bytes of the parts of a DCD file as this package writes it.
const (
	dcdHeader = 4 + 84 + 4
	dcdTitles = 4 + 84 + 4
	dcdAtoms  = 4 + 4 + 4
	dcdStart  = dcdHeader + dcdTitles + dcdAtoms // as written here
	dcdCell   = 4 + 48 + 4
)

// frameBytes returns the size of a frame of n atoms with its cell.
func frameBytes(n int) int64 { return dcdCell + 3*(8+4*int64(n)) }

// record appends a Fortran record: the payload between two copies of its length.
func record(b []byte, payload []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = append(b, payload...)
	return binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
}

// dcdHead returns the beginning of the file: the number of atoms, the number of frames, the steps between frames
// (and before the first), and ps per step.
func dcdHead(atoms int, frames, every int64, stepPs float64) []byte {
	le := binary.LittleEndian
	h := make([]byte, 84)
	copy(h, "CORD")
	le.PutUint32(h[4:], uint32(frames))
	le.PutUint32(h[8:], uint32(every))
	le.PutUint32(h[12:], uint32(every))
	le.PutUint32(h[16:], uint32(min(frames*every, math.MaxInt32)))
	le.PutUint32(h[40:], math.Float32bits(float32(stepPs/akma)))
	le.PutUint32(h[44:], 1) // frames have a cell
	le.PutUint32(h[80:], 24)
	b := record(nil, h)
	t := make([]byte, 84)
	le.PutUint32(t, 1)
	copy(t[4:], bytes.Repeat([]byte(" "), 80))
	copy(t[4:], "CALVADOS DYNAMICS BY PLEAT")
	b = record(b, t)
	return record(b, le.AppendUint32(nil, uint32(atoms)))
}

// appendFrame appends a frame of positions in nm with a cubic cell of edge box in nm. The file holds Å.
func appendFrame(b []byte, x []vec, box float64) []byte {
	le := binary.LittleEndian
	cell := make([]byte, 48)
	for k, v := range [6]float64{box * 10, 90, box * 10, 90, 90, box * 10} {
		le.PutUint64(cell[8*k:], math.Float64bits(v))
	}
	b = record(b, cell)
	for k := range 3 {
		b = le.AppendUint32(b, uint32(4*len(x)))
		for i := range x {
			b = le.AppendUint32(b, math.Float32bits(float32(x[i][k]*10)))
		}
		b = le.AppendUint32(b, uint32(4*len(x)))
	}
	return b
}

// Trajectory reads the frames of a DCD file in any order. It buffers one frame and is not safe for concurrent use.
type Trajectory struct {
	r      io.ReaderAt
	atoms  int
	frames int
	start  int64 // offset of the first frame
	size   int64 // of a frame
	cell   bool
	dt     float64 // ps between frames
	first  float64 // ps of the first frame
	buf    []byte
}

// maxAtoms bounds the memory that an uploaded file can make this process allocate.
const maxAtoms = 2_000_000

// OpenTrajectory reads the header of a DCD file of size bytes: little-endian, with or without cells, no fixed
// atoms, three coordinates. The number of frames follows from the file's size; an incomplete one at the end is
// ignored.
func OpenTrajectory(r io.ReaderAt, size int64) (*Trajectory, error) {
	t := &Trajectory{r: r}
	h, at, err := readRecord(r, size, 0, 84)
	if err != nil || len(h) != 84 || string(h[:4]) != "CORD" {
		return nil, pleat.Invalidf(
			"the trajectory is not a little-endian DCD file: it does not begin with a CORD record of 84 bytes")
	}
	le := binary.LittleEndian
	if le.Uint32(h[36:]) != 0 || le.Uint32(h[48:]) != 0 {
		return nil, pleat.Invalidf(
			"the trajectory is a DCD file with fixed atoms or a fourth dimension, which is not read here")
	}
	t.cell = le.Uint32(h[44:]) != 0
	step := float64(math.Float32frombits(le.Uint32(h[40:]))) * akma
	t.dt = step * float64(int32(le.Uint32(h[12:])))
	t.first = step * float64(int32(le.Uint32(h[8:])))
	if _, at, err = readRecord(r, size, at, 1<<20); err != nil {
		return nil, err
	}
	n, at, err := readRecord(r, size, at, 4)
	if err != nil {
		return nil, err
	}
	if len(n) != 4 || le.Uint32(n) < 1 || le.Uint32(n) > maxAtoms {
		return nil, pleat.Invalidf("the trajectory gives no number of atoms from 1 to %d", maxAtoms)
	}
	t.atoms, t.start = int(le.Uint32(n)), at
	t.size = frameBytes(t.atoms)
	if !t.cell {
		t.size -= dcdCell
	}
	t.frames = int(min((size-at)/t.size, math.MaxInt32))
	return t, nil
}

// readRecord reads the record at offset at, of at most the given length, and returns the offset after it.
func readRecord(r io.ReaderAt, size, at int64, most uint32) ([]byte, int64, error) {
	var mark [4]byte
	bad := func(what string) error { return pleat.Invalidf("the trajectory's header %s at byte %d", what, at) }
	if at+4 > size {
		return nil, 0, bad("ends early")
	}
	if _, err := r.ReadAt(mark[:], at); err != nil {
		return nil, 0, fmt.Errorf("read trajectory: %w", err)
	}
	n := binary.LittleEndian.Uint32(mark[:])
	if n > most || at+8+int64(n) > size {
		return nil, 0, bad("has a record of impossible length")
	}
	b := make([]byte, n+4)
	if _, err := r.ReadAt(b, at+4); err != nil {
		return nil, 0, fmt.Errorf("read trajectory: %w", err)
	}
	if binary.LittleEndian.Uint32(b[n:]) != n {
		return nil, 0, bad("has a record whose two lengths differ")
	}
	return b[:n], at + 8 + int64(n), nil
}

// Frames returns the number of complete frames.
func (t *Trajectory) Frames() int { return t.frames }

// Atoms returns the number of atoms in each frame.
func (t *Trajectory) Atoms() int { return t.atoms }

// StepPs returns the time between frames in ps from the file's header, or 0 where the header has none.
func (t *Trajectory) StepPs() float64 {
	if !(t.dt > 0) || math.IsInf(t.dt, 0) {
		return 0
	}
	return t.dt
}

// TimeNs returns the time of frame i in ns. dtPs is the time between frames; 0 means the header's. In a file whose
// header gives no first step, the first frame is at dtPs.
func (t *Trajectory) TimeNs(i int, dtPs float64) float64 {
	dt := dtPs
	if dt == 0 {
		dt = t.StepPs()
	}
	first := 1.0 // in frames
	if t.StepPs() > 0 && t.first >= 0 {
		first = t.first / t.dt
	}
	// Headers count in 32-bit floats; a picosecond's millionth is below their doubt.
	return math.Round((first+float64(i))*dt*1e6) / 1e9
}

// Nearest returns the index of the frame nearest to a time. dtPs is as in TimeNs. It returns an error for a time
// more than half a frame outside the trajectory.
func (t *Trajectory) Nearest(timeNs, dtPs float64) (int, error) {
	if t.frames == 0 {
		return 0, pleat.Invalidf("the trajectory has no frames")
	}
	if !(dtPs >= 0) || math.IsInf(dtPs, 0) {
		return 0, pleat.Invalidf(
			"dtInPs is %v; it must be the time between frames in ps, or 0 to take the trajectory's own", dtPs)
	}
	if dtPs == 0 {
		dtPs = t.StepPs()
	}
	if dtPs == 0 {
		return 0, pleat.Invalidf("the trajectory does not say how far apart its frames are; give dtInPs")
	}
	from, to := t.TimeNs(0, dtPs), t.TimeNs(t.frames-1, dtPs)
	if half := dtPs / 2000; !(timeNs >= 0 && timeNs >= min(0, from-half) && timeNs <= to+half*1.000001) {
		return 0, pleat.Invalidf("timeNs is %v; the trajectory runs from %v to %v ns", timeNs, from, to)
	}
	return max(0, min(int(math.Round((timeNs-from)*1000/dtPs)), t.frames-1)), nil
}

// Read reads the positions of frame i in Å into dst, which it grows where necessary, and returns it. It returns an
// error for a frame whose records are damaged.
func (t *Trajectory) Read(i int, dst []structure.Vec) ([]structure.Vec, error) {
	if i < 0 || i >= t.frames {
		return nil, pleat.Invalidf("the trajectory has frames 0 to %d; there is no frame %d", t.frames-1, i)
	}
	if t.buf == nil {
		t.buf = make([]byte, t.size)
	}
	if _, err := t.r.ReadAt(t.buf, t.start+int64(i)*t.size); err != nil {
		return nil, fmt.Errorf("read frame %d: %w", i, err)
	}
	if cap(dst) < t.atoms {
		dst = make([]structure.Vec, t.atoms)
	}
	dst = dst[:t.atoms]
	le := binary.LittleEndian
	b := t.buf
	if t.cell {
		if le.Uint32(b) != 48 {
			return nil, pleat.Invalidf("frame %d of the trajectory has no cell where one is due", i)
		}
		b = b[dcdCell:]
	}
	for k := range 3 {
		if n := uint32(4 * t.atoms); le.Uint32(b) != n || le.Uint32(b[4+n:]) != n {
			return nil, pleat.Invalidf("frame %d of the trajectory is not of %d atoms", i, t.atoms)
		}
		b = b[4:]
		for j := range dst {
			v := float64(math.Float32frombits(le.Uint32(b[4*j:])))
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, pleat.Invalidf("atom %d of frame %d of the trajectory has no finite position", j+1, i)
			}
			dst[j][k] = v
		}
		b = b[4*t.atoms+4:]
	}
	return dst, nil
}
