package client

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/format"
)

// batchCmd returns the group of commands on batches.
func batchCmd() *cobra.Command {
	return cli.Group("batch", "Fold many inputs: submit batches, watch them, read and download their results", "",
		batchSubmit(), batchList(), batchStatus(), batchTable(), batchDownload(), batchRetry(), batchRerun(),
		batchCancel(), batchDelete())
}

// batchSubmit returns the command that creates a batch from a file and follows it. An interruption leaves the batch
// running, and repeating the command within a day continues with it.
func batchSubmit() *cobra.Command {
	var in batchInput
	c := inProject(&cobra.Command{
		Use:   "submit FILE|FOLDER",
		Short: "Create a batch from a file or a folder and follow it",
		Long: `Creates a batch from a file or the files of a folder, shows its progress and waits until it has ended.

The file is CSV or TSV with the columns id and sequence, FASTA with one row for each record, a file of
another program as pleat fold takes them, whose jobs become rows, or JSON as POST /v1/batches takes it. A
colon in a sequence separates chains. The name - means standard input. Alignments (A3M) that the files name
are uploaded to your library; they must be in the folder of the file or below it, or in one of --files.

The rows are checked first. Repeating the command with the same file and flags within a day continues with the
batch that it created. Interrupting it leaves the batch running. The exit code tells whether a row has failed.`,
		Example: `  pleat batch submit binders.csv --model boltz-2
  pleat batch submit proteome.fasta --name proteome --dry-run
  pleat batch submit boltz-inputs/ --model boltz-2
  pleat batch submit screen.json`,
		Args: cli.ExactArgs("a file or folder"),
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, args []string) error {
		request, with, err := in.read(cmd, c, args[0])
		if err == nil {
			err = submitBatch(cmd, c, request, &with)
		}
		with.discard(cmd, c)
		return err
	})
	f := c.Flags()
	f.StringVar(&in.model, "model", "mini", "model, as pleat models lists them; not for JSON, which names its own")
	f.StringVar(&in.name, "name", "", "name of the batch; default: that of the file")
	f.String("format", "", "format of the files: "+strings.Join(format.Names(), ", ")+"; default: detected")
	addFilesFlag(c)
	f.StringVar(&in.seed, "seed", "", "seed of all rows; default: the service chooses one for each")
	f.Bool("dry-run", false, "check the batch and print what it comes to, without creating it")
	f.Bool("no-wait", false, "print the batch's identifier and return at once")
	return cli.WithJSON(c)
}

// submitBatch checks a batch, creates it and follows it, as the flags say. The files that were uploaded for it stay
// once it is created.
func submitBatch(cmd *cobra.Command, c *api.Client, request api.CreateBatch, with *uploadedInputs) error {
	v, err := c.ValidateBatch(cmd.Context(), request)
	if err != nil {
		return err
	}
	if cli.IsOn(cmd, "dry-run") || !v.Valid {
		err := cli.PrintResult(cmd, v, func() error { return cli.PrintTable(cmd.OutOrStdout(), describeValidation(v)) })
		if err != nil {
			return err
		}
		if !v.Valid {
			return fmt.Errorf("the batch has faults, of which the first is: %s", v.Errors[0].Message)
		}
		return nil
	}
	request.ProjectID = c.Project // another batch in another project
	key, err := batchKey(request)
	if err != nil {
		return err
	}
	created, err := c.CreateBatch(cmd.Context(), request, api.CreateOptions{IdempotencyKey: key})
	if err != nil {
		return err
	}
	with.created = false
	const format = "batch %s: %d rows, %d of them different\n"
	fmt.Fprintf(cmd.ErrOrStderr(), format, created.BatchID, created.Rows, created.Jobs)
	if cli.IsOn(cmd, "no-wait") {
		return cli.PrintLine(cmd, created, created.BatchID)
	}
	return finishBatch(cmd, c, created.BatchID)
}

// finishBatch follows a batch to its end and prints it. The error has cli.ExitUnfinished if a row ended without a
// result.
func finishBatch(cmd *cobra.Command, c *api.Client, id string) error {
	var last api.Batch
	err := c.FollowBatch(cmd.Context(), id, func(b api.Batch) error {
		last = b
		fmt.Fprintln(cmd.ErrOrStderr(), describeCounts(b))
		return nil
	})
	if interrupted(cmd, err) {
		const text = "interrupted; the batch continues. To wait for it: pleat batch status %[1]s --wait; to cancel " +
			"it: pleat batch cancel %[1]s"
		return cli.Exitf(cli.ExitInterrupted, text, id)
	}
	if err != nil {
		return err
	}
	if err := printBatch(cmd, last); err != nil {
		return err
	}
	return rowsWithoutResult(last)
}

