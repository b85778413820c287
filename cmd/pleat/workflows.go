package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/config"
)

func workflowsCmd() *cobra.Command {
	return group("workflows", "List, read and cancel questions and simulations", "", workflowsList(), workflowsGet(), workflowsLogs(), workflowsCancel())
}

func workflowsList() *cobra.Command {
	var filter api.WorkflowsFilter
	c := &cobra.Command{
		Use:   "list",
		Short: "List your workflows, newest first",
		Args:  exactly(),
		RunE: onServer(false, func(cmd *cobra.Command, c *api.Client, _ []string) error {
			list, err := c.Workflows(cmd.Context(), filter)
			if err != nil {
				return err
			}
			return showList(cmd, list, []string{"WORKFLOW", "STATUS", "TYPE", "CREATED", "NAME"}, func(w api.WorkflowRow) []string {
				return []string{w.ID, w.Status, w.Type, w.CreatedAt.Format(time.DateTime), w.Name}
			})
		}),
	}
	f := c.Flags()
	f.IntVar(&filter.Limit, "limit", 50, "how many, at most 200")
	f.StringVar(&filter.Cursor, "cursor", "", "where the page before ended")
	f.StringVar(&filter.Status, "status", "", "only workflows in this state, such as RUNNING")
	f.StringVar(&filter.Type, "type", "", "only this kind: qna_v1 or md")
	f.StringVar(&filter.SourceJob, "job", "", "only those about this job")
	f.Bool("json", false, "print JSON")
	config.AddFlags(f, config.Client)
	return c
}

func workflowsGet() *cobra.Command {
	c := onOne(&cobra.Command{Use: "get WORKFLOW", Short: "Show where a workflow stands, and its result"}, "workflow", true, func(cmd *cobra.Command, c *api.Client, id string) error {
		if wait, _ := cmd.Flags().GetBool("wait"); wait {
			if _, err := followWorkflow(cmd, c, id); err != nil {
				return err
			}
		}
		w, err := c.Workflow(cmd.Context(), id)
		if err != nil {
			return err
		}
		return showOne(cmd, w, func() error { return showWorkflow(cmd, w) })
	})
	c.Flags().Bool("wait", false, "follow the workflow to its end first")
	c.Flags().Bool("json", false, "print JSON")
	return c
}

// showWorkflow writes a workflow for a person: lines of name and value, then its answer or its files.
func showWorkflow(cmd *cobra.Command, w api.Workflow) error {
	rows := [][]string{{"workflow", w.ID}, {"name", w.Name}, {"type", w.Type}, {"status", w.Status}, {"created", w.CreatedAt.Format(time.DateTime)}}
	if w.Stage != "" && !api.Terminal(w.Status) {
		rows = append(rows, []string{"stage", fmt.Sprintf("%s %d/%d", w.Stage, w.Done, w.Total)})
	}
	for _, t := range w.Tasks {
		if t.Error != nil {
			rows = append(rows, []string{"failure", *t.Error})
		}
	}
	out := cmd.OutOrStdout()
	if err := table(out, rows); err != nil || w.Status != api.Completed || len(w.Tasks) == 0 {
		return err
	}
	var q api.QnAResult
	if json.Unmarshal(w.Tasks[0].Result, &q) == nil && q.Answer != "" {
		_, err := fmt.Fprintf(out, "\n%s\n\n%s\n", printable(q.Question), printable(q.Answer))
		return err
	}
	var m api.MDResult
	if err := json.Unmarshal(w.Tasks[0].Result, &m); err != nil {
		return fmt.Errorf("read the result: %w", err)
	}
	if err := table(out, measured(m.Metrics)); err != nil {
		return err
	}
	for _, a := range m.Artifacts {
		fmt.Fprintln(out, a.URL)
	}
	return nil
}

func workflowsLogs() *cobra.Command {
	return onOne(&cobra.Command{Use: "logs WORKFLOW", Short: "Print a workflow's log"}, "workflow", false, func(cmd *cobra.Command, c *api.Client, id string) error {
		log, err := c.WorkflowLogs(cmd.Context(), id)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(cmd.OutOrStdout(), printable(log))
		return err
	})
}

func workflowsCancel() *cobra.Command {
	return onOne(&cobra.Command{Use: "cancel WORKFLOW", Short: "Stop a workflow"}, "workflow", false, func(cmd *cobra.Command, c *api.Client, id string) error {
		r, err := c.CancelWorkflow(cmd.Context(), id)
		if err != nil {
			return err
		}
		return stopping(cmd, r.Status)
	})
}

// printable is a server's text as it may stand on a terminal: its lines, without anything that moves the cursor.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029') {
			return '\ufffd'
		}
		return r
	}, s)
}

// oneLine is a text without line breaks, for a name.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
