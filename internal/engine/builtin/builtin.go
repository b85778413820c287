package builtin

import (
	"time"

	"pleat/internal/engine"
)

// Options are the settings of the built-in engines.
type Options struct {
	Workers            int           // of Mini and Calvados
	CheckpointInterval time.Duration // of Calvados
}

// New returns the engine with a name of pleat.BuiltInEngines. It returns nil for any other name.
func New(name string, o Options) engine.Engine {
	switch name {
	case "mini":
		return Mini{Workers: o.Workers}
	case "calvados":
		return Calvados(o)
	case "analyst":
		return Analyst{}
	case "compare":
		return Compare{}
	case "null":
		return Null{}
	}
	return nil
}
