package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/config"
)

// designCmd returns the command that designs binders of a target, and downloads their structures and tables. Exit codes
// and interruption are those of fold.
func designCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "design TARGET",
		Short: "Design proteins that bind a target",
		Long: `Designs proteins that bind a target: a job's predicted structure, by its identifier, or a structure file
(PDB or mmCIF), which is stored in your library. With --ccd or --smiles the target is a ligand, with
--target-sequence a protein whose structure is not known. The designs that are kept are downloaded with
tables of all of them. The table that is printed has whether a design passes the filters,
design_to_target_iptm, design_ptm, min_design_to_target_pae (Å) and filter_rmsd (Å). Interrupting the
command leaves the design running.

Residues are named by chain and position, counted from 1 in the chain's whole sequence: A:3-9,12. With --author
they are named by the numbers of the structure's authors, which may be 0 or below: A:-2-3.`,
		Example: `  pleat design 01890a5d-ac96-774b-bcce-b302099a8057 --epitope A:3-9,12 --designs 50 --keep 5
  pleat design target.cif --chains A,B --kind peptide --out peptides
  pleat design --ccd ATP --no-wait`,
		Args: func(cmd *cobra.Command, args []string) error {
			for flag := range targetFlags {
				if v, _ := cmd.Flags().GetString(flag); v != "" {
					return exactly()(cmd, args)
				}
			}
			return exactly("a job's identifier or a structure file")(cmd, args)
		},
		RunE: runDesign,
	}
	f := c.Flags()
	f.StringSlice("chains", nil, "chains of the target; default: all")
	f.StringArray("epitope", nil, "residues to bind, such as A:3-9,12; may be repeated")
	f.StringArray("avoid", nil, "residues not to bind; may be repeated")
	f.Bool("author", false, "name chains and residues as the authors of the structure do")
	f.String("kind", "protein", "protein, peptide or nanobody")
	f.String("length", "", "residues of the binder, such as 90 or 80..120; default: by kind")
	f.String("sequence", "", "sequence of the binder with designed parts, such as 3..5C6C3, instead of --length")
	f.Bool("cyclic", false, "a binder whose ends are bonded")
	f.String("ccd", "", "design for a ligand of the Chemical Component Dictionary")
	f.String("smiles", "", "design for a ligand given as SMILES")
	f.String("target-sequence", "", "design for a protein given by its sequence alone")
	f.String("protocol", "", "protocol of the engine; default: by kind and target")
	f.Int("designs", 50, "how many designs to make")
	f.Int("keep", 5, "how many of them to return")
	f.String("seed", "", "whole number from 0 to 4294967295")
	f.String("name", "", "name of the workflow; default: Design")
	addFolderFlags(c, "design-WORKFLOW")
	f.Bool("no-wait", false, "print the workflow's identifier and return at once")
	config.AddFlags(f, config.Client)
	c.AddCommand(designFoldCmd())
	return c
}

// targetFlags are the fields of a target that is no argument, by the flags that have them.
var targetFlags = map[string]string{"ccd": "ccd", "smiles": "smiles", "target-sequence": "sequence"}

// runDesign creates a design, follows it and downloads its files, by default into design-WORKFLOW.
func runDesign(cmd *cobra.Command, args []string) error {
	input, err := designInput(cmd)
	if err != nil {
		return err
	}
	folder := folderOf(cmd)
	if err := folder.checkNew(); err != nil {
		return err
	}
	c, err := newClient(cmd, keyRequired)
	if err != nil {
		return err
	}
	item := "" // that was uploaded
	if len(args) == 1 {
		if input["target"], item, err = designTarget(cmd, c, args[0]); err != nil {
			return err
		}
	}
	name, _ := cmd.Flags().GetString("name")
	w, err := runWorkflow(cmd, c, "design_v1", name, input)
	if err != nil || w == nil {
		var refused *api.Error
		if item != "" && errors.As(err, &refused) { // no workflow was made
			removeUnused(cmd, c, item)
		}
		return err
	}
	if err := saveArtifacts(cmd, c, w, folder.or("design-"+w.ID), designTable(w)); err != nil {
		return err
	}
	printDesignNotes(cmd, w)
	return nil
}

