package server_test

import (
	"strings"
	"testing"

	"pleat/internal/seal"
)

func newRing(t testing.TB) *seal.Ring {
	t.Helper()
	r, err := seal.Parse(strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	return r
}
