// Package cli is the program pleat: its command line, which serves protein folds and calls such a service. The command
// pleat runs it, and so do the binaries of tests.
//
// Each command is one file: it reads its settings and flags, calls internal/app or a server, and prints the result. The
// package owns the command line, its messages and exit codes. It must not hold rules of the service: those are in
// package pleat and in internal.
//
// There are three kinds of commands. Processes of the service run until SIGINT or SIGTERM. Clients talk to a server
// over HTTP, with --url and --key, and touch no data of the service. Administration opens the database or the data
// folder itself, next to a running server or without one, and needs no API key.
//
// Every command writes its result to standard output, and progress, notes and errors to standard error, so that its
// output can be used in a pipe. With --json the result is one JSON value. Lists print one page and the cursor of the
// next.
//
//   - cli.go: the program and its exit codes; call.go, client.go, follow.go, folder.go and record.go: what the
//     commands share.
//   - serve.go, worker.go, fleet.go, demo.go: processes of the service.
//   - fold.go, fold_folder.go, fold_log.go, rank.go, batch.go, batch_input.go, align.go, ask.go, md.go, jobs.go,
//     workflows.go, compare.go, mcp.go, models.go, workers.go, usage.go, verify.go, webhooks.go, webhook_endpoints.go,
//     share.go: clients of a server; design.go, design_input.go, design_table.go, design_fold.go: designs. inputs.go,
//     sources.go and bring.go: the files that they read from a disk, and what these name.
//   - projects.go, project.go: projects, in the database and by a server.
//   - login.go, logins.go: the sign-in of a person at a server.
//   - notifications.go: mails to people, and the test of the mail server.
//   - users.go, keys.go, audit.go, secrets.go, migrate.go, fsck.go, doctor.go, doctor_store.go: administration of the
//     data of a server. debug.go, debug_parts.go and debug_activity.go: the archive for a report of a fault.
//   - version.go: this program.
//   - engines.go; install.go, environment.go, download.go, weights.go, install_end.go: engines that run in processes of
//     their own, and their installation.
//   - check.go, check_kinds.go, check_screen.go, published.go: the check of an engine, and published figures.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/config"
)

// Exit codes. A job without a result has its own code, so that scripts can tell it from a server that does not respond.
const (
	exitOK = 0
	// exitFailed: the command failed; standard error has the reason in one sentence. Repeating the command may help.
	exitFailed = 1
	// exitUsage: the command line or the configuration is wrong. Nothing was done, and repeating does not help.
	exitUsage = 2
	// exitUnfinished: the job or workflow ended FAILED or STOPPED, or ended without the result that was asked for.
	exitUnfinished = 3
	// exitDiffers: the repeated run of pleat verify gave different structures.
	exitDiffers = 4
	// exitInterrupted: the command was interrupted while it followed a job, which continues.
	exitInterrupted = 130
)

// Hooks are what only tests set. The released program has the zero value.
type Hooks struct {
	// DeliveryStep is called at each step of a delivery, so that a test can end the process there. It may be nil.
	DeliveryStep func(name string)
	// MiniSteps is the length of the trajectories of the engine mini; 0: the whole length, as in the released program.
	MiniSteps int
}

// Run runs the command line of this process and returns its exit code. SIGINT and SIGTERM end the context of the
// command.
func Run(hooks Hooks) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second interrupt ends the process at once. A second SIGTERM does not: clusters send several.
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt) })
	return execute(ctx, New(hooks))
}

// execute runs the command line of root and returns its exit code. An error is written to standard error as one line
// that begins with "pleat: ". An error without a code of its own has exitFailed, or exitUsage if it is about the
// configuration.
func execute(ctx context.Context, root *cobra.Command) int {
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	var code *exit
	var usage app.UsageError
	switch {
	case errors.As(err, &code):
	case errors.As(err, &usage):
		code = &exit{exitUsage, err}
	default:
		code = &exit{exitFailed, err}
	}
	if msg := sentence(code.err); msg != "" {
		printError(cmd, msg, code.code)
	}
	return code.code
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

// exit is an error with its exit code.
type exit struct {
	code int
	// err is nil if nothing is to be printed.
	err error
}

// Error returns the text of the error as one line, and Unwrap the error itself.
func (e *exit) Error() string { return sentence(e.err) }
func (e *exit) Unwrap() error { return e.err }

// usagef returns an error for which the program exits with exitUsage.
func usagef(format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...)}
}

