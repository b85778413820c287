package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"pleat/internal/clock"
)

// Local starts workers as processes of this machine, each in a session of its own, so that they outlive the fleet.
// Every worker has two files in Dir: a record of what was started, and its process with the time of its start. A
// process that later gets the same number is thus not taken for a worker.
type Local struct {
	// Dir is a folder of one service on this machine, an absolute path. Submit creates it.
	Dir   string
	Clock func() time.Time // nil: the machine's

	mu sync.Mutex
}

// record is what the file of a worker holds.
type record struct {
	Class     string    `json:"class"`
	Submitted time.Time `json:"submitted"`
}

// LocalJob is the environment variable by which a local worker knows its Ref.
const LocalJob = "PLEAT_LOCAL_JOB"

const (
	recordSuffix  = ".json"
	processSuffix = ".pid"
	// maxLocal is the most workers of one machine.
	maxLocal = 1000
)

// starter is the shell script that becomes a worker. It notes its process before the worker runs, so that a fleet that
// is killed meanwhile finds the worker, and ends if such a fleet has given it up. Closing descriptor 3 says that the
// note is written.
const starter = `umask 077; record=$1 note=$2; shift 2
echo $$ $(` + shellStart + `) >"$note.new" && mv "$note.new" "$note" && [ -e "$record" ] || exit 1
exec 3>&-
exec "$@"`

// Submit starts a worker. The walltime, cores, memory and devices of a local worker are not enforced.
func (l *Local) Submit(ctx context.Context, w WorkerSpec) (Ref, error) {
	if err := CheckClass(w.Class); err != nil {
		return "", err
	}
	if err := CheckOptions(DriverLocal, w.Options); err != nil {
		return "", err
	}
	if !filepath.IsAbs(w.Program) {
		return "", fmt.Errorf("the program of the class %s is %q; it must be an absolute path", w.Class, w.Program)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return "", fmt.Errorf("create the folder of the workers of this machine: %w", err)
	}
	refs, err := l.refs()
	if err != nil {
		return "", err
	}
	if len(refs) >= maxLocal {
		return "", &RefusedError{Message: fmt.Sprintf("this machine has %d workers already", len(refs))}
	}
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("name a worker: %w", err)
	}
	ref := Ref(id.String())
	if err := l.write(ref, record{Class: w.Class, Submitted: clock.Or(l.Clock)()}); err != nil {
		return "", err
	}
	if err := l.start(ref, w); err != nil {
		l.forget(ref)
		return "", &RefusedError{Message: err.Error()}
	}
	return ref, nil
}

// start starts the process of a worker and waits until its file is written.
func (l *Local) start(ref Ref, w WorkerSpec) error {
	output := os.DevNull
	if o := w.Options["output"]; o != "" {
		output = o
	}
	out, err := os.OpenFile(output, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open the output of a worker: %w", err)
	}
	defer out.Close()
	noted, note, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	defer noted.Close()
	argv := []string{"-c", starter, "sh", l.file(ref, recordSuffix), l.file(ref, processSuffix), w.Program}
	cmd := exec.Command("/bin/sh", append(argv, w.Args...)...)
	cmd.Dir = "/"
	cmd.Env = append(localEnvironment(os.Environ()), LocalJob+"="+string(ref))
	cmd.Stdout, cmd.Stderr = out, out
	cmd.ExtraFiles = []*os.File{note}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	note.Close()
	if err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	_, _ = noted.Read(make([]byte, 1)) // the end of the file: the note is written, or the process has ended
	// The process is not waited for here, since it outlives this call; List does so.
	return cmd.Process.Release()
}

// localEnvironment is what a worker gets of the fleet's environment: no settings and no secrets, as under Slurm.
func localEnvironment(inherited []string) []string {
	var out []string
	for _, v := range inherited {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH":
			out = append(out, v)
		}
	}
	return out
}

// List returns the workers whose processes live, and removes the files of those that have ended.
func (l *Local) List(context.Context) ([]Job, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	refs, err := l.refs()
	if err != nil {
		return nil, err
	}
	var jobs []Job
	for _, ref := range refs {
		r, alive, err := l.look(ref)
		if err != nil {
			return nil, err
		}
		if alive {
			jobs = append(jobs, Job{
				Ref:       ref,
				Class:     r.Class,
				State:     JobRunning,
				Submitted: r.Submitted,
				Started:   r.Submitted,
			})
		}
	}
	return jobs, nil
}

// Cancel does nothing: a local worker starts at once.
func (l *Local) Cancel(context.Context, []Ref) error { return nil }

// refs returns the workers that have a record, oldest first.
func (l *Local) refs() ([]Ref, error) {
	entries, err := os.ReadDir(l.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the workers of this machine: %w", err)
	}
	var refs []Ref
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), recordSuffix); ok && uuid.Validate(name) == nil {
			refs = append(refs, Ref(name))
		}
	}
	slices.Sort(refs)
	return refs, nil
}

// look reads the record of a worker and reports whether its process is alive. It removes the files of one that has
// ended.
func (l *Local) look(ref Ref) (r record, alive bool, err error) {
	text, err := os.ReadFile(l.file(ref, recordSuffix))
	if err != nil {
		return record{}, false, fmt.Errorf("read the record of a worker: %w", err)
	}
	if json.Unmarshal(text, &r) != nil || CheckClass(r.Class) != nil {
		// The fleet was killed while it wrote the record, and had started nothing yet.
		l.forget(ref)
		return record{}, false, nil
	}
	noted, alive, err := l.alive(ref)
	if err != nil || alive {
		return r, alive, err
	}
	l.forgetRecord(ref)
	if noted {
		l.forget(ref)
		return r, false, nil
	}
	// A worker whose starter looked for the record before it was removed has written its note before that.
	if _, alive, err = l.alive(ref); err == nil && alive {
		err = l.write(ref, r)
	}
	return r, alive, err
}

// alive reports whether a worker has noted its process, and whether that process is alive.
func (l *Local) alive(ref Ref) (noted, alive bool, err error) {
	text, err := os.ReadFile(l.file(ref, processSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("read the process of a worker: %w", err)
	}
	number, start, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	pid, err := strconv.Atoi(number)
	if err != nil || pid <= 1 || start == "" {
		return true, false, nil
	}
	_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // if it is a child of this process
	return true, started(pid) == start, nil
}

func (l *Local) write(ref Ref, r record) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(l.file(ref, recordSuffix), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the record of a worker: %w", err)
	}
	return nil
}

func (l *Local) forget(ref Ref) {
	os.Remove(l.file(ref, processSuffix))
	l.forgetRecord(ref)
}

func (l *Local) forgetRecord(ref Ref) { os.Remove(l.file(ref, recordSuffix)) }

func (l *Local) file(ref Ref, suffix string) string { return filepath.Join(l.Dir, string(ref)+suffix) }
