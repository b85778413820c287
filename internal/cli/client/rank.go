package client

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/cli/results"
	"pleat/internal/words"
)

// maxVariants is the most jobs that one command creates for several models and seeds.
const maxVariants = 64

// rankingFile is the file with the table of all variants, in the folder that has theirs.
const rankingFile = "ranking.csv"

// variants are the models and seeds of which each pair becomes a job. No models: that of the request; no seeds: that of
// the request, or one that the server chooses.
type variants struct{ models, seeds []string }

// variantsOf returns the models and seeds of the flags. A value that is given twice is a usage error.
func variantsOf(cmd *cobra.Command) (variants, error) {
	f := cmd.Flags()
	var v variants
	v.models, _ = f.GetStringSlice("model")
	v.seeds, _ = f.GetStringSlice("seed")
	for flag, values := range map[string][]string{"model": v.models, "seed": v.seeds} {
		for i, value := range values {
			if slices.Contains(values[:i], value) {
				return v, cli.Usagef("--%s has %q twice", flag, pleat.Clip(value))
			}
		}
	}
	n, _ := f.GetInt("seeds")
	switch {
	case !f.Changed("seeds"):
	case len(v.seeds) > 0:
		return v, cli.Usagef("give --seed or --seeds, not both")
	case n < 1 || n > maxVariants:
		return v, cli.Usagef("--seeds is %d; it must be 1 to %d", n, maxVariants)
	}
	for len(v.seeds) < n {
		if seed := strconv.FormatUint(uint64(rand.Uint32()), 10); !slices.Contains(v.seeds, seed) {
			v.seeds = append(v.seeds, seed)
		}
	}
	return v, nil
}

// several reports whether one request becomes several jobs.
func (v variants) several() bool { return len(v.models) > 1 || len(v.seeds) > 1 }

// jobs returns the jobs of the requests with their folders, which are checked: out if there is one job, else folders in
// it that are named after the jobs.
func (v variants) jobs(requests []api.CreateJob, out results.Folder) ([]foldJob, error) {
	models, seeds := v.models, v.seeds
	if len(models) == 0 {
		models = []string{""}
	}
	if len(seeds) == 0 {
		seeds = []string{""}
	}
	if n := len(requests) * len(models) * len(seeds); v.several() && n > maxVariants {
		return nil, cli.Usagef("%d jobs of %d models and %d seeds are %d; one command creates at most %d",
			len(requests), len(models), len(seeds), n, maxVariants)
	}
	if v.several() {
		if err := checkRanking(out); err != nil {
			return nil, err
		}
	}
	var jobs []foldJob
	names := map[string]bool{}
	for i, r := range requests {
		for _, model := range models {
			for _, seed := range seeds {
				j := v.job(r, model, seed)
				j.inputIndex = i
				if v.several() || len(requests) > 1 {
					j.folder = v.folderName(j, names)
				}
				if err := j.in(out).CheckNew(); err != nil {
					return nil, err
				}
				jobs = append(jobs, j)
			}
		}
	}
	return jobs, nil
}

// job returns the job of a request for a model and a seed; an empty one leaves that of the request.
func (v variants) job(r api.CreateJob, model, seed string) foldJob {
	j := foldJob{request: r, base: r.Name}
	params := api.Params{}
	if r.Params != nil {
		params = *r.Params
	}
	if model != "" {
		params.ModelName = model
	}
	if seed != "" {
		params.Seed = &seed
	}
	j.request.Params = &params
	if v.several() {
		which := params.ModelName
		if params.Seed != nil {
			which += ", seed " + *params.Seed
		}
		which = " (" + which + ")"
		j.request.Name = words.Shorten(r.Name, max(pleat.MaxName-len([]rune(which)), 1)) + which
	}
	return j
}

// folderName returns the name of a job's folder, such as Trp-cage-mini-seed1, which differs from those used.
func (v variants) folderName(j foldJob, used map[string]bool) string {
	name := cmp.Or(words.Slug(j.base, results.MaxNamePart), "job")
	if v.several() {
		name += "-" + words.Slug(j.request.Params.ModelName, results.MaxNamePart)
		if seed := j.request.Params.Seed; seed != nil {
			name += "-seed" + words.Slug(*seed, results.MaxNamePart)
		}
	}
	return results.UnusedName(name, used)
}

// checkRanking returns a usage error if a folder has a table of other jobs.
func checkRanking(f results.Folder) error {
	path := filepath.Join(f.Dir, rankingFile)
	if _, err := os.Lstat(path); f.Dir == "" || f.Force || err != nil {
		return nil
	}
	return cli.Usagef("%s has the ranking of other jobs; choose another folder with --out, or replace it with --force",
		path)
}

