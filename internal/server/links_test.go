package server_test

import (
	"strings"
	"testing"

	"pleat/api"
)

// A link to a file opens it whatever its name has that means something in a URL.
func TestLinksEscapeNames(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	c := h.client(h.key)
	item, err := c.CreateItem(t.Context(), api.CreateItem{Name: "x", Type: "file"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a?b.pdb", "a#b.pdb", "50%25 é.pdb"} {
		if _, err := c.UploadFile(t.Context(), item.ID, name, strings.NewReader(smallPDB)); err != nil {
			t.Fatal(err)
		}
		link, err := c.LibraryFileURL(t.Context(), item.ID, name)
		if err != nil {
			t.Fatal(err)
		}
		if r := h.ask("GET", link, nil); r.status != 200 || r.body != smallPDB {
			t.Errorf("%s: %d %s", link, r.status, r.body)
		}
	}
}
