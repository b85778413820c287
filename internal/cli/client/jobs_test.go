package client

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"pleat/api"
)

// Where the operator limits how long results are kept, jobs and workflows show until when; nothing elsewhere.
func TestKeptUntilIsShown(t *testing.T) {
	var job api.JobView
	var w api.Workflow
	show := func() (jobRows [][]string, workflow string) {
		var out bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		if err := showWorkflow(cmd, w); err != nil {
			t.Fatal(err)
		}
		return describe(job), out.String()
	}
	kept := func(row []string) bool { return row[0] == "kept until" }
	if rows, text := show(); slices.ContainsFunc(rows, kept) || strings.Contains(text, "kept until") {
		t.Errorf("kept for ever: %v\n%s", rows, text)
	}
	end := api.At(time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC))
	job.Job.ExpiresAt, w.ExpiresAt = &end, &end
	rows, text := show()
	if i := slices.IndexFunc(rows, kept); i < 0 || rows[i][1] != "2027-01-31 12:00:00" ||
		!strings.Contains(text, "kept until  2027-01-31 12:00:00") {
		t.Errorf("%v\n%s", rows, text)
	}
}

// A job that waits shows the class of its workers once: in the reason, or else in a row of its own.
func TestWaitingNamesTheClass(t *testing.T) {
	class := "gpu"
	for _, c := range []struct {
		waiting api.Waiting
		want    [][]string
	}{
		{
			api.Waiting{Reason: "2 tasks are before it in its queue", Class: &class},
			[][]string{
				{"waiting", "2 tasks are before it in its queue"},
				{"waits for", "a worker of the class gpu"},
			},
		},
		{
			api.Waiting{Reason: "it waits for a worker of the class gpu (0 of 1 run)", Class: &class},
			[][]string{{"waiting", "it waits for a worker of the class gpu (0 of 1 run)"}},
		},
		{
			api.Waiting{Reason: "no worker that runs boltz-2 has been seen in the last week"},
			[][]string{{"waiting", "no worker that runs boltz-2 has been seen in the last week"}},
		},
	} {
		rows := slices.DeleteFunc(describe(api.JobView{Waiting: &c.waiting}), func(row []string) bool {
			return !strings.HasPrefix(row[0], "wait")
		})
		if d := cmp.Diff(c.want, rows); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.waiting.Reason, d)
		}
	}
}
