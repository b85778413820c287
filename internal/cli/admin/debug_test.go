package admin

import (
	"strings"
	"testing"

	"pleat/internal/config"
)

// Text of libraries loses secrets that are known and what has the form of one, and nothing else.
func TestScrubber(t *testing.T) {
	c := config.Default()
	c.Data = t.TempDir()
	c.Database = "postgres://pleat:p%40ssword-1@db.example.org/pleat?sslmode=require"
	s := newScrubber(c, []string{"MY_API_TOKEN=abcdefgh", "HOME=/home/pleat", "X_KEY=abc"})
	for text, want := range map[string]string{
		"dial p@ssword-1":                                   "dial (hidden)",
		"dial p%40ssword-1":                                 "dial (hidden)",
		"the token abcdefgh; abc in /home/pleat":            "the token (hidden); abc in /home/pleat",
		"postgres://u:pw@host/x failed":                     "postgres://(hidden)@host/x failed",
		"Authorization: Bearer 0123456789":                  "Authorization: (hidden)",
		"pleat_" + strings.Repeat("aB3_-x", 7) + " refused": "(hidden) refused",
		"whsec_MfKQ9r8GKYqrTwjU rejected":                   "(hidden) rejected",
		"pleat_database_connection_wait_seconds_total 3":    "pleat_database_connection_wait_seconds_total 3",
		"pleat_artifact_errors_total{operation=\"write\"}":  "pleat_artifact_errors_total{operation=\"write\"}",
	} {
		if got := s.clean(text); got != want {
			t.Errorf("%q became %q; want %q", text, got, want)
		}
	}
}
