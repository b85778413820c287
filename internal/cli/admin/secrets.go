package admin

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/store"
	"pleat/internal/words"
)

// secretsCmd returns the group of commands on the secrets that the database stores encrypted.
func secretsCmd() *cobra.Command {
	return cli.Group("secrets", "Manage the encrypted secrets in the database", "", secretsRotate(), secretsAdopt())
}

// secretsRotate returns the command that encrypts all stored secrets with the newest key. It works on the database,
// next to running servers, in one transaction: after an error nothing has changed. It is safe to repeat.
func secretsRotate() *cobra.Command {
	return cli.Configured(&cobra.Command{
		Use:   "rotate",
		Short: "Encrypt all stored secrets with the current key",
		Long: `Encrypts all stored addresses, tokens and signing secrets of webhooks with the first of the keys in
PLEAT_SECRET_KEY, in the file secret-key-file, or in the file secret.key of the data folder.

To replace a key, restart every node with OLD,NEW, then every node with NEW,OLD; run this command; wait a day
for links to expire; then restart every node with NEW. At each step, all nodes may have the keys of this step
or of the one before. docs/operations.md describes the steps.`,
	}, func(cmd *cobra.Command, c config.Config, _ []string) error {
		if c.CheckSharedKey() != nil {
			return cli.Usagef("PLEAT_SECRET_KEY is not set; it must be the keys of the nodes, NEW,OLD")
		}
		return withStore(cmd, func(ctx context.Context, s *store.Store) error {
			if err := app.CheckSecrets(ctx, c, s); err != nil {
				return err
			}
			ring, err := app.LoadKeys(c)
			if err != nil {
				return err
			}
			n, err := s.Webhooks.Reseal(ctx, func(owner pleat.ProjectID, column, sealed string) (string, bool, error) {
				return ring.Reseal(string(owner), column, sealed)
			})
			if err != nil {
				return fmt.Errorf("nothing was changed: %w", err)
			}
			if n == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "all stored secrets are encrypted with the current key already")
				return nil
			}
			fmt.Fprintf(cmd.OutOrStdout(), "encrypted the secrets of %s with the current key\n",
				words.Quantity(n, "endpoint", "endpoints"))
			return nil
		})
	}, config.Store)
}

// secretsAdopt returns the command that makes the database accept a secret key after the one that it was used with is
// lost.
func secretsAdopt() *cobra.Command {
	return cli.Configured(&cobra.Command{
		Use:   "adopt",
		Short: "Use the database with another secret key after the old one is lost",
		Long: `Makes the database accept the secret key of this command's settings instead of the one that it was used
with. This is for a key that is lost; to replace a key, use pleat secrets rotate. Stop all nodes before. All
links that were signed with the lost key are invalid, and users must set the tokens and secrets of their
webhooks again.`,
	}, func(cmd *cobra.Command, c config.Config, _ []string) error {
		if err := c.CheckSharedKey(); err != nil {
			return cli.UsageError(err)
		}
		return withStore(cmd, func(ctx context.Context, s *store.Store) error {
			lost, err := app.AdoptSecrets(ctx, c, s)
			return cli.Say(cmd, err, "the database accepts this secret key; %d webhook endpoints have secrets that it "+
				"cannot open", lost)
		})
	}, config.Store)
}
