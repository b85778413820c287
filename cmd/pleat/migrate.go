package main

import (
	"fmt"

	"github.com/spf13/cobra"
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
			s, err := openStore(cmd.Context(), c, newLog(cmd.ErrOrStderr(), c))
			if err != nil {
				return err
			}
			defer s.Close()
			from, to, err := migrate(cmd.Context(), s)
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
	addFlags(c.Flags(), "store")
	return c
}
