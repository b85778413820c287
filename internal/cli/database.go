package cli

import (
	"context"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/store"
)

// serviceCommands returns the commands that are processes of the service.
func serviceCommands(hooks Hooks) []*cobra.Command {
	return []*cobra.Command{serveCmd(hooks), workerCmd(hooks), fleetCmd()}
}

// adminCommands returns the commands on the data and the settings of a service, but for those on projects.
func adminCommands() []*cobra.Command {
	return []*cobra.Command{
		usersCmd(), keysCmd(), auditCmd(), mailCmd(), secretsCmd(), doctorCmd(), debugCmd(), fsckCmd(), migrateCmd(),
		versionCmd(),
	}
}

// operator is the actor of a command on the database: an operator without a key.
func operator() store.Actor { return store.Actor{Database: true} }

// operatorFor is the operator as the actor of what a user does else, such as to revoke a key.
func operatorFor(user pleat.UserID) store.Actor {
	by := operator()
	by.User = user
	return by
}

// withStore calls fn with the database of a command that runs next to a server. The database must exist and have the
// schema of this version.
func withStore(cmd *cobra.Command, fn func(ctx context.Context, s *store.Store) error) error {
	c, err := configure(cmd)
	if err != nil {
		return err
	}
	s, err := app.OpenMigrated(cmd.Context(), c, app.NewLog(cmd.ErrOrStderr(), c))
	if err != nil {
		return err
	}
	defer s.Close()
	return fn(cmd.Context(), s)
}
