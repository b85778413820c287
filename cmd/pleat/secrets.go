package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/config"
	"pleat/internal/store"
)

// secretsCmd returns the group of commands on the secrets that the database stores encrypted.
func secretsCmd() *cobra.Command {
	return group("secrets", "Manage the encrypted secrets in the database", "", secretsRotate())
}

// secretsRotate returns the command that encrypts all stored secrets with the newest key. It works on the database,
// next to running servers, in one transaction: after an error nothing has changed. It is safe to repeat.
func secretsRotate() *cobra.Command {
	c := &cobra.Command{
		Use:   "rotate",
		Short: "Encrypt all stored secrets with the current key",
		Long: `Encrypts all stored tokens and signing secrets with the first of the keys in PLEAT_SECRET_KEY, in the
file secret-key-file, or in the file secret.key of the data folder.

To replace a key: put the new key before the old one, separated by a comma; restart every node; run this
command; remove the old key and restart every node again. Links that were signed with the old key then
become invalid.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := configure(cmd)
			if err != nil {
				return err
			}
			if c.CheckSharedKey() != nil {
				return usagef("PLEAT_SECRET_KEY is not set; it must be the new key and the old one, " +
					"separated by a comma")
			}
			ring, err := app.LoadKeys(c)
			if err != nil {
				return err
			}
			return withStore(cmd, func(ctx context.Context, s *store.Store) error {
				n, err := s.Reseal(ctx, func(user pleat.UserID, column, sealed string) (string, bool, error) {
					return ring.Reseal(string(user), column, sealed)
				})
				if err != nil {
					return fmt.Errorf("nothing was changed: %w", err)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "encrypted the secrets of %d endpoints with the current key\n", n)
				return nil
			})
		},
	}
	config.AddFlags(c.Flags(), config.Store)
	return c
}
