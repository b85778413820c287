package results

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"pleat/api"
	"pleat/internal/cli"
)

// foldLogFile is the log of a folder of results: one JSON object for each step of a job, of which the last counts.
const foldLogFile = "pleat-folder.jsonl"

// maxFoldLogLine bounds a line of the log, in bytes.
const maxFoldLogLine = 16 << 20

// The status of what is not a job of the server, in the log and the summary.
const (
	StatusInvalid = "INVALID"       // refused by the reader or by the server
	StatusLeft    = "NOT SUBMITTED" // another command will
	StatusGone    = "GONE"          // the server has the job no longer
)

// LoggedJob is a job of a file of a folder. An empty status is that of a job that has not ended.
type LoggedJob struct {
	File          string         `json:"file"`
	Name          string         `json:"name"`
	Key           string         `json:"key"` // its Idempotency-Key: it identifies the job
	Of            int            `json:"of"`  // how many jobs the file has
	Folder        string         `json:"folder"`
	Request       *api.CreateJob `json:"request,omitempty"` // in the first line of a job
	Job           string         `json:"job,omitempty"`     // empty: not created
	Status        string         `json:"status,omitempty"`
	Error         string         `json:"error,omitempty"`
	PLDDT         *float64       `json:"meanPLDDT,omitempty"`
	PredictedRMSD *float64       `json:"predictedRmsd,omitempty"`
}

// Label is what a job is called in messages.
func (j *LoggedJob) Label() string {
	if j.Of > 1 {
		return j.File + ", " + j.Name
	}
	return j.File
}

// State is the status for the summary.
func (j *LoggedJob) State() string {
	switch {
	case j.Status != "":
		return j.Status
	case j.Error != "":
		return "NOT DOWNLOADED"
	}
	return "created"
}

// Log is the log of a folder of results.
type Log struct {
	f       *os.File
	jobs    map[string]*LoggedJob // by key
	Folders map[string]bool       // of all jobs
}

// OpenLog opens the log of a folder, which it creates. A last line that was not written whole is ignored.
func OpenLog(dir string) (*Log, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, cli.Usagef("%s is a file; --out must be a folder", dir)
	}
	root, err := createFolder(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	l := &Log{jobs: map[string]*LoggedJob{}, Folders: map[string]bool{}}
	size, err := l.read(root)
	if err != nil {
		return nil, err
	}
	if l.f, err = root.OpenFile(foldLogFile, os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return nil, fmt.Errorf("open %s: %w", foldLogFile, err)
	}
	if err = l.f.Truncate(size); err == nil {
		_, err = l.f.Seek(size, io.SeekStart)
	}
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("write %s: %w", foldLogFile, err)
	}
	return l, nil
}

// read reads the log and returns the length of its whole lines.
func (l *Log) read(root *os.Root) (size int64, err error) {
	in, err := root.Open(foldLogFile)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", foldLogFile, err)
	}
	defer in.Close()
	r := bufio.NewReader(in)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		var j LoggedJob
		if err == nil && len(line) > maxFoldLogLine {
			err = fmt.Errorf("it has %d bytes", len(line))
		}
		if err == nil {
			err = json.Unmarshal(line, &j)
		}
		if err == nil && j.Key == "" {
			err = errors.New("it has no key")
		}
		if err != nil {
			return 0, fmt.Errorf("line %d of %s cannot be read: %w; remove the file to begin anew", n, foldLogFile, err)
		}
		if before := l.jobs[j.Key]; before != nil && j.Request == nil {
			j.Request = before.Request
		}
		l.jobs[j.Key] = &j
		l.Folders[j.Folder] = true
		size += int64(len(line))
	}
}

// JobsOf returns the jobs of a file by its key; nil if the log does not have them all.
func (l *Log) JobsOf(key string) []*LoggedJob {
	first := l.jobs[JobKey(key, 0)]
	if first == nil {
		return nil
	}
	var out []*LoggedJob
	for i := range first.Of {
		j := l.jobs[JobKey(key, i)]
		if j == nil {
			return nil
		}
		out = append(out, j)
	}
	return out
}

// JobKey is the Idempotency-Key of job i of a file.
func JobKey(key string, i int) string { return fmt.Sprintf("pleat-fold-%s-%d", key, i) }

// Plan writes the jobs of a file before the first is created.
func (l *Log) Plan(jobs []*LoggedJob) error {
	for _, j := range jobs {
		if err := l.append(j); err != nil {
			return err
		}
		l.jobs[j.Key] = j
		l.Folders[j.Folder] = true
	}
	return l.f.Sync()
}

// Write writes the state of a job, without its request.
func (l *Log) Write(j *LoggedJob) error {
	short := *j
	short.Request = nil
	if err := l.append(&short); err != nil {
		return err
	}
	return l.f.Sync()
}

// append adds a line.
func (l *Log) append(j *LoggedJob) error {
	b, err := json.Marshal(j)
	if err == nil {
		_, err = l.f.Write(append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", foldLogFile, err)
	}
	return nil
}

// Close closes the file.
func (l *Log) Close() { l.f.Close() }
