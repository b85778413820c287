package apart

import "pleat/internal/engine"

// WithoutGrace makes the processes of an engine of New end at once when their tasks are cancelled.
func WithoutGrace(e engine.Engine) { e.(*Engine).grace = 0 }
