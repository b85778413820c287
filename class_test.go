package pleat_test

import (
	"slices"
	"testing"
	"time"

	"pleat"
)

// fullClass is a class with a model of each kind.
func fullClass() pleat.Class {
	return pleat.Class{
		Name: "gpu",
		Models: []pleat.Model{
			{Name: "boltz-2", Kind: pleat.TaskFold, Features: []pleat.Feature{pleat.FeatureMSA}, Room: 1000},
			{Name: "mini", Kind: pleat.TaskFold},
			{Name: "calvados", Kind: pleat.TaskMD},
		},
		Alignments: pleat.AlignmentsAlso,
		Walltime:   time.Hour,
		TargetWait: 10 * time.Minute,
	}
}

func TestClassQueues(t *testing.T) {
	for how, want := range map[pleat.Alignments][]string{
		pleat.AlignmentsAlso:  {"fold/boltz-2", "search/boltz-2", "fold/mini", "md/calvados"},
		pleat.AlignmentsNever: {"fold/boltz-2", "fold/mini", "md/calvados"},
		pleat.AlignmentsOnly:  {"search/boltz-2"},
	} {
		c := fullClass()
		c.Alignments = how
		if got := c.Queues(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, not %v", how, got, want)
		}
	}
}

func TestClassFits(t *testing.T) {
	c := fullClass()
	for name, test := range map[string]struct {
		queue    string
		memory   int64
		expected time.Duration
		want     bool
	}{
		"small and short":            {"fold/boltz-2", 1000, time.Hour, true},
		"too large":                  {"fold/boltz-2", 1001, time.Minute, false},
		"too long":                   {"fold/boltz-2", 0, time.Hour + 1, false},
		"room unknown":               {"fold/mini", 1 << 60, time.Minute, true},
		"a simulation may continue":  {"md/calvados", 0, 100 * time.Hour, true},
		"a search that is too long":  {"search/boltz-2", 0, 2 * time.Hour, false},
		"a search needs no memory":   {"search/boltz-2", 1 << 60, time.Minute, true},
		"nothing is known of a task": {"fold/mini", 0, 0, true},
	} {
		if got := c.Fits(test.queue, test.memory, test.expected); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWanted(t *testing.T) {
	minutes := func(n ...int) []time.Duration {
		var out []time.Duration
		for _, m := range n {
			out = append(out, time.Duration(m)*time.Minute)
		}
		return out
	}
	for name, test := range map[string]struct {
		load   pleat.Load
		change func(c *pleat.Class)
		want   int
	}{
		"nothing to do":                     {pleat.Load{}, nil, 0},
		"one short task":                    {pleat.Load{Queued: time.Second, Tasks: 1}, nil, 1},
		"a thousand tasks of 20 s":          {pleat.Load{Queued: 20_000 * time.Second, Tasks: 1000}, nil, 34},
		"a busy worker is soon free":        {pleat.Load{Queued: 5 * time.Minute, Tasks: 5, Running: minutes(2)}, nil, 1},
		"a busy worker stays busy":          {pleat.Load{Queued: 5 * time.Minute, Tasks: 5, Running: minutes(60)}, nil, 2},
		"busy workers are kept":             {pleat.Load{Running: minutes(0, 0, 60)}, nil, 3},
		"at least the minimum":              {pleat.Load{}, func(c *pleat.Class) { c.MinWorkers = 2 }, 2},
		"at most the maximum":               {pleat.Load{Queued: 1000 * time.Hour, Tasks: 1000}, func(c *pleat.Class) { c.MaxWorkers = 8 }, 8},
		"a busy worker serves another user": {pleat.Load{Queued: time.Minute, Tasks: 1, Running: minutes(1)}, oneUser, 2},
		"one long task":                     {pleat.Load{Queued: 3 * time.Hour, Tasks: 1}, nil, 1},
		"no overflow":                       {pleat.Load{Queued: 1 << 62, Tasks: 10_000}, func(c *pleat.Class) { c.TargetWait = 1 }, 10_000},
	} {
		c := fullClass()
		if test.change != nil {
			test.change(&c)
		}
		if got := c.Wanted(test.load); got != test.want {
			t.Errorf("%s: %d workers, not %d", name, got, test.want)
		}
	}
}

func oneUser(c *pleat.Class) { c.Isolation = pleat.IsolationUser }
