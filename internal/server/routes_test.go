package server_test

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/server"
	"pleat/internal/server/openapi"
	"pleat/internal/server/route"
)

// TestInterfaceListsRoutes compares the routes with docs/interface.md: every route is in the chapter of its section,
// and every endpoint there is a route.
func TestInterfaceListsRoutes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/interface.md")
	if err != nil {
		t.Fatal(err)
	}
	chapter := regexp.MustCompile(`(?m)^## \d+\. (.+)$`)
	endpoint := regexp.MustCompile("(?m)^\\| `((?:GET|POST|PUT|PATCH|DELETE) [^`]+)` \\|")
	documented := map[string][]string{}
	heads := chapter.FindAllSubmatchIndex(text, -1)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		for _, m := range endpoint.FindAllSubmatch(text[h[0]:end], -1) {
			name := string(text[h[2]:h[3]])
			documented[name] = append(documented[name], string(m[1]))
		}
	}
	routes := map[string][]string{}
	for _, rt := range server.AllRoutes() {
		routes[rt.Section] = append(routes[rt.Section], rt.Pattern)
		if !slices.Contains(route.Sections, rt.Section) {
			t.Errorf("%s: %q is not a section", rt.Pattern, rt.Section)
		}
	}
	for _, list := range []map[string][]string{documented, routes} {
		for _, patterns := range list {
			slices.Sort(patterns)
		}
	}
	if d := cmp.Diff(documented, routes); d != "" {
		t.Errorf("docs/interface.md (-) and the routes (+) differ:\n%s", d)
	}
}

// TestInterfaceListsScopes compares the scopes of the routes with the table of docs/interface.md. Every route that
// demands a credential needs one.
func TestInterfaceListsScopes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/interface.md")
	if err != nil {
		t.Fatal(err)
	}
	documented, routes := map[string]pleat.Scope{}, map[string]pleat.Scope{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(read|submit|manage)` \\| (.+) \\|$").FindAllSubmatch(text, -1) {
		for _, pattern := range strings.Split(string(row[2]), ", ") {
			documented[strings.Trim(pattern, "`")] = pleat.Scope(row[1])
		}
	}
	for _, rt := range server.AllRoutes() {
		if rt.Who.Scope() != "" {
			routes[rt.Pattern] = rt.Who.Scope()
		} else if rt.Who.Access() == openapi.CredentialRequired {
			t.Errorf("%s needs a credential and no scope", rt.Pattern)
		}
	}
	if d := cmp.Diff(documented, routes); d != "" {
		t.Errorf("docs/interface.md (-) and the routes (+) differ:\n%s", d)
	}
}

// The table of docs/interface.md lists the statuses of refusals: those of the codes, and 405, which the routes answer.
func TestInterfaceListsStatuses(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/interface.md")
	if err != nil {
		t.Fatal(err)
	}
	want := []int{http.StatusMethodNotAllowed}
	for status := range 600 {
		if pleat.CodeForStatus(status) != "" {
			want = append(want, status)
		}
	}
	slices.Sort(want)
	var got []int
	for _, row := range regexp.MustCompile(`(?m)^\| (\d{3}(?:, \d{3})*) \|`).FindAllSubmatch(text, -1) {
		for _, number := range strings.Split(string(row[1]), ", ") {
			status, _ := strconv.Atoi(number)
			got = append(got, status)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the statuses (-) and docs/interface.md (+) differ:\n%s", d)
	}
}
