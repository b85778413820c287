package ui

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// opened records which files of a folder are opened.
type opened struct {
	fs.FS
	names []string
}

func (o *opened) Open(name string) (fs.File, error) {
	f, err := o.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && !info.IsDir() {
		o.names = append(o.names, name)
	}
	return f, err
}

// A start reads no built file, and a request only that which it asks for: what nobody asks for stays on the disk.
func TestReadsOnlyWhatIsAskedFor(t *testing.T) {
	dist := &opened{FS: fstest.MapFS{
		"index.html.gz":     packed(t, "page"),
		"index.html.br":     {Data: []byte("brotli of the page")},
		"assets/a-1f.js.gz": packed(t, "run()"),
		"api/index.html.gz": packed(t, "<!-- api reference -->"),
	}}
	page, site := handler(dist), docs(dist, func() []byte {
		t.Error("the reference is asked for")
		return nil
	})
	if len(dist.names) > 0 {
		t.Errorf("a start reads %q", dist.names)
	}
	if got := body(t, get(t, page, "GET", "/ui/")); got != "page" {
		t.Error(got)
	}
	if got := body(t, get(t, site, "GET", "/docs/", "Accept-Encoding", "br")); got != "brotli of the page" {
		t.Error(got)
	}
	slices.Sort(dist.names)
	if got := strings.Join(slices.Compact(dist.names), " "); got != "index.html.br index.html.gz" {
		t.Errorf("two requests for index.html read %s", got)
	}
}