// checkJobs has the server check the jobs, and returns an error if it would refuse one, or if they need more of today's
// quota than is left. It prints what several need and which have been computed before; list adds a table of the jobs.
func checkJobs(cmd *cobra.Command, c *api.Client, jobs []foldJob, list bool) error {
	rows := [][]string{{"MODEL", "SEED", "LENGTH", "CORE-SECONDS", "JOB"}}
	// The server is not told of the alignments, with which the results would be others.
	fresh := cli.IsOn(cmd, "no-cache") || cmd.Flags().Changed("alignment")
	left, refused := 0, 0
	var first error
	var paused []string // models, of which one note each is enough
	for _, j := range jobs {
		v, err := c.Validate(cmd.Context(), j.request)
		if err != nil {
			return explain(c, err)
		}
		if !v.Valid && len(v.Errors) > 0 {
			if refused++; first == nil {
				first = fmt.Errorf("the job %q is not valid: %s", pleat.Clip(j.request.Name), v.Errors[0].Message)
			}
		}
		if v.Cached != nil && !fresh {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: job %s has the results of %q already, "+
				"and pleat jobs results %s --run %s costs no quota; --no-cache or another seed computes anew\n",
				v.Cached.JobID, pleat.Clip(j.request.Name), v.Cached.JobID, v.Cached.JobRunID)
		}
		if v.Paused && !slices.Contains(paused, v.ModelName) {
			paused = append(paused, v.ModelName)
			printNotes(cmd, []string{fmt.Sprintf("the operators of this service have paused %s; a job waits until "+
				"they resume it%s", v.ModelName, reasonAfter(v.PausedReason))})
		}
		left = v.Remaining
		rows = append(rows, []string{
			v.ModelName,
			cli.TextOrDash(j.request.Params.Seed),
			fmt.Sprint(v.Tokens),
			fmt.Sprintf("%.1f", v.Seconds),
			j.request.Name,
		})
	}
	if refused > 1 {
		first = fmt.Errorf("%w; %d of the %d jobs are refused", first, refused, len(jobs))
	}
	if first != nil {
		return first
	}
	if list {
		if err := cli.PrintTable(cmd.OutOrStdout(), rows); err != nil {
			return err
		}
	}
	needed := words.Quantity(len(jobs), "job", "jobs")
	if list || len(jobs) > 1 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s of the %d left of today's quota\n", needed, left)
	}
	if left < len(jobs) {
		return fmt.Errorf("%s need more than the %d left of today's quota; nothing was created", needed, left)
	}
	return nil
}

// reasonAfter returns a reason as the end of a sentence; empty: there is none.
func reasonAfter(reason *string) string {
	if text := cli.ValueOr(reason, ""); text != "" {
		return ": " + text
	}
	return ""
}

// ranked is one row of the table of variants: a structure of a job, or a job without one.
type ranked struct {
	job    foldJob
	group  int // number of what it is compared with the others of: a sequence of what is folded
	record string
	scores api.Prediction
	dir    string
	why    string // there is no structure; empty: there is one
}

// rankJobs waits for the jobs, downloads their files into folders of their own, and prints and saves one table of all
// structures, best first. A job without a result is a row with its reason, and makes the exit code cli.ExitUnfinished.
func rankJobs(cmd *cobra.Command, c *api.Client, jobs []foldJob, out results.Folder) error {
	var rows []ranked
	var failed int
	for _, j := range jobs {
		got, err := rankJob(cmd, c, j, out)
		var code *cli.ExitError
		if errors.As(err, &code) && code.Code == cli.ExitInterrupted {
			return err
		}
		if err != nil {
			failed++
			got = []ranked{{job: j, why: cli.ErrorLine(err)}}
		}
		rows = append(rows, got...)
	}
	by := rank(rows)
	text := rankingTable(rows)
	if err := cli.PrintTable(cmd.OutOrStdout(), text); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Ranked by %s.\n", by)
	if models := modelsOf(jobs); len(models) > 1 {
		fmt.Fprintf(cmd.OutOrStdout(), "The scores of %s are not on one scale: compare those of one model.\n",
			strings.Join(models, " and "))
	}
	path, err := writeRanking(out, text)
	if err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), path)
	if failed > 0 {
		return cli.Exitf(cli.ExitUnfinished, "%d of %s ended without a result; the table has the reasons", failed,
			words.Quantity(len(jobs), "job", "jobs"))
	}
	return nil
}

