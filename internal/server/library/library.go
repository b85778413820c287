// Package library has the routes of the callers' libraries of files.
//
// It must not use what it stores: jobs and workflows read files by package submit.
package library

import (
	"pleat/internal/garbage"
	"pleat/internal/server/route"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
)

// Handlers are the handlers of the routes of libraries. All fields are required.
type Handlers struct {
	People  *people.Store
	Runs    *runs.Store
	Cleaner *garbage.Cleaner
	Files   *route.Files
	Writer  *Writer

	uploads uploadCount
}
