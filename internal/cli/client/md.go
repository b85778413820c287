package client

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/cli/results"
)

// mdCmd returns the command that simulates a predicted structure or a disordered chain, and downloads the trajectory,
// the plots and the measurements. Exit codes and interruption are those of fold. Repeating it starts a new simulation;
// the same seed gives the same trajectory on one architecture.
func mdCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "md JOB",
		Short: "Simulate the dynamics of a predicted structure or a disordered chain",
		Long: `Runs a molecular dynamics simulation of a job's predicted structure, shows its progress and downloads
the trajectory, the plots and the measurements. Without a job it simulates the letters of --sequence as a
disordered chain. Interrupting the command leaves the simulation running.

Times have a unit: 500ps, 1ns, 0.5us.`,
		Example: `  pleat md 01890a5d-ac96-774b-bcce-b302099a8057 --length 1ns --out dynamics
  pleat md 01890a5d-ac96-774b-bcce-b302099a8057 --sequence B
  pleat md --sequence GSGSGSGSGSGSGSGS --length 10ns --ionic 0.05`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil // --sequence is one of the job's
			}
			return sequenceOr("job", "a job's identifier")(cmd, args)
		},
		RunE: runMD,
	}
	f := c.Flags()
	f.String("length", "200ps", "simulated time")
	f.String("every", "", "time between saved frames; default: a hundredth of the length, at least 10ps")
	f.String("preset", "", "single_af_go restrains the regions that were predicted with confidence, single_idr_fasta "+
		"lets the whole chain move freely, all_atom simulates every atom (engine openmm); default: the suitable one")
	f.String("profile", "calvados2", "parameters of the residues: calvados2 or calvados3")
	f.Float64("temp", 293.15, "temperature in K")
	f.Float64("ionic", 0.15, "ionic strength in mol/L")
	f.Float64("ph", 7.5, "pH")
	f.Float64("box", 20, "edge of the box in nm")
	f.String("sequence", "", "with a job: chain, name or identifier of its sequence to simulate, by default its first "+
		"protein; without: the letters of a disordered chain")
	f.String("seed", "", "whole number; the same seed gives the same trajectory")
	results.AddFlags(c, "md-WORKFLOW")
	return addWorkflowFlags(c, "Dynamics of the job or sequence")
}

// runMD creates an md workflow, follows it and downloads its files, by default into md-WORKFLOW. A wrong time is
// refused before anything is sent.
func runMD(cmd *cobra.Command, args []string) error {
	input, err := mdInput(cmd, args)
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
	sequence := cli.FlagText(cmd, "sequence")
	if job, ok := input["sourceJobId"].(string); ok && sequence != "" {
		if input["sourceSequenceId"], err = sequenceID(cmd.Context(), c, job, sequence); err != nil {
			return err
		}
	}
	w, err := runWorkflow(cmd, c, "md", input)
	if err != nil || w == nil {
		return err
	}
	return downloadMD(cmd, c, w, folder.Or("md-"+w.ID))
}

// mdInput returns the workflow_input of the command line, with times in ns, temperature in K, ionic strength in mol/L
// and lengths in nm. It lacks the sequence of a job.
func mdInput(cmd *cobra.Command, args []string) (map[string]any, error) {
	f := cmd.Flags()
	length, err := nanoseconds(f.Lookup("length").Value.String(), "length")
	if err != nil {
		return nil, err
	}
	every := max(length/100, 0.01)
	if f.Changed("every") {
		if every, err = nanoseconds(f.Lookup("every").Value.String(), "every"); err != nil {
			return nil, err
		}
	} else if every = float64(int(every*1000+0.5)) / 1000; length < every { // whole picoseconds
		every = length
	}
	input := map[string]any{"sim_length_ns": length, "step_size_ns": every}
	for flag, key := range map[string]string{"temp": "temp", "ionic": "ionic", "ph": "pH", "box": "box_length"} {
		input[key], _ = f.GetFloat64(flag)
	}
	input["residue_profile"] = cli.FlagText(cmd, "profile")
	setTexts(input, f, map[string]string{"preset": "preset", "seed": "seed"})
	if len(args) == 0 {
		input["sequence"] = cli.FlagText(cmd, "sequence")
		return input, nil
	}
	input["sourceType"], input["sourceJobId"] = "fold_job", args[0]
	return input, checkIdentifier("job", args[0])
}

// nanoseconds parses a time with its unit: fs, ps, ns, us or µs. A time of another form is a usage error about the
// flag.
func nanoseconds(text, flag string) (float64, error) {
	for _, u := range []struct {
		name string
		ns   float64
	}{{"fs", 1e-6}, {"ps", 1e-3}, {"ns", 1}, {"us", 1e3}, {"µs", 1e3}} {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(v > 0 && v < 1e12) {
			break
		}
		return v * u.ns, nil
	}
	return 0, cli.Usagef("--%s is %q; it must be a time above 0 with its unit, such as 500ps, 1ns or 0.5us", flag, text)
}

// downloadMD downloads the files of a simulation into a folder, and prints the measurements and the paths.
func downloadMD(cmd *cobra.Command, c *api.Client, w *api.Workflow, folder results.Folder) error {
	var r api.MDResult
	if err := json.Unmarshal(w.Tasks[0].Result, &r); err != nil {
		return fmt.Errorf("read the result: %w", err)
	}
	return results.SaveArtifacts(cmd, c, w, folder, measurements(r.Metrics))
}

// measurements returns a table with one row per measured series: statistics over the saved frames, in the unit of the
// row. Series that were not measured are left out.
func measurements(metrics json.RawMessage) [][]string {
	rows := [][]string{{"QUANTITY", "MEAN", "SD", "MIN", "MAX", "UNIT"}}
	var all map[string]json.RawMessage
	if json.Unmarshal(metrics, &all) != nil {
		return rows
	}
	for _, name := range []string{"rmsd", "rmsf", "radius_of_gyration", "end_to_end"} {
		var s struct {
			Unit               string
			Mean, SD, Min, Max *float64
		}
		if json.Unmarshal(all[name], &s) == nil && s.Mean != nil {
			row := []string{name}
			for _, v := range []*float64{s.Mean, s.SD, s.Min, s.Max} {
				row = append(row, cli.FormatScore(v, "%.3f"))
			}
			rows = append(rows, append(row, s.Unit))
		}
	}
	return rows
}