// rowsWithoutResult returns an error with cli.ExitUnfinished if rows of a batch ended without a result, which names the
// commands that say why.
func rowsWithoutResult(b api.Batch) error {
	n, commands := 0, []string(nil)
	for _, state := range []pleat.State{pleat.StateFailed, pleat.StateStopped} {
		if count := b.Counts[string(state)]; count > 0 {
			n += count
			commands = append(commands, fmt.Sprintf("pleat batch table %s --filter status=%s", b.BatchID, state))
		}
	}
	if n == 0 {
		return nil
	}
	const text = "%d of %d rows ended without a result; to see why: %s"
	return cli.Exitf(cli.ExitUnfinished, text, n, b.Rows, strings.Join(commands, " and "))
}

// describeCounts returns the counts of a batch in one line.
func describeCounts(b api.Batch) string {
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(b.Counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", b.Counts[state], pleat.Clip(state)))
	}
	return fmt.Sprintf("%s: %s of %d rows", pleat.Clip(b.Status), strings.Join(parts, ", "), b.Rows)
}

// printBatch prints a batch.
func printBatch(cmd *cobra.Command, b api.Batch) error {
	return cli.PrintResult(cmd, b, func() error {
		rows := [][]string{{"batch", b.BatchID}, {"name", b.Name}, {"kind", b.Kind}, {"model", b.ModelName},
			{"status", b.Status}, {"rows", fmt.Sprintf("%d, %d of them different", b.Rows, b.Jobs)}}
		for _, state := range slices.Sorted(maps.Keys(b.Counts)) {
			rows = append(rows, []string{strings.ToLower(state), fmt.Sprint(b.Counts[state])})
		}
		return cli.PrintTable(cmd.OutOrStdout(), append(rows, []string{"created", b.CreatedAt.Format(time.DateTime)}))
	})
}

// describeValidation returns what a batch comes to, and its first faults.
func describeValidation(v api.BatchValidation) [][]string {
	rows := [][]string{
		{"rows", fmt.Sprintf("%d, %d of them different", v.Rows, v.Jobs)},
		{"model", v.ModelName},
		{"tokens", fmt.Sprintf("%d, at most %d in a row", v.Tokens, v.LargestTokens)},
		{"alignments", fmt.Sprintf("%d, %d of them at hand", v.Alignments, v.AlignmentsAtHand)},
		{"core-seconds", fmt.Sprintf("%.0f", v.Seconds)},
		{"quota left", fmt.Sprintf("%d rows", v.QuotaRemaining)},
	}
	for _, e := range v.Errors[:min(len(v.Errors), 20)] {
		rows = append(rows, []string{"fault", e.Message})
	}
	return rows
}

// batchList returns the command that prints a page of the caller's batches, newest first.
func batchList() *cobra.Command {
	var filter api.BatchesFilter
	c := inProject(&cobra.Command{
		Use:   "list",
		Short: "List your batches, newest first",
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, _ []string) error {
		if err := resolveCreator(cmd.Context(), c, &filter.CreatedBy); err != nil {
			return err
		}
		list, err := c.Batches(cmd.Context(), filter)
		if err != nil {
			return err
		}
		head := []string{"BATCH", "STATUS", "ROWS", "COMPLETED", "FAILED", "MODEL", "CREATED", "NAME"}
		owned := func(b *api.Batch) api.Owned { return b.Owned }
		return printWork(cmd, list, head, owned, func(b *api.Batch) []string {
			return []string{b.BatchID, b.Status, fmt.Sprint(b.Rows), fmt.Sprint(b.Counts["COMPLETED"]),
				fmt.Sprint(b.Counts["FAILED"]), b.ModelName, b.CreatedAt.Format(time.DateTime), b.Name}
		})
	})
	addCreatorFlag(c, &filter.CreatedBy)
	return withPages(c, "batches", &filter.Limit, &filter.Cursor)
}

// batchStatus returns the command that prints a batch, at once or when it has ended.
func batchStatus() *cobra.Command {
	c := &cobra.Command{Use: "status BATCH", Short: "Show how far a batch is"}
	onObject(c, "batch", keyOptional, func(cmd *cobra.Command, c *api.Client, id string) error {
		if cli.IsOn(cmd, "wait") {
			return finishBatch(cmd, c, id)
		}
		b, err := c.Batch(cmd.Context(), id)
		if err != nil {
			return err
		}
		return printBatch(cmd, b)
	})
	c.Flags().Bool("wait", false, "wait until the batch has ended")
	return cli.WithJSON(c)
}

// addRowsFlags adds the flags that select and order rows.
func addRowsFlags(c *cobra.Command, q *api.RowsQuery) {
	c.Flags().StringVar(&q.Sort, "sort", "", "name of a score, with :asc or :desc; default: the order of the file")
	c.Flags().StringVar(&q.Filter, "filter", "", "conditions joined by commas, such as meanPLDDT>=80,status=COMPLETED")
}

