package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/config"
)

// workersCmd returns the group of commands on the workers of a service. They call a server with the key of an operator.
func workersCmd() *cobra.Command {
	return group("workers", "List the workers of a service, and let one drain, with the key of an operator", "",
		workersList(), workersDrain())
}

// workersList returns the command that lists the workers.
func workersList() *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List the workers that are alive or may come back",
		Args:  exactly(),
		RunE: onServer(keyRequired, func(cmd *cobra.Command, c *api.Client, _ []string) error {
			list, err := c.Workers(cmd.Context())
			if err != nil {
				return err
			}
			head := []string{"WORKER", "HOST", "CLASS", "STATE", "TASKS", "SEEN", "MODELS"}
			return printList(cmd, list, head, func(w api.OperatorWorker) []string {
				return []string{w.ID, w.Host, w.Class, w.State, strconv.Itoa(w.Tasks), w.SeenAt.Format(time.DateTime),
					strings.Join(w.Models, ",")}
			})
		}),
	}
	c.Flags().Bool("json", false, "print JSON")
	config.AddFlags(c.Flags(), config.Client)
	return c
}

// workersDrain returns the command that lets a worker drain.
func workersDrain() *cobra.Command {
	c := &cobra.Command{
		Use:   "drain ID",
		Short: "Let a worker claim nothing more and end when its tasks have ended",
		Long: `Asks a worker to claim nothing more, and to end when its tasks have ended. The worker of a server ends,
and the server goes on; start the server again to bring its worker back. A worker that the fleet has started is
replaced if its class needs it.`,
		Example: `  pleat workers list --json | jq -r '.data[] | select(.host == "node7").workerId' |
    xargs -n 1 pleat workers drain`,
		Args: exactly("the id of a worker"),
		RunE: onServer(keyRequired, func(cmd *cobra.Command, c *api.Client, args []string) error {
			d, err := c.DrainWorker(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return printResult(cmd, d, func() error {
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s drains\n", d.ID)
				return err
			})
		}),
	}
	c.Flags().Bool("json", false, "print JSON")
	config.AddFlags(c.Flags(), config.Client)
	return c
}
