package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/config"
)

// modelsCmd returns the command that lists the models of a server, one row per model. It needs no API key. A model is
// listed while a worker that runs it is alive, and its row says what the worker reported: kind, engine, device, and how
// many residues and atoms (tokens) a job may have.
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
			head := []string{"MODEL", "KIND", "ENGINE", "DEVICE", "TOKENS", "INPUTS", "TITLE"}
			return printList(cmd, list, head, func(m api.Model) []string {
				tokens := "-"
				if m.MaxTokens > 0 {
					tokens = fmt.Sprintf("%d-%d", m.MinTokens, m.MaxTokens)
				}
				engine, inputs := m.Engine+" "+m.Version, strings.Join(m.Entities, ",")
				return []string{m.Name, m.Kind, engine, m.Device, tokens, inputs, m.Title}
			})
		}),
	}
	c.Flags().Bool("json", false, "print JSON")
	config.AddFlags(c.Flags(), config.Client)
	return c
}
