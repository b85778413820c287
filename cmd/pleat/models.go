package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/config"
)

func modelsCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "models",
		Short: "List the models that a server can run",
		Args:  exactly(),
		RunE: onServer(true, func(cmd *cobra.Command, c *api.Client, _ []string) error {
			list, err := c.Models(cmd.Context())
			if err != nil {
				return err
			}
			return showList(cmd, list, []string{"MODEL", "KIND", "ENGINE", "DEVICE", "TOKENS", "TAKES", "TITLE"}, func(m api.Model) []string {
				tokens := "-"
				if m.MaxTokens > 0 {
					tokens = fmt.Sprintf("%d-%d", m.MinTokens, m.MaxTokens)
				}
				return []string{m.Name, m.Kind, m.Engine + " " + m.Version, m.Device, tokens, strings.Join(m.Entities, ","), m.Title}
			})
		}),
	}
	c.Flags().Bool("json", false, "print JSON")
	config.AddFlags(c.Flags(), config.Client)
	return c
}
