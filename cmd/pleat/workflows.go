package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
)

func workflowsCmd() *cobra.Command {
	return group("workflows", "List, read and cancel questions and simulations", "", workflowsList(), workflowsGet(), workflowsLogs(), workflowsCancel())
}

// workflowID refuses what cannot be a workflow before the server is asked.
func workflowID(arg string) (string, error) {
	if !pleat.IsUUID(arg) {
		return "", usagef("%q is not a workflow: a workflow's identifier is a UUID such as 01890a5d-ac96-774b-bcce-b302099a8057", pleat.Clip(arg))
	}
	return arg, nil
}

func workflowsList() *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List your workflows, newest first",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newClient(cmd, false)
			if err != nil {
				return err
			}
			f := cmd.Flags()
			var filter api.WorkflowsFilter
			filter.Limit, _ = f.GetInt("limit")
			filter.Cursor, _ = f.GetString("cursor")
			filter.Status, _ = f.GetString("status")
			filter.Type, _ = f.GetString("type")
			filter.SourceJob, _ = f.GetString("job")
			list, err := c.Workflows(cmd.Context(), filter)
			if err != nil {
				return explain(c, err)
			}
			if asJSON, _ := f.GetBool("json"); asJSON {
				return printJSON(cmd.OutOrStdout(), list)
			}
			rows := [][]string{{"WORKFLOW", "STATUS", "TYPE", "CREATED", "NAME"}}
			for _, w := range list.Data {
				rows = append(rows, []string{w.ID, w.Status, w.Type, w.CreatedAt.Format(time.DateTime), w.Name})
			}
			if err := table(cmd.OutOrStdout(), rows); err != nil {
				return err
			}
			if list.NextCursor != nil && *list.NextCursor != "" {
				fmt.Fprintf(cmd.ErrOrStderr(), "there are more: --cursor %s\n", *list.NextCursor)
			}
			return nil
		},
	}
	f := c.Flags()
	f.Int("limit", 50, "how many, at most 200")
	f.String("cursor", "", "where the page before ended")
	f.String("status", "", "only workflows in this state, such as RUNNING")
	f.String("type", "", "only this kind: qna_v1 or md")
	f.String("job", "", "only those about this job")
	f.Bool("json", false, "print JSON")
	addFlags(f, "client")
	return c
}

func workflowsGet() *cobra.Command {
	c := &cobra.Command{
		Use:   "get WORKFLOW",
		Short: "Show where a workflow stands, and its result",
		Args:  exactly("a workflow's identifier"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := workflowID(args[0])
			if err != nil {
				return err
			}
			c, err := newClient(cmd, true)
			if err != nil {
				return err
			}
			if wait, _ := cmd.Flags().GetBool("wait"); wait {
				if _, err := followWorkflow(cmd, c, id); err != nil {
					return err
				}
			}
			w, err := c.Workflow(cmd.Context(), id)
			if err != nil {
				return explain(c, err)
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSON(cmd.OutOrStdout(), w)
			}
			return showWorkflow(cmd, w)
		},
	}
	c.Flags().Bool("wait", false, "follow the workflow to its end first")
	c.Flags().Bool("json", false, "print JSON")
	addFlags(c.Flags(), "client")
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
	c := &cobra.Command{
		Use:   "logs WORKFLOW",
		Short: "Print a workflow's log",
		Args:  exactly("a workflow's identifier"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := workflowID(args[0])
			if err != nil {
				return err
			}
			c, err := newClient(cmd, false)
			if err != nil {
				return err
			}
			log, err := c.WorkflowLogs(cmd.Context(), id)
			if err != nil {
				return explain(c, err)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), printable(log))
			return err
		},
	}
	addFlags(c.Flags(), "client")
	return c
}

func workflowsCancel() *cobra.Command {
	c := &cobra.Command{
		Use:   "cancel WORKFLOW",
		Short: "Stop a workflow",
		Args:  exactly("a workflow's identifier"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := workflowID(args[0])
			if err != nil {
				return err
			}
			c, err := newClient(cmd, false)
			if err != nil {
				return err
			}
			r, err := c.CancelWorkflow(cmd.Context(), id)
			if err != nil {
				return explain(c, err)
			}
			if r.Status == api.Running {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), "stopping")
			} else {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), r.Status)
			}
			return err
		},
	}
	addFlags(c.Flags(), "client")
	return c
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
