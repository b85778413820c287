package calvados

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/internal/structure"
)

func short(tb testing.TB, n int) *System {
	p := Defaults()
	p.SaveNs, p.LengthNs, p.Seed = 0.001, 0.05, 4 // 50 frames, 5,000 steps
	return mustSystem(tb, p, mustSequence(tb, mixture(n)))
}

func contents(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	out := map[string]string{}
	for _, name := range []string{TopologyFile, TrajectoryFile, EnergyFile, CheckpointFile} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			tb.Fatal(err)
		}
		out[name] = string(b)
	}
	return out
}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %s differs from that of a run without a stop", what, name)
		}
	}
}

func TestRunAndResume(t *testing.T) {
	s := short(t, 40)
	whole := t.TempDir()
	var last, total int64
	res, err := Run(t.Context(), s, whole, Hooks{Progress: func(d, n int64) { last, total = d, n }})
	if err != nil {
		t.Fatal(err)
	}
	if res.Frames != 50 || res.Steps != 5000 || res.Resumed != 0 || last != 5000 || total != 5000 {
		t.Fatalf("%+v, progress %d of %d", res, last, total)
	}
	want := contents(t, whole)
	if rows := strings.Count(want[EnergyFile], "\n"); rows != 51 || !strings.HasPrefix(want[EnergyFile], "time_ns,") {
		t.Errorf("energies have %d lines", rows)
	}

	// Stopped at odd steps, again and again.
	dir := t.TempDir()
	for range 4 {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Run(ctx, s, dir, Hooks{CheckpointEvery: 170, Progress: func(done, _ int64) {
			if done%1000 > 330 {
				cancel()
			}
		}})
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if res, err = Run(t.Context(), s, dir, Hooks{}); err != nil {
		t.Fatal(err)
	}
	same(t, "after cancels", contents(t, dir), want)

	// Crashed: files hold more than the last checkpoint vouches for, a torn frame at the end.
	dir = t.TempDir()
	boom := errors.New("boom")
	_, err = Run(t.Context(), s, dir, Hooks{CheckpointEvery: 1230, Saved: func(step int64) error {
		if step == 2460 {
			return boom
		}
		return nil
	}})
	if !errors.Is(err, boom) {
		t.Fatalf("an error of Saved gives %v", err)
	}
	for _, name := range []string{TrajectoryFile, EnergyFile} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("what was written after the checkpoint, and not wholly"); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	var packed bytes.Buffer
	if err := Pack(&packed, dir); err != nil {
		t.Fatal(err)
	}
	if res, err = Run(t.Context(), s, dir, Hooks{}); err != nil || res.Resumed != 2460 {
		t.Fatalf("%+v, %v", res, err)
	}
	same(t, "after a crash", contents(t, dir), want)

	// Continued on another machine.
	dir = t.TempDir()
	if err := Unpack(&packed, dir); err != nil {
		t.Fatal(err)
	}
	if res, err = Run(t.Context(), s, dir, Hooks{}); err != nil || res.Resumed != 2460 {
		t.Fatalf("%+v, %v", res, err)
	}
	same(t, "unpacked", contents(t, dir), want)

	// A finished run is not run again, a longer one goes on from it.
	if res, err = Run(t.Context(), s, dir, Hooks{}); err != nil || res.Resumed != 5000 {
		t.Fatalf("%+v, %v", res, err)
	}
	same(t, "run again", contents(t, dir), want)

	// A damaged checkpoint, or one without its trajectory: from the start.
	for _, damage := range []func(){
		func() { flip(t, filepath.Join(dir, CheckpointFile)) },
		func() { os.Truncate(filepath.Join(dir, TrajectoryFile), 500) },
		func() { os.Remove(filepath.Join(dir, EnergyFile)) },
	} {
		damage()
		if res, err = Run(t.Context(), s, dir, Hooks{}); err != nil || res.Resumed != 0 {
			t.Fatalf("%+v, %v", res, err)
		}
		same(t, "after damage", contents(t, dir), want)
	}

	// Another system.
	if _, err = Run(t.Context(), short(t, 41), dir, Hooks{}); pleat.CodeOf(err) != pleat.CodeConflict {
		t.Errorf("another system's checkpoint gives %v", err)
	}
}

func flip(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 4
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCancelIsPrompt(t *testing.T) {
	p := Defaults()
	p.LengthNs, p.SaveNs, p.Box = 1000, 1, 60
	s := mustSystem(t, p, mustSequence(t, mixture(2000)))
	ctx, cancel := context.WithCancel(t.Context())
	var at time.Time
	_, err := Run(ctx, s, t.TempDir(), Hooks{Progress: func(done, _ int64) {
		if at.IsZero() {
			at = time.Now()
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	// 100 ms on a quiet machine, the run an hour; the figure is logged
	if took := time.Since(at); took > 20*time.Second {
		t.Errorf("stopped %v after cancel", took)
	} else {
		t.Logf("stopped %v after cancel", took)
	}
}

// A chain that flies apart, or a position that is no number, is an error and never a crash, whatever the kernel.
func TestUnstable(t *testing.T) {
	for _, v := range kernels() {
		for _, speed := range []float64{1e12, 1e300, math.Inf(1), math.NaN()} {
			for _, sequence := range []string{"KDKDKDKD", mixture(300), mixture(1250)} {
				vector = v
				p := Defaults()
				p.Box = 45
				s := mustSystem(t, p, mustSequence(t, sequence))
				d := NewDynamics(s)
				d.v[2] = vec{speed, 0, 0}
				d.Advance(3)
				if err := d.finite(); err == nil || !strings.Contains(err.Error(), "unstable") {
					t.Errorf("a speed of %v in %d beads gives %v", speed, s.Len(), err)
				}
				d.Close()
			}
		}
	}
	vector = hadVector
}

// Files of several chains show them whole and beside one another, whatever image they are in.
func TestWhole(t *testing.T) {
	r := newNoise(1)
	p := Defaults()
	p.Preset = SingleGo
	m := randomFold(&r, []int{10, 12})
	m.Chains[0].ID = "AA"
	s := mustSystem(t, p, m)
	x := s.Start()
	want := s.unwrapped(x)
	for i := range x {
		for k := range 3 {
			x[i][k] += p.Box * float64(3*int(s.beads[i].chain)-7)
		}
	}
	got := s.unwrapped(x)
	for i := range got {
		for k := range 3 {
			if d := got[i][k] - want[i][k]; d > 1e-9 || d < -1e-9 {
				t.Fatalf("bead %d at %v, want %v", i, got[i], want[i])
			}
		}
	}
	st := s.Structure(x)
	if st.Chains[0].ID != "A" || st.Chains[1].ID != "B" {
		t.Errorf("chains %s and %s", st.Chains[0].ID, st.Chains[1].ID)
	}
	var out bytes.Buffer
	if err := structure.WritePDB(&out, s.Structure(want), structure.Meta{}); err != nil {
		t.Fatal(err)
	}
	back, err := structure.ReadPDB(&out, structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if back.Atoms() != s.Len() || len(back.Chains) != 2 || back.Chains[1].Sequence() != st.Chains[1].Sequence() {
		t.Errorf("read back: %d atoms in %d chains", back.Atoms(), len(back.Chains))
	}
}

func TestUnpackRefuses(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("no archive at all, and long enough to be looked at as a header of one")
	if err := Unpack(&b, t.TempDir()); err == nil {
		t.Error("rubbish was unpacked")
	}
}

func FuzzCheckpoint(f *testing.F) {
	d := NewDynamics(short(f, 3))
	d.Advance(1)
	f.Add(d.checkpoint(1, 2).encode())
	f.Add([]byte(checkpointMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, ok := decodeCheckpoint(b); ok && !bytes.Equal(c.encode(), b) {
			t.Error("a checkpoint does not encode to what it was read from")
		}
	})
}
