package client

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/cli/results"
	"pleat/internal/compressed"
	"pleat/internal/config"
	"pleat/internal/format"
	"pleat/internal/msa"
	"pleat/internal/submit"
	"pleat/internal/words"
)

// foldCmd returns the command that folds a file or a sequence on a server and downloads the results. It is the sum of
// three requests that can be made one by one: create the job (--no-wait), follow it, and download (jobs results). The
// exit code is cli.ExitUnfinished if a job ended without a result; after an interruption, which leaves the jobs
// running, it is cli.ExitInterrupted and the message says how to wait for them or cancel them. Repeating it creates new
// jobs, which the server completes from its result cache if nothing has changed.
func foldCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "fold [FILE|FOLDER]",
		Short: "Fold proteins: submit a job, follow it, download the results",
		Long: `Submits a fold to a server, shows its progress, downloads all files of the result and checks the SHA-256
of each.

The file is FASTA, AlphaFold Server JSON, AlphaFold 3 JSON, Boltz YAML, Protenix JSON, OpenFold3 queries, a
table of ColabFold (CSV, TSV) or a samplesheet of nf-core/proteinfold; its format is detected. The name -
means standard input. Parts of the file that a job cannot express are printed as notes. Several FASTA
records become one job: a model for complexes folds them together, any other model folds each of them
alone. A file with several jobs submits all of them. Interrupting the command leaves the jobs running.

Alignments (A3M), structures and FASTA files that the file names are uploaded to your library. They must be
in the folder of the file or below it, or in one of --files. Structures inside AlphaFold 3 JSON are
uploaded, too.

All files of a folder are folded; subfolders are ignored. The folder of the results has a list of
what was folded, pleat-folder.jsonl: the same command goes on where an earlier one has ended and folds
nothing twice. At the end a table says what became of each job; the exit code tells whether one has failed.
Jobs that failed run again with --retry.

Several models or seeds make one job for each model and seed, at most 64, of which each counts against the
quota. All are checked before the first is created. One table ranks their structures, which are in folders
of their own; ranking.csv has the same table. A job that fails does not end the others.

A folder has the files of one run: pleat-run.json in it says which. Files of another run, or with the names
of its files, are replaced with --force only.`,
		Example: `  pleat fold protein.fasta --out result
  pleat fold complex.yaml --model boltz-2
  pleat fold protein.fasta --model boltz-2 --alignment protein.a3m
  pleat fold inputs/ --model boltz-2 --out results
  pleat fold --sequence DAYAQWLKDGGPSSGRPPPS --name Trp-cage --seed 1
  pleat fold protein.fasta --model mini,boltz-2 --seed 1,2,3 --out compared`,
		Args: sequenceOr("file", "a file, a folder"),
		RunE: call(runFold).run(keyRequired),
	}
	f := c.Flags()
	f.String("sequence", "", "protein to fold instead of a file; : between several chains")
	f.String("format", "", "format of the file: "+strings.Join(format.Names(), ", ")+"; default: detected")
	f.String("name", "", "name of the job; default: the name of the file's job, of its first sequence or of the file")
	f.StringSlice("model", nil, "model, as pleat models lists them, or several; default: mini for --sequence, the "+
		"first suitable one for a file")
	f.StringSlice("seed", nil, "whole number, or several; the same seed gives the same structure")
	f.Int("seeds", 0, "number of random seeds, instead of --seed")
	f.StringArray("alignment", nil, "A3M file whose first row is a protein of the job, used instead of an MSA search; "+
		"repeat it for several proteins; the files are stored in your library")
	f.String("alignment-id", "", "alignments of pleat align, used instead of an MSA search")
	addFilesFlag(c)
	results.AddFlags(c, "fold-JOBID, of a folder FOLDER-results")
	f.Bool("retry", false, "of a folder: run jobs again that failed or were stopped")
	f.Bool("public", false, "make the results readable for everyone")
	f.Bool("no-cache", false, "do not use the cached result of an earlier run with the same input, parameters and seed")
	f.Bool("dry-run", false, "check the jobs and print what they would cost, without creating them")
	f.Bool("no-wait", false, "print the job's identifier and return at once")
	config.AddFlags(f, config.Client, config.Project)
	return c
}

// foldJob is a job that fold creates.
type foldJob struct {
	request    api.CreateJob
	inputIndex int    // index of what is folded: jobs of one index differ in model and seed only
	base       string // its name without the model and seed that distinguish it from others
	folder     string // the name of its folder in that of the flags; empty: it is that folder
	id         string // empty until it is created
}