// batchTable returns the command that writes the table of a batch.
func batchTable() *cobra.Command {
	var q api.RowsQuery
	var out string
	c := &cobra.Command{
		Use:   "table BATCH",
		Short: "Write the table of a batch as CSV, JSON Lines or Parquet",
		Example: `  pleat batch table 01890a5d-ac96-774b-bcce-b302099a8057 --sort iptm_score:desc
  pleat batch table 01890a5d-ac96-774b-bcce-b302099a8057 --filter "meanPLDDT>=80" --out screen.parquet`,
	}
	onObject(c, "batch", keyOptional, func(cmd *cobra.Command, c *api.Client, id string) error {
		ending := strings.ToLower(strings.TrimPrefix(filepath.Ext(out), "."))
		switch {
		case out == "":
			return c.BatchFile(cmd.Context(), id, "table.csv", q, cmd.OutOrStdout())
		case !slices.Contains([]string{"csv", "jsonl", "parquet"}, ending):
			return cli.Usagef("--out is %q; it must end in .csv, .jsonl or .parquet", out)
		}
		return downloadBatch(cmd, c, id, "table."+ending, q, out)
	})
	addRowsFlags(c, &q)
	c.Flags().StringVar(&out, "out", "", "file that ends in .csv, .jsonl or .parquet; default: CSV to standard output")
	return c
}

// batchDownload returns the command that downloads the structures of a batch.
func batchDownload() *cobra.Command {
	var q api.RowsQuery
	var out string
	c := &cobra.Command{Use: "download BATCH", Short: "Download the structures of completed rows as a zip"}
	onObject(c, "batch", keyOptional, func(cmd *cobra.Command, c *api.Client, id string) error {
		if out == "" {
			out = "batch-" + id + ".zip"
		}
		return downloadBatch(cmd, c, id, "archive.zip", q, out)
	})
	addRowsFlags(c, &q)
	c.Flags().StringVar(&out, "out", "", "file; default: batch-BATCH.zip")
	return c
}

// downloadBatch writes a file of a batch.
func downloadBatch(cmd *cobra.Command, c *api.Client, id, name string, q api.RowsQuery, out string) error {
	err := replaceFile(out, func(w io.Writer) error { return c.BatchFile(cmd.Context(), id, name, q, w) })
	if err == nil {
		_, err = fmt.Fprintln(cmd.ErrOrStderr(), "wrote", out)
	}
	return err
}

// replaceFile writes a file that only its user can read. It takes its name once it is whole: a process that is killed
// leaves the old one.
func replaceFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".pleat-*") // with mode 0600
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// batchRetry returns the command that runs failed rows again.
func batchRetry() *cobra.Command {
	c := &cobra.Command{Use: "retry BATCH", Short: "Run the rows of a batch again that failed or were stopped"}
	return changeObject(c, "batch", (*api.Client).RetryBatch,
		func(r api.RetriedBatch) string { return fmt.Sprintf("%d rows run again", r.Rows) })
}

// batchRerun returns the command that makes a batch of the same rows with another model or seed.
func batchRerun() *cobra.Command {
	var in api.RerunBatch
	var params api.Params
	var seed string
	c := onServer(&cobra.Command{
		Use:   "rerun BATCH",
		Short: "Fold the rows of a batch again with another model or seed, as a new batch",
		Long: `Creates a batch of the same rows. It keeps the batch's model; all other parameters, such as the number of
samples, are the model's defaults. POST /v1/batches/{id}/rerun takes any parameters.`,
		Example: "  pleat batch rerun 01890a5d-ac96-774b-bcce-b302099a8057 --seed 2",
		Args:    cli.ExactArgs("a batch's identifier"),
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, args []string) error {
		if err := checkIdentifier("batch", args[0]); err != nil {
			return err
		}
		in.Params, params.Seed = &params, cli.TextOrNil(seed)
		created, err := c.RerunBatch(cmd.Context(), args[0], in)
		if err != nil {
			return err
		}
		return cli.PrintLine(cmd, created, created.BatchID)
	})
	f := c.Flags()
	f.StringVar(&params.ModelName, "model", "", "model of the new rows; default: that of the batch")
	f.StringVar(&seed, "seed", "", "seed of the new rows; default: those that the rows name")
	f.StringVar(&in.Name, "name", "", "name of the new batch; default: that of the batch")
	return cli.WithJSON(c)
}

// batchCancel returns the command that cancels a batch.
func batchCancel() *cobra.Command {
	c := &cobra.Command{Use: "cancel BATCH", Short: "Stop the rows of a batch that have not ended"}
	return changeObject(c, "batch", (*api.Client).CancelBatch, func(b api.Batch) string {
		return "the rows that have not ended are being stopped; now " + describeCounts(b)
	})
}

// batchDelete returns the command that deletes a batch.
func batchDelete() *cobra.Command {
	c := &cobra.Command{Use: "delete BATCH", Short: "Delete a batch with its jobs and files"}
	return onObject(c, "batch", keyRequired, func(cmd *cobra.Command, c *api.Client, id string) error {
		_, err := c.DeleteBatch(cmd.Context(), id)
		if err == nil {
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "deleted", id)
		}
		return err
	})
}
