package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"pleat/internal/server"
)

// chainPDB is a structure of n residues on a zigzag, in chains of 500. The atoms of a residue lie on one another.
func chainPDB(n int) string {
	var b strings.Builder
	for i := range n {
		for k, atom := range []string{"N  ", "CA ", "C  ", "O  ", "CB "} {
			fmt.Fprintf(&b, "ATOM  %5d  %s ALA %c%4d    %8.3f%8.3f%8.3f  1.00 50.00           %c\n", (5*i+k)%99999+1,
				atom, 'A'+rune(i/500), i%500+1, 3*float64(i%500), 2*float64(i%2), 5*float64(i/500), atom[0])
		}
	}
	return b.String() + "END\n"
}

// A comparison that is too large to be made at once is refused, with the way to a task.
func TestLargeComparisons(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	item := h.item(h.key, "large", "a.pdb", chainPDB(2001))
	of := "library:" + item + ",library:" + item
	r := h.as(h.key, "GET", "/v1/compare?of="+of, nil)
	want := "of has more than 4000 residues in all; POST /v1/compare compares up to 20 structures in a task"
	if r.status != 400 || r.message(t) != want {
		t.Errorf("%d %s", r.status, r.body)
	}
	// Without a worker that compares there is no task.
	r = h.as(h.key, "POST", "/v1/compare", `{"of":["library:`+item+`","library:`+item+`"]}`)
	if r.status != 400 || !strings.Contains(r.message(t), "no engine for compare is running here") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// Entries of the Protein Data Bank are fetched where the operator allows that, and for users alone.
func TestCompareWithPDB(t *testing.T) {
	t.Parallel()
	archive := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/1ABC":
			_, _ = w.Write([]byte(chainPDB(30)))
		case "/1BAD":
			_, _ = w.Write([]byte("no structure"))
		case "/1BIG":
			_, _ = w.Write(make([]byte, 17<<20))
		case "/1OFF":
			w.WriteHeader(http.StatusBadGateway)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer archive.Close()
	h := newFixture(t, func(c *server.Config) { c.ArchiveURLs.PDB = archive.URL + "/{id}" })
	item := h.item(h.key, "s", "a.pdb", chainPDB(30))
	ask := func(id string) reply {
		return h.as(h.key, "GET", "/v1/compare?of=pdb:"+id+",library:"+item, nil)
	}
	if r := ask("1abc"); r.status != 200 || !strings.Contains(r.body, `"of":"pdb:1ABC"`) ||
		!strings.Contains(r.body, `"alignedResidues":30`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	for id, want := range map[string]struct {
		status int
		text   string
	}{
		"1NOT": {400, "of[0]: there is no structure of the PDB id 1NOT"},
		"1BAD": {400, "of[0] (1BAD) is no structure that can be read"},
		"1BIG": {400, "of[0]: the structure has more than 16 MiB; POST /v1/compare"},
		"1OFF": {503, "the source of PDB structures answered 502; try again"},
	} {
		if r := ask(id); r.status != want.status || !strings.HasPrefix(r.message(t), want.text) {
			t.Errorf("%s: %d %s", id, r.status, r.body)
		}
	}
	if r := h.ask("GET", "/v1/compare?of=pdb:1ABC,pdb:1ABC", nil); r.status != 401 {
		t.Errorf("a stranger: %d %s", r.status, r.body)
	}
	// The page shows the entry by the same fetch.
	const file = "/v1/compare/pdb/"
	r := h.as(h.key, "GET", file+"1abc", nil)
	if r.status != 200 || r.body != chainPDB(30) || r.header.Get("Content-Type") != "chemical/x-pdb" ||
		!strings.Contains(r.header.Get("Content-Disposition"), "1abc.pdb") {
		t.Errorf("%d %v %s", r.status, r.header, r.body)
	}
	for id, want := range map[string]struct {
		status int
		text   string
	}{
		"1NOT":     {404, "there is no structure of the PDB id 1NOT"},
		"1BIG":     {413, "the structure has more than 16 MiB"},
		"1OFF":     {503, "the source of PDB structures answered 502; try again"},
		"..%2f..":  {400, `entry is "../.."; it must be a PDB id such as 1UBQ`},
		"1ABC.cif": {400, `entry is "1ABC.CIF"; it must be a PDB id such as 1UBQ`},
	} {
		if r := h.as(h.key, "GET", file+id, nil); r.status != want.status || r.message(t) != want.text {
			t.Errorf("%s: %d %s", id, r.status, r.body)
		}
	}
	if r := h.ask("GET", file+"1ABC", nil); r.status != 401 {
		t.Errorf("a stranger: %d %s", r.status, r.body)
	}
	off := newFixture(t)
	if r := off.as(off.key, "GET", file+"1ABC", nil); r.status != 400 ||
		!strings.HasPrefix(r.message(t), "the operator does not allow this service to fetch structures by PDB id") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// A caller has a few comparisons under way; others are not refused for that.
func TestComparisonsAreBounded(t *testing.T) {
	t.Parallel()
	waits, began := make(chan struct{}), make(chan struct{}, 16)
	archive := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		began <- struct{}{}
		<-waits
		_, _ = w.Write([]byte(chainPDB(30)))
	}))
	defer archive.Close()
	h := newFixture(t, func(c *server.Config) { c.ArchiveURLs.PDB = archive.URL + "/{id}" })
	_, ben := h.newUser("ben")
	answers := make(chan int, 16)
	const path = "/v1/compare?of=pdb:1ABC,pdb:1ABC"
	for range 5 {
		go func() { answers <- h.as(h.key, "GET", path, nil).status }()
	}
	<-began // one computes, and has its turn alone
	if status := <-answers; status != 429 {
		t.Errorf("the fifth: %d", status)
	}
	go func() { answers <- h.as(ben, "GET", path, nil).status }()
	select {
	case <-began:
	case <-time.After(20 * time.Second):
		t.Error("another user has no turn")
	}
	close(waits)
	for range 5 {
		if status := <-answers; status != 200 {
			t.Errorf("status %d", status)
		}
	}
}

// A key that may not read compares nothing, and file names may have commas.
func TestCompareScopes(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	item := h.item(h.key, "s", "a,b.pdb", chainPDB(30))
	of := url.QueryEscape("library:" + item + "/a,b.pdb,library:" + item)
	if r := h.as(h.key, "GET", "/v1/compare?of="+of, nil); r.status != 200 ||
		!strings.Contains(r.body, `"file":"a,b.pdb"`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := h.as("pleat_none", "GET", "/v1/compare?of="+of, nil); r.status != 401 {
		t.Errorf("%d %s", r.status, r.body)
	}
}