// rankJob waits for one job, downloads its files and returns its structures.
func rankJob(cmd *cobra.Command, c *api.Client, j foldJob, out results.Folder) ([]ranked, error) {
	if err := follow(cmd, c, j.id); err != nil {
		return nil, err
	}
	res, err := c.Results(cmd.Context(), j.id)
	if err != nil {
		return nil, explain(c, err)
	}
	if _, err := saveResults(cmd, c, res, j.in(out)); err != nil {
		return nil, err
	}
	var rows []ranked
	for i, s := range structuresOf(res) {
		record := s.name
		if res.Job.IsComplex || len(res.Sequences) == 1 {
			record = j.base
		}
		rows = append(rows, ranked{
			job:    j,
			group:  j.inputIndex*pleat.MaxItems + i,
			record: record,
			scores: s.Prediction,
			dir:    j.in(out).Dir,
		})
	}
	return rows, nil
}

// modelsOf returns the models of the jobs, each once.
func modelsOf(jobs []foldJob) (out []string) {
	for _, j := range jobs {
		if m := j.request.Params.ModelName; !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

// rank sorts the rows: by what is compared, then by score, those without a structure last. It returns the name of the
// score: the ranking confidence of AlphaFold-Multimer where every structure has both pTM and ipTM, else the mean pLDDT
// or, where no structure has one, the mean predicted RMSD, of which the lowest is the best.
// The page ranks by the same rule: web/src/ranking.ts.
// Evans et al., Protein complex prediction with AlphaFold-Multimer, bioRxiv 2021.10.04.463034, section 2.5.
func rank(rows []ranked) string {
	name := "mean pLDDT, 0 to 100"
	score := func(r ranked) float64 { return cli.ValueOr(r.scores.MeanPLLDT, -1) }
	structure := func(r ranked) bool { return r.why == "" }
	without := func(r ranked) bool { return structure(r) && (r.scores.PTM == nil || r.scores.IPTM == nil) }
	if !slices.ContainsFunc(rows, func(r ranked) bool { return r.scores.MeanPLLDT != nil }) &&
		slices.ContainsFunc(rows, func(r ranked) bool { return r.scores.PredictedRMSD != nil }) {
		name = "mean predicted RMSD, Å, low is good"
		score = func(r ranked) float64 { return -cli.ValueOr(r.scores.PredictedRMSD, math.Inf(1)) }
	}
	if slices.ContainsFunc(rows, structure) && !slices.ContainsFunc(rows, without) {
		name = "0.8 ipTM + 0.2 pTM, 0 to 1"
		score = func(r ranked) float64 {
			if r.why != "" {
				return -1
			}
			return 0.8**r.scores.IPTM + 0.2**r.scores.PTM
		}
	}
	slices.SortStableFunc(rows, func(a, b ranked) int {
		switch {
		case a.why == "" && b.why != "":
			return -1
		case a.why != "" && b.why == "":
			return 1
		}
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(score(b), score(a)))
	})
	return name
}

// rankingTable returns the rows as a table. The rank begins again for each thing that is compared.
func rankingTable(rows []ranked) [][]string {
	text := [][]string{{"RANK", "NAME", "MODEL", "SEED", "MEAN PLDDT", cli.RMSDColumn, "PTM", "IPTM", "JOB", "FOLDER"}}
	place, group := 0, -1
	for _, r := range rows {
		if r.group != group {
			place, group = 0, r.group
		}
		place++
		seed := cli.ValueOr(r.job.request.Params.Seed, r.scores.Seed)
		model := r.job.request.Params.ModelName
		if r.why != "" {
			text = append(text, []string{"-", r.job.base, model, seed, "-", "-", "-", "-", r.job.id, r.why})
			continue
		}
		text = append(text, []string{
			strconv.Itoa(place),
			r.record,
			model,
			seed,
			cli.FormatScore(r.scores.MeanPLLDT, "%.1f"),
			cli.FormatScore(r.scores.PredictedRMSD, "%.2f"),
			cli.FormatScore(r.scores.PTM, "%.3f"),
			cli.FormatScore(r.scores.IPTM, "%.3f"),
			r.job.id,
			r.dir,
		})
	}
	return cli.WithoutEmpty(text, cli.RMSDColumn)
}

// writeRanking writes a table as CSV into a folder, which it creates, and returns the path. Names, which can be those
// of a stranger's FASTA file, are no formulas to a spreadsheet.
func writeRanking(f results.Folder, rows [][]string) (string, error) {
	if err := os.MkdirAll(f.Dir, 0o755); err != nil {
		return "", fmt.Errorf("create the folder for the results: %w", err)
	}
	path := filepath.Join(f.Dir, rankingFile)
	out, err := os.Create(path)
	if err != nil {
		return "", err
	}
	w := csv.NewWriter(out)
	for _, row := range rows {
		cells := slices.Clone(row)
		for i, text := range cells {
			if text != "-" { // what a row lacks
				cells[i] = words.Cell(text)
			}
		}
		_ = w.Write(cells) // Error returns the error
	}
	w.Flush()
	return path, errors.Join(w.Error(), out.Close())
}
