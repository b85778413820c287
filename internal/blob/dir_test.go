package blob

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The tests of crashes run this binary again as a child, which does what childFor names.
const childFor = "PLEAT_BLOB_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childFor) {
	case "put for ever":
		childPuts(os.Args[1])
	case "small files only":
		childFills(os.Args[1])
	default:
		os.Exit(m.Run())
	}
}

func child(t *testing.T, what, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, dir)
	c.Env = append(os.Environ(), childFor+"="+what)
	c.Stderr = os.Stderr
	return c
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func numbered(i int) (key string, content []byte) {
	return fmt.Sprintf("runs/%d/1/x", i), bytes.Repeat([]byte(fmt.Sprintf("%08d", i)), 8192) // 64 KiB
}

// childPuts writes one object after the other from two goroutines, and says each that Put has answered for.
func childPuts(dir string) {
	d, err := OpenDir(dir)
	if err != nil {
		fatal(err)
	}
	for g := range 2 {
		go func() {
			for i := g; ; i += 2 {
				key, content := numbered(i)
				if _, err := d.Put(context.Background(), key, bytes.NewReader(content)); err != nil {
					fatal(err)
				}
				fmt.Println(i)
			}
		}()
	}
	select {}
}

// A process killed at any moment leaves every object that Put had answered for, no half of another, and no more than
// temporary files that CollectGarbage finds.
func TestKilledWhileWriting(t *testing.T) {
	t.Parallel()
	for round := range 4 {
		dir := t.TempDir()
		c := child(t, "put for ever", dir)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		var done []int
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var i int
			if _, err := fmt.Sscan(lines.Text(), &i); err != nil {
				t.Fatal(err)
			}
			if done = append(done, i); len(done) == 10+7*round {
				if err := c.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := c.Wait(); err == nil || c.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("the child ended by itself: %v", err)
		}
		d, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range done {
			key, want := numbered(i)
			if got := get(t, d, key); !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes, or others", key, len(got))
			}
		}
		for _, key := range keys(t, d, "", time.Time{}) {
			var i int
			if _, err := fmt.Sscanf(key, "runs/%d/1/x", &i); err != nil {
				t.Fatal(err)
			}
			if _, want := numbered(i); !bytes.Equal(get(t, d, key), want) {
				t.Errorf("%s is half written", key)
			}
		}
		d.Close()
	}
}

