package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCommandsOf(t *testing.T) {
	got := commandsOf([]string{"go", "test", "a", "--", "--", "env", "X=", "go"})
	if d := cmp.Diff([][]string{{"go", "test", "a"}, {"env", "X=", "go"}}, got); d != "" {
		t.Error(d)
	}
}

const events = `{"Action":"start","Package":"m/a"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"good\n"}
{"Action":"pass","Package":"m/a","Test":"TestGood","Elapsed":1}
{"Action":"output","Package":"m/a","Test":"TestBad","Output":"why it is bad\n"}
{"Action":"fail","Package":"m/a","Test":"TestBad","Elapsed":1}
{"Action":"skip","Package":"m/a","Test":"TestLeftOut","Elapsed":1}
{"Action":"fail","Package":"m/a","Elapsed":30}
no event at all
{"Action":"output","Package":"m/b","Output":"ok  \tm/b\t(cached)\n"}
{"Action":"pass","Package":"m/b","Elapsed":0}
`

// The report prints what failed and nothing of what passed, how far the tests are, and the counts.
func TestReport(t *testing.T) {
	var out bytes.Buffer
	began := time.Unix(0, 0)
	now := began
	r := newReport(&out, "m", 3, shares{"a": 50, "b": 10, "c": 40}, func() time.Time { return now })
	now = began.Add(time.Minute)
	if err := r.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	r.measured("a", 12)
	r.measured("a", 11)
	r.close()
	const want = "why it is bad\n" +
		"FAIL\tm/a\t30.0s\t[1 of 3, about 1m0s left]\n" +
		"no event at all\n" +
		"ok  \tm/b\t(cached)\t[2 of 3, about 40s left]\n" +
		"the slowest packages of 2, of 12 s of processor time in all:\n" +
		"    30.0 s, processor   12.0 s  a\n" +
		"     0.0 s, processor    0.0 s  b\n" +
		"1 passed, 1 failed, 1 skipped\n"
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}

// A process that ends while tests run, as at a time limit, shows the output of all tests that had not ended.
func TestReportOfAPanic(t *testing.T) {
	const bad = `{"Action":"output","Package":"m","Test":"TestBad","Output":"why it is bad\n"}
{"Action":"fail","Package":"m","Test":"TestBad","Elapsed":1}
`
	const hangs = `{"Action":"output","Package":"m","Test":"TestHangs","Output":"it hangs\n"}
{"Action":"output","Package":"m","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"m","Elapsed":1}
`
	for _, before := range []string{"", bad} {
		var out bytes.Buffer
		r := newReport(&out, "m", 0, nil, time.Now)
		if err := r.read(strings.NewReader(before + hangs)); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"it hangs", "timed out"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("«%s» is missing: %s", want, &out)
			}
		}
		if failed := before != ""; r.broken == failed || strings.Contains(out.String(), "why it is bad") != failed {
			t.Errorf("%v %s", r.broken, &out)
		}
	}
}

func TestJudge(t *testing.T) {
	recorded := shares{"a": 60, "b": 38, "c": 2}
	for _, c := range []struct {
		name string
		cpu  map[string]float64
		want string // the package that takes too much
	}{
		{"as recorded, on a machine half as fast", map[string]float64{"a": 120, "b": 76, "c": 4}, ""},
		{"a third more", map[string]float64{"a": 60, "b": 78, "c": 2}, "b takes 55.7 %"},
		{"a small one doubled", map[string]float64{"a": 60, "b": 38, "c": 3.9}, ""},
		{"a new one", map[string]float64{"a": 60, "b": 38, "c": 2, "d": 10}, "d takes 9.1 %"},
		{"most is cached", map[string]float64{"b": 78}, ""},
	} {
		got := strings.Join(compareShares(recorded, c.cpu), "\n")
		if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q; want %q", c.name, got, c.want)
		}
	}
}

func TestShares(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shares")
	if err := writeShares(file, map[string]float64{"": 1, "a/b": 2.999, "small": 0.001}); err != nil {
		t.Fatal(err)
	}
	got, err := readShares(file)
	if d := cmp.Diff(shares{"": 25, "a/b": 75}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	for _, bad := range []string{"12", "x a", "0 a", "101 a", "1 a b"} {
		if err := os.WriteFile(file, []byte("# shares\n"+bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readShares(file); err == nil || !strings.Contains(err.Error(), ":2 is") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestParseStat(t *testing.T) {
	parent, seconds, ok := parseStat("17 (a b) c) S 4 17 17 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 1 0 9 9 9")
	if parent != 4 || seconds != 1.27 || !ok {
		t.Error(parent, seconds, ok)
	}
	if _, _, ok := parseStat("17 (a) S 4"); ok {
		t.Error("a short line was accepted")
	}
}
