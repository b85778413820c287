// Package program is the program pleat. It joins the commands of packages client, admin and engines, and runs a command
// line; cmd/pleat does that, and so do the binaries of tests.
//
// The package owns the exit code of every error, and what needs two of those packages: the demo, with a server and a
// client in one process, and the group of commands on users. It must not have other commands.
package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/cli"
	"pleat/internal/cli/admin"
	"pleat/internal/cli/client"
	"pleat/internal/cli/engines"
	"pleat/internal/config"
)

// Run runs the command line of this process and returns its exit code. SIGINT and SIGTERM end the context of the
// command.
func Run(hooks cli.Hooks) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second interrupt ends the process at once. A second SIGTERM does not: clusters send several.
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt) })
	return execute(ctx, New(hooks))
}

// execute runs the command line of root and returns its exit code. An error is written to standard error as one line
// that begins with "pleat: ". An error without a code of its own has cli.ExitFailed, or cli.ExitUsage if it is about
// the configuration.
func execute(ctx context.Context, root *cobra.Command) int {
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return cli.ExitOK
	}
	var code *cli.ExitError
	var usage app.UsageError
	switch {
	case errors.As(err, &code):
	case errors.As(err, &usage):
		code = &cli.ExitError{Code: cli.ExitUsage, Err: err}
	default:
		code = &cli.ExitError{Code: cli.ExitFailed, Err: err}
	}
	if msg := cli.ErrorLine(code.Err); msg != "" {
		printError(cmd, msg, code.Code)
	}
	return code.Code
}

// printError writes the error with which the program ends: one line that begins with "pleat: ", or of JSON for a
// process of the service whose log is in JSON. Collectors of logs then read every line that it has written.
func printError(cmd *cobra.Command, message string, code int) {
	service := slices.Contains([]string{"serve", "worker", "fleet"}, cmd.Name())
	if service && config.LogsJSON(os.Args[1:], os.Environ()) {
		log := app.NewLog(cmd.ErrOrStderr(), config.Config{LogFormat: "json"})
		log.Error("the process ended", "error", message, "exit_code", code)
		return
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "pleat: "+message)
}

// about is the help text of the program.
const about = `pleat is a self-hosted service that folds proteins with AI models.

  pleat demo                     fold a small protein without any setup, in a minute
  pleat serve                    serve on 127.0.0.1:8080, with the data in ./pleat-data
  pleat keys create --user NAME  create an API key for the server

Settings are read from a YAML file (--config), the environment (PLEAT_…) and flags; later sources override earlier ones.
Exit codes: 0 success, 1 failure, 2 wrong usage or configuration, 3 the job ended without a result, 4 a verified run
differs, 130 interrupted.`

// New returns the program with all its commands. Each call returns a new one, so that tests can run several.
func New(hooks cli.Hooks) *cobra.Command {
	root := cli.Group("pleat", "A self-hosted service that folds proteins with AI models", about,
		slices.Concat(admin.ServiceCommands(hooks), []*cobra.Command{demoCmd()}, client.Commands(),
			[]*cobra.Command{usersCmd(), engines.Command()}, admin.Commands())...)
	// cobra's own flag would execute a template, see decision 050.
	version := root.Flags().BoolP("version", "v", false, "version for pleat")
	help := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if !*version {
			return help(cmd, args)
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "pleat %s\n", pleat.Version)
		return err
	}
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(flagFault)
	return root
}

// flagFault turns the error of a command line that cannot be parsed into one sentence, which says what the flag takes
// or which flag is nearest.
func flagFault(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var bad *pflag.InvalidValueError
	switch {
	case errors.As(err, &bad):
		takes := map[string]string{"int": "a whole number", "float64": "a number", "bool": "true or false",
			"duration": "a time with its unit, such as 30s"}[bad.GetFlag().Value.Type()]
		if takes != "" {
			return cli.Usagef("--%s is %q; it must be %s", bad.GetFlag().Name, pleat.Clip(bad.GetValue()), takes)
		}
	case errors.As(err, &unknown):
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if n := pleat.Nearest(unknown.GetSpecifiedName(), names); n != "" {
			return cli.Usagef("%s has no flag --%s; did you mean --%s?", cmd.CommandPath(),
				pleat.Clip(unknown.GetSpecifiedName()), n)
		}
	}
	return cli.Usagef("%v; see %s --help", err, cmd.CommandPath())
}

// usersCmd returns the group of commands on users.
func usersCmd() *cobra.Command {
	return cli.Group("users", "List, disable and delete users, and grant the operator role",
		`list, disable and enable call a server, with the key of an operator. grant, revoke, export and delete open the
server's database, next to a running server or without one, and need no key; their help says why.`,
		slices.Concat(client.UserCommands(), admin.UserCommands())...)
}
