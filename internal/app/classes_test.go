package app

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/config"
)

// readClasses reads a file of classes with the runners of the repository.
func readClasses(t *testing.T, path string) ([]pleat.Class, error) {
	t.Helper()
	runners, err := filepath.Abs(filepath.Join("..", "..", "runners"))
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Runners, c.Classes = runners, path
	return ReadClasses(c)
}

// The example of the documentation has every key.
func TestClassesExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/classes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	entry := reflect.TypeFor[classEntry]()
	for i := range entry.NumField() {
		key := entry.Field(i).Tag.Get("yaml")
		if !strings.Contains(string(text), key+":") {
			t.Errorf("the example lacks the key %s", key)
		}
	}
	got, err := readClasses(t, "testdata/classes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []pleat.Class{
		{
			Name:       "small",
			Engines:    []string{"mini", "calvados"},
			Alignments: pleat.AlignmentsNever,
			Memory:     8e9,
			IdleExit:   10 * time.Minute,
			Isolation:  pleat.IsolationShared,
			MaxWorkers: 2,
			TargetWait: 10 * time.Minute,
			Driver:     "local",
			Options:    map[string]string{"output": "/var/log/pleat/small.log"},
		},
		{
			Name:         "gpu",
			Engines:      []string{"boltz"},
			Alignments:   pleat.AlignmentsNever,
			DeviceMemory: 40e9,
			Devices:      1,
			Memory:       64e9,
			Cores:        8,
			Walltime:     4 * time.Hour,
			IdleExit:     10 * time.Minute,
			Isolation:    pleat.IsolationShared,
			MaxWorkers:   8,
			TargetWait:   10 * time.Minute,
			Driver:       "slurm",
			Options: map[string]string{"partition": "gpu", "gres": "gpu:a100:1", "account": "folding",
				"output": "/shared/pleat/log/%j.log"},
		},
		{
			Name:         "search",
			Engines:      []string{"boltz"},
			Alignments:   pleat.AlignmentsOnly,
			DeviceMemory: 40e9,
			Memory:       128e9,
			Cores:        32,
			Walltime:     12 * time.Hour,
			IdleExit:     10 * time.Minute,
			Isolation:    pleat.IsolationShared,
			MaxWorkers:   2,
			TargetWait:   10 * time.Minute,
			Driver:       "slurm",
			Options:      map[string]string{"partition": "cpu"},
		},
		{
			Name:       "private",
			Engines:    []string{"calvados"},
			Alignments: pleat.AlignmentsNever,
			IdleExit:   5 * time.Minute,
			Isolation:  pleat.IsolationUser,
			TargetWait: 10 * time.Minute,
		},
	}
	for i := range got {
		if len(got[i].Models) == 0 {
			t.Errorf("the class %s has no models", got[i].Name)
		}
		for _, m := range got[i].Models {
			if searched := m.AlignmentsSearched(); searched != (m.Engine == "boltz" && m.Has(pleat.FeatureMSA)) {
				t.Errorf("the class %s offers a search for %s: %v", got[i].Name, m.Name, searched)
			}
		}
		got[i].Models = nil
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("classes (-want +got):\n%s", d)
	}
}

// Every fault of a class is one sentence that names the class, the key, its value and what is right.
func TestClassFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ keys, want string }{
		{"name: Gpu", "name must be 1 to 63 lower-case letters, digits or hyphens"},
		{"engines: []", "engines must name at least one engine"},
		{"engines: [mnii]", `there is no engine "mnii"`},
		{"alignments: seldom", `alignments is "seldom"; it must be also, never or only`},
		{"isolation: group", `isolation is "group"; it must be shared or user`},
		{"min-workers: -1", "min-workers is -1; it must be from 0 to 100000"},
		{"max-workers: 100001", "max-workers is 100001; it must be from 0, no limit, to 100000"},
		{"min-workers: 3, max-workers: 2", "max-workers is 2; it must not be less than min-workers, 3"},
		{"target-wait: 1ms", "target-wait is 1ms; it must be from 1s to 24h"},
		{"cores: -1", "cores is -1; it must be from 0, unknown, to 4096"},
		{"devices: 65", "devices is 65; it must be from 0 to 64"},
		{"memory: much", `memory: "much" is not a size such as 48GB`},
		{"device-memory: much", `device-memory: "much" is not a size such as 48GB`},
		{"walltime: 1m", "walltime is 1m0s; it must be from 5m to 8760h, or be left out"},
		{"walltime: -1h", "walltime is -1h0m0s; it must be from 5m to 8760h, or be left out"},
		{"walltime: 9000h", "walltime is 9000h0m0s; it must be from 5m to 8760h, or be left out"},
		{"idle-exit: -1s", "idle-exit is -1s; it must be from 0, never, to 8760h"},
		{"idle-exit: 1ms", "idle-exit is 1ms; it must be at least 1s"},
		{"driver: slrum", `the driver "slrum" is unknown (did you mean "slurm"?); the drivers are local, slurm`},
		{"driver: slurm, options: {partitoin: gpu}",
			`the driver slurm has no option "partitoin" (did you mean "partition"?); its options are account`},
		{"driver: slurm, options: {output: log}",
			`the option output of the driver slurm is "log"; it must be an absolute path`},
		{"driver: local, options: {partition: gpu}", `the driver local has no option "partition"`},
		{"options: {partition: gpu}", "options are set without driver, and would have no effect"},
	} {
		keys := c.keys
		for _, needed := range []string{"name: b", "engines: [mini]"} {
			if name, _, _ := strings.Cut(needed, ":"); !strings.HasPrefix(keys, name+":") {
				keys += ", " + needed
			}
		}
		path := filepath.Join(t.TempDir(), "classes.yaml")
		text := "classes:\n  - {name: a, engines: [mini]}\n  - {" + keys + "}\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readClasses(t, path)
		var usage UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "class 2 (") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %q", c.keys, err, c.want)
		}
	}
}

