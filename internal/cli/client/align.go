package client

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/cli/results"
	"pleat/internal/format"
)

// alignCmd returns the command that searches for alignments of proteins and downloads them. Exit codes and
// interruption are those of fold. Repeating it searches again, in a new workflow.
func alignCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "align [FILE]",
		Short: "Search for alignments of proteins, for several jobs or for other programs",
		Long: `Searches for alignments of the proteins of a file, shows the progress and downloads them in A3M format.
The file is one that pleat fold takes; what is not a protein is left out, and equal proteins are searched for
once. Jobs use the alignments with pleat fold --alignment-id and the identifier that this command prints.
Interrupting the command leaves the search running.`,
		Example: `  pleat align complex.fasta --out alignments
  pleat align --sequence DAYAQWLKDGGPSSGRPPPS
  pleat fold complex.fasta --model boltz-2 --alignment-id 01890a5d-ac96-774b-bcce-b302099a8057`,
		Args: sequenceOr("file", "a file"),
		RunE: call(runAlign).run(keyRequired),
	}
	f := c.Flags()
	f.String("sequence", "", "protein to align instead of a file; : between several")
	f.String("format", "", "format of the file, as of pleat fold; default: detected")
	f.String("pairing", "", "how rows of several proteins are paired by their organism: greedy, complete or none; "+
		"default: as the server is set up")
	addFilesFlag(c)
	results.AddFlags(c, "align-WORKFLOW")
	return addWorkflowFlags(c, "what is aligned")
}

// runAlign creates an alignment, follows it and downloads its files.
func runAlign(cmd *cobra.Command, c *api.Client, args []string) error {
	folder := results.FolderOf(cmd)
	if err := folder.CheckNew(); err != nil {
		return err
	}
	proteins, err := proteinsToAlign(cmd, args)
	if err != nil {
		return err
	}
	input := map[string]any{"sequences": proteins}
	setTexts(input, cmd.Flags(), map[string]string{"pairing": "pairing"})
	w, err := runWorkflow(cmd, c, "alignment_v1", input)
	if err != nil || w == nil {
		return err
	}
	return downloadAlignment(cmd, c, w, folder.Or("align-"+w.ID))
}

// proteinsToAlign returns the letters of the different proteins of the command line, in their order.
func proteinsToAlign(cmd *cobra.Command, args []string) ([]string, error) {
	if len(args) == 0 {
		return strings.Split(cli.FlagText(cmd, "sequence"), ":"), nil
	}
	text, dir, err := readInput(cmd, args[0], args[0], format.MaxDetach)
	if err != nil {
		return nil, err
	}
	from, err := openSources(cmd, dir)
	if err != nil {
		return nil, err
	}
	defer from.close()
	if text, err = from.detach(text); err != nil {
		return nil, cli.Usagef("%s: %w", args[0], err)
	}
	got, err := format.Import(text, from.format, format.Options{Files: from.files()})
	if err != nil {
		return nil, cli.Usagef("%s: %w", args[0], err)
	}
	var out []string
	for i := range got.Jobs {
		for _, letters := range pleat.Proteins(got.Jobs[i].Sequences) {
			if !slices.Contains(out, letters) {
				out = append(out, letters)
			}
		}
	}
	if len(out) == 0 {
		return nil, cli.Usagef("%s has no protein to align", args[0])
	}
	return out, nil
}

// downloadAlignment downloads the files of an alignment into a folder, and prints how deep each alignment is, and the
// paths.
func downloadAlignment(cmd *cobra.Command, c *api.Client, w *api.Workflow, folder results.Folder) error {
	a, err := c.Alignment(cmd.Context(), w.ID)
	if err != nil {
		return explain(c, err)
	}
	head := []string{"PROTEIN", "RESIDUES", "ROWS", "PAIRED ROWS"}
	return results.SaveArtifacts(cmd, c, w, folder, cli.Rows(head, a.Proteins, func(p *api.AlignedProtein) []string {
		residues := strconv.Itoa(len(p.Sequence))
		return []string{p.Chain, residues, cli.NumberOrDash(p.Depth), cli.NumberOrDash(p.PairedDepth)}
	}))
}
