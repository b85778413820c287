// Package admin has the commands of those who run a service: its processes, which run until SIGINT or SIGTERM, and the
// administration of its data and settings. The latter open the database or the data folder themselves, next to a
// running server or without one, and need no API key.
//
// The package owns the flags and the output of these commands. It must not call a server as a user does, and has no
// rules of the service: internal/app builds the processes, and the verbs of internal/store change data.
package admin

import (
	"context"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/store"
	"pleat/internal/store/people"
)

// ServiceCommands returns the commands that are processes of the service.
func ServiceCommands(hooks cli.Hooks) []*cobra.Command {
	return []*cobra.Command{serveCmd(hooks), workerCmd(hooks), fleetCmd()}
}

// Commands returns the commands on the data and the settings of a service, except UserCommands.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		keysCmd(), mailCmd(), secretsCmd(), doctorCmd(), debugCmd(), fsckCmd(), migrateCmd(),
		versionCmd(),
	}
}

// operator is the actor of a command on the database: an operator without a key.
func operator() people.Actor { return people.Actor{Database: true} }

// operatorFor is the operator as the actor of what a user does else, such as to revoke a key.
func operatorFor(user pleat.UserID) people.Actor {
	by := operator()
	by.User = user
	return by
}

// onStore completes a command that only works on the database, as [withStore] opens it.
func onStore(
	cmd *cobra.Command, do func(cmd *cobra.Command, s *store.Store, args []string) error,
) *cobra.Command {
	return cli.Complete(cmd, func(cmd *cobra.Command, args []string) error {
		return withStore(cmd, func(_ context.Context, s *store.Store) error { return do(cmd, s, args) })
	}, config.Store)
}

// withStore calls fn with the database of a command that runs next to a server. The database must exist and have the
// schema of this version.
func withStore(cmd *cobra.Command, fn func(ctx context.Context, s *store.Store) error) error {
	c, err := cli.LoadConfig(cmd)
	if err != nil {
		return err
	}
	s, err := app.OpenMigrated(cmd.Context(), c, app.NewLog(cmd.ErrOrStderr(), c))
	if err != nil {
		return err
	}
	defer s.DB.Close()
	return fn(cmd.Context(), s)
}