// removeUnused deletes an item that was uploaded for a workflow, unless a workflow uses it: then its run has pinned it.
func removeUnused(cmd *cobra.Command, c *api.Client, item string) {
	_, _ = c.DeleteItem(context.WithoutCancel(cmd.Context()), item)
}

// printDesignNotes prints what to know of a design.
func printDesignNotes(cmd *cobra.Command, w *api.Workflow) {
	var result struct {
		Notes []string `json:"notes"`
	}
	if len(w.Tasks) > 0 && json.Unmarshal(w.Tasks[0].Result, &result) == nil {
		printNotes(cmd, result.Notes)
	}
}

// designInput returns the workflow_input of the command line, without the target if that is an argument.
func designInput(cmd *cobra.Command) (map[string]any, error) {
	f := cmd.Flags()
	input, binder := map[string]any{}, map[string]any{}
	for flag, key := range map[string]string{"kind": "kind", "length": "length", "sequence": "sequence"} {
		if v, _ := f.GetString(flag); v != "" {
			binder[key] = v
		}
	}
	if v, _ := f.GetBool("cyclic"); v {
		binder["cyclic"] = true
	}
	input["binder"] = binder
	target := map[string]any{}
	for flag, field := range targetFlags {
		if v, _ := f.GetString(flag); v != "" {
			target[field] = v
			input["target"] = target
		}
	}
	for flag, key := range map[string]string{"designs": "numDesigns", "keep": "budget"} {
		if f.Changed(flag) {
			input[key], _ = f.GetInt(flag)
		}
	}
	for flag, key := range map[string]string{"protocol": "protocolName", "seed": "seed"} {
		if v, _ := f.GetString(flag); v != "" {
			input[key] = v
		}
	}
	if chains, _ := f.GetStringSlice("chains"); len(chains) > 0 {
		input["targetChains"] = chains
	}
	author, _ := f.GetBool("author")
	if author {
		input["numbering"] = "author"
	}
	for _, flag := range []string{"epitope", "avoid"} {
		given, _ := f.GetStringArray(flag)
		var list []map[string]any
		for _, text := range given {
			one, err := chainResidues(text, flag, author)
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		if len(list) > 0 {
			input[flag] = list
		}
	}
	return input, nil
}

// residueRange matches the number of a residue, or a range of them.
var residueRange = regexp.MustCompile(`^(-?[0-9]{1,6})(?:-(-?[0-9]{1,6}))?$`)

// chainResidues parses residues of a chain, such as A:3-9,12, which a flag has. Numbers of authors may be below 1.
func chainResidues(text, flag string, author bool) (map[string]any, error) {
	wrong := usagef("--%s is %q; it must be a chain and positions of residues, such as A:3-9,12", flag, text)
	chain, list, ok := strings.Cut(text, ":")
	if !ok || chain == "" {
		return nil, wrong
	}
	var residues []int
	for part := range strings.SplitSeq(list, ",") {
		m := residueRange.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return nil, wrong
		}
		from, _ := strconv.Atoi(m[1])
		to := from
		if m[2] != "" {
			to, _ = strconv.Atoi(m[2])
		}
		if from < 1 && !author || to < from || to-from > 10_000 {
			return nil, wrong
		}
		for n := from; n <= to; n++ {
			residues = append(residues, n)
		}
	}
	return map[string]any{"chain_id": chain, "res_idx": residues}, nil
}

// designTarget returns the target of an argument: a job, or a file, which it uploads to the library, and the item of
// the file.
func designTarget(cmd *cobra.Command, c *api.Client, arg string) (target map[string]any, item string, err error) {
	if id, err := identifier("job", arg); err == nil {
		return map[string]any{"sourceJobId": id}, "", nil
	}
	name := filepath.Base(arg)
	if ending := strings.ToLower(filepath.Ext(name)); !slices.Contains(pleat.StructureEndings, ending) {
		return nil, "", usagef("%q is neither a job's identifier nor a structure file, whose name ends in %s", arg,
			strings.Join(pleat.StructureEndings, ", "))
	}
	made, err := c.CreateItem(cmd.Context(), api.CreateItem{Name: name, FileType: "protein", Origin: "pleat design"})
	if err != nil {
		return nil, "", explain(c, err)
	}
	if err := upload(cmd, c, made.ID, name, arg); err != nil {
		removeUnused(cmd, c, made.ID)
		return nil, "", explain(c, err)
	}
	return map[string]any{"libraryItemId": made.ID}, made.ID, nil
}

