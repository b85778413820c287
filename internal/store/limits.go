package store

import (
	"cmp"
	"math"
)

// Limits are what one user may have. The zero value of a field: no limit. The verbs that add a row check them in the
// transaction that adds it, so that they hold between concurrent calls. All nodes of a service need the same.
type Limits struct {
	Jobs         int   // jobs and runs created per UTC day, for users without a quota of their own
	Workflows    int   // workflows started per UTC day
	Drafts       int   // workflows that are drafts
	LibraryItems int   // files and folders of the library
	LibraryBytes int64 // of all files in the library
	ResultsBytes int64 // of the files of all runs
}

// jobsOf returns the daily quota of a user whose own quota is given; a negative one is the service's default.
func (l Limits) jobsOf(own int) int {
	if own >= 0 {
		return own
	}
	return cmp.Or(l.Jobs, math.MaxInt32)
}
