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

// spec returns what to submit for a worker of a class.
func (w Worker) spec(c *pleat.Class) WorkerSpec {
	args := []string{"worker", "--config", w.Config, "--class", c.Name}
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