// A file that the decoder refuses is described by its own lines and keys.
func TestClassesFileFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"- name: a", "line 1: the file is a list; it must begin with the key classes:, and the list of classes below it"},
		{"quick", `line 1: the file is "quick"; it must begin with the key classes:`},
		{"class: []", `line 1: unknown key "class"; did you mean "classes"?`},
		{"classes: {quick: {engines: [mini]}}",
			"line 1: classes is a mapping; it must be a list, in which each class begins with - name:"},
		{"classes:\n  - name: a\n    engines: [mini]\n  -",
			"line 4: class 2 is empty; it must be a mapping with keys such as name: and engines:"},
		{"classes: [quick]", `line 1: class 1 is "quick"; it must be a mapping`},
		{"classes:\n  - name: a\n    engine: [mini]",
			`line 3: class 1 (a): unknown key "engine"; did you mean "engines"?`},
		{"classes:\n  - colour: red\n    name: a",
			`line 2: class 1 (a): unknown key "colour"; the keys here are name, engines, `},
		{"classes:\n  - name: a\n    walltime: 12",
			`line 3: class 1 (a): walltime is "12"; it must be a time with its unit, such as 30m or 12h`},
		{"classes:\n  - name: a\n    idle-exit: soon",
			`line 3: class 1 (a): idle-exit is "soon"; it must be a time with its unit, such as 30m or 12h`},
		{"classes:\n  - name: a\n    cores: many", `line 3: class 1 (a): cores is "many"; it must be a whole number`},
		{"classes:\n  - name: a\n    cores: 1.5", `line 3: class 1 (a): cores is "1.5"; it must be a whole number`},
		{"classes:\n  - name: [a]", "line 2: class 1: name is a list; it must be a text"},
		{"classes:\n  - name: a\n    engines: mini",
			`line 3: class 1 (a): engines is "mini"; it must be a list of names, such as [mini]`},
		{"classes:\n  - name: a\n    engines: {mini: 1}", "engines is a mapping; it must be a list of names"},
		{"classes:\n  - name: a\n    engines: [mini, null]",
			`line 3: class 1 (a): engines has no name at position 2, where YAML reads an empty value; ` +
				`write "null" in quotes if you mean the engine null`},
		{"classes:\n  - name: a\n    engines:\n      -", "class 1 (a): engines has no name at position 1"},
		{"classes:\n  - name: a\n    engines: [mini, [calvados]]",
			"line 3: class 1 (a): engines has a list at position 2; it must be the name of an engine"},
		{"classes:\n  - name: a\n    options: partition",
			`line 3: class 1 (a): options is "partition"; it must be a mapping, such as {partition: gpu}`},
		{"classes:\n  - name: a\n    options: {partition: [gpu]}",
			"line 3: class 1 (a): the option partition is a list; it must be a text"},
		{"classes:\n  - &a\n    name: a\n    engines: [mini]\n  - <<: *a\n    name: b\n    cores: many",
			`line 7: class 2 (b): cores is "many"; it must be a whole number`},
		{"classes:\n  - name: a\n    name: b", `line 3: class 1 (b): the key "name" is repeated; it is in line 2 already`},
		{"classes:\n  - name: a\n    options: {qos: a, qos: b}", `line 3: class 1 (a): the key "qos" is repeated`},
		{"classes: []\nclasses: []", `line 2: the key "classes" is repeated; it is in line 1 already`},
		{"classes:\n  - name: a\n   engines: [mini]", "did not find expected '-' indicator"},
	} {
		path := filepath.Join(t.TempDir(), "classes.yaml")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readClasses(t, path)
		var usage UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") ||
			strings.Contains(err.Error(), "unmarshal") {
			t.Errorf("%q: %v; want %q", c.text, err, c.want)
		}
	}
}

// A file without classes is one that removes them; a key without a value has its default; a class may repeat another.
func TestClassesFileForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want int
	}{
		{"", 0},
		{"# none\n", 0},
		{"---\n", 0},
		{"classes:\n", 0},
		{"classes: []\n", 0},
		{"classes:\n  - {name: a, engines: [\"null\", mini], walltime: , cores: ~, options: }\n", 1},
		{"classes:\n  - &a {name: a, engines: [mini], cores: 4}\n  - {<<: *a, name: b}\n", 2},
	} {
		path := filepath.Join(t.TempDir(), "classes.yaml")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readClasses(t, path)
		if err != nil || len(got) != c.want {
			t.Errorf("%q: %+v, %v", c.text, got, err)
		}
		if len(got) == 2 && got[1].Cores != 4 {
			t.Errorf("%q: %+v", c.text, got[1])
		}
	}
}
