package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/config"
	"pleat/internal/seal"
	"pleat/internal/store"
)

func secretsCmd() *cobra.Command {
	return group("secrets", "Look after the secrets that the database holds sealed", "", secretsRotate())
}

func secretsRotate() *cobra.Command {
	c := &cobra.Command{
		Use:   "rotate",
		Short: "Seal every stored secret under the current key",
		Long: `Seals every stored token and signing secret anew under the first of the keys in PLEAT_SECRET_KEY, or in the file secret.key of the
data folder. To replace a key: put the new one before the old one, separated by a comma; restart every node; run this; take the old
one away and restart again. Links that the old key signed end with it.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := configure(cmd)
			if err != nil {
				return err
			}
			if _, ok := c.SQLitePath(); !ok && c.SecretKey == "" {
				return usagef("PLEAT_SECRET_KEY is not set; it must hold the new key and the old one, separated by a comma")
			}
			ring, err := seal.Load(c.SecretKey, c.SecretKeyFile())
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
				fmt.Fprintf(cmd.OutOrStdout(), "sealed the secrets of %d endpoints anew\n", n)
				return nil
			})
		},
	}
	config.AddFlags(c.Flags(), config.Store)
	return c
}
