package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
)

// modelsCmd returns the command that lists the models of a server, one row per model. It needs no API key. A model is
// listed while jobs for it are accepted, also while its workers are away. Its row says what the workers reported: kind,
// engine, device, the length of a job (its residues and atoms of ligands), and what its weights may be used for.
func modelsCmd() *cobra.Command {
	c := onServer(&cobra.Command{
		Use:   "models",
		Short: "List the models that a server offers; pause and resume one",
		Args:  modelsArgs,
	}, keyOptional, func(cmd *cobra.Command, c *api.Client, _ []string) error {
		list, err := c.Models(cmd.Context())
		if err != nil {
			return err
		}
		head := []string{"MODEL", "KIND", "ENGINE", "DEVICE", "LENGTH", "INPUTS", "WEIGHT USE", "TITLE"}
		return printList(cmd, list, head, func(m *api.Model) []string {
			length := "-"
			if m.MaxTokens > 0 {
				length = fmt.Sprintf("%d-%d", m.MinTokens, m.MaxTokens)
			}
			engine, inputs, title := m.Engine+" "+m.Version, strings.Join(m.Entities, ","), m.Title
			if m.Paused {
				title = strings.TrimSpace("(paused" + reasonAfter(m.PausedReason) + ") " + title)
			}
			return []string{m.Name, m.Kind, engine, m.Device, length, inputs, m.WeightUse, title}
		})
	})
	c.AddCommand(modelsPause(), modelsResume())
	return cli.WithJSON(c)
}

// modelsArgs refuses what is neither nothing nor a command on a model.
func modelsArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return cli.Usagef("there is no command %q; %s has pause, resume, and without a command it lists the models",
		pleat.Clip(args[0]), cmd.CommandPath())
}

// modelsPause returns the command that pauses a model.
func modelsPause() *cobra.Command {
	c := onServer(&cobra.Command{
		Use:   "pause NAME",
		Short: "Pause a model, with the key of an operator",
		Long: `Pauses a model: no worker claims its tasks any more, of whatever kind they are. Running tasks
continue; jobs are accepted and wait until pleat models resume. Users read the reason with each job that
waits, and in the list of models. For a model that is paused already, it replaces the reason.`,
		Example: `  pleat models pause boltz-2 --reason "its weights are being replaced"`,
		Args:    cli.ExactArgs("a model"),
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, args []string) error {
		p, err := c.PauseModel(cmd.Context(), args[0], cli.FlagText(cmd, "reason"))
		if err != nil {
			return err
		}
		return cli.PrintLine(cmd, p, p.Model+" is paused")
	})
	c.Flags().String("reason", "", "why, for users; at most 200 characters")
	return cli.WithJSON(c)
}

// modelsResume returns the command that ends the pause of a model.
func modelsResume() *cobra.Command {
	return cli.WithJSON(onServer(&cobra.Command{
		Use:   "resume NAME",
		Short: "Resume a paused model, with the key of an operator",
		Args:  cli.ExactArgs("a model"),
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, args []string) error {
		before, err := c.Models(cmd.Context())
		if err != nil {
			return err
		}
		p, err := c.ResumeModel(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		done := "is resumed"
		if slices.ContainsFunc(before.Data, func(m api.Model) bool { return m.Name == p.Model && !m.Paused }) {
			done = "was not paused"
		}
		return cli.PrintLine(cmd, p, p.Model+" "+done)
	}))
}
