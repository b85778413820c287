package client

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
)

// maxDirect is how many structures a server compares without a task.
const maxDirect = 4

// compareCmd returns the command that compares structures and prints the scores of every two.
func compareCmd() *cobra.Command {
	var in api.CreateComparison
	var reference int
	var task bool
	c := inProject(&cobra.Command{
		Use:   "compare STRUCTURE STRUCTURE...",
		Short: "Compare structures: RMSD, TM-score, lDDT and DockQ of every two",
		Long: `Superposes structures and prints the scores of every two. A STRUCTURE is a job's identifier, job:ID,
job:ID/SAMPLE, library:ID, library:ID/FILE or pdb:ID. In each pair, A is the reference, else the first one.

More than 4 structures are compared in a task of a worker, for which the command waits.`,
		Example: `  pleat compare 01890a5d-ac96-774b-bcce-b302099a8057 pdb:1UBQ --reference 2`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < pleat.MinCompared || len(args) > pleat.MaxCompared {
				return cli.Usagef("%d structures are given; give %d to %d", len(args), pleat.MinCompared,
					pleat.MaxCompared)
			}
			if reference < 0 || reference > len(args) {
				return cli.Usagef("--reference is %d; it must be the position of a structure, 1 to %d", reference,
					len(args))
			}
			return nil
		},
	}, keyOptional, func(cmd *cobra.Command, c *api.Client, args []string) error {
		for _, a := range args {
			switch {
			case pleat.IsUUID(a):
				a = "job:" + a
			case !strings.Contains(a, ":") && isFile(a):
				return cli.Usagef("%q names a file; give a job's identifier, library:ID or pdb:ID, and see %s",
					pleat.Clip(a), ownFiles)
			}
			in.Of = append(in.Of, a)
		}
		if reference > 0 {
			in.Reference = &reference
		}
		out, err := compareOn(cmd, c, in, task || len(in.Of) > maxDirect)
		if err != nil {
			return err
		}
		return cli.PrintResult(cmd, out, func() error { return printComparison(cmd, out) })
	})
	f := c.Flags()
	f.IntVar(&reference, "reference", 0, "position of the reference, for DockQ; 0: none")
	f.BoolVar(&task, "task", false, "compare in a task of a worker, also fewer than 5 structures")
	f.StringVar(&in.Name, "name", "", "name of the task's workflow")
	return cli.WithJSON(c)
}

// compareOn returns the comparison, for which it follows a workflow if inTask is set.
func compareOn(cmd *cobra.Command, c *api.Client, in api.CreateComparison, inTask bool) (api.Comparison, error) {
	if !inTask {
		return c.Compare(cmd.Context(), in.Of, cli.ValueOr(in.Reference, 0))
	}
	w, err := c.CreateComparison(cmd.Context(), in)
	if err != nil {
		return api.Comparison{}, err
	}
	if err := followWorkflow(cmd, c, w.ID); err != nil {
		return api.Comparison{}, err
	}
	if w, err = c.Workflow(cmd.Context(), w.ID); err != nil {
		return api.Comparison{}, err
	}
	if w.Status != api.Completed && len(w.Tasks) > 0 && w.Tasks[0].Error != nil {
		return api.Comparison{}, fmt.Errorf("the comparison is %s: %s", w.Status, *w.Tasks[0].Error)
	}
	return api.ComparisonOf(w)
}

// printComparison prints the structures, and the scores of every two.
func printComparison(cmd *cobra.Command, c api.Comparison) error {
	rows := [][]string{{"", "NAME", "RESIDUES", "STRUCTURE"}}
	for i := range c.Structures {
		s := &c.Structures[i]
		n := strconv.Itoa(i + 1)
		if c.Reference != nil && *c.Reference == i+1 {
			n += " (reference)"
		}
		rows = append(rows, []string{n, s.Name, strconv.Itoa(s.Residues), s.Of})
	}
	if err := cli.PrintTable(cmd.OutOrStdout(), rows); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout())
	head := []string{"A", "B", "ALIGNED", "RMSD", "TM (A)", "TM (B)", "LDDT CA", "LDDT", "DOCKQ"}
	rows = cli.Rows(head, c.Pairs, func(p *api.ComparedPair) []string {
		return []string{
			strconv.Itoa(p.A),
			strconv.Itoa(p.B),
			strconv.Itoa(p.AlignedResidues),
			cli.FormatScore(p.RMSD, "%.2f"),
			cli.FormatScore(p.TMScoreA, "%.3f"),
			cli.FormatScore(p.TMScoreB, "%.3f"),
			cli.FormatScore(p.LDDTCA, "%.3f"),
			cli.FormatScore(p.LDDTAllAtom, "%.3f"),
			cli.FormatScore(p.DockQ, "%.3f"),
		}
	})
	if err := cli.PrintTable(cmd.OutOrStdout(), rows); err != nil {
		return err
	}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if why := p.Reasons["rmsd"]; why != "" {
			fmt.Fprintf(cmd.OutOrStdout(), "%d and %d: %s\n", p.A, p.B, cli.PrintableLine(why))
		}
	}
	return nil
}
