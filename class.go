package pleat

import (
	"math"
	"slices"
	"time"
)

// DefaultClass is the class of workers that name none, and of a service without classes.
const DefaultClass = "default"

// Class is a kind of worker: what its workers run, on what machines, and how many of them there may be. The operator
// configures classes, so that jobs are accepted for their models while none of their workers runs.
type Class struct {
	Name       string     `json:"name"`
	Engines    []string   `json:"engines"` // whose models its workers run
	Models     []Model    `json:"models"`  // of the engines; Room is what a worker of the class has
	Alignments Alignments `json:"alignments"`

	// The resources of one worker, in bytes, GPUs and cores; 0: unknown. Walltime is how long it may live; 0: for ever.
	DeviceMemory int64         `json:"device_memory"`
	Devices      int           `json:"devices"`
	Memory       int64         `json:"memory"`
	Cores        int           `json:"cores"`
	Walltime     time.Duration `json:"walltime"`
	// IdleExit is how long a worker waits for a task before it ends; 0: for ever.
	IdleExit  time.Duration `json:"idle_exit"`
	Isolation Isolation     `json:"isolation"`

	// How many workers the fleet keeps. It starts as many as are expected to begin every queued task within TargetWait.
	MinWorkers int           `json:"min_workers"`
	MaxWorkers int           `json:"max_workers"` // 0: no limit
	TargetWait time.Duration `json:"target_wait"`

	// Driver starts the workers: slurm or local; empty: somebody else does, such as KEDA. Options are the driver's.
	Driver  string            `json:"driver,omitempty"`
	Options map[string]string `json:"options,omitempty"`
}

// Alignments says whether the workers of a class make MSA searches.
type Alignments string

// The MSA searches of the workers of a class.
const (
	AlignmentsAlso  Alignments = "also"  // they search and fold
	AlignmentsNever Alignments = "never" // they fold only; another class searches
	AlignmentsOnly  Alignments = "only"  // they search only, for folds of another class
)

// Isolation says whose tasks one worker runs.
type Isolation string

// The isolations of a class.
const (
	IsolationShared Isolation = "shared" // those of all users
	IsolationUser   Isolation = "user"   // those of one user alone, from its first task to its end
)

// Queues lists the queues that the workers of a class serve.
func (c *Class) Queues() []string {
	var out []string
	for i := range c.Models {
		m := &c.Models[i]
		searched := m.Kind == TaskFold && m.Has(FeatureMSA)
		if c.Alignments != AlignmentsOnly || m.Kind == TaskAlign {
			out = append(out, Queue(m.Kind, m.Name))
		}
		if searched && c.Alignments != AlignmentsNever {
			out = append(out, SearchQueue(m.Name))
		}
	}
	return out
}

// Serves reports whether the workers of a class serve a queue.
func (c *Class) Serves(queue string) bool { return slices.Contains(c.Queues(), queue) }

// Fits reports whether a worker of the class has the memory, in bytes, and lives long enough for a task that its queue
// holds. An unknown size, 0, fits.
func (c *Class) Fits(queue string, memory int64, expected time.Duration) bool {
	i := slices.IndexFunc(c.Models, func(m Model) bool { return Queue(m.Kind, m.Name) == queue })
	if i >= 0 && c.Models[i].Room > 0 && memory > c.Models[i].Room {
		return false
	}
	if i >= 0 && c.Models[i].Kind == TaskMD {
		expected = min(expected, SimulationTurn)
	}
	least, _ := c.Lifetime()
	return c.Walltime == 0 || expected <= least
}

// Lifetime returns how long a worker of the class works at least and at most, so that it ends by itself before it is
// asked to. The fleet gives its workers different times, so that those that have started together do not end together.
func (c *Class) Lifetime() (least, most time.Duration) {
	if c.Driver == "" || c.Walltime == 0 {
		return c.Walltime, c.Walltime
	}
	const early = time.Minute // by which Slurm may send the signal before its time
	most = (c.Walltime - EndNotice(c.Walltime) - early).Truncate(time.Second)
	return (most - most/10).Truncate(time.Second), most
}

// MinWalltime is the shortest walltime that leaves a worker time to work.
const MinWalltime = 5 * time.Minute

// EndNotice is how long before the end of its walltime a worker that has not ended by itself is asked to end.
func EndNotice(walltime time.Duration) time.Duration {
	return min(max(walltime/12, 20*time.Second), 5*time.Minute)
}

// SimulationTurn is how long a worker must still live to take a simulation, however long that is: another worker goes
// on from its last checkpoint.
const SimulationTurn = 10 * time.Minute

// Load is the work that the workers of a class have, in expected time.
type Load struct {
	Queued  time.Duration   // of the tasks that wait
	Tasks   int             // that wait
	Running []time.Duration // what is left of the tasks of each worker that runs any
}

// Wanted is how many workers a class needs for a load: those that are busy, and as many more as are needed to begin
// every queued task within TargetWait, at most one a task. The work that busy workers can do within that time counts,
// so that many short tasks go to a worker that has their model loaded before a second one is asked for.
func (c *Class) Wanted(l Load) int {
	spare := time.Duration(0)
	for _, left := range l.Running {
		if c.Isolation != IsolationUser { // else the queued tasks may be another user's
			spare += max(0, c.TargetWait-left)
		}
	}
	more := math.Ceil(float64(max(0, l.Queued-spare)) / float64(max(c.TargetWait, time.Second)))
	wanted := len(l.Running) + int(min(more, float64(l.Tasks)))
	if c.MaxWorkers > 0 {
		wanted = min(wanted, c.MaxWorkers)
	}
	return max(c.MinWorkers, wanted)
}

// DefaultTargetWait is the TargetWait of a class that does not say it.
const DefaultTargetWait = 10 * time.Minute

// FleetSilence is how long the fleet may take from one report to the next before users and operators are told.
const FleetSilence = 5 * time.Minute

// FleetReport is what the fleet knows of a class's workers on their cluster.
type FleetReport struct {
	At      time.Time `json:"at"`
	Running int       `json:"running"` // cluster jobs that have started
	Pending int       `json:"pending"` // cluster jobs that wait for the cluster
	// Reason is why they wait, or why none is submitted: one sentence; empty: nothing waits. A permanent one does not
	// pass by itself.
	Reason        string    `json:"reason"`
	Permanent     bool      `json:"permanent"`
	Since         time.Time `json:"since"`          // of the reason
	ExpectedStart time.Time `json:"expected_start"` // of the first that waits, as the cluster expects it; zero: unknown
}
