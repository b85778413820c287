package app

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// restAfter is how long a process has done almost nothing when it rests.
const restAfter = 2 * time.Second

// returnMemory returns the memory of the last work to the system whenever the process comes to rest, until ctx ends.
// The runtime alone does so only after minutes, and keeps as much as lets the heap double.
func (a *App) returnMemory(ctx context.Context) {
	var r rest
	tick := time.NewTicker(restAfter)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if r.begins(allocated()) {
				if a.Store != nil {
					a.Store.CloseIdle()
				}
				runtime.GC() // what a sync.Pool keeps goes with the second collection
				debug.FreeOSMemory()
			}
		}
	}
}

// allocated returns how many bytes this process has allocated on its heap since it started.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// rest recognises when a process comes to rest, by how much it allocates.
type rest struct {
	last     uint64 // bytes allocated when it was last asked
	returned uint64 // bytes allocated when the process last came to rest
}

// A process rests while it allocates at most restingBytes between two looks: it looks for work, answers probes and
// renews leases. It has worked if it has allocated more than workBytes since it last came to rest.
const (
	restingBytes = 1 << 20
	workBytes    = 4 << 20
)

// begins reports whether the process, which has allocated so many bytes in all, has come to rest after work.
func (r *rest) begins(allocated uint64) bool {
	resting := allocated-r.last <= restingBytes
	r.last = allocated
	if !resting || allocated-r.returned <= workBytes {
		return false
	}
	r.returned = allocated
	return true
}
