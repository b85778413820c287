package runner

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func vectors(t *testing.T, name string, target any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "runners", "vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, target); err != nil {
		t.Fatal(err)
	}
}

// runners/foldrun/tests reads the same vectors.
func TestWireVectors(t *testing.T) {
	t.Parallel()
	var all []struct {
		Name, To, Line, Error string
		Message               any
	}
	vectors(t, "messages.json", &all)
	grease := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	for _, v := range all {
		t.Run(v.To+" "+v.Name, func(t *testing.T) {
			got, err := decodeWire([]byte(v.Line))
			if v.Error != "" {
				if err == nil || !strings.Contains(err.Error(), v.Error) {
					t.Fatalf("decoded as %+v, %v; want an error that says %q", got, err, v.Error)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if v.Message == nil {
				if got != nil {
					t.Fatalf("decoded as %+v; want it ignored", got)
				}
				return
			}
			line, err := encodeWire(got, nil)
			if err != nil {
				t.Fatal(err)
			}
			var back any
			if err := json.Unmarshal(line, &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(v.Message, back); diff != "" {
				t.Error(diff)
			}
			seen[v.Message.(map[string]any)["type"].(string)] = true
			greased, err := encodeWire(got, grease)
			if err != nil {
				t.Fatal(err)
			}
			again, err := decodeWire(greased)
			if err != nil {
				t.Fatalf("%s: %v", greased, err)
			}
			if diff := cmp.Diff(got, again); diff != "" {
				t.Error(diff)
			}
		})
	}
	for name := range wireTypes {
		if !seen[name] {
			t.Errorf("the message %s has no vector", name)
		}
	}
}

func TestArrayVectors(t *testing.T) {
	t.Parallel()
	var all []struct {
		Values any
		Shape  []int
		Base64 string
	}
	vectors(t, "arrays.json", &all)
	for _, v := range all {
		raw, err := base64.StdEncoding.DecodeString(v.Base64)
		if err != nil {
			t.Fatal(err)
		}
		var want []float32
		var flat func(any)
		flat = func(x any) {
			if f, ok := x.(float64); ok {
				want = append(want, float32(f))
				return
			}
			for _, e := range x.([]any) {
				flat(e)
			}
		}
		flat(v.Values)
		got, err := readFloat32s(bytes.NewReader(raw), v.Shape)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); len(want) > 0 && diff != "" || len(got) != len(want) {
			t.Errorf("%v: %s", v.Values, diff)
		}
	}
	for _, shape := range [][]int{{2}, {4}, {-1, -3}, {3, 1 << 62}} {
		if _, err := readFloat32s(bytes.NewReader(make([]byte, 12)), shape); err == nil {
			t.Errorf("12 bytes were taken for the shape %v", shape)
		}
	}
}

func TestPathVectors(t *testing.T) {
	t.Parallel()
	var all []struct {
		Path string
		OK   bool
	}
	vectors(t, "paths.json", &all)
	for _, v := range all {
		if local(v.Path) != v.OK {
			t.Errorf("local(%q) = %v", v.Path, !v.OK)
		}
	}
}

// The messages in docs/runner-protocol.md are valid.
func TestDocumentedMessages(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "runner-protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, block := range regexp.MustCompile(`(?m)^    \{(?:.*\n)(?:     .*\n)*`).FindAllString(string(page), -1) {
		line := strings.Join(strings.Fields(strings.ReplaceAll(block, "\n", " ")), " ")
		m, err := decodeWire([]byte(line))
		if err != nil || m == nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		var head wireCall
		if err := json.Unmarshal([]byte(line), &head); err != nil {
			t.Fatal(err)
		}
		seen[head.Type] = true
	}
	for name := range wireTypes {
		if !seen[name] {
			t.Errorf("docs/runner-protocol.md shows no %s", name)
		}
	}
}

// TestFoldrun runs the tests of the Python library.
func TestFoldrun(t *testing.T) {
	t.Parallel()
	needPython(t)
	readByPython(t)
	cmd := exec.Command("python3", "-m", "unittest", "discover", "-s", "foldrun/tests", "-t", ".")
	cmd.Dir = filepath.Join("..", "..", "..", "runners")
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
