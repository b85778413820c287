package client

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/cli"
)

// designFoldCmd returns the command that folds the best designs of a workflow with another model.
func designFoldCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "fold DESIGN",
		Short: "Fold the best designs of a workflow with another model",
		Long: `Folds designs of a completed workflow: each becomes an ordinary job. pleat workflows get DESIGN then
has their scores, and how far each binder is from its design.`,
		Example: `  pleat design fold 01890a5d-ac96-774b-bcce-b302099a8057 --model openfold3 --top 3`,
	}
	f := c.Flags()
	f.String("model", "", "model that folds; required")
	f.Int("top", 3, "how many designs, the best first: 1 to 20")
	f.StringSlice("designs", nil, "ids of designs, instead of --top")
	f.String("name", "", "start of the names of the jobs; default: the name of the workflow")
	return cli.WithJSON(onObject(c, "workflow", keyRequired, foldDesigns))
}

// foldDesigns creates the folds of designs and prints their jobs.
func foldDesigns(cmd *cobra.Command, c *api.Client, id string) error {
	f := cmd.Flags()
	model := cli.FlagText(cmd, "model")
	if model == "" {
		return cli.Usagef("--model is required; pleat models lists what is running")
	}
	params, err := json.Marshal(map[string]string{"modelName": model})
	if err != nil {
		return err
	}
	in := api.FoldDesigns{Params: params}
	in.Name = cli.FlagText(cmd, "name")
	if in.Designs, _ = f.GetStringSlice("designs"); len(in.Designs) == 0 {
		top, _ := f.GetInt("top")
		in.Designs, in.Top = nil, &top
	}
	out, err := c.FoldDesigns(cmd.Context(), id, in)
	if err != nil {
		return err
	}
	return cli.PrintResult(cmd, out, func() error {
		printNotes(cmd, out.Notes)
		head := []string{"JOB", "RANK", "DESIGN", "NAME"}
		return cli.PrintTable(cmd.OutOrStdout(), cli.Rows(head, out.Data, func(d *api.FoldedDesign) []string {
			return []string{d.JobID, fmt.Sprint(d.FinalRank), d.DesignID, d.JobName}
		}))
	})
}
