package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"pleat"
)

// Slurm starts workers as batch jobs of Slurm 20.11 or later, by the text of sbatch, squeue and scancel: their JSON and
// the REST interface change with every release. One Unix account owns all jobs.
type Slurm struct {
	// Service tells the jobs of this service from those of others of the same account: letters, digits and hyphens.
	Service string
	// Login is a command that runs its last argument in a shell of a login host, such as ssh -o BatchMode=yes login1.
	// Empty: Slurm's programs are on this machine.
	Login []string
}

// Submit submits a batch job that runs one worker.
func (s *Slurm) Submit(ctx context.Context, w WorkerSpec) (Ref, error) {
	argv, err := s.sbatch(w)
	if err != nil {
		return "", err
	}
	out, err := s.run(ctx, call{argv: argv, stdin: script(w)})
	var exit *exitError
	if errors.As(err, &exit) && !unreachable(exit) {
		return "", &RefusedError{Message: cmp.Or(exit.sentence, exit.Error())}
	}
	if err != nil {
		return "", err
	}
	id, _, _ := strings.Cut(strings.TrimSpace(out), ";") // the name of the cluster may follow
	if !jobNumber.MatchString(id) {
		return "", fmt.Errorf("sbatch: the answer %q is not the number of a job", oneLine(out))
	}
	return Ref(id), nil
}

// name is the name of every job of the service. squeue and scancel select by it, so that jobs of others, whose comments
// may hold anything, are not even read.
func (s *Slurm) name() string { return "pleat-" + s.Service }

// sbatch returns the command that submits a worker.
func (s *Slurm) sbatch(w WorkerSpec) ([]string, error) {
	if err := CheckClass(w.Class); err != nil {
		return nil, err
	}
	if err := CheckOptions(DriverSlurm, w.Options); err != nil {
		return nil, err
	}
	if !path.IsAbs(w.Program) {
		return nil, fmt.Errorf("the program of the class %s is %q; it must be an absolute path", w.Class, w.Program)
	}
	argv := []string{
		"sbatch", "--parsable", // which --quiet would silence
		// Slurm would keep the whole environment of the service, with its secrets, on the disk of the controller.
		"--export=NONE",
		"--job-name=" + s.name(), "--comment=" + commentPrefix + s.Service + "/" + w.Class,
		"--nodes=1", "--ntasks=1", "--requeue", "--open-mode=append", "--chdir=/",
	}
	if w.Walltime > 0 {
		// The signal is the net under a worker that does not end by itself. Slurm may send it a minute earlier.
		minutes := int((w.Walltime + time.Minute - 1) / time.Minute)
		argv = append(argv, "--time="+strconv.Itoa(minutes))
		argv = append(argv, fmt.Sprintf("--signal=B:TERM@%d", int(pleat.EndNotice(w.Walltime)/time.Second)))
	}
	if w.Cores > 0 {
		argv = append(argv, "--cpus-per-task="+strconv.Itoa(w.Cores))
	}
	if w.Memory > 0 {
		argv = append(argv, fmt.Sprintf("--mem=%dM", (w.Memory+1<<20-1)>>20))
	}
	values := map[string]string{"output": "/dev/null"}
	if w.Devices > 0 {
		values["gres"] = "gpu:" + strconv.Itoa(w.Devices)
	}
	for name, v := range w.Options {
		values[name] = v
	}
	start := len(argv)
	for name, v := range values {
		argv = append(argv, "--"+name+"="+v)
	}
	slices.Sort(argv[start:])
	return argv, nil
}

// script is the batch script of a worker. exec makes the worker the batch process, which signals with B: reach.
func script(w WorkerSpec) string {
	words := []string{"exec", quote(w.Program)}
	for _, a := range w.Args {
		words = append(words, quote(a))
	}
	return "#!/bin/sh\numask 077\n" + strings.Join(words, " ") + "\n"
}

// unreachable reports whether a failure says nothing about the job: the controller did not answer, or ssh failed.
func unreachable(e *exitError) bool {
	const sshFailed = 255
	for _, s := range []string{
		"Unable to contact slurm controller", "Socket timed out", "Connection refused", "Zero Bytes were transmitted",
		"Transport endpoint is not connected", "Slurm temporarily unable to accept job", "Unable to establish",
		"Communication connection failure", "Message receive failure", "Slurm controller is", "Protocol authentication",
		"Slurm backup controller", "Resource temporarily unavailable", "Munge",
	} {
		if strings.Contains(e.sentence, s) {
			return true
		}
	}
	return e.code == sshFailed
}

// List asks the controller once for all jobs of the service.
func (s *Slurm) List(ctx context.Context) ([]Job, error) {
	out, err := s.run(ctx, call{argv: []string{
		"squeue", "--noheader", "--me", "--all", "--array", "--states=all", "--name=" + s.name(),
		"--format=" + squeueFormat,
	}})
	if err != nil {
		return nil, err
	}
	return parseJobs(s.Service, out)
}

// maxCancelled is the most jobs of one call of scancel.
const maxCancelled = 100

// Cancel cancels those jobs that still wait. Between Slurm's look at a job and its end the job may start; its worker
// then gets SIGTERM as at the end of its walltime, and releases what it holds.
func (s *Slurm) Cancel(ctx context.Context, refs []Ref) error {
	for chunk := range slices.Chunk(refs, maxCancelled) {
		argv := []string{"scancel", "--quiet", "--state=PENDING", "--name=" + s.name()}
		for _, r := range chunk {
			if !jobNumber.MatchString(string(r)) {
				return fmt.Errorf("%q is not the number of a job", oneLine(string(r)))
			}
			argv = append(argv, string(r))
		}
		if _, err := s.run(ctx, call{argv: argv}); err != nil {
			return err
		}
	}
	return nil
}
