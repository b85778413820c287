package app

import (
	"context"
	"log/slog"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"pleat/internal/store"
)

// returnMemory returns unused memory to the system each time the process becomes idle after work, until ctx ends. The
// runtime alone does so only after minutes, and keeps enough for the heap to double. s may be nil: the process has no
// database.
func returnMemory(ctx context.Context, s *store.Store, log *slog.Logger) {
	var d idleDetector
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if !d.becameIdle(allocated()) {
				continue
			}
			if s != nil {
				s.DB.CloseIdle()
			}
			runtime.GC() // what is in a sync.Pool goes with the second collection
			debug.FreeOSMemory()
			log.Debug("idle; unused memory was returned to the system")
		}
	}
}

// allocated returns how many bytes this process has allocated on its heap since it started.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// A process is idle after two intervals in each of which it allocated at most idleBytes. A server without requests
// allocates 50 kB, to look for work and to renew leases. Less than workBytes is not worth a collection; an idle server
// has allocated as much after some minutes.
const (
	lookInterval = 2 * time.Second
	idleBytes    = 256 << 10
	workBytes    = 4 << 20
)

// idleDetector tells when a process becomes idle, by how much it allocates. A task that computes for long without
// allocating looks idle, too: what it has used is returned after its end, when its results have been written.
type idleDetector struct {
	last     uint64 // bytes allocated at the last look
	quiet    int    // looks in a row at which little had been allocated
	returned uint64 // bytes allocated when the process last became idle
}

// becameIdle reports whether the process, which has allocated so many bytes in all, has become idle since it last was.
func (d *idleDetector) becameIdle(allocated uint64) bool {
	d.quiet++
	if allocated-d.last > idleBytes {
		d.quiet = 0
	}
	d.last = allocated
	if d.quiet < 2 || allocated-d.returned <= workBytes {
		return false
	}
	d.returned = allocated
	return true
}