// sentence returns the text of an error as one line: an error of several lines would break logs and scripts.
func sentence(err error) string {
	if err == nil {
		return ""
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// about is the help text of the program.
const about = `pleat is a self-hosted service that folds proteins with AI models.

  pleat demo                     fold a small protein without any setup, in a minute
  pleat serve                    serve on 127.0.0.1:8080, with the data in ./pleat-data
  pleat keys create --user NAME  create an API key for the server

Settings are read from a YAML file (--config), the environment (PLEAT_…) and flags; later sources override earlier ones.
Exit codes: 0 success, 1 failure, 2 wrong usage or configuration, 3 the job ended without a result, 4 a verified run
differs, 130 interrupted.`

// newRoot returns the program with all its commands. Each call returns a new one, so that tests can run several.
func New(hooks Hooks) *cobra.Command {
	root := group("pleat", "A self-hosted service that folds proteins with AI models", about,
		serveCmd(hooks), workerCmd(hooks), fleetCmd(), demoCmd(),
		foldCmd(), batchCmd(), alignCmd(), askCmd(), mdCmd(), designCmd(), jobsCmd(), verifyCmd(), workflowsCmd(),
		compareCmd(), mcpCmd(), shareCmd(), whoamiCmd(), projectsCmd(),
		loginCmd(), logoutCmd(), notificationsCmd(),
		usersCmd(), keysCmd(), auditCmd(), modelsCmd(), workersCmd(), usageCmd(), enginesCmd(), webhooksCmd(),
		mailCmd(), secretsCmd(), doctorCmd(), debugCmd(),
		fsckCmd(), migrateCmd(), versionCmd())
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
			return usagef("--%s is %q; it must be %s", bad.GetFlag().Name, pleat.Clip(bad.GetValue()), takes)
		}
	case errors.As(err, &unknown):
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if n := pleat.Nearest(unknown.GetSpecifiedName(), names); n != "" {
			return usagef("%s has no flag --%s; did you mean --%s?", cmd.CommandPath(),
				pleat.Clip(unknown.GetSpecifiedName()), n)
		}
	}
	return usagef("%v; see %s --help", err, cmd.CommandPath())
}

// group returns a command that only has subcommands. Without arguments it prints its help; an unknown subcommand is a
// usage error that suggests the nearest name or lists them all.
func group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Long: long, DisableSuggestions: true}
	c.AddCommand(commands...)
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, sub := range commands {
			names = append(names, sub.Name())
		}
		if n := pleat.Nearest(args[0], names); n != "" {
			return usagef("there is no command %q; did you mean %q?", pleat.Clip(args[0]), cmd.CommandPath()+" "+n)
		}
		all := strings.Join(names, ", ")
		return usagef("there is no command %q; %s has %s", pleat.Clip(args[0]), cmd.CommandPath(), all)
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return c
}

// exactly requires one argument for each name. The names, such as "a job's identifier", are for the message; without
// any, the command accepts no arguments.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usagef("%s needs %s; see %s --help", cmd.CommandPath(), names[len(args)], cmd.CommandPath())
		case len(args) > len(names):
			extra := pleat.Clip(args[len(names)])
			return usagef("%s does not accept %q; see %s --help", cmd.CommandPath(), extra, cmd.CommandPath())
		}
		return nil
	}
}

// configure reads the settings of a command from the configuration file, the environment and the flags, in this order.
// Any fault is a usage error.
func configure(cmd *cobra.Command) (config.Config, error) {
	c, err := config.Load(cmd.Flags(), os.Environ())
	if err != nil {
		return c, &exit{exitUsage, err}
	}
	return c, nil
}

// sequenceOr requires an argument or the flag --sequence, and refuses both. The argument is named as in "give a file",
// and needed is what the command needs instead of --sequence.
func sequenceOr(argument, needed string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		path, given := cmd.CommandPath(), cmd.Flags().Changed("sequence")
		switch {
		case len(args) > 1:
			return usagef("%s accepts one %s, not %d", path, argument, len(args))
		case len(args) == 1 && given:
			return usagef("give a %s or --sequence, not both", argument)
		case len(args) == 0 && !given:
			return usagef("%s needs %s or --sequence; see %s --help", path, needed, path)
		}
		return nil
	}
}

// needFlag requires all of the named flags.
func needFlag(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if !cmd.Flags().Changed(name) {
			return usagef("%s needs --%s; see %s --help", cmd.CommandPath(), name, cmd.CommandPath())
		}
	}
	return nil
}
