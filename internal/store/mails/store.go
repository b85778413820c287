// Package mails owns which mails a user gets, and the mails, from their cause until they were sent.
//
// It must not send a mail, nor know how one reads: see internal/mail.
package mails

import (
	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// Store has the verbs about mails. Make one with [New].
type Store struct {
	db     *db.DB
	people *people.Store
}

// New returns a store on a database.
func New(d *db.DB, p *people.Store) *Store { return &Store{d, p} }
