package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"pleat/internal/app"
	"pleat/internal/config"
)

// processLog returns the log of a process of the service, which gets what libraries log too.
func processLog(cmd *cobra.Command, c config.Config) *slog.Logger {
	log := app.NewLog(cmd.ErrOrStderr(), c)
	slog.SetDefault(log)
	return log
}

// workerCmd returns the command worker: a worker without a server. It claims tasks from the database of a server, and
// needs the same artifact store and secret key. It prints nothing but its log. Like serve it ends with exitOK after
// SIGINT or SIGTERM, when its running tasks are back in their queues. Workers can be added and ended at any time.
func workerCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "worker",
		Short: "Run jobs without serving the API",
		Long: `Runs the jobs of a database until it is interrupted or asked to stop. Jobs that are running then return
to the queue. Any number of workers may share a database, on one machine or on several. Workers on other
machines need PostgreSQL, an artifact store that all of them can reach (--blobs), and the same
PLEAT_SECRET_KEY.`,
		Example: `  pleat worker --database postgres://pleat@db.example.org/pleat --blobs s3://pleat --slots 2`,
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := configure(cmd)
			if err != nil {
				return err
			}
			return app.Work(cmd.Context(), c, processLog(cmd, c))
		},
	}
	config.AddFlags(c.Flags(), config.Store, config.Files, config.Node, config.Engine)
	return c
}
