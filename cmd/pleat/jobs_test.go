package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

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
