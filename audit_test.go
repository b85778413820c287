package pleat_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"
)

// The audit log is append-only: no statement of the program changes or deletes an entry, but for those that are
// documented. Explain here why you add one.
func TestAuditIsAppendOnly(t *testing.T) {
	allowed := map[string]int{
		"audit.go: DELETE FROM audit": 2, // the oldest of too many, and those older than 400 days
		"erase.go: UPDATE audit":      7, // what identifies a person whose data are deleted
	}
	writes := regexp.MustCompile(
		`(?i)(UPDATE|DELETE\s+FROM|TRUNCATE|REPLACE\s+INTO|ALTER\s+TABLE|DROP\s+TABLE)\s+audit\b`)
	elsewhere := []string{"web", "node_modules", ".git", "site", "clients"}
	found := map[string]int{}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains(elsewhere, d.Name()) {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if !bytes.Contains(bytes.ToLower(text), []byte("audit")) { // which is faster than the expression
			return err
		}
		for _, m := range writes.FindAllStringSubmatch(string(text), -1) {
			found[filepath.Base(path)+": "+m[1]+" audit"]++
		}
		return err
	})
	if d := diff.Diff(allowed, found); d != "" || err != nil {
		t.Error(d, err)
	}
}
