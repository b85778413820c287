// Command pleat serves protein folds and calls such a service.
//
// It constructs everything: each command is one file that reads its Config, opens what it needs and hands it to the rooms
// below. It must not hold rules of the service itself: those live in package pleat and in internal.
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

// Exit codes. A job that ends without a result has its own, so that scripts can tell it from a server that does not answer.
const (
	exitOK          = 0
	exitFailed      = 1   // it did not work; one sentence on stderr says why
	exitUsage       = 2   // the command line or the configuration is wrong
	exitUnfinished  = 3   // the job ended FAILED or STOPPED
	exitDiffers     = 4   // the run that was verified did not give the same again
	exitInterrupted = 130 // interrupted; a job that was followed goes on
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

// exit is an error with the exit code it means. A nil err says nothing more.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string { return sentence(e.err) }
func (e *exit) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...)}
}

// sentence is an error as one line for a person.
func sentence(err error) string {
	if err == nil {
		return ""
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

const about = `pleat folds proteins with AI models, as a service of your own.

  pleat demo                     fold a small protein from nothing, in a minute
  pleat serve                    serve on 127.0.0.1:8080, with the data in ./pleat-data
  pleat keys create --user NAME  make a key to call it with

Settings come from a YAML file (--config), the environment (PLEAT_…) and flags; later ones win.
Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 the job ended without a result, 4 a verified run differs, 130 interrupted.`

// newRoot returns the program. See serveCmd for deliveryStep.
func newRoot(deliveryStep func(name string)) *cobra.Command {
	root := group("pleat", "Folds proteins with AI models, as a service of your own", about,
		serveCmd(deliveryStep), workerCmd(), demoCmd(), foldCmd(), askCmd(), mdCmd(), jobsCmd(), verifyCmd(), workflowsCmd(), keysCmd(), modelsCmd(), enginesCmd(), webhooksCmd(), secretsCmd(), doctorCmd(), migrateCmd())
	root.Version = pleat.Version
	root.SetVersionTemplate("pleat {{.Version}}\n")
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%v; see %s --help", err, cmd.CommandPath())
	})
	return root
}

// group is a command that only holds others.
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
		return usagef("there is no command %q; %s has %s", pleat.Clip(args[0]), cmd.CommandPath(), strings.Join(names, ", "))
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return c
}

// exactly takes the arguments named, no more and no fewer.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usagef("%s needs %s; see %s --help", cmd.CommandPath(), names[len(args)], cmd.CommandPath())
		case len(args) > len(names):
			return usagef("%s does not take %q; see %s --help", cmd.CommandPath(), pleat.Clip(args[len(names)]), cmd.CommandPath())
		}
		return nil
	}
}

// configure reads a command's settings.
func configure(cmd *cobra.Command) (config.Config, error) {
	c, err := config.Load(cmd.Flags(), os.Environ())
	if err != nil {
		return c, &exit{exitUsage, err}
	}
	return c, nil
}

// needFlag refuses a command line that lacks a flag.
func needFlag(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if !cmd.Flags().Changed(name) {
			return usagef("%s needs --%s; see %s --help", cmd.CommandPath(), name, cmd.CommandPath())
		}
	}
	return nil
}
