package client

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/cli"
)

// workflowsCmd returns the group of commands on the workflows of a server: questions and simulations, whether a user or
// the end of a fold has started them.
func workflowsCmd() *cobra.Command {
	const short = "List, show, run, cancel, delete and move workflows: questions, simulations, designs and comparisons"
	return cli.Group("workflows", short, "",
		workflowsList(), workflowsGet(), workflowsLogs(), workflowsRun(), workflowsCancel(), workflowsDelete(),
		workflowsMove())
}

// workflowsList returns the command that prints a page of the caller's workflows, newest first, also those that the end
// of a fold has started.
func workflowsList() *cobra.Command {
	var filter api.WorkflowsFilter
	c := inProject(&cobra.Command{
		Use:   "list",
		Short: "List your workflows, newest first",
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, _ []string) error {
		if err := resolveCreator(cmd.Context(), c, &filter.CreatedBy); err != nil {
			return err
		}
		list, err := c.Workflows(cmd.Context(), filter)
		if err != nil {
			return err
		}
		head := []string{"WORKFLOW", "STATUS", "TYPE", "CREATED", "NAME"}
		owned := func(w *api.WorkflowRow) api.Owned { return w.Owned }
		return printWork(cmd, list, head, owned, func(w *api.WorkflowRow) []string {
			return []string{w.ID, w.Status, w.Type, w.CreatedAt.Format(time.DateTime), w.Name}
		})
	})
	f := c.Flags()
	f.StringVar(&filter.Status, "status", "", "only workflows with this status, such as RUNNING")
	f.StringVar(&filter.Type, "type", "", "only workflows of this type: qna_v1, md, design_v1 or compare_v1")
	f.StringVar(&filter.SourceJob, "job", "", "only workflows on this job")
	addCreatorFlag(c, &filter.CreatedBy)
	return withPages(c, "workflows", &filter.Limit, &filter.Cursor)
}

// workflowsGet returns the command that shows a workflow and its answer or its measurements. With --wait it follows the
// workflow first. A workflow without a result is no error here.
func workflowsGet() *cobra.Command {
	c := &cobra.Command{Use: "get WORKFLOW", Short: "Show the status and the result of a workflow"}
	onObject(c, "workflow", keyOptional, func(cmd *cobra.Command, c *api.Client, id string) error {
		if cli.IsOn(cmd, "wait") {
			if err := followWorkflow(cmd, c, id); err != nil {
				return err
			}
		}
		w, err := c.Workflow(cmd.Context(), id)
		if err != nil {
			return err
		}
		return cli.PrintResult(cmd, w, func() error { return showWorkflow(cmd, w) })
	})
	c.Flags().Bool("wait", false, "wait for the workflow to end first")
	return cli.WithJSON(c)
}

// showWorkflow prints a workflow as rows of name and value, then the question and its answer, or the measurements or
// the designs and the addresses of the files.
func showWorkflow(cmd *cobra.Command, w api.Workflow) error {
	rows := [][]string{
		{"workflow", w.ID},
		{"name", w.Name},
		{"type", w.Type},
		{"status", w.Status},
		{"created", w.CreatedAt.Format(time.DateTime)},
	}
	if w.Stage != "" && !api.Terminal(w.Status) {
		rows = append(rows, []string{"stage", fmt.Sprintf("%s %d/%d", w.Stage, w.Done, w.Total)})
	}
	if w.ExpiresAt != nil {
		rows = append(rows, []string{"kept until", w.ExpiresAt.Format(time.DateTime)})
	}
	for _, t := range w.Tasks {
		if t.Error != nil {
			rows = append(rows, []string{"failure", *t.Error})
		}
	}
	out := cmd.OutOrStdout()
	if err := cli.PrintTable(out, rows); err != nil || w.Status != api.Completed || len(w.Tasks) == 0 {
		return err
	}
	var q api.QnAResult
	if json.Unmarshal(w.Tasks[0].Result, &q) == nil && q.Answer != "" {
		_, err := fmt.Fprintf(out, "\n%s\n\n%s\n", cli.Printable(q.Question), cli.Printable(q.Answer))
		return err
	}
	var m api.MDResult
	if err := json.Unmarshal(w.Tasks[0].Result, &m); err != nil {
		return fmt.Errorf("read the result: %w", err)
	}
	table := measurements(m.Metrics)
	if len(w.Tasks[0].Parsed) > 0 {
		table = designTable(&w)
		printDesignNotes(cmd, &w)
	}
	if err := cli.PrintTable(out, table); err != nil {
		return err
	}
	for _, a := range m.Artifacts {
		fmt.Fprintln(out, a.URL)
	}
	if len(w.Folds) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	return cli.PrintTable(out, foldTable(w.Folds))
}

// workflowsLogs returns the command that prints the log of a workflow, one line per event, with control
// characters replaced.
func workflowsLogs() *cobra.Command {
	c := &cobra.Command{Use: "logs WORKFLOW", Short: "Print the log of a workflow"}
	return onObject(c, "workflow", keyRequired, func(cmd *cobra.Command, c *api.Client, id string) error {
		log, err := c.WorkflowLogs(cmd.Context(), id)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(cmd.OutOrStdout(), cli.Printable(log))
		return err
	})
}

// workflowsRun returns the command that runs a draft and prints its state.
func workflowsRun() *cobra.Command {
	c := &cobra.Command{Use: "run WORKFLOW", Short: "Run a workflow that is a draft"}
	return changeObject(c, "workflow", (*api.Client).ExecuteWorkflow, func(w api.Workflow) string { return w.Status })
}

// workflowsCancel returns the command that cancels a workflow and prints its state, as jobs cancel does.
func workflowsCancel() *cobra.Command {
	c := &cobra.Command{Use: "cancel WORKFLOW", Short: "Cancel a workflow"}
	return changeObject(c, "workflow", (*api.Client).CancelWorkflow,
		func(r api.CancelledWorkflow) string { return cancelledState(r.Status) })
}

// workflowsDelete returns the command that deletes a workflow with everything that was stored for it.
func workflowsDelete() *cobra.Command {
	return changeObject(&cobra.Command{
		Use:   "delete WORKFLOW",
		Short: "Delete a workflow, its files and the library items that it made",
	}, "workflow", (*api.Client).DeleteWorkflow, func(api.DeletedWorkflow) string { return "deleted" })
}