// in returns the folder of the job in that of the flags.
func (j foldJob) in(out results.Folder) results.Folder {
	if j.folder == "" {
		return out
	}
	return out.Sub(j.folder)
}

// runFold creates all jobs before it follows the first. Several are checked first, and so is one that names its seed,
// since it may have been computed before.
func runFold(cmd *cobra.Command, c *api.Client, args []string) error {
	variants, err := variantsOf(cmd)
	if err != nil {
		return err
	}
	if len(args) == 1 && isFolder(args[0]) {
		return foldFolder(cmd, c, args[0], variants)
	}
	if cmd.Flags().Changed("retry") {
		return cli.Usagef("--retry is for a folder")
	}
	requests, with, err := foldRequests(cmd, c, args, variants.models)
	if err != nil {
		return err
	}
	out := results.FolderOf(cmd)
	var jobs []foldJob
	defer func() { // what was uploaded for jobs of which none was created
		if len(jobs) == 0 || jobs[0].id == "" {
			with.discard(cmd, c)
		}
	}()
	jobs, err = variants.jobs(requests, out)
	if err != nil {
		return err
	}
	if err := checkAlignments(cmd, c, requests); err != nil {
		return err
	}
	dryRun := cli.IsOn(cmd, "dry-run")
	if dryRun || len(jobs) > 1 || jobs[0].request.Params.Seed != nil {
		if err := checkJobs(cmd, c, jobs, dryRun); err != nil || dryRun {
			return err
		}
	}
	item, err := uploadAlignments(cmd, c, requests)
	if err != nil {
		return err
	}
	if err := createJobs(cmd, c, jobs, item); err != nil {
		return err
	}
	if cli.IsOn(cmd, "no-wait") {
		return nil
	}
	if variants.several() {
		return rankJobs(cmd, c, jobs, out.Or("fold-"+jobs[0].id))
	}
	return finishJobs(cmd, c, jobs, out)
}

// finishJobs follows the jobs one after the other and downloads their results. One that ends without a result does not
// end the others.
func finishJobs(cmd *cobra.Command, c *api.Client, jobs []foldJob, out results.Folder) error {
	failed := 0
	for _, j := range jobs {
		if err := follow(cmd, c, j.id); err != nil {
			return err
		}
		err := downloadResults(cmd, c, j.id, j.in(out))
		var code *cli.ExitError
		if errors.As(err, &code) && code.Code == cli.ExitUnfinished && len(jobs) > 1 {
			fmt.Fprintln(cmd.ErrOrStderr(), cli.ErrorLine(err))
			failed++
		} else if err != nil {
			return err
		}
	}
	if failed > 0 {
		return cli.Exitf(cli.ExitUnfinished, "%d of %s ended without a result", failed,
			words.Quantity(len(jobs), "job", "jobs"))
	}
	return nil
}

// createJobs creates the jobs and prints their ids. If the server refuses one, those before it are left running and the
// message says how many; the item of alignments that was uploaded for them is deleted if none was created.
func createJobs(cmd *cobra.Command, c *api.Client, jobs []foldJob, item string) error {
	noWait := cli.IsOn(cmd, "no-wait")
	noCache := cli.IsOn(cmd, "no-cache")
	for i := range jobs {
		j := &jobs[i]
		created, err := c.CreateJob(cmd.Context(), j.request, api.CreateOptions{NoCache: noCache, From: item})
		if err != nil {
			if err = explain(c, err); i > 0 {
				return fmt.Errorf("%w; the %d jobs before %q were created and continue", err, i,
					pleat.Clip(j.request.Name))
			}
			if item != "" {
				deleteItem(cmd.Context(), c, item)
			}
			return err
		}
		printNotes(cmd, created.Notes)
		if j.id = created.JobID; noWait {
			fmt.Fprintln(cmd.OutOrStdout(), j.id)
		} else {
			fmt.Fprintf(cmd.ErrOrStderr(), "job %s: %s\n", j.id, pleat.Clip(created.JobName))
		}
	}
	return nil
}