// designTable returns a table of the final set.
func designTable(w *api.Workflow) [][]string {
	rows := [][]string{{"RANK", "DESIGN", "FILTERS", "TARGET IPTM", "DESIGN PTM", "MIN PAE", "RMSD", "SEQUENCE"}}
	for _, raw := range w.Tasks[0].Parsed {
		var d struct {
			ID       string   `json:"id"`
			Rank     int      `json:"final_rank"`
			Passed   *bool    `json:"pass_filters"`
			IPTM     *float64 `json:"design_to_target_iptm"`
			PTM      *float64 `json:"design_ptm"`
			PAE      *float64 `json:"min_design_to_target_pae"`
			RMSD     *float64 `json:"filter_rmsd"`
			Sequence string   `json:"designed_chain_sequence"`
		}
		if json.Unmarshal(raw, &d) != nil {
			continue
		}
		filters := "-"
		if d.Passed != nil {
			filters = map[bool]string{true: "pass", false: "fail"}[*d.Passed]
		}
		rows = append(rows, []string{
			fmt.Sprint(d.Rank), d.ID, filters, number(d.IPTM, "%.3f"), number(d.PTM, "%.3f"), number(d.PAE, "%.2f"),
			number(d.RMSD, "%.2f"), d.Sequence,
		})
	}
	return rows
}

// designFoldCmd returns the command that folds the best designs of a completed design with another model, and prints
// the jobs.
func designFoldCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "fold WORKFLOW",
		Short: "Fold the best designs with another model",
		Long: `Folds designs with another model: a second opinion, since the engine ranks its designs with a network
that is kin of the one that designs. Each becomes a job of its own, and counts in the quota. Their
scores stand in pleat workflows get once they have ended.`,
		Example: `  pleat design fold 01890a5d-ac96-774b-bcce-b302099a8057 --top 3 --model openfold3`,
	}
	onObject(c, "workflow", keyRequired, func(cmd *cobra.Command, c *api.Client, id string) error {
		f := cmd.Flags()
		var in api.FoldDesigns
		model, _ := f.GetString("model")
		if model == "" {
			return usagef("%s needs --model; pleat models lists the models", cmd.CommandPath())
		}
		in.Name, _ = f.GetString("name")
		if in.Designs, _ = f.GetStringSlice("designs"); len(in.Designs) == 0 || f.Changed("top") {
			top, _ := f.GetInt("top")
			in.Top = &top
		}
		var err error
		if in.Params, err = api.Encode(map[string]string{"modelName": model}); err != nil {
			return err
		}
		made, err := c.FoldDesigns(cmd.Context(), id, in)
		if err != nil {
			return err
		}
		return printResult(cmd, made, func() error {
			rows := [][]string{{"RANK", "DESIGN", "JOB"}}
			for _, d := range made.Data {
				rows = append(rows, []string{fmt.Sprint(d.FinalRank), d.DesignID, d.JobID})
			}
			printNotes(cmd, made.Notes)
			return table(cmd.OutOrStdout(), rows)
		})
	})
	f := c.Flags()
	f.Int("top", 3, "fold so many designs, the best first: 1 to 20")
	f.StringSlice("designs", nil, "ids of the designs to fold, instead of --top")
	f.String("model", "", "model that folds them; it must fold complexes")
	f.String("name", "", "start of the names of the jobs; default: the name of the workflow")
	f.Bool("json", false, "print JSON")
	return c
}

// foldTable returns a table of the folds of a design; nil: there is none.
func foldTable(w *api.Workflow) [][]string {
	if len(w.Folds) == 0 {
		return nil
	}
	rows := [][]string{{"DESIGN", "FOLDED BY", "JOB", "STATUS", "PLDDT", "PTM", "IPTM", "BINDER RMSD"}}
	for _, f := range w.Folds {
		rows = append(rows, []string{
			f.DesignID, f.ModelName, f.JobID, f.Status, number(f.MeanPLDDT, "%.1f"), number(f.PTM, "%.3f"),
			number(f.IPTM, "%.3f"), number(f.BinderRMSD, "%.2f"),
		})
	}
	return rows
}
