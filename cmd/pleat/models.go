package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/config"
)

// modelsCmd returns the command that lists the models of a server, one row per model. It needs no API key. A model is
// listed while jobs for it are accepted, also while its workers are away. Its row says what the workers reported: kind,
// engine, device, and the length of a job: its residues and atoms of ligands.
func modelsCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "models",
		Short: "List the models that a server offers",
		Args:  exactly(),
		RunE: onServer(keyOptional, func(cmd *cobra.Command, c *api.Client, _ []string) error {
			list, err := c.Models(cmd.Context())
			if err != nil {
				return err
			}
			head := []string{"MODEL", "KIND", "ENGINE", "DEVICE", "LENGTH", "INPUTS", "TITLE"}
			return printList(cmd, list, head, func(m api.Model) []string {
				length := "-"
				if m.MaxTokens > 0 {
					length = fmt.Sprintf("%d-%d", m.MinTokens, m.MaxTokens)
				}
				engine, inputs := m.Engine+" "+m.Version, strings.Join(m.Entities, ",")
				return []string{m.Name, m.Kind, engine, m.Device, length, inputs, m.Title}
			})
		}),
	}
	c.Flags().Bool("json", false, "print JSON")
	config.AddFlags(c.Flags(), config.Client)
	return c
}
