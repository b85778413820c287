package fleet

import (
	"math/rand/v2"
	"time"

	"pleat"
)

// Worker is how a worker is started where it runs.
type Worker struct {
	Program string // absolute path of pleat
	Config  string // absolute path of its configuration, which holds what it needs: it gets no secrets by environment
}

// forever is longer than any worker waits for a task.
const forever = 365 * 24 * time.Hour

// spec returns what to submit for a worker of a class. A standing worker is one of the class's MinWorkers: it does not
// end when it is idle, else it would be replaced at once.
func (w Worker) spec(c *pleat.Class, standing bool) WorkerSpec {
	args := []string{"worker", "--config", w.Config, "--class", c.Name}
	if standing {
		args = append(args, "--idle-exit", forever.String())
	}
	if c.Walltime > 0 {
		least, most := c.Lifetime()
		until := least + rand.N(most-least+1)
		args = append(args, "--until", until.Truncate(time.Second).String())
	}
	return WorkerSpec{
		Class:    c.Name,
		Program:  w.Program,
		Args:     args,
		Walltime: c.Walltime,
		Cores:    c.Cores,
		Memory:   c.Memory,
		Devices:  c.Devices,
		Options:  c.Options,
	}
}
