package seal_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"pleat/internal/seal"
)

const first, second = "0000000000000000000000000000000000000000000000000000000000000001",
	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAI="

func ring(t rapid.TB, text string) *seal.Ring {
	r, err := seal.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSealOpens(t *testing.T) {
	r := ring(t, first)
	rapid.Check(t, func(t *rapid.T) {
		user, column := rapid.String().Draw(t, "user"), rapid.String().Draw(t, "column")
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		sealed := r.Seal(user, column, plain)
		got, err := r.Open(user, column, sealed)
		if err != nil || string(got) != string(plain) {
			t.Fatalf("%q %v", got, err)
		}
		if len(plain) > 4 && strings.Contains(sealed, string(plain)) {
			t.Fatal("the plain text shows")
		}
		for _, wrong := range [][2]string{{user + "x", column}, {user, column + "x"}, {user + column, ""}} {
			if wrong[0] == user && wrong[1] == column {
				continue
			}
			if _, err := r.Open(wrong[0], wrong[1], sealed); !errors.Is(err, seal.ErrSealed) {
				t.Fatalf("opened for %q", wrong)
			}
		}
		i := rapid.IntRange(0, len(sealed)-1).Draw(t, "changed")
		b := []byte(sealed)
		b[i] ^= 1
		// The last letter of base64 may hold unused bits: only another value must not open.
		if got, err := r.Open(user, column, string(b)); err == nil && string(got) != string(plain) {
			t.Fatal("a changed value opened as another")
		}
	})
}

func TestRotation(t *testing.T) {
	old, both, fresh := ring(t, first), ring(t, second+","+first), ring(t, second)
	sealed := old.Seal("u", "c", []byte("secret"))
	if _, err := fresh.Open("u", "c", sealed); !errors.Is(err, seal.ErrSealed) {
		t.Errorf("opened without its key: %v", err)
	}
	again, changed, err := both.Reseal("u", "c", sealed)
	if err != nil || !changed {
		t.Fatalf("%v %v", changed, err)
	}
	if got, err := fresh.Open("u", "c", again); err != nil || string(got) != "secret" {
		t.Errorf("%q %v", got, err)
	}
	if _, changed, _ := both.Reseal("u", "c", again); changed {
		t.Error("resealed what was current")
	}
	if sig := old.Sign("x", "a"); !both.Verify("x", sig, "a") || fresh.Verify("x", sig, "a") {
		t.Error("a signature of the old key must hold while the key is on the ring")
	}
}

func TestSign(t *testing.T) {
	r := ring(t, first)
	sig := r.Sign("link", "ab", "c")
	if !r.Verify("link", sig, "ab", "c") {
		t.Error("a signature does not hold")
	}
	for _, parts := range [][]string{{"a", "bc"}, {"abc"}, {"ab", "c", ""}, {"ab"}} {
		if r.Verify("link", sig, parts...) {
			t.Errorf("holds for %q", parts)
		}
	}
	if r.Verify("other", sig, "ab", "c") || r.Verify("link", "", "ab", "c") {
		t.Error("holds for another use, or empty")
	}
}

func TestLoadMakesOneKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data", "secret.key")
	sigs := make([]string, 8)
	var wg sync.WaitGroup
	for i := range sigs {
		wg.Go(func() {
			r, err := seal.Load("", file)
			if err != nil {
				t.Error(err)
				return
			}
			sigs[i] = r.Sign("x", "y")
		})
	}
	wg.Wait()
	for _, s := range sigs {
		if s != sigs[0] || s == "" {
			t.Fatal("processes that start together have different keys")
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".secret-*")); len(left) > 0 {
		t.Error(left)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := seal.Load("", file); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others can read: %v", err)
	}
	for _, bad := range []string{"short", strings.Repeat("g", 64), first + ",x"} {
		if _, err := seal.Load(bad, file); err == nil || strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestKeys(t *testing.T) {
	a, b := seal.NewKey(), seal.NewKey()
	if a == b || len(a) != 49 || !strings.HasPrefix(a, seal.Prefix(a)) || len(seal.Prefix(a)) != 12 {
		t.Error(a, seal.Prefix(a))
	}
	if got := seal.HashKey("pleat_x"); got != "c7fdba772a65287e22cb4f65305975cd7681664c110cc540bac8e49f6561fe82" {
		t.Error(got)
	}
}

// A ring says which keys it has, without what they are, and which values it could open.
func TestFingerprints(t *testing.T) {
	both, old, changed := ring(t, first+","+second), ring(t, first), ring(t, second)
	got := both.Fingerprints()
	if want := append(old.Fingerprints(), changed.Fingerprints()...); !slices.Equal(got, want) || got[0] == got[1] {
		t.Errorf("%q; want %q", got, want)
	}
	for _, f := range got {
		if len(f) != 22 || strings.Contains(first+second, f) {
			t.Errorf("fingerprint %q", f)
		}
	}
	sealed := old.Seal("user", "column", []byte("x"))
	if !both.Opens(sealed) || !old.Opens(sealed) || changed.Opens(sealed) || both.Opens("") || both.Opens("s1.") {
		t.Error("Opens reports another key than that of the value")
	}
}
