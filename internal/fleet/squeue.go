package fleet

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// squeueFormat makes squeue print the id, state, start, submission, comment and reason of a job. The reason is last
// since it may hold any character. The comment of a job of the service holds no separator.
const squeueFormat = "%i|%T|%S|%V|%k|%r"

// commentPrefix is how the comment of every job of a service begins; service id and class follow.
const commentPrefix = "pleat/"

// states are what the states of Slurm mean here. A state that is not listed counts as unfinished and unknown: a new
// word of a later Slurm must not make the fleet think that a worker has ended.
var states = map[string]JobState{
	"PENDING": JobPending, "REQUEUED": JobPending, "REQUEUE_FED": JobPending, "REQUEUE_HOLD": JobPending,
	"SPECIAL_EXIT": JobPending, "RESV_DEL_HOLD": JobPending,
	"COMPLETING": JobEnding,
	"RUNNING":    JobRunning, "CONFIGURING": JobRunning, "RESIZING": JobRunning, "SIGNALING": JobRunning,
}

// endStates are the states of jobs that have ended.
var endStates = map[string]bool{
	"BOOT_FAIL": true, "CANCELLED": true, "COMPLETED": true, "DEADLINE": true, "FAILED": true, "NODE_FAIL": true,
	"OUT_OF_MEMORY": true, "PREEMPTED": true, "REVOKED": true, "TIMEOUT": true, "LAUNCH_FAILED": true,
}

var (
	jobNumber = regexp.MustCompile(`^[1-9][0-9]{0,17}$`)
	stateWord = regexp.MustCompile(`^[A-Z][A-Z_]{1,39}$`)
)

// parseJobs reads what squeue prints with squeueFormat of the jobs of a service. A job that is missing in the answer
// has ended for the fleet, so that one line that cannot be read spoils the whole answer.
func parseJobs(service, text string) ([]Job, error) {
	var jobs []Job
	if text != "" && !strings.HasSuffix(text, "\n") {
		return nil, fmt.Errorf("squeue: the answer ends in the middle of a line")
	}
	for line := range strings.Lines(text) {
		j, unfinished, err := parseJob(service, strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("squeue: cannot read the line %q: %w", oneLine(line), err)
		}
		if unfinished {
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}

func parseJob(service, line string) (j Job, unfinished bool, err error) {
	f := strings.SplitN(line, "|", 6)
	if len(f) != 6 {
		return Job{}, false, fmt.Errorf("it has %d fields; want 6", len(f))
	}
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	class, ours := strings.CutPrefix(f[4], commentPrefix+service+"/")
	switch {
	case !jobNumber.MatchString(f[0]):
		return Job{}, false, fmt.Errorf("%q is not the number of a job", oneLine(f[0]))
	case !stateWord.MatchString(f[1]):
		return Job{}, false, fmt.Errorf("%q is not the state of a job", oneLine(f[1]))
	case !ours || CheckClass(class) != nil:
		return Job{}, false, fmt.Errorf("the comment is %q; the jobs of this service have %s%s/ and a class",
			oneLine(f[4]), commentPrefix, service)
	}
	start, err := parseTime(f[2])
	if err != nil {
		return Job{}, false, fmt.Errorf("the start is %w", err)
	}
	submitted, err := parseTime(f[3])
	if err != nil {
		return Job{}, false, fmt.Errorf("the submission is %w", err)
	}
	j = Job{Ref: Ref(f[0]), Class: class, State: states[f[1]], Submitted: submitted}
	switch j.State {
	case JobPending:
		j.Reason, j.ExpectedStart = oneLine(f[5]), start
	case JobRunning, JobEnding:
		j.Started = start
	default:
		j.State, j.Started = JobOther, start
	}
	return j, !endStates[f[1]], nil
}

// parseTime reads a time of squeue: seconds since 1970, or the standard form in local time where a Slurm does not know
// SLURM_TIME_FORMAT. It returns zero for an unknown time.
func parseTime(s string) (time.Time, error) {
	switch s {
	case "", "N/A", "NONE", "None", "Unknown", "(null)", "0":
		return time.Time{}, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > 0 {
		return time.Unix(n, 0), nil
	}
	t, err := time.ParseInLocation("2006-01-02T15:04:05", s, time.Local)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q; it must be a time", oneLine(s))
	}
	return t, nil
}
