package admin

import (
	"strings"
	"testing"
	"time"

	"pleat/internal/cli"
	"pleat/internal/work"
)

func TestLifeOf(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		flags []string
		want  work.Life
		fault string
	}{
		{flags: nil},
		{flags: []string{"--idle-exit", "10m"}, want: work.Life{IdleExit: 10 * time.Minute}},
		{flags: []string{"--max-jobs", "5"}, want: work.Life{MaxTasks: 5}},
		{flags: []string{"--until", "3h55m"}, want: work.Life{Ends: now.Add(3*time.Hour + 55*time.Minute)}},
		{flags: []string{"--until", "2026-01-31T18:00:00Z"}, want: work.Life{Ends: now.Add(6 * time.Hour)}},
		{flags: []string{"--until", "2026-01-31T11:59:00Z"}, fault: "a time in the future"},
		{flags: []string{"--until", "0s"}, fault: "it must be a duration such as 3h55m"},
		{flags: []string{"--until", "-1h"}, fault: "it must be a duration such as 3h55m"},
		{flags: []string{"--until", "tomorrow"}, fault: `--until is "tomorrow"`},
		{flags: []string{"--idle-exit", "-1s"}, fault: "--idle-exit is -1s"},
		{flags: []string{"--max-jobs", "-1"}, fault: "--max-jobs is -1"},
	} {
		cmd := workerCmd(cli.Hooks{})
		if err := cmd.ParseFlags(c.flags); err != nil {
			t.Fatal(err)
		}
		got, err := lifeOf(cmd, now)
		switch {
		case c.fault != "":
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%v: %v, want %q", c.flags, err, c.fault)
			}
		case err != nil || got.IdleExit != c.want.IdleExit || got.MaxTasks != c.want.MaxTasks ||
			!got.Ends.Equal(c.want.Ends):
			t.Errorf("%v: %+v %v, want %+v", c.flags, got, err, c.want)
		}
	}
}
