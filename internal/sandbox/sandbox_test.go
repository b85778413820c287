package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// Reaches finds a private folder inside one that processes may read, also through a link.
func TestReaches(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		p    Policy
		path string
		want bool
	}{
		{"nothing is allowed", Policy{}, data, false},
		{"the folder itself", Policy{Read: []string{data}}, data, true},
		{"the folder above", Policy{Write: []string{dir}}, data, true},
		{"through a link", Policy{Read: []string{link}}, data, true},
		{"a folder below", Policy{Read: []string{filepath.Join(data, "engines")}}, data, false},
		{"a name with the same beginning", Policy{Read: []string{filepath.Join(dir, "dat")}}, data, false},
		{"a file that does not exist", Policy{Read: []string{dir}}, filepath.Join(data, "pleat.db"), true},
		{"inside the system", Policy{}, "/usr/pleat-data", true},
	} {
		if through, ok := c.p.Reaches(c.path); ok != c.want {
			t.Errorf("%s: reached %v through %q; want %v", c.name, ok, through, c.want)
		}
	}
}

// A missing requirement is named as long as it is missing.
func TestSupport(t *testing.T) {
	for _, c := range []struct {
		has     Support
		missing int
		works   bool
	}{
		{Support{}, 3, false},
		{Support{Landlock: 1, Filter: true}, 2, false},
		{Support{Landlock: 3, Filter: true}, 1, true},
		{Support{Landlock: 6}, 1, false},
		{Support{Landlock: 6, Filter: true}, 0, true},
	} {
		if got := c.has.Missing(); len(got) != c.missing || (c.has.Check() == nil) != c.works {
			t.Errorf("%+v: missing %q, check %v", c.has, got, c.has.Check())
		}
	}
}
