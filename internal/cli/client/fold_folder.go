package client

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/cli/results"
	"pleat/internal/format"
	"pleat/internal/words"
)

// maxFolderJobs bounds the jobs of the files of a folder.
const maxFolderJobs = 10_000

// folderFold folds the files of a folder. Its progress is in the log of the results folder, so that a second
// command goes on: a job is in the log before it is created, with the request and the Idempotency-Key under which a
// repetition of the request creates no second job.
type folderFold struct {
	cmd   *cobra.Command
	c     *api.Client
	in    *inputFolder
	out   results.Folder
	log   *results.Log
	model string
	seed  string
	jobs  []*results.LoggedJob // in the order of the files
	// stopped is why no more jobs are created; nil: all are.
	stopped error
	folders map[string]bool // names of folders of results that are taken
}

// foldFolder folds each file of a folder, downloads the results, and says at the end what became of each.
func foldFolder(cmd *cobra.Command, c *api.Client, dir string, v variants) error {
	f := cmd.Flags()
	for _, flag := range []string{"name", "alignment", "alignment-id", "seeds"} {
		if f.Changed(flag) {
			return cli.Usagef("--%s is for one file, and %s is a folder", flag, dir)
		}
	}
	if v.several() {
		return cli.Usagef("several models or seeds are for one file, and %s is a folder; "+
			"pleat batch takes many of both", dir)
	}
	in, err := openInputs(cmd, dir, format.Options{})
	if err != nil {
		return err
	}
	defer in.from.close()
	r := &folderFold{cmd: cmd, c: c, in: in, out: results.FolderOf(cmd), folders: map[string]bool{}}
	r.model, r.seed = strings.Join(v.models, ""), strings.Join(v.seeds, "")
	if r.out.Dir == "" {
		full, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		r.out.Dir = filepath.Base(full) + "-results"
	}
	if err := r.checkSize(); err != nil {
		return err
	}
	if cli.IsOn(cmd, "dry-run") {
		return r.printPlan()
	}
	if r.log, err = results.OpenLog(r.out.Dir); err != nil {
		return err
	}
	defer r.log.Close()
	return r.run()
}

// checkSize refuses a folder with too many jobs.
func (r *folderFold) checkSize() error {
	n := 0
	for _, f := range r.in.files {
		n += f.jobs
	}
	if n > maxFolderJobs {
		return cli.Usagef("the files of %s hold %d jobs; at most %d are folded at once, and pleat batch takes more",
			r.in.dir, n, maxFolderJobs)
	}
	return nil
}

// printPlan prints what the folder holds.
func (r *folderFold) printPlan() error {
	rows := [][]string{{"FILE", "JOBS", "FAULT"}}
	bad := 0
	for _, f := range r.in.files {
		fault := ""
		if f.err != nil {
			bad++
			fault = cli.ErrorLine(f.err)
		}
		rows = append(rows, []string{f.name, fmt.Sprint(f.jobs), fault})
	}
	if err := cli.PrintTable(r.cmd.OutOrStdout(), rows); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d of %s cannot be read", bad, words.Quantity(len(r.in.files), "file", "files"))
	}
	return nil
}

// run creates the jobs that are not in the log yet, waits for those that have not ended, and prints the summary.
func (r *folderFold) run() error {
	for i := range r.in.files {
		if err := r.submit(&r.in.files[i]); err != nil {
			return r.interrupted(err)
		}
	}
	if cli.IsOn(r.cmd, "no-wait") {
		return r.summary()
	}
	show := cli.NewCounter(r.cmd.ErrOrStderr(), len(r.jobs))
	w := newWaiter(show.Note)
	for _, j := range r.jobs {
		if err := r.finish(j, w); err != nil {
			show.Close()
			return r.interrupted(err)
		}
		show.Add(j.Label() + " " + j.Status)
	}
	show.Close()
	return r.summary()
}

// interrupted returns an error with which the command ends early; after an interruption, how to go on.
func (r *folderFold) interrupted(err error) error {
	if interrupted(r.cmd, err) {
		return cli.Exitf(cli.ExitInterrupted, "interrupted; the jobs that were created continue, and the same "+
			"command goes on with them")
	}
	return err
}

// submit creates the jobs of a file, or takes those that the log has. An error ends the command; what concerns this
// file alone becomes a job that failed.
func (r *folderFold) submit(f *inputFile) error {
	if f.err != nil {
		return r.skip(&results.LoggedJob{File: f.name}, results.StatusInvalid, f.err)
	}
	key, err := r.key(f)
	if err != nil {
		return r.skip(&results.LoggedJob{File: f.name}, results.StatusInvalid, err)
	}
	jobs := r.log.JobsOf(key)
	if jobs == nil {
		if r.stopped != nil {
			return r.skip(&results.LoggedJob{File: f.name}, results.StatusLeft, r.stopped)
		}
		if jobs, err = r.plan(f, key); err != nil {
			return r.failed(&results.LoggedJob{File: f.name}, err)
		}
	}
	for _, j := range jobs {
		r.folders[j.Folder] = true
		if err := r.create(j); err != nil {
			return err
		}
	}
	return nil
}

