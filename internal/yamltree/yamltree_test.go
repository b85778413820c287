package yamltree

import (
	"encoding/json"
	"strings"
	"testing"
)

// Each trap of YAML is refused with the line where it stands.
func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a: 1\nb: 2\nc: 3\nd: &a 4\n", "line 4 of workflow.yml has the anchor &a; anchors are not taken"},
		{"a: &x 1\nb: *x\n", "line 1 of workflow.yml has the anchor &x; anchors are not taken"},
		{"a: !!str 1\n", "line 1 of workflow.yml has the tag !!str; tags are not taken"},
		{"a:\n  <<: {b: 1}\n", "line 2 of workflow.yml merges keys with <<; write them out"},
		{"a: 1\nb: 2\na: 3\n", `line 3 of workflow.yml has the key "a" again; duplicate keys are not taken`},
		{"a: 1\n---\nb: 1\n", "line 2 of workflow.yml has a second document; second documents are not taken"},
		{"[a]: 1\n", "line 1 of workflow.yml has a list or a mapping as a key; keys must be text"},
		{"", "workflow.yml is empty; it must hold version, jobs and workflows"},
		{"# nothing\n", "workflow.yml is empty; it must hold version, jobs and workflows"},
		{"~", "workflow.yml is empty; it must hold version, jobs and workflows"},
		{"a: \xff", "workflow.yml is not text in UTF-8"},
		{"a:\n\t- 1\n", "workflow.yml is not YAML: line 2 is indented with a tab; YAML is indented with spaces"},
		{"a:\n  b:\n    c: 1\n\t  d: 2\n", "workflow.yml is not YAML: line 4 is indented with a tab; YAML is indented with spaces"},
		{"b: 1\na: \"C\\C\"\n", "workflow.yml is not YAML: line 2: found unknown escape character; a backslash in double " +
			"quotes is written twice"},
		{"a: 1\nb: [O-]C(=O)C\n", "workflow.yml is not YAML: line 2: in YAML a value that begins with [ is a list; put the " +
			"text in quotes"},
		{"a: [", "workflow.yml is not YAML: line 1: did not find expected node content"},
		{strings.Repeat("[", 40) + strings.Repeat("]", 40),
			"line 1 of workflow.yml is nested more than 32 levels deep"},
		{"[" + strings.Repeat("1,", MaxValues) + "]", "line 1 of workflow.yml is beyond the 20000 values allowed"},
		{strings.Repeat("#", MaxBytes+1), "workflow.yml has 262145 bytes; at most 262144 are allowed"},
	} {
		_, err := Read("workflow.yml", []byte(c.text), "version, jobs and workflows")
		if err == nil || err.Error() != c.want {
			t.Errorf("%.40q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// Scalars become JSON by the core schema of YAML 1.2: words of YAML 1.1 stay words.
func TestJSON(t *testing.T) {
	n, err := Read("a.yaml", []byte(`[1, "1", 1.50, .5, +7, 007, 3E2, 1e999, 0x1F, no, NO, on, true, "true", ~, "",
  {a: [x], 5: {}}, 2026-01-01]`), "a list")
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(n.JSON())
	if err != nil {
		t.Fatal(err)
	}
	want := `[1,"1",1.50,0.5,7,7,3E2,"1e999","0x1F","no","NO","on",true,"true",null,"",{"5":{},"a":["x"]},"2026-01-01"]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("a: [1, {b: c}]\nd: |\n  text\n"))
	f.Add([]byte("a: &b c\n---\n*b\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := Read("a.yaml", text, "a value")
		if err != nil {
			return
		}
		if _, err := json.Marshal(n.JSON()); err != nil {
			t.Fatal(err)
		}
	})
}
