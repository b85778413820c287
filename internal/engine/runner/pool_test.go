package runner

import (
	"context"
	"log/slog"
	"slices"
	"syscall"
	"testing"
	"time"

	"pleat"
	"pleat/internal/clock"
)

// If two engines do not fit onto a device together, one is evicted for the other; if they do, both stay.
func TestRunnerEviction(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		memory int64
		stays  bool
	}{{1.5e9, false}, {4e9, true}} {
		log := slog.New(slog.NewTextHandler(t.Output(), nil))
		warm := NewProcessPool([]pleat.Device{{ID: "GPU-1", Name: "test", Memory: c.memory}}, 1, 0, log)
		t.Cleanup(warm.Close)
		gpu := func(m *Manifest, r *Runner) { m.Device, r.Processes = "cuda", warm }
		a, b := newFixture(t, gpu), newFixture(t, gpu)
		if got := a.Models()[0]; got.Device != "cuda" || got.Room != c.memory {
			t.Errorf("the model runs on %s with room for %d", got.Device, got.Room)
		}
		first := a.succeed("ok")
		if !slices.Contains(first["env"].([]any), any("CUDA_VISIBLE_DEVICES=GPU-1")) {
			t.Error("the process does not see its device alone")
		}
		b.succeed("ok")
		if again := a.succeed("ok"); (again["pid"] == first["pid"]) != c.stays {
			t.Errorf("with %d bytes the process was %v and is %v", c.memory, first["pid"], again["pid"])
		}
	}
}

// The CPU slots share the machine's memory: running jobs and idle processes of all slots count.
func TestProcessPoolSharesTheMachine(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	warm := NewProcessPool(nil, 2, 10e9, log)
	t.Cleanup(warm.Close)
	idle := func(rss int64) *process {
		return &process{launchSpec: launchSpec{manifest: &Manifest{}, device: "cpu"}, mem: wireMem{RSS: rss}}
	}
	a, b := warm.slots[0], warm.slots[1]
	old, young := idle(3e9), idle(4e9)
	old.idle, young.idle = clock.Stopwatch{}, clock.Start()
	b.procs = []*process{young, old}
	if got := warm.evict(a, nil, 3e9); len(got) != 0 {
		t.Errorf("%d processes were evicted though there was room", len(got))
	}
	if got := warm.evict(a, nil, 4e9); len(got) != 1 || got[0] != old {
		t.Errorf("%d processes were evicted; want the least recently used", len(got))
	}
	b.busy, b.need, a.procs = true, 8e9, []*process{idle(1e9)}
	if got := warm.evict(a, nil, 2e9); len(got) != 1 {
		t.Errorf("next to a job of 8 GB %d processes were evicted; want the idle one", len(got))
	}
	a.procs, b.procs = nil, nil
}

func TestProcessPoolClose(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	b.succeed("ok")
	p := b.process()
	b.Processes.Close()
	select {
	case <-p.gone:
		if s := p.cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() && s.Signal() == syscall.SIGKILL {
			t.Error("the process had to be killed")
		}
	default:
		t.Error("the process lives on")
	}
	if out := b.run("ok"); out.Failure == nil {
		t.Error("a closed pool ran a job")
	}
}

// Free does not count accelerators that are reserved.
func TestProcessPoolFree(t *testing.T) {
	t.Parallel()
	w := NewProcessPool([]pleat.Device{
		{ID: "0", Memory: 10},
		{ID: "1", Memory: 40},
	}, 1, 0, slog.New(slog.DiscardHandler))
	defer w.Close()
	m := &Manifest{Engine: "x", Device: "any"}
	check := func(slots int, memory int64) {
		t.Helper()
		if s, b := w.Free(); s != slots || b != memory {
			t.Errorf("%d free with %d bytes; want %d with %d", s, b, slots, memory)
		}
	}
	check(2, 40)
	w.Reserve("a")
	w.Reserve("b")
	check(0, 40)
	w.Unreserve("b")
	check(1, 40)
	s, f := w.acquire(t.Context(), "a", m, "x", 20)
	if f != nil || s.slot.device.ID != "1" {
		t.Fatalf("%+v, %v", s, f)
	}
	check(1, 10)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, f := w.acquire(ctx, "c", m, "x", 20); f == nil {
		t.Error("a job got a slot that it does not fit")
	}
	s.release(nil, nil)
	check(2, 40)
}
