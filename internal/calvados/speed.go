package calvados

// The time of a step on one core in seconds, for each bead and for each pair of beads, fitted to the measurements of
// docs/dynamics.md, «Speed».
const (
	StepBead = 1e-7
	StepPair = 12e-11
)

// StepTime estimates the time in seconds of one step of a system of n beads, on one core that has nothing else to do.
// Above 200 beads, a run on several cores is faster.
func StepTime(n int) float64 {
	beads := float64(n)
	return StepBead*beads + StepPair*beads*beads/2
}