// foldRequests returns the requests of the command line without variants: one, unless the file has several jobs; and
// the files that were uploaded for them. Flags override what the file says.
func foldRequests(cmd *cobra.Command, c *api.Client, args, models []string) ([]api.CreateJob, uploadedInputs, error) {
	name := cli.FlagText(cmd, "name")
	model := ""
	if len(models) > 0 {
		model = models[0]
	}
	var jobs []api.CreateJob
	var with uploadedInputs
	if len(args) == 1 {
		var err error
		if jobs, with, err = importFile(cmd, c, args[0], model); err != nil {
			return nil, with, err
		}
		if name != "" && len(jobs) > 1 {
			with.discard(cmd, c)
			return nil, with, cli.Usagef("--name is for one job, and %s holds %d", args[0], len(jobs))
		}
	} else {
		job := api.CreateJob{Name: "fold", Params: &api.Params{ModelName: cmp.Or(model, "mini")}}
		for chain := range strings.SplitSeq(cli.FlagText(cmd, "sequence"), ":") {
			job.Sequences = append(job.Sequences, api.SequenceItem{ProteinChain: &api.Polymer{Sequence: chain}})
		}
		jobs = []api.CreateJob{job}
	}
	for i := range jobs {
		jobs[i].Name = words.Shorten(cmp.Or(name, jobs[i].Name), pleat.MaxName)
		jobs[i].IsPublic = cli.IsOn(cmd, "public")
		if alignment := cli.FlagText(cmd, "alignment-id"); alignment != "" {
			jobs[i].Params.AlignmentID = &alignment
		}
	}
	return jobs, with, nil
}

// importFile reads a file, uploads what it names and sends it to the server, which returns its jobs; it prints the
// notes on what a job cannot express. The path - is standard input. A file that is not valid is refused unsent.
func importFile(cmd *cobra.Command, c *api.Client, path, model string) ([]api.CreateJob, uploadedInputs, error) {
	if strings.EqualFold(filepath.Ext(pleat.StoredName(path)), ".a3m") { // a job of each row would be none of its use
		return nil, uploadedInputs{}, cli.Usagef("%s is an alignment; give the sequence as FASTA, and the alignment "+
			"with --alignment", path)
	}
	text, dir, err := readInput(cmd, path, path, format.MaxDetach)
	if err != nil {
		return nil, uploadedInputs{}, err
	}
	name := ""
	if path != "-" {
		name = words.Shorten(inputStem(path), pleat.MaxName)
	}
	from, err := openSources(cmd, dir)
	if err != nil {
		return nil, uploadedInputs{}, err
	}
	defer from.close()
	if text, err = from.detach(text); err != nil {
		return nil, uploadedInputs{}, fmt.Errorf("%s: %w", path, err)
	}
	file := api.ImportJobs{Content: text, Format: string(from.format), ModelName: model, Name: name}
	if _, err := format.Import(text, from.format, format.Options{Name: name, Files: from.files()}); err != nil {
		return nil, uploadedInputs{}, fmt.Errorf("%s: %w", path, err)
	}
	got, with, err := importText(cmd, c, file, from)
	if api.StatusOf(err) == http.StatusBadRequest {
		err = fmt.Errorf("%s: %w", path, err)
	}
	printNotes(cmd, got.Notes)
	return got.Jobs, with, err
}

// importText has the server read a text, after the files that it names were uploaded.
func importText(
	cmd *cobra.Command, c *api.Client, file api.ImportJobs, from *sources,
) (api.ImportedJobs, uploadedInputs, error) {
	with, err := from.upload(cmd, c, true)
	if err != nil {
		return api.ImportedJobs{}, with, err
	}
	file.Files = with.importFiles()
	got, err := c.Import(cmd.Context(), file)
	if err != nil || !from.referred() { // no job refers to FASTA files
		with.discard(cmd, c)
	}
	return got, with, explain(c, err)
}

// printNotes prints sentences beside the output, on standard error: what was lost in the conversion between a file and
// a job, or what to know of a design.
func printNotes(cmd *cobra.Command, notes []string) {
	for _, n := range notes {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", cli.PrintableLine(n))
	}
}

// downloadResults downloads the files of a job that has ended into a folder, and prints its scores and the paths.
func downloadResults(cmd *cobra.Command, c *api.Client, job string, folder results.Folder) error {
	res, err := c.Results(cmd.Context(), job)
	if err != nil {
		return explain(c, err)
	}
	return saveAndPrint(cmd, c, res, folder)
}

// saveAndPrint saves the results of a run and prints its scores and the paths of its files.
func saveAndPrint(cmd *cobra.Command, c *api.Client, res api.Results, folder results.Folder) error {
	paths, err := saveResults(cmd, c, res, folder)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s by %s in %.1f s\n", pleat.Clip(res.Job.Name), res.Prediction.JobRunStatus,
		res.Parameters.ModelName, res.Prediction.ExecutionMinutes*60)
	return results.Print(cmd, scores(res), paths)
}

