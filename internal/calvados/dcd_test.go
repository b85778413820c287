package calvados

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func sampleDCD(frames, atoms int) ([]byte, [][]vec) {
	b := dcdHead(atoms, int64(frames), 1000, 0.01)
	var all [][]vec
	r := newNoise(6)
	for range frames {
		x := make([]vec, atoms)
		for i := range x {
			x[i] = vec{r.gauss(), r.gauss(), r.gauss()}
		}
		all = append(all, x)
		b = appendFrame(b, x, 20)
	}
	return b, all
}

func TestTrajectory(t *testing.T) {
	b, want := sampleDCD(7, 5)
	if len(b) != dcdStart+7*int(frameBytes(5)) {
		t.Fatalf("%d bytes", len(b))
	}
	b = append(b, b[dcdStart:dcdStart+40]...) // a torn frame
	tr, err := OpenTrajectory(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if tr.Frames() != 7 || tr.Atoms() != 5 || math.Abs(tr.StepPs()-10) > 1e-5 {
		t.Fatalf("%d frames of %d atoms, %v ps apart", tr.Frames(), tr.Atoms(), tr.StepPs())
	}
	for _, i := range []int{6, 0, 3} {
		x, err := tr.Read(i, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k := range x {
			for c := range 3 {
				if math.Abs(x[k][c]-want[i][k][c]*10) > 1e-5 {
					t.Fatalf("frame %d atom %d: %v, want %v Å", i, k, x[k], want[i][k])
				}
			}
		}
	}
	if _, err := tr.Read(7, nil); err == nil {
		t.Error("frame 7 of 7 was read")
	}
	for _, c := range []struct {
		time, dt float64
		want     int
	}{{0.01, 0, 0}, {0.034, 0, 2}, {0.036, 0, 3}, {0.07, 0, 6}, {0.0749, 0, 6}, {0, 0, 0}, {3, 1000, 2},
		{0.07, 10, 6}} {
		if got, err := tr.Nearest(c.time, c.dt); err != nil || got != c.want {
			t.Errorf("nearest to %v ns at dt %v: %d, %v; want %d", c.time, c.dt, got, err, c.want)
		}
	}
	if got := tr.TimeNs(2, 0); got != 0.03 {
		t.Errorf("frame 2 is at %v ns", got)
	}
	for _, c := range []struct{ time, dt float64 }{{-1, 0}, {0.08, 0}, {math.NaN(), 0}, {0.01, -1}, {0.01, math.NaN()},
		{math.Inf(1), 0}} {
		if got, err := tr.Nearest(c.time, c.dt); err == nil {
			t.Errorf("nearest to %v ns at dt %v: %d, want a refusal", c.time, c.dt, got)
		}
	}
}

func TestTrajectoryRefuses(t *testing.T) {
	good, _ := sampleDCD(2, 3)
	for name, change := range map[string]func(b []byte) []byte{
		"empty":        func(b []byte) []byte { return nil },
		"text":         func(b []byte) []byte { return []byte(strings.Repeat("hello ", 100)) },
		"cut":          func(b []byte) []byte { return b[:100] },
		"fixed atoms":  func(b []byte) []byte { b[4+36] = 1; return b },
		"no atoms":     func(b []byte) []byte { clear(b[dcdStart-8 : dcdStart-4]); return b },
		"big-endian":   func(b []byte) []byte { b[0], b[3] = b[3], b[0]; return b },
		"title length": func(b []byte) []byte { b[dcdHeader+3] = 0x7f; return b },
	} {
		b := change(bytes.Clone(good))
		if _, err := OpenTrajectory(bytes.NewReader(b), int64(len(b))); err == nil ||
			!strings.Contains(err.Error(), "trajectory") {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := bytes.Clone(good)
	b[dcdStart+dcdCell] ^= 1
	tr, err := OpenTrajectory(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Read(0, nil); err == nil {
		t.Error("a frame of another size was read")
	}
}

func FuzzTrajectory(f *testing.F) {
	b, _ := sampleDCD(2, 3)
	f.Add(b)
	f.Add(b[:120])
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := OpenTrajectory(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		for i := range min(tr.Frames(), 4) {
			x, err := tr.Read(i, nil)
			if err == nil && len(x) != tr.Atoms() {
				t.Errorf("%d positions of %d atoms", len(x), tr.Atoms())
			}
		}
		if i, err := tr.Nearest(0.5, 0); err == nil && (i < 0 || i >= tr.Frames()) {
			t.Errorf("frame %d of %d", i, tr.Frames())
		}
	})
}
