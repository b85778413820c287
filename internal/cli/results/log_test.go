package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pleat/api"
)

// The log of a folder is read back: the last line of a job counts, its request stays, and a line that was not written
// whole is overwritten.
func TestFoldLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	open := func() *Log {
		l, err := OpenLog(dir)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := open()
	job := func(i int) *LoggedJob {
		return &LoggedJob{
			File:    "a.csv",
			Key:     JobKey("k", i),
			Of:      2,
			Folder:  "a",
			Request: &api.CreateJob{Name: "x"},
		}
	}
	first, second := job(0), job(1)
	if err := l.Plan([]*LoggedJob{first, second}); err != nil {
		t.Fatal(err)
	}
	first.Job, first.Status = "j1", "COMPLETED"
	if err := l.Write(first); err != nil {
		t.Fatal(err)
	}
	l.Close()
	path := filepath.Join(dir, foldLogFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(whole, `{"file":"a.csv","ke`...), 0o644); err != nil {
		t.Fatal(err)
	}
	l = open()
	jobs := l.JobsOf("k")
	if len(jobs) != 2 || jobs[0].Job != "j1" || jobs[0].Request == nil || jobs[1].Job != "" {
		t.Errorf("the jobs are %+v", jobs)
	}
	if l.JobsOf("other") != nil || !l.Folders["a"] {
		t.Error("the log has what it has not")
	}
	second.Job = "j2"
	if err := l.Write(second); err != nil {
		t.Fatal(err)
	}
	l.Close()
	l = open()
	defer l.Close()
	if jobs := l.JobsOf("k"); len(jobs) != 2 || jobs[1].Job != "j2" {
		t.Errorf("after a line that was not whole the jobs are %+v", jobs)
	}

	// The jobs of a file that was planned in part are planned again.
	lines := strings.SplitAfter(string(whole), "\n")
	if err := os.WriteFile(path, []byte(lines[0]), 0o644); err != nil {
		t.Fatal(err)
	}
	l = open()
	defer l.Close()
	if jobs := l.JobsOf("k"); jobs != nil {
		t.Errorf("the log has one of two jobs and gives %+v", jobs)
	}
}
