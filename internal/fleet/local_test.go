package fleet

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// waits is a worker that says its name and arguments and ends when its file go exists. A test that starts it waits for
// its end, so that nothing writes into its folder any more when that is removed.
func waits(t *testing.T) (w WorkerSpec, dir string) {
	dir = t.TempDir()
	program := filepath.Join(dir, "worker")
	text := "#!/bin/sh\necho \"$@\" ${SECRET:-none}; touch \"$1.ready\"; until [ -e \"$1.go\" ]; do sleep 0.05; done\n"
	// A process that a parallel test starts must not inherit the open file: nobody could execute the program until that
	// process has executed its own.
	syscall.ForkLock.RLock()
	err := os.WriteFile(program, []byte(text), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // also after a failure
		if err := os.WriteFile(filepath.Join(dir, "w.go"), nil, 0o600); err != nil {
			t.Error(err)
		}
	})
	return WorkerSpec{
		Class:   "cpu",
		Program: program,
		Args:    []string{filepath.Join(dir, "w"), "two words", "$(id)"},
		Options: map[string]string{"output": filepath.Join(dir, "log")},
	}, dir
}

// endWorker ends a worker of waits, a child of this process, and waits until it has ended.
func endWorker(t *testing.T, dir, number string) {
	t.Helper()
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "w.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := syscall.Wait4(pid, nil, 0, nil); !errors.Is(err, syscall.EINTR) {
			return // ECHILD: List has waited for it
		}
	}
}

// TestLocal follows a worker from its start to its end, seen by the fleet that started it and by the one that follows.
func TestLocal(t *testing.T) {
	t.Setenv("SECRET", "a secret")
	w, dir := waits(t)
	folder := t.TempDir()
	l := &Local{Dir: folder}
	ref, err := l.Submit(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the worker runs", func() bool { _, err := os.Stat(filepath.Join(dir, "w.ready")); return err == nil })
	if log, err := os.ReadFile(filepath.Join(dir, "log")); err != nil ||
		string(log) != w.Args[0]+" two words $(id) none\n" {
		t.Errorf("the worker wrote %q, %v", log, err)
	}
	for range 2 {
		jobs, err := l.List(t.Context())
		if err != nil || len(jobs) != 1 || jobs[0].Ref != ref || jobs[0].Class != "cpu" || jobs[0].State != JobRunning {
			t.Fatalf("List: %+v, %v; want the worker %s", jobs, err, ref)
		}
		if err := l.Cancel(t.Context(), []Ref{ref}); err != nil {
			t.Fatal(err)
		}
		l = &Local{Dir: folder} // as after kill -9 of the fleet
	}
	if err := os.WriteFile(filepath.Join(dir, "w.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "the worker has ended", func() bool {
		jobs, err := l.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(jobs) == 0
	})
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("files of an ended worker: %v, %v", left, err)
	}
}

// TestLocalSession checks that a worker does not get the signals of the fleet's terminal or process group.
func TestLocalSession(t *testing.T) {
	t.Parallel()
	w, dir := waits(t)
	l := &Local{Dir: t.TempDir()}
	ref, err := l.Submit(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	note, err := os.ReadFile(l.file(ref, processSuffix))
	if err != nil {
		t.Fatal(err)
	}
	number, _, _ := strings.Cut(string(note), " ")
	defer endWorker(t, dir, number)
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	if group, err := syscall.Getpgid(pid); err != nil || group != pid {
		t.Errorf("the process %d is of group %d, %v; want its own", pid, group, err)
	}
}

// TestLocalReusedNumber: a process that has the number of a worker that ended is another process.
func TestLocalReusedNumber(t *testing.T) {
	t.Parallel()
	w, dir := waits(t)
	l := &Local{Dir: t.TempDir()}
	ref, err := l.Submit(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	note, err := os.ReadFile(l.file(ref, processSuffix))
	if err != nil {
		t.Fatal(err)
	}
	number, _, _ := strings.Cut(string(note), " ")
	defer endWorker(t, dir, number)
	if err := os.WriteFile(l.file(ref, processSuffix), []byte(number+" 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if jobs, err := l.List(t.Context()); err != nil || len(jobs) != 0 {
		t.Errorf("List: %+v, %v; want none", jobs, err)
	}
}

// TestLocalKilledWhileStarting: records that a killed fleet left without a process are removed, and a starter that has
// been given up does not become a worker.
func TestLocalKilledWhileStarting(t *testing.T) {
	t.Parallel()
	l := &Local{Dir: t.TempDir()}
	const a, b = Ref("0197c1c0-7f00-7000-8000-00000000000a"), Ref("0197c1c0-7f00-7000-8000-00000000000b")
	if err := l.write(a, record{Class: "cpu"}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.file(b, recordSuffix), []byte(`{"class":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if jobs, err := l.List(t.Context()); err != nil || len(jobs) != 0 {
		t.Errorf("List: %+v, %v; want none", jobs, err)
	}
	if left, err := os.ReadDir(l.Dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	w, dir := waits(t)
	if err := l.start(a, w); err != nil { // its record is gone
		t.Fatal(err)
	}
	until(t, "the starter has ended", func() bool { _, alive, err := l.alive(a); return err == nil && !alive })
	if _, err := os.Stat(filepath.Join(dir, "w.ready")); err == nil {
		t.Error("the worker ran without a record")
	}
}

func TestLocalRefuses(t *testing.T) {
	t.Parallel()
	w, _ := waits(t)
	l := &Local{Dir: t.TempDir()}
	w.Options = map[string]string{"output": "/nowhere/log"}
	var refused *RefusedError
	if _, err := l.Submit(t.Context(), w); !errors.As(err, &refused) {
		t.Errorf("Submit: %v; want a refusal", err)
	}
	if left, err := os.ReadDir(l.Dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
