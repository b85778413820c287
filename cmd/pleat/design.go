package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
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
(PDB or mmCIF), which is stored in your library. With --ccd or --smiles the target is a ligand. The designs that are
kept are downloaded with tables of all of them. The table that is printed has whether a design passes the
filters, design_to_target_iptm, design_ptm, min_design_to_target_pae (Å) and filter_rmsd (Å). Interrupting the
command leaves the design running.

Residues are named by chain and position, counted from 1 in the chain's whole sequence: A:3-9,12.`,
		Example: `  pleat design 01890a5d-ac96-774b-bcce-b302099a8057 --epitope A:3-9,12 --designs 50 --keep 5
  pleat design target.cif --chains A,B --kind peptide --out peptides
  pleat design --ccd ATP --no-wait`,
		Args: func(cmd *cobra.Command, args []string) error {
			ccd, _ := cmd.Flags().GetString("ccd")
			smiles, _ := cmd.Flags().GetString("smiles")
			if ccd != "" || smiles != "" {
				return exactly()(cmd, args)
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
	f.String("protocol", "", "protocol of the engine; default: by kind and target")
	f.Int("designs", 50, "how many designs to make")
	f.Int("keep", 5, "how many of them to return")
	f.String("seed", "", "whole number from 0 to 4294967295")
	f.String("name", "", "name of the workflow; default: Design")
	addFolderFlags(c, "design-WORKFLOW")
	f.Bool("no-wait", false, "print the workflow's identifier and return at once")
	config.AddFlags(f, config.Client)
	return c
}

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
		for _, note := range result.Notes {
			fmt.Fprintln(cmd.ErrOrStderr(), "note: "+printable(note))
		}
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
	for _, flag := range []string{"ccd", "smiles"} {
		if v, _ := f.GetString(flag); v != "" {
			input["target"] = map[string]any{flag: v}
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
	if v, _ := f.GetBool("author"); v {
		input["numbering"] = "author"
	}
	for _, flag := range []string{"epitope", "avoid"} {
		given, _ := f.GetStringArray(flag)
		var list []map[string]any
		for _, text := range given {
			one, err := chainResidues(text, flag)
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

// chainResidues parses residues of a chain, such as A:3-9,12, which a flag has.
func chainResidues(text, flag string) (map[string]any, error) {
	wrong := usagef("--%s is %q; it must be a chain and positions of residues, such as A:3-9,12", flag, text)
	chain, list, ok := strings.Cut(text, ":")
	if !ok || chain == "" {
		return nil, wrong
	}
	var residues []int
	for part := range strings.SplitSeq(list, ",") {
		first, last, ranged := strings.Cut(strings.TrimSpace(part), "-")
		from, err := strconv.Atoi(first)
		to := from
		if err == nil && ranged {
			to, err = strconv.Atoi(last)
		}
		if err != nil || from < 1 || to < from || to-from > 10_000 {
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
