package admin

import (
	"fmt"

	"github.com/spf13/cobra"

	"pleat/internal/app"
	"pleat/internal/cli"
	"pleat/internal/config"
)

// serveCmd returns the command serve: the server and, unless --work=false, a worker in one process. It creates the
// data folder, migrates the database and prints its address once it listens; a program that starts it can wait for
// that line. It ends with cli.ExitOK after SIGINT or SIGTERM, when requests have been answered and running jobs are
// back in their queues. A second SIGINT ends it at once, and loses nothing either: leases expire and other workers take
// over.
//
// Jobs and deliveries that a killed server has acknowledged are never lost: they are in the database.
func serveCmd(hooks cli.Hooks) *cobra.Command {
	return cli.Configured(&cobra.Command{
		Use:   "serve",
		Short: "Serve the API, and run jobs in the same process",
		Long: `Serves the API and runs jobs in the same process until it is interrupted or asked to stop. Jobs that are
running then return to the queue. Once the server listens, it prints one line on standard output:
listening on http://HOST:PORT.`,
		Example: `  pleat serve --addr 127.0.0.1:8080 --data pleat-data
  pleat serve --database postgres://pleat@db.example.org/pleat --public-url https://fold.example.org`,
	}, func(cmd *cobra.Command, c config.Config, _ []string) error {
		log, recent := processLog(cmd, c)
		return app.Serve(cmd.Context(), c, log, app.Options{
			Recent:       recent,
			Ready:        func(_ *app.App, url string) { fmt.Fprintln(cmd.OutOrStdout(), "listening on "+url) },
			DeliveryStep: hooks.DeliveryStep,
			MiniSteps:    hooks.MiniSteps,
		})
	}, config.Store, config.Files, config.Server, config.Node, config.Engine, config.Log)
}
