package webhook

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var epoch = time.Unix(1_760_000_000, 0)

// failing lets n attempts fail, each allowed at now.
func failing(b Breaker, now time.Time, n int) Breaker {
	for range n {
		b, _ = b.Record(now, Outcome{})
	}
	return b
}

func TestBreakerOpensAtTen(t *testing.T) {
	b := failing(Breaker{}, epoch, Trip-1)
	if _, a := b.Allow(epoch); !a.Go || a.Probe {
		t.Fatalf("after %d failures: %+v", Trip-1, a)
	}
	b, v := b.Record(epoch, Outcome{})
	want := Breaker{
		State:        Open,
		Failures:     Trip,
		Pause:        30 * time.Second,
		Until:        epoch.Add(30 * time.Second),
		FailingSince: epoch,
	}
	if d := cmp.Diff(want, b); d != "" || !v.Opened {
		t.Fatalf("opening: %+v %s", v, d)
	}
	if _, a := b.Allow(epoch.Add(30*time.Second - 1)); a.Go || !a.Until.Equal(epoch.Add(30*time.Second)) {
		t.Fatalf("before its time: %+v", a)
	}
}

func TestBreakerPausesDouble(t *testing.T) {
	b := failing(Breaker{}, epoch, Trip)
	now := epoch
	var got []time.Duration
	for range 10 {
		got = append(got, b.Pause)
		now = b.Until
		var a Permission
		if b, a = b.Allow(now); !a.Go || !a.Probe {
			t.Fatalf("no probe: %+v", a)
		}
		if _, second := b.Allow(now); second.Go {
			t.Fatal("two probes at once")
		}
		b, _ = b.Record(now, Outcome{Probe: true})
	}
	s, m := time.Second, time.Minute
	want := []time.Duration{30 * s, m, 2 * m, 4 * m, 8 * m, 16 * m, 32 * m, 60 * m, 60 * m, 60 * m}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	b, _ = b.Allow(b.Until)
	b, v := b.Record(now, Outcome{OK: true, Probe: true})
	if d := cmp.Diff(Breaker{State: Closed}, b); d != "" || !v.Closed {
		t.Errorf("after a success: %+v %s", v, d)
	}
}

func TestBreakerForgetsLostProbe(t *testing.T) {
	b := failing(Breaker{}, epoch, Trip)
	now := b.Until
	b, _ = b.Allow(now)
	if _, a := b.Allow(now.Add(ProbeFor - 1)); a.Go {
		t.Error("a second probe while the first may be out")
	}
	if _, a := b.Allow(now.Add(ProbeFor)); !a.Probe {
		t.Error("a lost probe holds the endpoint for good")
	}
}

func TestBreakerIgnoresStragglers(t *testing.T) {
	open := failing(Breaker{}, epoch, Trip)
	late, v := open.Record(epoch.Add(time.Second), Outcome{})
	if late.Until != open.Until || late.Pause != open.Pause || v.Opened {
		t.Errorf("a late failure moves the pause: %+v", late)
	}
	if late, v = open.Record(epoch.Add(time.Second), Outcome{OK: true}); late.State != Closed || !v.Closed {
		t.Error("a late success does not close")
	}
	half, _ := open.Allow(open.Until)
	if late, v = half.Record(open.Until, Outcome{}); late.State != HalfOpen || late.Until != half.Until || v.Opened {
		t.Errorf("a late failure ends the probe: %+v", late)
	}
}

func TestBreakerThrottles(t *testing.T) {
	b, v := Breaker{}.Record(epoch, Outcome{Throttled: true, Refusal: true})
	if b.State != Open || b.Pause != FirstThrottle || b.Failures != 0 || !b.FailingSince.IsZero() || !v.Opened {
		t.Errorf("429: %+v", b)
	}
	b, _ = b.Allow(b.Until)
	if b, _ = b.Record(b.Until, Outcome{Throttled: true, Refusal: true, Probe: true}); b.Pause != 2*time.Second {
		t.Errorf("429 again: %s", b.Pause)
	}
	if b, _ = (Breaker{}).Record(epoch, Outcome{
		Throttled: true, Refusal: true, RetryAfter: time.Minute,
	}); b.Pause != time.Minute {
		t.Errorf("429 with Retry-After: %s", b.Pause)
	}
	if b, _ = (Breaker{}).Record(epoch, Outcome{Throttled: true, RetryAfter: 20 * time.Hour}); b.Pause != MaxPause ||
		b.Failures != 1 {
		t.Errorf("502 with a long Retry-After: %+v", b)
	}
	if b, _ = failing(Breaker{}, epoch, Trip-1).Record(epoch, Outcome{Throttled: true}); b.Pause != FirstPause {
		t.Errorf("the tenth failure is a 502: %s", b.Pause)
	}
	if b, _ = (Breaker{}).Record(epoch, Outcome{RetryAfter: time.Minute}); b.State != Closed {
		t.Errorf("Retry-After of a 500 holds the message, not the endpoint: %+v", b)
	}
}

