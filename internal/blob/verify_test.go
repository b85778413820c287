package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"pleat"
)

// flipped opens a Monitor of a folder with one object of a size, of which it then flips the last bit if damaged is set.
func flipped(t *testing.T, size int, damaged bool) (*Monitor, []byte, *strings.Builder) {
	t.Helper()
	dir, log := t.TempDir(), &strings.Builder{}
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	m := NewMonitor(d, slog.New(slog.NewTextHandler(log, nil)))
	content := bytes.Repeat([]byte("ATOM"), size/4+1)[:size]
	sum := sha256.Sum256(content)
	if _, err := m.Put(t.Context(), "runs/1/1/a.cif", bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	if damaged {
		other := bytes.Clone(content)
		other[size-1] ^= 1
		if err := os.WriteFile(filepath.Join(dir, "runs/1/1/a.cif"), other, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m.CompareWith(func(context.Context, string) (string, string, error) {
		return "a.cif", hex.EncodeToString(sum[:]), nil
	})
	return m, content, log
}

// A flipped bit is an error at once where the size allows it, and in the place of the last bytes otherwise.
func TestOpenDamaged(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, size := range []int{1, keptRead, keptRead + 1, FirstSent} {
		m, _, log := flipped(t, size, true)
		for range 2 {
			_, _, err := m.Open(ctx, "runs/1/1/a.cif")
			if !errors.Is(err, ErrDamaged) || pleat.CodeOf(err) != pleat.CodeUnavailable ||
				!strings.HasPrefix(err.Error(), `the file "a.cif" is damaged: `) {
				t.Errorf("%d bytes: %v", size, err)
			}
		}
		if n := strings.Count(log.String(), "digest="); m.Damaged() != 2 || n != 1 || m.Failing() {
			t.Errorf("%d damaged, log:\n%s", m.Damaged(), log)
		}
	}
	m, content, _ := flipped(t, FirstSent+1, true)
	want, err := m.Expect(ctx, "runs/1/1/a.cif")
	if err != nil {
		t.Fatal(err)
	}
	in, _, err := m.OpenExpected(ctx, "runs/1/1/a.cif", want, FirstSent)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	got, err := io.ReadAll(in)
	if !errors.Is(err, ErrDamaged) || len(got) >= len(content) || !bytes.HasPrefix(content, got) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if n, err := in.Read(make([]byte, 1)); n != 0 || !errors.Is(err, ErrDamaged) {
		t.Errorf("read again: %d, %v", n, err)
	}
}

// A truncated object is damaged too, and a whole one is what it was, read and sought in any way.
func TestOpenCompared(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, size := range []int{0, 1, keptRead, keptRead + 1, FirstSent, FirstSent + 1} {
		m, content, log := flipped(t, size, false)
		in, info, err := m.Open(ctx, "runs/1/1/a.cif")
		if err != nil || info.Bytes != int64(size) {
			t.Fatalf("%d bytes: %v, %v", size, info, err)
		}
		if err := iotest.TestReader(in, content); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
		if err := in.Close(); err != nil || m.Damaged() != 0 || log.Len() != 0 {
			t.Errorf("%d bytes: %v, log: %s", size, err, log)
		}
	}
	m, content, _ := flipped(t, keptRead+5, false)
	if _, err := m.Put(ctx, "runs/1/1/a.cif", bytes.NewReader(content[:keptRead])); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Open(ctx, "runs/1/1/a.cif"); !errors.Is(err, ErrDamaged) {
		t.Errorf("a truncated object: %v", err)
	}
}

// A part of a large object is read as it is; the rest of its bytes are not known.
func TestOpenPartIsNotCompared(t *testing.T) {
	t.Parallel()
	m, content, _ := flipped(t, FirstSent+1, true)
	want, err := m.Expect(t.Context(), "runs/1/1/a.cif")
	if err != nil {
		t.Fatal(err)
	}
	in, _, err := m.OpenExpected(t.Context(), "runs/1/1/a.cif", want, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := in.Seek(-8, io.SeekEnd); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(in)
	if err != nil || len(got) != 8 || !bytes.Equal(got[:7], content[len(content)-8:len(content)-1]) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("ATOM"))
	for _, c := range []struct {
		text string
		size int64
		bad  bool
	}{{"ATOM", 4, false}, {"ATOM", -1, false}, {"ATOm", 4, true}, {"ATOm", -1, true}, {"ATO", -1, true}} {
		in := Compare(io.NopCloser(strings.NewReader(c.text)), c.size, hex.EncodeToString(sum[:]), ErrDamaged)
		got, err := io.ReadAll(in)
		if errors.Is(err, ErrDamaged) != c.bad || !c.bad && string(got) != c.text {
			t.Errorf("%q of %d: %q, %v", c.text, c.size, got, err)
		}
	}
}
