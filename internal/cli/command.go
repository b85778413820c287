package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/config"
)

// Group returns a command that only has subcommands. Without arguments it prints its help; an unknown subcommand is a
// usage error that suggests the nearest name or lists them all.
func Group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
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
			return Usagef("there is no command %q; did you mean %q?", pleat.Clip(args[0]), cmd.CommandPath()+" "+n)
		}
		all := strings.Join(names, ", ")
		return Usagef("there is no command %q; %s has %s", pleat.Clip(args[0]), cmd.CommandPath(), all)
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return c
}

// Suggest ends a message about a name that nothing has: it asks whether the nearest of the names was meant, or says
// otherwise if none is near.
func Suggest(name string, names []string, otherwise string) string {
	if near := pleat.Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return otherwise
}

// ExactArgs requires one argument for each name. The names, such as "a job's identifier", are for the message; without
// any, the command accepts no arguments.
func ExactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return Usagef("%s needs %s; see %s --help", cmd.CommandPath(), names[len(args)], cmd.CommandPath())
		case len(args) > len(names):
			extra := pleat.Clip(args[len(names)])
			return Usagef("%s does not accept %q; see %s --help", cmd.CommandPath(), extra, cmd.CommandPath())
		}
		return nil
	}
}

// RequireFlags requires all of the named flags.
func RequireFlags(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if !cmd.Flags().Changed(name) {
			return Usagef("%s needs --%s; see %s --help", cmd.CommandPath(), name, cmd.CommandPath())
		}
	}
	return nil
}

// Complete completes a command: it adds the flags of groups of settings, and the RunE. A command without Args accepts
// no arguments.
func Complete(
	cmd *cobra.Command, run func(cmd *cobra.Command, args []string) error, groups ...config.Group,
) *cobra.Command {
	config.AddFlags(cmd.Flags(), groups...)
	if cmd.Args == nil {
		cmd.Args = ExactArgs()
	}
	cmd.RunE = run
	return cmd
}

// Configured is [Complete] for a command that reads its settings first.
func Configured(
	cmd *cobra.Command, run func(cmd *cobra.Command, c config.Config, args []string) error, groups ...config.Group,
) *cobra.Command {
	return Complete(cmd, func(cmd *cobra.Command, args []string) error {
		c, err := LoadConfig(cmd)
		if err != nil {
			return err
		}
		return run(cmd, c, args)
	}, groups...)
}

// WithJSON adds the flag --json to a command whose result is one value, and returns the command.
func WithJSON(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().Bool("json", false, "print JSON")
	return cmd
}

// IsOn reports whether a flag of a command is on, such as --wait.
func IsOn(cmd *cobra.Command, flag string) bool {
	on, _ := cmd.Flags().GetBool(flag) // the command has the flag
	return on
}

// FlagText returns the text of a flag of a command.
func FlagText(cmd *cobra.Command, flag string) string {
	text, _ := cmd.Flags().GetString(flag) // the command has the flag
	return text
}

// LoadConfig reads the settings of a command from the configuration file, the environment and the flags, in this order.
// Any fault is a usage error.
func LoadConfig(cmd *cobra.Command) (config.Config, error) {
	c, err := config.Load(cmd.Flags(), os.Environ())
	if err != nil {
		return c, UsageError(err)
	}
	return c, nil
}

// ExpiryUsage describes a flag that says when something ends.
func ExpiryUsage(what string) string {
	return "when " + what + " ends: a date such as 2027-01-31, its last day, or a time in RFC 3339"
}