func TestBreakerDisablesAfterFiveDays(t *testing.T) {
	b := failing(Breaker{}, epoch, Trip)
	for now := b.Until; ; now = b.Until {
		var v Transition
		b, _ = b.Allow(now)
		b, v = b.Record(now, Outcome{Probe: true})
		if got, want := v.Disable, now.Sub(epoch) >= DisableAfter; got != want {
			t.Fatalf("after %s: disable %t", now.Sub(epoch), got)
		}
		if v.Disable {
			break
		}
	}
	few, _ := Breaker{}.Record(epoch, Outcome{})
	if _, v := few.Record(epoch.Add(30*24*time.Hour), Outcome{}); v.Disable {
		t.Error("two failures a month apart disable")
	}
}

// Whatever happens, at most one delivery is out while the endpoint is not closed, pauses stay in their bounds and
// somebody always gets through in the end.
func TestBreakerProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, now, probes := Breaker{}, epoch, 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "dt")))
			o := Outcome{OK: rapid.IntRange(0, 9).Draw(t, "ok") == 0, Throttled: rapid.Bool().Draw(t, "throttled"),
				RetryAfter: time.Duration(rapid.Int64Range(0, int64(2*time.Hour)).Draw(t, "after"))}
			o.Refusal = o.Throttled && rapid.Bool().Draw(t, "429")
			next, a := b.Allow(now)
			if a.Go != (a.Until.IsZero()) || !a.Go && !a.Until.After(now) {
				t.Fatalf("permission %+v at %s", a, now)
			}
			b = next
			if !a.Go {
				if a.Until.Sub(now) > MaxPause {
					t.Fatalf("held for %s", a.Until.Sub(now))
				}
				continue
			}
			if a.Probe {
				probes++
				if _, second := b.Allow(now); second.Go {
					t.Fatal("two probes at once")
				}
			}
			o.Probe = a.Probe
			if b, _ = b.Record(now, o); b.State == HalfOpen {
				t.Fatalf("a recorded probe leaves %+v", b)
			}
			if b.State == Open && (b.Pause < FirstThrottle || b.Pause > MaxPause || b.Failures >= Trip &&
				b.Pause < FirstPause) {
				t.Fatalf("pause %s after %d failures", b.Pause, b.Failures)
			}
			if o.OK && b != (Breaker{State: Closed}) {
				t.Fatalf("a success leaves %+v", b)
			}
		}
	})
}

func TestPace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.01, 1000).Draw(t, "rate")
		burst := rapid.IntRange(1, 50).Draw(t, "burst")
		next, now, sent := time.Time{}, epoch, 0
		end := epoch.Add(time.Duration(rapid.Float64Range(1, 100).Draw(t, "seconds") * float64(time.Second)))
		for now.Before(end) && sent < 5000 {
			var wait time.Duration
			if next, wait = Pace(next, now, rate, burst); wait == 0 {
				sent++
				continue
			}
			now = now.Add(wait)
		}
		most := rate*now.Sub(epoch).Seconds() + float64(burst)
		if float64(sent) > most*1.001+1 {
			t.Fatalf("%d sent in %s at %g a second and bursts of %d", sent, now.Sub(epoch), rate, burst)
		}
		if sent < 5000 && float64(sent) < most*0.99-1 {
			t.Fatalf("only %d sent in %s at %g a second and bursts of %d", sent, now.Sub(epoch), rate, burst)
		}
	})
	if _, wait := Pace(time.Time{}, epoch, 0, 0); wait != 0 {
		t.Error("no rate is no limit")
	}
	if _, wait := Pace(epoch.Add(24*time.Hour), epoch, 1e-300, 1); wait <= 0 {
		t.Error("a tiny rate overflows")
	}
	if _, wait := Pace(epoch.Add(10*365*24*time.Hour), epoch, 1, 1); wait != 0 {
		t.Errorf("after the clock was set back by years, the next delivery waits %v", wait)
	}
}

// A pause that began while the clock was ahead ends, after the clock was set back, as if it had begun then.
func TestPauseOfAClockAhead(t *testing.T) {
	t.Parallel()
	ahead := epoch.Add(10 * 365 * 24 * time.Hour)
	b, _ := Breaker{}.Record(ahead, Outcome{Throttled: true, RetryAfter: time.Minute})
	_, p := b.Allow(epoch)
	if want := epoch.Add(time.Minute); p.Go || !p.Until.Equal(want) {
		t.Errorf("%+v; want a pause until %v", p, want)
	}
}
