package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pleat"
)

// A process that starts again is the same worker; two that run at once are two.
func TestIdentity(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, lockA, err := lockIdentity(dir)
	if err != nil || !pleat.IsUUID(string(a)) {
		t.Fatalf("%q, %v", a, err)
	}
	b, lockB, err := lockIdentity(dir)
	if err != nil || b == a || !pleat.IsUUID(string(b)) {
		t.Fatalf("the second process is %q, the first %q, %v", b, a, err)
	}
	lockA.release()
	again, lockA, err := lockIdentity(dir)
	if err != nil || again != a {
		t.Fatalf("started again it is %q, not %q: %v", again, a, err)
	}
	lockA.release()
	lockB.release()
	if c, lockC, err := lockIdentity(dir); err != nil || c != a {
		t.Fatalf("%q, %v", c, err)
	} else {
		lockC.release()
	}
}

// A lock file that was cut short by a power failure gets a new identity.
func TestIdentityMended(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "node-0.lock"), []byte("0189"), 0o600); err != nil {
		t.Fatal(err)
	}
	id, held, err := lockIdentity(dir)
	if err != nil || !pleat.IsUUID(string(id)) {
		t.Fatalf("%q, %v", id, err)
	}
	held.release()
	if again, held, err := lockIdentity(dir); err != nil || again != id {
		t.Fatalf("%q is not %q, %v", again, id, err)
	} else {
		held.release()
	}
}

func TestIdentityNeedsAFolder(t *testing.T) {
	t.Parallel()
	if _, _, err := lockIdentity(filepath.Join(t.TempDir(), "none")); err == nil ||
		!strings.Contains(err.Error(), "identity") {
		t.Errorf("error is %v", err)
	}
}

func TestOneServer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sub", "pleat.db")
	l, err := lockServer(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockServer(path); err == nil || !strings.Contains(err.Error(), "another pleat serve (process ") {
		t.Errorf("the second server gets %v", err)
	}
	l.release()
	l, err = lockServer(path)
	if err != nil {
		t.Fatalf("a lock let go cannot be taken: %v", err)
	}
	l.release()
}
