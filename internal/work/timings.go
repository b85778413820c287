package work

import (
	"maps"

	"pleat"
	"pleat/internal/store/runs"
)

// timingsBefore returns the seconds of a run before an attempt, by the database's clock: how long no worker had it, and
// how long earlier attempts ran. The search before a fold is not among them; alignmentStage counts it.
func timingsBefore(c *runs.ClaimedTask) map[string]float64 {
	earlier := max(c.Earlier, c.SearchDuration+c.Worked) // a server of an earlier version sends no c.Earlier
	out := map[string]float64{pleat.StageQueue: max(pleat.Elapsed(c.Queued, c.Claimed)-earlier, 0).Seconds()}
	if earlier > c.SearchDuration {
		out[pleat.StageEarlier] = (earlier - c.SearchDuration).Seconds()
	}
	return out
}

// withTimings returns a result whose timings have those of the worker besides those of the engine. A stage that both
// measure, such as writing and then storing files, is their sum. The result may be nil.
func withTimings(r *pleat.Result, measured map[string]float64) *pleat.Result {
	if r == nil {
		r = &pleat.Result{}
	}
	if r.Timings == nil {
		r.Timings = map[string]float64{}
	} else {
		r.Timings = maps.Clone(r.Timings)
	}
	for stage, s := range measured {
		r.Timings[stage] += s
	}
	return r
}
