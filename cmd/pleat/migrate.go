package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"pleat/internal/app"
	"pleat/internal/config"
)

func migrateCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database to this version's schema",
		Long:  "Brings the database to this version's schema. pleat serve does so by itself when it starts; run it before when several servers share one database.",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := configure(cmd)
			if err != nil {
				return err
			}
			s, err := app.OpenStore(cmd.Context(), c, app.NewLog(cmd.ErrOrStderr(), c))
			if err != nil {
				return err
			}
			defer s.Close()
			from, to, err := app.Migrate(cmd.Context(), s)
			if err != nil {
				return err
			}
			if from == to {
				fmt.Fprintf(cmd.OutOrStdout(), "the database is at schema %d already\n", to)
				return nil
			}
			fmt.Fprintf(cmd.OutOrStdout(), "the database went from schema %d to %d\n", from, to)
			return nil
		},
	}
	config.AddFlags(c.Flags(), config.Store)
	return c
}
