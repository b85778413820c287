// Package progress tells clients how runs get on: why one waits, and its events as they happen.
//
// It must not decide who may read a run: its callers do, and the streams ask them again.
package progress

import (
	"pleat/internal/store/db"
	"pleat/internal/store/runs"
)

// Progress tells how runs get on. All fields are required.
type Progress struct {
	DB     *db.DB
	Runs   *runs.Store
	Demand *Demand
}