// saveResults downloads the files of a run that has ended into a folder and returns their paths. The default folder is
// fold-JOBID. A run that did not complete is an error with cli.ExitUnfinished that gives the reason.
func saveResults(cmd *cobra.Command, c *api.Client, res api.Results, folder results.Folder) ([]string, error) {
	p := &res.Prediction
	if p.JobRunStatus != string(pleat.StateCompleted) {
		return nil, cli.Exitf(cli.ExitUnfinished, "the job %s ended %s: %s", res.Job.ID, p.JobRunStatus,
			cli.ValueOr(p.Error, noReason))
	}
	run := results.SavedRun{Kind: "job", ID: res.Job.ID, Run: res.JobRunID, Name: res.Job.Name, Created: res.Job.Date}
	paths, err := folder.Or("fold-"+res.Job.ID).Save(cmd, c, run, res.Artifacts)
	return paths, explain(c, err)
}

// scores returns a table with one row per structure: pLDDT from 0 to 100, predicted RMSD in Å, pTM and
// ipTM from 0 to 1, PAE in Å.
func scores(res api.Results) [][]string {
	head := []string{"STRUCTURE", "MEAN PLDDT", cli.RMSDColumn, "PTM", "IPTM", "MAX PAE"}
	return cli.WithoutEmpty(cli.Rows(head, structuresOf(res), func(s *scored) []string {
		return []string{
			s.name,
			cli.FormatScore(s.MeanPLLDT, "%.1f"),
			cli.FormatScore(s.PredictedRMSD, "%.2f"),
			cli.FormatScore(s.PTM, "%.3f"),
			cli.FormatScore(s.IPTM, "%.3f"),
			cli.FormatScore(s.MaxPAE, "%.1f"),
		}
	}), cli.RMSDColumn)
}

// scored is one structure of a job, with the name of its sequence, or of the job where it holds all chains.
type scored struct {
	name string
	api.Prediction
}

// structuresOf returns the structures of a job, in the order of its sequences.
func structuresOf(res api.Results) []scored {
	if res.Job.IsComplex {
		return []scored{{res.Job.Name, res.Prediction}}
	}
	var out []scored
	for i, s := range res.Sequences {
		if s.Prediction != nil {
			name := cmp.Or(cli.ValueOr(s.Name, ""), fmt.Sprintf("sequence %d", i+1))
			out = append(out, scored{name, *s.Prediction})
		}
	}
	return out
}

// checkAlignments checks the files of --alignment, before anything is sent, and that the model of the job uses
// alignments: the server would not read them.
func checkAlignments(cmd *cobra.Command, c *api.Client, jobs []api.CreateJob) error {
	paths, _ := cmd.Flags().GetStringArray("alignment")
	if len(paths) == 0 {
		return nil
	}
	if len(jobs) != 1 {
		return cli.Usagef("--alignment is for one job, and the file holds %d", len(jobs))
	}
	for _, p := range paths {
		in, err := os.Open(p)
		if err != nil {
			return err
		}
		plain, err := compressed.Reader(p, in)
		if err == nil {
			err = msa.Check(io.LimitReader(plain, submit.MaxFile+1))
		}
		in.Close()
		if err != nil {
			return fmt.Errorf("%s is not an alignment: %w", p, err)
		}
	}
	models, err := c.Models(cmd.Context())
	if err != nil {
		return explain(c, err)
	}
	for i := range models.Data {
		m := &models.Data[i]
		if m.Name == jobs[0].Params.ModelName && !slices.Contains(m.Features, string(pleat.FeatureMSA)) {
			return cli.Usagef("--alignment is given, and the model %q uses no alignments", m.Name)
		}
	}
	return nil
}

// uploadAlignments uploads the files of --alignment to a new item of the user's library, from which the job is
// created. It returns the item's identifier; empty if there are no files. The item is deleted if an upload fails.
func uploadAlignments(cmd *cobra.Command, c *api.Client, jobs []api.CreateJob) (string, error) {
	paths, _ := cmd.Flags().GetStringArray("alignment")
	if len(paths) == 0 {
		return "", nil
	}
	item, err := createItem(cmd.Context(), c, api.CreateItem{
		Name:     words.Shorten("alignment of "+jobs[0].Name, pleat.MaxName),
		FileType: "a3m",
		Origin:   "pleat fold",
	}, func(item string) error {
		for i, p := range paths {
			if err := upload(cmd.Context(), c, item, fmt.Sprintf("%d.a3m", i+1), opener(p)); err != nil {
				return err
			}
		}
		return nil
	})
	return item, explain(c, err)
}
