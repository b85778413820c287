package client

import (
	"fmt"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/cli/results"
)

// trpCage is the sequence of the miniprotein TC10b, Protein Data Bank entry 2JOF (Barua et al., Protein Eng. Des. Sel.
// 21, 171, 2008).
const trpCage = "DAYAQWLKDGGPSSGRPPPS"

// AddDemoFlags adds the flags of pleat demo.
func AddDemoFlags(c *cobra.Command) { results.AddFlags(c, "demo") }

// CheckDemoFolder returns an error if the folder of the flags cannot take the files of the demo.
func CheckDemoFolder(cmd *cobra.Command) error { return demoFolder(cmd).CheckNew() }

// FoldDemo does what a user does at a server: it creates a job, follows it and downloads its files. The seed is fixed,
// so that the structure is the same on every machine of one architecture.
func FoldDemo(cmd *cobra.Command, url, key string) error {
	c := &api.Client{Base: url, Key: key}
	seed := "1"
	created, err := c.CreateJob(cmd.Context(), api.CreateJob{
		Name:      "Trp-cage",
		Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: trpCage}}},
		Params:    &api.Params{ModelName: "mini", Seed: &seed},
	}, api.CreateOptions{})
	if err != nil {
		return explain(c, err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "folding Trp-cage, %d residues\n", len(trpCage))
	if err := follow(cmd, c, created.JobID); err != nil {
		return err
	}
	return downloadResults(cmd, c, created.JobID, demoFolder(cmd))
}

// demoFolder returns the folder for the files of the demo.
func demoFolder(cmd *cobra.Command) results.Folder { return results.FolderOf(cmd).Or("demo") }
