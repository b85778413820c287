package engines

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// run executes a command of the group and returns its output.
func run(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	c, out := Command(), &bytes.Buffer{}
	c.SetArgs(args)
	c.SetIn(strings.NewReader(stdin))
	c.SetOut(out)
	c.SetErr(out)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// The confirmation of an installation records the licences. Only another licence, or another use, replaces the record,
// and until then it is shown as changed.
func TestAcceptedLicences(t *testing.T) {
	dir := t.TempDir()
	folders := []string{"--data", filepath.Join(dir, "data"), "--runners", filepath.Join(dir, "runners")}
	ship := func(licence, use string) {
		t.Helper()
		path := filepath.Join(dir, "runners", "small", "manifest.json")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		text := `{"engine":"small","version":"1","protocol":1,"argv":["./run"],"device":"cpu","entities":["protein"],
			"models":[{"name":"s","title":"S","licence":"` + licence + `","weight_use":"` + use + `"}]}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	install := func(answer string, more ...string) (string, error) {
		return run(t, answer, append(append([]string{"install", "small"}, folders...), more...)...)
	}
	listed := func() (e licenceEntry) {
		t.Helper()
		out, err := run(t, "", append([]string{"licences", "--json"}, folders...)...)
		if err != nil {
			t.Fatal(err, out)
		}
		var all []licenceEntry
		if err := json.Unmarshal([]byte(out), &all); err != nil {
			t.Fatal(err, out)
		}
		if first := all[0]; first.State != licenceBuiltIn || first.WeightUse != "commercial" {
			t.Errorf("%+v", first)
		}
		return all[len(all)-1]
	}
	ship("research only", "nonCommercial")
	want := licenceEntry{Engine: "small", Model: "s", Licence: "research only", WeightUse: "nonCommercial",
		State: licenceOpen}
	if _, err := install("no\n"); err == nil {
		t.Error("it was installed")
	}
	if d := cmp.Diff(want, listed()); d != "" {
		t.Error("refused:", d)
	}
	if out, err := install("yes\n"); err != nil || !strings.Contains(out, "research only. Weight use: nonCommercial") {
		t.Fatal(err, out)
	}
	accepted := listed()
	want.State, want.Command, want.AcceptedAt = licenceAccepted, "pleat engines install small", accepted.AcceptedAt
	if d := cmp.Diff(want, accepted); d != "" || accepted.AcceptedAt == nil {
		t.Error("accepted:", d)
	}
	if _, err := install("", "--yes"); err != nil || listed().Command != want.Command {
		t.Errorf("the record of the same licence: %+v %v", listed(), err)
	}
	ship("research only", "ask")
	if got := listed(); got.State != licenceChanged || !strings.HasSuffix(got.accepted(), ", changed since") {
		t.Errorf("another use: %+v", got)
	}
	ship("MIT", "nonCommercial")
	if got := listed(); got.State != licenceChanged {
		t.Errorf("another licence: %+v", got)
	}
	out, err := install("", "--yes")
	if err != nil || !strings.Contains(out, ", when this was accepted: research only. Weight use: nonCommercial") {
		t.Error(err, out)
	}
	if got := listed(); got.State != licenceAccepted || got.Command != "pleat engines install small --yes" {
		t.Errorf("accepted again: %+v", got)
	}
}

// A record that cannot be read is no acceptance, and its file is named.
func TestUnreadableAcceptance(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, acceptedFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readAcceptance(dir); err == nil || !strings.Contains(err.Error(), acceptedFile) {
		t.Error(err)
	}
}
