package admin

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pleat/internal/app"
	"pleat/internal/blob"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/garbage"
	"pleat/internal/store"
	"pleat/internal/words"
)

// fsckCmd returns the command that compares the rows of the database with the files of the artifact store. It deletes
// nothing, and is safe next to running servers. The exit code is cli.ExitFailed if rows lack files or files are
// damaged.
func fsckCmd() *cobra.Command {
	c := cli.Configured(&cobra.Command{
		Use:   "fsck",
		Short: "Compare the database with the artifact store",
		Long: `Finds rows whose file is missing or damaged, and files without a row, and prints one line for each. A
file that is younger than an hour may get its row soon, and is not called an orphan or damaged. Nothing is
deleted: the workers delete orphans from time to time. Servers and workers may run. The exit code is 1 if a
file is missing or damaged.

With --adopt, the database first adopts the artifact store of this command's settings, for example after its
files were restored into a new bucket. Nodes with another store do not start from then on. Stop all nodes
before. The store must be that of no other database.`,
		Example: `  pleat fsck
  pleat fsck --deep --database postgres://pleat@db.example.org/pleat --blobs s3://pleat
  pleat fsck --adopt --blobs s3://restored`,
	}, func(cmd *cobra.Command, c config.Config, _ []string) error {
		return withStore(cmd, func(ctx context.Context, s *store.Store) error { return fsck(ctx, cmd, c, s) })
	}, config.Store, config.Files)
	f := c.Flags()
	f.Bool("deep", false, "also read every file and compare its SHA-256")
	f.Bool("adopt", false, "make the artifact store that of the database first")
	return c
}

// fsck is the command fsck with an open database.
func fsck(ctx context.Context, cmd *cobra.Command, c config.Config, s *store.Store) error {
	out := cmd.OutOrStdout()
	if folder, missing := app.MissingArtifacts(c); missing {
		return fmt.Errorf("there is no folder %s; name the artifact store with --blobs or the data folder with --data",
			folder)
	}
	b, err := blob.Open(ctx, c.BlobAddress())
	if err != nil {
		return err
	}
	if cli.IsOn(cmd, "adopt") {
		if err := app.AdoptArtifacts(ctx, c, s, b); err != nil {
			return err
		}
		fmt.Fprintf(out, "the database uses the artifact store %s from now on\n", words.Address(c.BlobAddress()))
	} else if err := app.CheckArtifacts(ctx, c, s, b); err != nil {
		return err
	}
	deep := cli.IsOn(cmd, "deep")
	done, err := garbage.Check(ctx, s.Ops, s.Runs, b, deep, s.DB.Now().Add(-garbage.Age), func(f garbage.Fault) error {
		_, err := fmt.Fprintf(out, "%-7s  %s: %s\n", f.Kind, f.Key, f.Detail)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d files checked: %d missing, %d damaged; %d orphans with %s\n", done.Files, done.Missing,
		done.Damaged, done.Orphans, config.Bytes(done.OrphanBytes))
	if n := done.Missing + done.Damaged; n > 0 {
		return fmt.Errorf("%s missing or damaged; restore from a backup, or run the jobs again",
			words.Quantity(n, "file", "files"))
	}
	return nil
}
