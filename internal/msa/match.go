package msa

import (
	"slices"

	"pleat"
)

// UnfitError is the error of an alignment that a job cannot use.
type UnfitError struct {
	File string
	Same string // file before it that aligns the same protein; empty: it begins with none of the proteins
}

// Match assigns the alignments (.a3m) among the files of a library item to the proteins of a job: each belongs to the
// protein in its first row, which query returns for the file with an index in names. It returns a *UnfitError for an
// alignment that begins with none of the proteins and for the second one of a protein. It returns an error of query
// unchanged.
func Match(names, proteins []string, query func(i int) (string, error)) error {
	used := map[string]string{} // file by the protein that it aligns
	for i, name := range names {
		if !pleat.IsA3M(name) {
			continue
		}
		q, err := query(i)
		if err != nil {
			return err
		}
		if same := used[q]; same != "" || !slices.Contains(proteins, q) {
			return &UnfitError{File: name, Same: same}
		}
		used[q] = name
	}
	return nil
}

// Error returns what does not fit.
func (e *UnfitError) Error() string {
	if e.Same != "" {
		return e.File + " is the second alignment of its sequence"
	}
	return e.File + " begins with none of the job's proteins"
}
