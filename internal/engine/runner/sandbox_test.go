package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"pleat/internal/engine/enginetest"
	"pleat/internal/sandbox"
)

// targets are what the hostile runner tries to reach. The job's name carries them as JSON.
type targets struct {
	Key, Database, OtherJob, Weights, Outside string // files
	Scratch                                   string // folder of all jobs
	TCP, UDP, Unix, Abstract                  string // addresses
}

// attacks tries to reach everything and returns the error of each attempt; an empty text: it succeeded.
func attacks(t targets, workdir string) map[string]string {
	service := os.Getppid()
	read := func(path string) func() error {
		return func() error { _, err := os.ReadFile(path); return err }
	}
	dial := func(network, address string) func() error {
		return func() error {
			conn, err := net.Dial(network, address)
			if err != nil {
				return err
			}
			defer conn.Close()
			_, err = conn.Write([]byte("secrets"))
			return err
		}
	}
	out := map[string]string{}
	for name, try := range map[string]func() error{
		"environment":   read(fmt.Sprintf("/proc/%d/environ", service)),
		"memory":        func() error { return readMemory(service) },
		"key":           read(t.Key),
		"database":      read(t.Database),
		"other job":     read(t.OtherJob),
		"list of jobs":  func() error { _, err := os.ReadDir(t.Scratch); return err },
		"weights":       func() error { return os.WriteFile(t.Weights, []byte("mine"), 0o600) },
		"empty weights": func() error { return os.Truncate(t.Weights, 0) },
		"outside":       func() error { return os.WriteFile(t.Outside, nil, 0o600) },
		"link":          func() error { return os.Link(t.Key, filepath.Join(workdir, "link")) },
		"tcp":           dial("tcp", t.TCP),
		"udp":           dial("udp", t.UDP),
		"unix":          dial("unix", t.Unix),
		"abstract":      dial("unix", t.Abstract),
		"trace":         func() error { return unix.PtraceSeize(service) },
		"signal":        func() error { return syscall.Kill(service, 0) },
		"permissions":   func() error { return permit(t.Key) },
		"limits":        func() error { return limitFiles(service) },
		"ring":          ring,
		"namespace":     namespace,
		"program":       func() error { return runOwn(workdir) },
		"privileges":    privileges,
		"open file":     func() error { _, err := os.NewFile(leftOpen, "open").Stat(); return err },
	} {
		out[name] = ""
		if err := try(); err != nil {
			out[name] = err.Error()
		}
	}
	return out
}

// readMemory reads the memory of a process where the program is.
func readMemory(pid int) error {
	in, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return err
	}
	defer in.Close()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return err
	}
	var at int64
	if _, err := fmt.Sscanf(string(maps), "%x", &at); err != nil {
		return err
	}
	_, err = in.ReadAt(make([]byte, 8), at)
	return err
}

// permit makes a file readable for everyone. The system call may report success and do nothing.
func permit(path string) error {
	if err := os.Chmod(path, 0o666); err != nil {
		return err
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o666 {
		return errors.Join(errors.New("the permissions are as before"), err)
	}
	return nil
}

// limitFiles sets the limit of the files that another process may have open, to what it is.
func limitFiles(pid int) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &now); err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &now, nil)
}

// ring makes a queue of io_uring, which makes sockets without the system calls for it.
func ring() error {
	var params [120]byte
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// namespace runs a program as root of a user namespace.
func namespace() error {
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	return cmd.Run()
}

// runOwn runs a program that it has written.
func runOwn(dir string) error {
	path := filepath.Join(dir, "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		return err
	}
	return exec.Command(path).Run()
}

// privileges is an error if programs with the set-user-ID bit give none.
func privileges() error {
	on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && on == 1 {
		err = errors.New("no new privileges")
	}
	return err
}

// leftOpen is a file that was open when the service was started. The numbers below are often in use.
const leftOpen = 42

// ordinaryUser is the user of the service where the test runs as root, whom the kernel denies little.
const ordinaryUser = 65534

// hostileCase is a service and how it protects itself.
type hostileCase struct {
	hide bool // its environment and memory
	mode sandbox.Mode
}

// hostileService starts a service as a process of an ordinary user, with its secret in its environment, and runs the
// hostile job in it. It returns the errors of the attacks.
func hostileService(t *testing.T, c hostileCase) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if os.Geteuid() == 0 {
		if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	service := hostileConfig{Dir: dir, Mode: c.mode, Hide: c.hide, Targets: targets{
		Key:      filepath.Join(dir, "data", "secret.key"),
		Database: filepath.Join(dir, "data", "pleat.db"),
		OtherJob: filepath.Join(dir, "data", "scratch", "task-2", "input"),
		Scratch:  filepath.Join(dir, "data", "scratch"),
		Weights:  filepath.Join(dir, "weights", "model.ckpt"),
		Outside:  filepath.Join(dir, "data", "new"),
		Unix:     filepath.Join(dir, "socket"),
		Abstract: "@pleat-" + filepath.Base(filepath.Dir(dir)),
	}}
	to := &service.Targets
	program := filepath.Join(dir, "program")
	writeHostile(t, program, dir, to)
	to.TCP, to.UDP = listenHostile(t, to)
	text, err := json.Marshal(service)
	if err != nil {
		t.Fatal(err)
	}
	ctx, done := context.WithTimeout(t.Context(), time.Minute)
	defer done()
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PLEAT_TEST_HOSTILE=" + string(text), "PLEAT_SECRET_KEY=hush"}
	open, err := os.Open(to.Key)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	cmd.ExtraFiles = slices.Repeat([]*os.File{open}, leftOpen-2)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUser, Gid: ordinaryUser}}
		own := func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, ordinaryUser, ordinaryUser))
		}
		if err := filepath.WalkDir(dir, own); err != nil {
			t.Fatal(err)
		}
	}
	said, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(said)) {
		var out map[string]string
		if text, ok := strings.CutPrefix(line, "attacks "); ok && json.Unmarshal([]byte(text), &out) == nil {
			return out
		}
	}
	t.Fatalf("the hostile job did not report: %v\n%s", err, said)
	return nil
}

