package builtin

import (
	"cmp"
	"runtime"
	"time"

	"pleat/internal/engine"
)

// Options are the settings of the built-in engines.
type Options struct {
	Workers            int           // of Mini and Calvados
	CheckpointInterval time.Duration // of Calvados
	MiniSteps          int           // of a trajectory of Mini; 0: all, as in every released program
}

// coresOf returns how many cores a task has of an engine with a number of workers, of which 0 stands for one per core.
func coresOf(workers int) int { return cmp.Or(workers, runtime.GOMAXPROCS(0)) }

// New returns the engine with a name of pleat.BuiltInEngines. It returns nil for any other name.
func New(name string, o Options) engine.Engine {
	switch name {
	case "mini":
		return Mini{Workers: o.Workers, Steps: o.MiniSteps}
	case "calvados":
		return Calvados{Workers: o.Workers, CheckpointInterval: o.CheckpointInterval}
	case "analyst":
		return Analyst{}
	case "compare":
		return Compare{}
	case "null":
		return Null{}
	}
	return nil
}
