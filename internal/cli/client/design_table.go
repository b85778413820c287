package client

import (
	"encoding/json"
	"fmt"

	"pleat/api"
	"pleat/internal/cli"
)

// designTable returns a table of the final set: of binders their scores, of sequences for a backbone theirs.
func designTable(w *api.Workflow) [][]string {
	rows := [][]string{{"RANK", "DESIGN", "FILTERS", "TARGET IPTM", "DESIGN PTM", "MIN PAE", "RMSD", "SEQUENCE"}}
	scored := [][]string{{"RANK", "DESIGN", "SCORE", "RECOVERY", "SEQUENCE"}}
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
			Score    *float64 `json:"sequence_score"`
			Recovery *float64 `json:"sequence_recovery"`
		}
		if json.Unmarshal(raw, &d) != nil {
			continue
		}
		if d.Score != nil {
			scored = append(scored, []string{
				fmt.Sprint(d.Rank),
				d.ID,
				cli.FormatScore(d.Score, "%.3f"),
				cli.FormatScore(d.Recovery, "%.2f"),
				d.Sequence,
			})
		}
		filters := "-"
		if d.Passed != nil {
			filters = map[bool]string{true: "pass", false: "fail"}[*d.Passed]
		}
		rows = append(rows, []string{
			fmt.Sprint(d.Rank),
			d.ID,
			filters,
			cli.FormatScore(d.IPTM, "%.3f"),
			cli.FormatScore(d.PTM, "%.3f"),
			cli.FormatScore(d.PAE, "%.2f"),
			cli.FormatScore(d.RMSD, "%.2f"),
			d.Sequence,
		})
	}
	if len(scored) == len(rows) && len(rows) > 1 {
		return scored
	}
	return rows
}

// foldTable returns a table of the folds of a design.
func foldTable(folds []api.DesignFold) [][]string {
	head := []string{"JOB", "DESIGN", "MODEL", "STATUS", "PLDDT", cli.RMSDColumn, "IPTM", "BINDER RMSD"}
	return cli.WithoutEmpty(cli.Rows(head, folds, func(f *api.DesignFold) []string {
		return []string{f.JobID, f.DesignID, f.ModelName, f.Status, cli.FormatScore(f.MeanPLDDT, "%.1f"),
			cli.FormatScore(f.PredictedRMSD, "%.2f"), cli.FormatScore(f.IPTM, "%.3f"),
			cli.FormatScore(f.BinderRMSD, "%.2f")}
	}), cli.RMSDColumn)
}
