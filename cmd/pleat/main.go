// Command pleat serves protein folds and calls such a service.
//
// Each command is one file: it reads its settings and flags, calls internal/app or a server, and prints the result. The
// package owns the command line, its messages and exit codes. It must not hold rules of the service: those are in
// package pleat and in internal.
//
//   - main.go: the program and its exit codes; call.go, client.go and follow.go: what the commands share.
//   - serve.go, worker.go, demo.go: processes of the service.
//   - fold.go, ask.go, md.go, jobs.go, workflows.go, models.go, verify.go, webhooks.go: clients of a server.
//   - keys.go, secrets.go, migrate.go, doctor.go: administration of a server's data.
//   - engines.go, install.go: engines that run in processes of their own.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/config"
)

// Exit codes. A job without a result has its own code, so that scripts can tell it from a server that does not respond.
const (
	exitOK          = 0
	exitFailed      = 1   // the command failed; stderr has the reason in one sentence
	exitUsage       = 2   // the command line or the configuration is wrong
	exitUnfinished  = 3   // the job ended FAILED or STOPPED
	exitDiffers     = 4   // the repeated run of pleat verify gave different structures
	exitInterrupted = 130 // interrupted; a job that was followed continues
)

func main() { os.Exit(runProcess(nil)) }

// runProcess runs the command line of this process and returns its exit code. SIGINT and SIGTERM end the context of the
// command. See serveCmd for deliveryStep.
func runProcess(deliveryStep func(name string)) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return execute(ctx, newRoot(deliveryStep))
}

// execute runs the command line of root, writes its error as one sentence and returns its exit code.
func execute(ctx context.Context, root *cobra.Command) int {
	err := root.ExecuteContext(ctx)
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
		fmt.Fprintln(root.ErrOrStderr(), "pleat: "+msg)
	}
	return code.code
}

// exit is an error with its exit code. With a nil err nothing is printed.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string { return sentence(e.err) }
func (e *exit) Unwrap() error { return e.err }

// usagef returns an error for which the program exits with exitUsage.
func usagef(format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...)}
}

// sentence returns an error as one line.
func sentence(err error) string {
	if err == nil {
		return ""
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

const about = `pleat is a self-hosted service that folds proteins with AI models.

  pleat demo                     fold a small protein without any setup, in a minute
  pleat serve                    serve on 127.0.0.1:8080, with the data in ./pleat-data
  pleat keys create --user NAME  create an API key for the server

Settings are read from a YAML file (--config), the environment (PLEAT_…) and flags; later sources override earlier ones.
Exit codes: 0 success, 1 failure, 2 wrong usage or configuration, 3 the job ended without a result, 4 a verified run
differs, 130 interrupted.`

// newRoot returns the program. See serveCmd for deliveryStep.
func newRoot(deliveryStep func(name string)) *cobra.Command {
	root := group("pleat", "A self-hosted service that folds proteins with AI models", about,
		serveCmd(deliveryStep), workerCmd(), demoCmd(),
		foldCmd(), askCmd(), mdCmd(), jobsCmd(), verifyCmd(), workflowsCmd(),
		keysCmd(), modelsCmd(), enginesCmd(), webhooksCmd(), secretsCmd(), doctorCmd(), migrateCmd())
	root.Version = pleat.Version
	root.SetVersionTemplate("pleat {{.Version}}\n")
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%v; see %s --help", err, cmd.CommandPath())
	})
	return root
}

// group returns a command that only has subcommands.
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

// exactly requires one argument for each name.
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

// configure reads the settings of a command.
func configure(cmd *cobra.Command) (config.Config, error) {
	c, err := config.Load(cmd.Flags(), os.Environ())
	if err != nil {
		return c, &exit{exitUsage, err}
	}
	return c, nil
}

// needFlag refuses a command line without one of the named flags.
func needFlag(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if !cmd.Flags().Changed(name) {
			return usagef("%s needs --%s; see %s --help", cmd.CommandPath(), name, cmd.CommandPath())
		}
	}
	return nil
}
