package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/config"
)

// usageCmd returns the command that shows how much of today's quotas the user of the key has used.
func usageCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "usage",
		Short: "Show how much of today's quotas of jobs, workflows and rows of batches you have used",
		Args:  exactly(),
		RunE: onServer(keyRequired, func(cmd *cobra.Command, c *api.Client, _ []string) error {
			u, err := c.Usage(cmd.Context())
			if err != nil {
				return err
			}
			return printResult(cmd, u, func() error {
				_, err := fmt.Fprintf(cmd.OutOrStdout(),
					"jobs        %d of %d\nworkflows   %d of %d\nbatch rows  %d of %d\nall start again at %s\n",
					u.Used, u.Limit, u.Workflows.Used, u.Workflows.Limit, u.BatchRows.Used, u.BatchRows.Limit,
					u.ResetAt.Format("2006-01-02 15:04 UTC"))
				return err
			})
		}),
	}
	c.Flags().Bool("json", false, "print JSON")
	config.AddFlags(c.Flags(), config.Client, config.Project)
	return c
}