func TestSweepFindsUnfinished(t *testing.T) {
	t.Parallel()
	d := openDir(t)
	put(t, d, "runs/1/x", []byte("x"))
	if err := d.root.WriteFile(temps+"/HALF", []byte("ha"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := func(context.Context, []string) ([]string, error) { return nil, nil }
	if got, err := CollectGarbage(t.Context(), d, "", time.Now().Add(-time.Hour), none); err != nil ||
		got != (Collected{}) {
		t.Errorf("a Put may be under way: %+v, %v", got, err)
	}
	if err := d.root.Chtimes(temps+"/HALF", time.Time{}, time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got, err := CollectGarbage(t.Context(), d, "", time.Now().Add(-time.Hour), none); err != nil ||
		got != (Collected{Temps: 1}) {
		t.Errorf("%+v, %v; want one leftover", got, err)
	}
	wantNoTemps(t, d)
	get(t, d, "runs/1/x")
}

func wantNoTemps(t *testing.T, d *Dir) {
	t.Helper()
	left, err := fs.ReadDir(d.root.FS(), temps)
	if err != nil || len(left) != 0 {
		t.Errorf("%d temporary files are left, %v", len(left), err)
	}
}

// A Put makes its folder while Deletes of its neighbours take it away again as soon as it is empty.
func TestFolderTakenAway(t *testing.T) {
	t.Parallel()
	d := openDir(t)
	stop := make(chan struct{})
	var deletes, puts sync.WaitGroup
	deletes.Go(func() {
		for {
			select {
			case <-stop:
				return
			default: // what Delete does to the folders above its key
				d.unlink("a/b/c", unix.AT_REMOVEDIR)
				d.unlink("a/b", unix.AT_REMOVEDIR)
				d.unlink("a", unix.AT_REMOVEDIR)
			}
		}
	})
	for worker := range 2 {
		puts.Go(func() {
			temp, key := fmt.Sprintf("%s/T%d", temps, worker), fmt.Sprintf("a/b/c/x%d", worker)
			for range 400 {
				if err := d.root.WriteFile(temp, nil, 0o600); err != nil {
					t.Error(err)
					return
				}
				if err := d.move(temp, key); err != nil {
					t.Error(err)
					return
				}
				if err := d.Delete(t.Context(), key); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	puts.Wait()
	close(stop)
	deletes.Wait()
	if got := keys(t, d, "", time.Time{}); got != nil {
		t.Errorf("left: %q", got)
	}
	wantNoTemps(t, d)
}

func TestFailedPutLeavesNothing(t *testing.T) {
	t.Parallel()
	d := openDir(t)
	broken := errors.New("broken")
	if _, err := d.Put(t.Context(), "a/b",
		io.MultiReader(strings.NewReader("x"), readerFunc(func([]byte) (int, error) { return 0, broken }))); !errors.Is(
		err, broken) {
		t.Fatal(err)
	}
	put(t, d, "file", nil)
	if _, err := d.Put(t.Context(), "file/below", strings.NewReader("x")); err == nil {
		t.Error("a key below a file was written")
	}
	put(t, d, "folder/x", nil)
	if _, err := d.Put(t.Context(), "folder", strings.NewReader("x")); err == nil {
		t.Error("a folder was replaced by a file")
	}
	get(t, d, "folder/x")
	wantNoTemps(t, d)
}

// childFills limits the size of its files, as a full disk would, and expects Put to say so.
func childFills(dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	d, err := OpenDir(dir)
	if err != nil {
		fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 16, Max: 1 << 16}); err != nil {
		fatal(err)
	}
	info, err := d.Put(context.Background(), "runs/1/x", bytes.NewReader(make([]byte, 1<<20)))
	fmt.Printf("%v %+v %v", errors.Is(err, ErrFull), info, err)
	os.Exit(0)
}

func TestFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := child(t, "small files only", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "true {Key: Bytes:0 SHA256: ModTime:0001-01-01 00:00:00 +0000 UTC} blob: put runs/1/x: no space left " +
		"in the artifact store: "; !strings.HasPrefix(string(out), want) {
		t.Errorf("got  %s\nwant %s…", out, want)
	}
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	wantNoTemps(t, d)
	if got := keys(t, d, "", time.Time{}); got != nil {
		t.Errorf("left: %q", got)
	}
}

// The same on a file system that really is full, where the tests may mount one.
func TestFullFileSystem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("no right to mount a small file system: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	put(t, d, "small", []byte("x"))
	if _, err := d.Put(t.Context(), "big", bytes.NewReader(make([]byte, 1<<20))); !errors.Is(err, ErrFull) ||
		!errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v, want ErrFull", err)
	}
	wantNoTemps(t, d)
	put(t, d, "small2", make([]byte, 100_000)) // the half that did not fit gave its room back
}

// No link in the folder, however it came there, leads out of it.
func TestLinks(t *testing.T) {
	t.Parallel()
	d := openDir(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"folder": outside, "up": "../..", "file": secret, "loop": "loop"} {
		if err := d.root.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"folder/secret", "folder/new", "file", "up/x", "up/x/y", "loop", "loop/x"} {
		if r, _, err := d.Open(t.Context(), key); err == nil {
			r.Close()
			t.Errorf("open %s led out", key)
		}
		if key != "file" && key != "loop" { // those Put replaces, as any name in the folder
			if _, err := d.Put(t.Context(), key, strings.NewReader("x")); err == nil {
				t.Errorf("put %s led out", key)
			}
		}
		if key != "file" && key != "loop" {
			d.Delete(t.Context(), key)
		}
	}
	if got := keys(t, d, "", time.Time{}); got != nil {
		t.Errorf("walk followed a link: %q", got)
	}
	put(t, d, "file", []byte("inside"))
	if err := d.Delete(t.Context(), "folder"); err != nil { // the link itself
		t.Error(err)
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder outside has %d entries, %v", len(entries), err)
	}
	if got, err := os.ReadFile(secret); err != nil || string(got) != "secret" {
		t.Errorf("the file outside holds %q, %v", got, err)
	}
	wantNoTemps(t, d)
}

func TestPipeIsNoObject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	if _, _, err := d.Open(t.Context(), "pipe"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v, want ErrNotFound", err)
	}
}

func TestPrivateFiles(t *testing.T) {
	t.Parallel()
	d := openDir(t)
	put(t, d, "a/b", []byte("x"))
	for name, want := range map[string]fs.FileMode{".": 0o700, "a": 0o700, "a/b": 0o600} {
		if stat, err := d.root.Stat(name); err != nil || stat.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", name, stat.Mode(), err, want)
		}
	}
}

func BenchmarkDirPut(b *testing.B) {
	d, err := OpenDir(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	content := make([]byte, 64<<10)
	b.SetBytes(int64(len(content)))
	for i := 0; b.Loop(); i++ {
		if _, err := d.Put(b.Context(), fmt.Sprintf("runs/%d/1/x", i), bytes.NewReader(content)); err != nil {
			b.Fatal(err)
		}
	}
}
