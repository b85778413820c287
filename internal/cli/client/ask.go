package client

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/words"
)

// askCmd returns the command that asks a question about a predicted structure and prints the answer. The exit code is
// cli.ExitUnfinished if the question ended without one. Repeating it asks again, in a new workflow.
func askCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "ask JOB QUESTION",
		Short: "Ask a question about a predicted structure",
		Long: `Asks a question about the predicted structure of a completed job, waits for the answer and prints it.
Interrupting the command leaves the question running.`,
		Example: `  pleat ask 01890a5d-ac96-774b-bcce-b302099a8057 "Which residues are least certain?"`,
		Args:    cli.ExactArgs("a job's identifier", "a question"),
		RunE:    runAsk,
	}
	f := c.Flags()
	f.String("sequence", "", "chain, name or identifier of the sequence to ask about, as pleat jobs get prints them; "+
		"default: the job's first protein")
	f.Bool("public", false, "make the question and the answer readable for everyone")
	f.Bool("json", false, "print the task's result as JSON")
	return addWorkflowFlags(c, "the question")
}

// addWorkflowFlags adds the flags of a command that runs a workflow, and returns the command; standard describes the
// default name.
func addWorkflowFlags(cmd *cobra.Command, standard string) *cobra.Command {
	cmd.Flags().String("name", "", "name of the workflow; default: "+standard)
	cmd.Flags().Bool("no-wait", false, "print the workflow's identifier and return at once")
	config.AddFlags(cmd.Flags(), config.Client, config.Project)
	return cmd
}

// runAsk creates a qna workflow for the job, follows it and prints its answer, with control characters replaced. The
// server names the workflow after the question, unless --name gives another name.
func runAsk(cmd *cobra.Command, args []string) error {
	job := args[0]
	if err := checkIdentifier("job", job); err != nil {
		return err
	}
	c, err := newClient(cmd, keyRequired)
	if err != nil {
		return err
	}
	input := map[string]any{"targetSource": "fold_job", "source_job_id": job, "question": args[1]}
	if sequence := cli.FlagText(cmd, "sequence"); sequence != "" {
		if input["source_sequence_id"], err = sequenceID(cmd.Context(), c, job, sequence); err != nil {
			return err
		}
	}
	if cli.IsOn(cmd, "public") {
		input["isPublic"] = true
	}
	w, err := runWorkflow(cmd, c, "qna_v1", input)
	if err != nil || w == nil {
		return err
	}
	task := w.Tasks[0]
	if cli.IsOn(cmd, "json") {
		return cli.PrintJSON(cmd.OutOrStdout(), task.Result)
	}
	var r api.QnAResult
	if err := json.Unmarshal(task.Result, &r); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), cli.Printable(r.Answer))
	return err
}

// runWorkflow creates a workflow of a type, follows it to its end and returns it with its one task. With --no-wait it
// prints the workflow's identifier instead, and returns nil. The server chooses the name if --name is empty; one that
// is too long is shortened.
func runWorkflow(cmd *cobra.Command, c *api.Client, workflow string, input map[string]any) (*api.Workflow, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	w, err := c.CreateWorkflow(cmd.Context(), api.CreateWorkflow{
		WorkflowName: workflow,
		Name:         words.Shorten(cli.FlagText(cmd, "name"), pleat.MaxName),
		Input:        raw,
	})
	if err != nil {
		return nil, explain(c, err)
	}
	printNotes(cmd, w.Notes)
	if cli.IsOn(cmd, "no-wait") {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), w.ID)
		return nil, err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "workflow %s: %s\n", w.ID, pleat.Clip(w.Name))
	if err := followWorkflow(cmd, c, w.ID); err != nil {
		return nil, err
	}
	return endedWorkflow(cmd, c, w.ID)
}

// endedWorkflow returns a workflow that has ended, with its one task. A workflow without a result is an error with
// cli.ExitUnfinished that gives the reason.
func endedWorkflow(cmd *cobra.Command, c *api.Client, id string) (*api.Workflow, error) {
	w, err := c.Workflow(cmd.Context(), id)
	if err != nil {
		return nil, explain(c, err)
	}
	if w.Status == api.Completed && len(w.Tasks) == 1 {
		return &w, nil
	}
	why := noReason
	if len(w.Tasks) == 1 {
		why = cli.ValueOr(w.Tasks[0].Error, noReason)
	}
	return nil, cli.Exitf(cli.ExitUnfinished, "the workflow %s ended %s: %s", id, w.Status, why)
}
