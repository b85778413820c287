package client

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/cli/results"
)

// designCmd returns the command that designs binders of a target, and downloads their structures and tables. Exit codes
// and interruption are those of fold.
func designCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "design TARGET",
		Short: "Design proteins that bind a target, or sequences for a backbone",
		Long: `Designs proteins that bind a target: a job's predicted structure, by its identifier, or a structure file
(PDB or mmCIF), which is stored in your library. With --target-sequence the target is a protein without a structure,
with --ccd or --smiles a ligand. The designs that are kept are downloaded with tables of all of them. The table that is
printed has whether a design passes the filters, design_to_target_iptm, design_ptm, min_design_to_target_pae (Å) and
filter_rmsd (Å). Interrupting the command leaves the design running.

With --redesign nothing is bound: the residues that it names get other amino acids, and the backbone stays. The table
then has sequence_score (lower is better) and sequence_recovery.

Residues are named by chain and position, counted from 1 in the chain's whole sequence: A:3-9,12. With --author
they have the numbers of the structure's authors, which may be 0 or below: A:-2-3. A binder's chain is the first free
letter.`,
		Example: `  pleat design 01890a5d-ac96-774b-bcce-b302099a8057 --epitope A:3-9,12 --designs 50 --keep 5
  pleat design target.cif --chains A,B --kind peptide --out peptides
  pleat design --ccd ATP --no-wait
  pleat design target.cif --redesign A:3-9 --redesign B --designs 100 --keep 10`,
		Args: func(cmd *cobra.Command, args []string) error {
			if withoutStructure(cmd) != nil {
				return cli.ExactArgs()(cmd, args)
			}
			return cli.ExactArgs("a job's identifier or a structure file")(cmd, args)
		},
		RunE: runDesign,
	}
	c.AddCommand(designFoldCmd())
	f := c.Flags()
	f.StringSlice("chains", nil, "chains of the target; default: all")
	f.StringArray("epitope", nil, "residues to bind, such as A:3-9,12; may be repeated")
	f.StringArray("avoid", nil, "residues not to bind; may be repeated")
	f.Bool("author", false, "name chains and residues as the authors of the structure do")
	f.String("kind", "protein", "protein, peptide or nanobody")
	f.String("length", "", "residues of the binder, such as 90 or 80..120; default: by kind")
	f.String("sequence", "", "sequence of the binder with designed parts, such as 3..5C6C3, instead of --length")
	f.Bool("cyclic", false, "a binder whose ends are bonded")
	f.StringArray("redesign", nil, "residues that get other amino acids, such as A or A:3-9,12; may be repeated")
	f.String("target-sequence", "", "design for a protein without a structure")
	f.String("ccd", "", "design for a ligand of the Chemical Component Dictionary")
	f.String("smiles", "", "design for a ligand given as SMILES")
	f.String("protocol", "", "protocol of the engine; default: by kind and target, sequence_only with --redesign")
	f.String("model", "", "model that designs; default: the service chooses")
	f.Float64("temperature", 0, "of sampling with --redesign, above 0 and up to 2; default: the engine's")
	f.Int("designs", 50, "how many designs to make")
	f.Int("keep", 5, "how many of them to return")
	f.String("seed", "", "whole number from 0 to 4294967295")
	results.AddFlags(c, "design-WORKFLOW")
	return addWorkflowFlags(c, "Design")
}

// runDesign creates a design, follows it and downloads its files, by default into design-WORKFLOW.
func runDesign(cmd *cobra.Command, args []string) error {
	input, err := designInput(cmd)
	if err != nil {
		return err
	}
	folder := results.FolderOf(cmd)
	if err := folder.CheckNew(); err != nil {
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
	w, err := runWorkflow(cmd, c, "design_v1", input)
	if err != nil || w == nil {
		var refused *api.Error
		if item != "" && errors.As(err, &refused) { // no workflow was made
			deleteItem(cmd.Context(), c, item)
		}
		return err
	}
	if err := results.SaveArtifacts(cmd, c, w, folder.Or("design-"+w.ID), designTable(w)); err != nil {
		return err
	}
	printDesignNotes(cmd, w)
	return nil
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
