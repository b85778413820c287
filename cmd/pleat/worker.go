package main

import (
	"github.com/spf13/cobra"

	"pleat"
)

func workerCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "worker",
		Short: "Work on jobs without serving the API",
		Long: `Works on the jobs of a database until it is interrupted or asked to stop; running jobs then go back to the queue. Any number of
workers may share a database, on one machine or many; those on other machines need PostgreSQL, artifacts that all can reach (--blobs),
and the same PLEAT_SECRET_KEY.`,
		Example: `  pleat worker --database postgres://pleat@db.example.org/pleat --blobs s3://pleat --slots 2`,
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := configure(cmd)
			if err != nil {
				return err
			}
			log := newLog(cmd.ErrOrStderr(), c)
			p, err := openProcess(cmd.Context(), c, log, false)
			if err != nil {
				return err
			}
			defer p.close()
			pool, err := p.pool()
			if err != nil {
				return err
			}
			log.Info("working", "version", pleat.Version, "database", p.store.Dialect(), "slots", c.Slots)
			return pool.Run(cmd.Context())
		},
	}
	addFlags(c.Flags(), "store", "node", "engine")
	return c
}
