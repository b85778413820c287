package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func modelsCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "models",
		Short: "List the models that a server can run",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newClient(cmd, true)
			if err != nil {
				return err
			}
			list, err := c.Models(cmd.Context())
			if err != nil {
				return explain(c, err)
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSON(cmd.OutOrStdout(), list)
			}
			rows := [][]string{{"MODEL", "KIND", "ENGINE", "DEVICE", "TOKENS", "TAKES", "TITLE"}}
			for _, m := range list.Data {
				tokens := "-"
				if m.MaxTokens > 0 {
					tokens = fmt.Sprintf("%d-%d", m.MinTokens, m.MaxTokens)
				}
				rows = append(rows, []string{m.Name, m.Kind, m.Engine + " " + m.Version, m.Device, tokens, strings.Join(m.Entities, ","), m.Title})
			}
			return table(cmd.OutOrStdout(), rows)
		},
	}
	c.Flags().Bool("json", false, "print JSON")
	addFlags(c.Flags(), "client")
	return c
}
