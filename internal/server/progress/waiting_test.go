package progress

import (
	"testing"
	"time"

	"pleat"
	"pleat/internal/store/workers"
)

// The sentence says of every reason for how long the fleet has reported it, or when it last did.
func TestFleetReason(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	const ends = "the workers of this class end before they register, so the next one is started after a pause; " +
		"what they print is in the file of its option output"
	for _, c := range []struct {
		reason     string
		since, age time.Duration
		want       string
	}{
		{"this machine has just been asked to start a worker", 3 * time.Second, 0,
			"the fleet has reported for less than a minute: this machine has just been asked to start a worker"},
		{ends, 5 * time.Minute, time.Minute, "the fleet has reported for 5 min: " + ends},
		{"Slurm does not answer", 3 * time.Hour, 6 * time.Minute,
			"the fleet last reported 6 min ago: Slurm does not answer"},
	} {
		d := &workers.Demand{Class: pleat.Class{Name: "quick"}, Wanted: 2}
		d.Fleet = pleat.FleetReport{Reason: c.reason, Since: now.Add(-c.since), At: now.Add(-c.age)}
		want := "it waits for a worker of the class quick (0 of 2 run); " + c.want
		if got := fleetReason(d, now); got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
}