// skip adds a job without a result to the summary, with the reason. It returns nil: the others go on.
func (r *folderFold) skip(j *results.LoggedJob, status string, reason error) error {
	j.Status, j.Error = status, cli.ErrorLine(reason)
	r.jobs = append(r.jobs, j)
	return nil
}

// failed records that a job was not created. An error that would meet every job ends the command, and one that later
// commands may not meet stops the creation of more.
func (r *folderFold) failed(j *results.LoggedJob, err error) error {
	if end := r.cmd.Context().Err(); end != nil {
		return end
	}
	switch api.StatusOf(err) {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusRequestEntityTooLarge:
		return r.skip(j, results.StatusInvalid, err)
	case http.StatusTooManyRequests, http.StatusConflict, http.StatusServiceUnavailable:
		r.stopped = err
		return r.skip(j, results.StatusLeft, err)
	}
	return explain(r.c, err)
}

// key identifies what is made of a file: its text, the files that it names, the model, the seed and the format.
func (r *folderFold) key(f *inputFile) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %q %t\n", f.name, r.model, r.seed, r.in.from.format, cli.IsOn(r.cmd, "public"))
	from, text, err := r.named(f)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(sum, "%q\n", text)
	for _, name := range from.order {
		fmt.Fprintf(sum, "%q %s\n", name, from.found[name].sha256)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// named returns the files that one input names, and its text.
func (r *folderFold) named(f *inputFile) (*sources, string, error) {
	from := &sources{folders: r.in.from.folders, format: r.in.from.format, found: map[string]*sourceFile{}}
	text, err := r.in.text(f, from)
	if err == nil {
		_, err = r.in.parse(f, text, format.Options{}, from.files())
	}
	return from, text, err
}

// plan has the server read a file, and writes its jobs to the log.
func (r *folderFold) plan(f *inputFile, key string) ([]*results.LoggedJob, error) {
	from, text, err := r.named(f)
	if err != nil {
		return nil, err
	}
	got, _, err := importText(r.cmd, r.c, api.ImportJobs{
		Content:   text,
		Format:    string(from.format),
		ModelName: r.model,
		Name:      words.Shorten(f.stem(), pleat.MaxName),
	}, from)
	if err != nil {
		return nil, err
	}
	for _, n := range got.Notes {
		printNotes(r.cmd, []string{f.name + ": " + n})
	}
	var jobs []*results.LoggedJob
	for i := range got.Jobs {
		request := &got.Jobs[i]
		request.IsPublic = cli.IsOn(r.cmd, "public")
		request.Params.Seed = cmp.Or(cli.TextOrNil(r.seed), request.Params.Seed)
		jobs = append(jobs, &results.LoggedJob{
			File:    f.name,
			Name:    request.Name,
			Key:     results.JobKey(key, i),
			Of:      len(got.Jobs),
			Folder:  r.folderName(f, request.Name, len(got.Jobs)),
			Request: request,
		})
	}
	return jobs, r.log.Plan(jobs)
}

// folderName returns the name of a folder for the results of a job, that no other has.
func (r *folderFold) folderName(f *inputFile, job string, jobs int) string {
	name := words.Slug(f.stem(), results.MaxNamePart)
	if jobs > 1 {
		name += "-" + words.Slug(job, results.MaxNamePart)
	}
	return results.UnusedName(cmp.Or(strings.Trim(name, "-"), "job"), r.folders, r.log.Folders)
}

// create creates a job, unless the log has it already, or runs one again that failed if --retry asks for it.
func (r *folderFold) create(j *results.LoggedJob) error {
	again := cli.IsOn(r.cmd, "retry") && slices.Contains([]string{"FAILED", "STOPPED", results.StatusGone}, j.Status)
	switch {
	case j.Job != "" && !again:
		r.jobs = append(r.jobs, j)
		return nil
	case r.stopped != nil:
		return r.skip(&results.LoggedJob{File: j.File, Name: j.Name}, results.StatusLeft, r.stopped)
	}
	if err := r.send(j); err != nil {
		return r.failed(j, err)
	}
	j.Status, j.Error = "", ""
	r.jobs = append(r.jobs, j)
	return r.log.Write(j)
}

// send has the server create a job, or run one again. It waits where the server asks for a short time.
func (r *folderFold) send(j *results.LoggedJob) error {
	const longest = time.Minute
	for {
		err := r.sendOnce(j)
		var refused *api.Error
		if !errors.As(err, &refused) || refused.RetryAfter == 0 || refused.RetryAfter > longest {
			return err
		}
		select {
		case <-r.cmd.Context().Done():
			return r.cmd.Context().Err()
		case <-time.After(refused.RetryAfter):
		}
	}
}

// sendOnce is one request of send. A run that has not ended, of a command that was killed, is not run again.
func (r *folderFold) sendOnce(j *results.LoggedJob) error {
	noCache := cli.IsOn(r.cmd, "no-cache")
	if j.Job != "" && j.Status != results.StatusGone {
		_, err := r.c.Rerun(r.cmd.Context(), j.Job, nil, api.RerunOptions{NoCache: noCache})
		if api.StatusOf(err) == http.StatusConflict {
			return nil
		}
		return err
	}
	opt := api.CreateOptions{IdempotencyKey: j.Key, NoCache: noCache}
	created, err := r.c.CreateJob(r.cmd.Context(), *j.Request, opt)
	if err == nil {
		j.Job = created.JobID
		fmt.Fprintf(r.cmd.ErrOrStderr(), "job %s: %s\n", j.Job, j.Label())
	}
	return err
}

// finish waits for a job that has not ended, and downloads its results. An error ends the command.
func (r *folderFold) finish(j *results.LoggedJob, w *waiter) error {
	if j.Status != "" && (j.Status != string(pleat.StateCompleted) || r.has(j)) {
		return nil
	}
	err := w.during(r.cmd.Context(), jobWaiting(r.c, j.Job), func() error {
		return r.c.Follow(r.cmd.Context(), j.Job, 0, func(api.Event) error {
			w.event()
			return nil
		})
	})
	var res api.Results
	if err == nil {
		res, err = r.c.Results(r.cmd.Context(), j.Job)
	}
	if api.StatusOf(err) == http.StatusNotFound {
		j.Status, j.Error = results.StatusGone, "the job was deleted on the server"
		return r.log.Write(j)
	}
	if err != nil {
		return explain(r.c, err)
	}
	j.Status = res.Prediction.JobRunStatus
	switch {
	case !api.Terminal(j.Status):
		return fmt.Errorf("the job %s is %s and its events have ended; run the command again", j.Job, j.Status)
	case j.Status != string(pleat.StateCompleted):
		j.Error = cli.ValueOr(res.Prediction.Error, noReason)
		return r.log.Write(j)
	}
	j.PLDDT, j.PredictedRMSD = res.Prediction.MeanPLLDT, res.Prediction.PredictedRMSD
	if _, err := saveResults(r.cmd, r.c, res, r.out.Sub(j.Folder)); err != nil {
		if r.cmd.Context().Err() != nil {
			return err
		}
		j.Status, j.Error = "", cli.ErrorLine(err) // the next command downloads them
		return r.log.Write(j)
	}
	return r.log.Write(j)
}

// has reports whether the folder of a job has the files of its results.
func (r *folderFold) has(j *results.LoggedJob) bool {
	root, err := os.OpenRoot(r.out.Sub(j.Folder).Dir)
	if err != nil {
		return false
	}
	defer root.Close()
	saved, err := results.SavedIn(root)
	if err != nil || saved == nil || saved.ID != j.Job {
		return false
	}
	return !slices.ContainsFunc(saved.Files, func(name string) bool {
		_, err := root.Lstat(name)
		return err != nil
	})
}

// summary prints what became of each job, those without a result last with the reason. The error has cli.ExitUnfinished
// if there is one.
func (r *folderFold) summary() error {
	rows := [][]string{{"FILE", "NAME", "STATUS", "MEAN PLDDT", cli.RMSDColumn, "JOB", "FOLDER"}}
	var bad []*results.LoggedJob
	waiting := 0
	for _, j := range r.jobs {
		switch {
		case j.Status == string(pleat.StateCompleted):
		case j.Status == "" && j.Error == "":
			waiting++
		default:
			bad = append(bad, j)
			continue
		}
		folder := r.out.Sub(j.Folder).Dir
		if j.Status == "" {
			folder = ""
		}
		rows = append(rows, []string{j.File, j.Name, j.State(), cli.FormatScore(j.PLDDT, "%.1f"),
			cli.FormatScore(j.PredictedRMSD, "%.2f"), j.Job, folder})
	}
	for _, j := range bad {
		rows = append(rows, []string{j.File, j.Name, j.State(), "-", "-", j.Job, ""})
	}
	out := r.cmd.OutOrStdout()
	if err := cli.PrintTable(out, cli.WithoutEmpty(rows, cli.RMSDColumn)); err != nil {
		return err
	}
	for _, j := range bad {
		fmt.Fprintf(out, "%s: %s\n", j.Label(), cli.PrintableLine(j.Error))
	}
	fmt.Fprintf(out, "%d of %s completed, %d without a result, %d not ended\n", len(r.jobs)-len(bad)-waiting,
		words.Quantity(len(r.jobs), "job", "jobs"), len(bad), waiting)
	if len(bad) == 0 {
		return nil
	}
	const text = "%d of %s have no result: the same command submits what was not submitted, also of a file that was " +
		"corrected, and with --retry it runs failed jobs again"
	return cli.Exitf(cli.ExitUnfinished, text, len(bad), words.Quantity(len(r.jobs), "job", "jobs"))
}