// writeHostile writes the program, the runner's manifest and the files of the service.
func writeHostile(t *testing.T, program, dir string, to *targets) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	// A process that another test starts meanwhile must not inherit the open file: nobody could execute the program
	// until that process has executed its own.
	syscall.ForkLock.RLock()
	err = os.WriteFile(program, code, 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		filepath.Join(dir, "runner", ManifestFile): fmt.Sprintf(`{
			"engine": "fake", "version": "1", "protocol": 1, "argv": [%q], "env": {"PLEAT_TEST_RUNNER": "yes"},
			"device": "cpu", "entities": ["protein"],
			"models": [{"name": "fake", "title": "Fake", "licence": "none"}]}`, program),
		to.Key:                                   "hush",
		to.Database:                              "hush",
		to.OtherJob:                              "hush",
		to.Weights:                               "weights",
		filepath.Join(to.Scratch, "task-1", "x"): "",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// listenHostile opens what the hostile runner tries to connect to.
func listenHostile(t *testing.T, to *targets) (tcp, udp string) {
	t.Helper()
	for _, address := range []string{to.Unix, to.Abstract} {
		l, err := net.Listen("unix", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return l.Addr().String(), p.LocalAddr().String()
}

// hostileConfig is what the process of the service gets.
type hostileConfig struct {
	Dir     string
	Mode    sandbox.Mode
	Hide    bool
	Targets targets
}

// hostileMain is the service of the test: it runs the hostile job and prints its log.
func hostileMain(text string) {
	var c hostileConfig
	m := &Manifest{}
	err := json.Unmarshal([]byte(text), &c)
	if err == nil && c.Hide {
		err = errors.Join(os.Unsetenv("PLEAT_SECRET_KEY"), sandbox.HideMemory())
	}
	if err == nil {
		m, err = ReadManifest(filepath.Join(c.Dir, "runner"))
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	log := slog.New(slog.NewTextHandler(os.Stdout, nil))
	r := &Runner{
		Manifest:  m,
		Weights:   filepath.Dir(c.Targets.Weights),
		Cache:     filepath.Join(c.Dir, "engines", "fake", "cache"),
		Library:   filepath.Join(c.Dir, "runner"),
		Sandbox:   c.Mode,
		Private:   []string{c.Targets.Key, c.Targets.Database, c.Targets.Scratch},
		Processes: NewProcessPool(nil, 1, 0, log),
		Log:       log,
	}
	name, _ := json.Marshal(c.Targets)
	w := (&fixture{Runner: r}).workIn(filepath.Join(c.Targets.Scratch, "task-1"), "attack "+string(name))
	out := r.Run(context.Background(), w, printed{&enginetest.Sink{}})
	r.Processes.Close()
	left, _ := filepath.Glob(filepath.Join(c.Targets.Scratch, "process-*"))
	fmt.Println("ended:", out.Failure, "left:", left)
}

// A hostile runner reaches nothing but its own job in the sandbox. Without one, the memory and the environment of the
// service are hidden all the same, and no program gives it privileges.
func TestHostileRunner(t *testing.T) {
	t.Parallel()
	outside := []string{"key", "database", "other job", "list of jobs", "weights", "empty weights", "outside", "link"}
	network := []string{"tcp", "udp", "unix", "abstract"}
	service := []string{"environment", "memory", "trace"}
	attributes := []string{"permissions", "limits"}
	ways := []string{"signal", "ring", "namespace", "program", "privileges", "open file"}
	for _, c := range []struct {
		name    string
		service hostileCase
		refused []string
		done    []string // this test can see an attack that succeeds
	}{
		{"unprotected", hostileCase{mode: sandbox.None}, []string{"privileges", "open file"},
			slices.Concat(service, outside, network, attributes, []string{"signal"})},
		{"hidden", hostileCase{hide: true, mode: sandbox.None},
			slices.Concat(service, []string{"privileges", "open file"}),
			slices.Concat(outside, network, attributes)},
		{"sandbox", hostileCase{hide: true, mode: sandbox.Required},
			slices.Concat(service, outside, network, attributes, ways), nil},
		{"sandbox alone", hostileCase{mode: sandbox.Required},
			slices.Concat(service, outside, network, attributes, ways), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := sandbox.Detect().Check(); c.service.mode == sandbox.Required && err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			t.Parallel()
			got := hostileService(t, c.service)
			for _, name := range c.refused {
				if reason, ok := got[name]; !ok || reason == "" {
					t.Errorf("%s: the attack succeeded", name)
				}
			}
			for _, name := range c.done {
				if reason := got[name]; reason != "" {
					t.Errorf("%s was refused where nothing protects it: %s", name, reason)
				}
			}
			t.Log(got)
		})
	}
}
