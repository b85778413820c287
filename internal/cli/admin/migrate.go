package admin

import (
	"fmt"

	"github.com/spf13/cobra"

	"pleat/internal/app"
	"pleat/internal/cli"
	"pleat/internal/config"
)

// migrateCmd returns the command that brings the database to the schema of this version and tunes it, and prints both
// versions. It needs no server and is safe to repeat: several processes may do it at once. A database of a newer
// version is refused.
func migrateCmd() *cobra.Command {
	return cli.Configured(&cobra.Command{
		Use:   "migrate",
		Short: "Migrate the database to the schema of this version",
		Long: `Migrates the database to the schema of this version, and creates one that does not exist. pleat serve and
pleat worker do this when they start, unless the setting migrate is false. Run this command first if several
nodes share one database.

On PostgreSQL it also sets storage parameters of tables that nobody has set, and makes an index for searches by
name, which takes minutes where there are millions of jobs. A server does this in the background.`,
	}, func(cmd *cobra.Command, c config.Config, _ []string) error {
		s, err := app.OpenStore(cmd.Context(), c, app.NewLog(cmd.ErrOrStderr(), c))
		if err != nil {
			return err
		}
		defer s.DB.Close()
		from, to, err := s.DB.Migrate(cmd.Context())
		if err != nil {
			return err
		}
		if err := s.Ops.Tune(cmd.Context()); err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "warning: PostgreSQL will be slower with many jobs: %v\n", err)
		}
		if from == to {
			fmt.Fprintf(cmd.OutOrStdout(), "the database is already at schema %d\n", to)
			return nil
		}
		fmt.Fprintf(cmd.OutOrStdout(), "the database was migrated from schema %d to %d\n", from, to)
		return nil
	}, config.Store)
}
