package admin

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/cli"
	"pleat/runners"
)

// versionCmd returns the command that prints what this program was built from. It needs no server and no settings.
func versionCmd() *cobra.Command {
	return cli.WithJSON(&cobra.Command{
		Use:   "version",
		Short: "Print the version of this program and what it was built from",
		Args:  cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, _ := debug.ReadBuildInfo() // nil: the program was built without modules
			v := buildOf(info)
			return cli.PrintResult(cmd, v, func() error {
				const text = "pleat %s\ncommit   %s\nbuilt    with %s for %s\nrunners  %s: %s\n"
				_, err := fmt.Fprintf(cmd.OutOrStdout(), text, v.Version, v.describeCommit(), v.Go, v.Platform,
					v.RunnersHash, strings.Join(v.Runners, ", "))
				return err
			})
		},
	})
}

// build is the output of version. Commit and CommittedAt are empty if the program was built outside a checkout.
type build struct {
	Version     string `json:"version"`
	Commit      string `json:"commit"`
	CommittedAt string `json:"committedAt"`
	Modified    bool   `json:"modified"` // the checkout had changes that were not committed
	Go          string `json:"go"`
	Platform    string `json:"platform"`
	// Runners are the embedded ones, and RunnersHash names their files.
	Runners     []string `json:"runners"`
	RunnersHash string   `json:"runnersHash"`
}

// buildOf returns what the build recorded in the program.
func buildOf(info *debug.BuildInfo) build {
	v := build{
		Version:     pleat.Version,
		Go:          runtime.Version(),
		Platform:    runtime.GOOS + "/" + runtime.GOARCH,
		Runners:     runners.Names(),
		RunnersHash: runners.Hash(),
	}
	if info == nil {
		return v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.CommittedAt = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// describeCommit returns the commit, its time and whether there were changes, for people.
func (v build) describeCommit() string {
	text := cmp.Or(v.Commit, "not recorded")
	if v.CommittedAt != "" {
		text += " of " + v.CommittedAt
	}
	if v.Modified {
		text += ", with uncommitted changes"
	}
	return text
}
