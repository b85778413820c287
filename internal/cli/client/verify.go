package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/structure"
	"pleat/internal/words"
)

// verifyCmd returns the command that repeats a completed job in a new one and compares the structures. The exit code is
// cli.ExitDiffers if they differ by more than --tolerance, and cli.ExitUnfinished if either job has no result. Each
// repetition creates a further job.
func verifyCmd() *cobra.Command {
	c := onObject(&cobra.Command{
		Use:   "verify JOB",
		Short: "Fold a job again and compare the structures",
		Long: `Folds a completed job again, one of yours or a public one, and compares the structures. Files that differ
in nothing but their titles are identical. Others are compared by the RMSD of their CA atoms (C1' in nucleic acids)
after superposition, for each chain and for the whole structure, and by their pLDDT.

The repeated run is a new private job named "Verification of …". It is created from the run
configuration of the original run (config.json): the same entities, parameters and seed, and the same
alignments unless their rows were paired. The result cache is not used. The new job counts against your
quota, starts no follow-up workflows and sends no webhooks. The original job is not changed.

The exit code is 0 if the structures are identical or within --tolerance, and 4 if they differ.`,
		Example: `  pleat verify 01890a5d-ac96-774b-bcce-b302099a8057`,
	}, "job", keyRequired, runVerify)
	f := c.Flags()
	f.Float64("tolerance", 0.1, "largest RMSD in Å at which structures count as reproduced")
	return cli.WithJSON(c)
}

// comparison is the result of running a job again, as --json prints it.
type comparison struct {
	// Job and Run are the original job and its latest run; JobAgain and Again are the job that repeated it and its run.
	Job      string `json:"job"`
	Run      string `json:"run"`
	JobAgain string `json:"jobAgain"`
	Again    string `json:"again"`
	// Seed is that of both runs; empty: the model accepts none.
	Seed string `json:"seed"`
	// Changed lists what differs between the two run configurations.
	Changed []change `json:"changed"`
	// Verdict is identical, reproduced or different.
	Verdict string `json:"verdict"`
	// Files has an entry per structure, and one per chain where there are several.
	Files []structureComparison `json:"structures"`
	// Tolerance is the largest RMSD, in Å, of a reproduced structure.
	Tolerance float64 `json:"tolerance"`
}

// change is a difference between the configurations of the two runs.
type change struct {
	What string `json:"what"`
	Was  string `json:"was"`
	Is   string `json:"is"`
}

// structureComparison compares one structure file, or one chain of it. Values that cannot be compared are nil.
type structureComparison struct {
	File string `json:"file"`
	// Chain is empty for the whole structure.
	Chain string `json:"chain,omitempty"`
	// Identical says that the files have the same bytes.
	Identical bool `json:"identical"`
	Residues  int  `json:"residues"`
	// RMSD is in Å, after superposition, over CA atoms and, in nucleic acids, C1'.
	RMSD *float64 `json:"rmsd"`
	// PLDDT is the mean difference, the second run's minus the first's, and MaxPLDDT the largest of a residue. pLDDT is
	// from 0 to 100.
	PLDDT    *float64 `json:"plddt"`
	MaxPLDDT *float64 `json:"plddtMax"`
	// Why says why values are nil.
	Why string `json:"why,omitempty"`
}

// The verdicts, from the best to the worst. One structure decides for all.
const (
	verdictIdentical  = "identical"  // all files have the same bytes
	verdictReproduced = "reproduced" // all RMSDs are within the tolerance
	verdictDifferent  = "different"  // one RMSD is not, or cannot be computed
)

// runVerify repeats a job, compares the two runs and prints the comparison, whatever the verdict.
func runVerify(cmd *cobra.Command, c *api.Client, id string) error {
	ctx := cmd.Context()
	tolerance, _ := cmd.Flags().GetFloat64("tolerance")
	if !(tolerance >= 0) {
		return cli.Usagef("--tolerance is %g; it must be 0 Å or more", tolerance)
	}
	was, err := completed(ctx, c, id)
	if err != nil {
		return err
	}
	if len(was.structures) == 0 {
		return fmt.Errorf("the job %s has no structure to compare: %s predicts none", id, was.Parameters.ModelName)
	}
	repeated, err := repeat(cmd, c, was)
	if err != nil {
		return err
	}
	now, err := completed(ctx, c, repeated)
	if err != nil {
		return err
	}
	v := comparison{
		Job:       id,
		Run:       was.JobRunID,
		JobAgain:  repeated,
		Again:     now.JobRunID,
		Seed:      was.config.Seed,
		Changed:   was.config.changes(&now.config),
		Tolerance: tolerance,
	}
	v.compare(was.structures, now.structures)
	if err := cli.PrintResult(cmd, v, func() error { return v.print(cmd) }); err != nil {
		return err
	}
	if v.Verdict == verdictDifferent {
		return cli.Exitf(cli.ExitDiffers, "the repeated run gave different structures")
	}
	return nil
}

// repeat folds a run's input in a new job, follows it to its end and returns its identifier. The temporary library item
// with its alignments is deleted, unless the job may still need it.
func repeat(cmd *cobra.Command, c *api.Client, was *completedRun) (string, error) {
	ctx := cmd.Context()
	job, err := was.request()
	if err != nil {
		return "", err
	}
	from, temporary, err := was.alignments(ctx, c)
	if err != nil {
		return "", err
	}
	created, err := c.CreateJob(ctx, *job, api.CreateOptions{NoCache: true, From: from})
	if err == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "job %s: %s\n", created.JobID, pleat.Clip(created.JobName))
		if err = follow(cmd, c, created.JobID); err != nil {
			return "", err // the job continues, and needs its alignments
		}
	}
	if temporary {
		deleteItem(ctx, c, from)
	}
	return created.JobID, err
}

// completedRun is a completed run: its results, its configuration, and its structures by file name.
type completedRun struct {
	api.Results
	// config is zero if the run has no config.json.
	config     runConfig
	structures map[string]predicted
}

// runConfig is the part of a run's config.json that is compared or repeated.
type runConfig struct {
	// Service is the version of the service, and Input the hash of everything that determines the result.
	Service string `json:"service"`
	Input   string `json:"input_sha256"`
	// Files has the SHA-256 of each input file by its name.
	Files   map[string]string `json:"input_files"`
	Engine  string            `json:"engine"`
	Model   string            `json:"model"`
	Weights string            `json:"weight_set"`
	Device  string            `json:"device"`
	Seed    string            `json:"seed"`
	// Params are the parameters as they took effect, with defaults, and Request is what the user sent.
	Params  json.RawMessage `json:"effective_params"`
	Request api.CreateJob   `json:"request"`
}

// changes lists the differences to the configuration of the repeated run. If none of the listed values differ but the
// input hash does, it says so: the hash covers more than the configuration shows.
func (r *runConfig) changes(now *runConfig) []change {
	out := []change{}
	add := func(what, was, is string) {
		if was != is {
			out = append(out, change{what, was, is})
		}
	}
	add("service", r.Service, now.Service)
	add("engine", r.Engine, now.Engine)
	add("weights", r.Weights, now.Weights)
	add("device", r.Device, now.Device)
	for _, name := range allKeys(r.Files, now.Files) {
		add(name, r.Files[name], now.Files[name])
	}
	if len(out) == 0 && r.Input != "" && r.Seed == now.Seed { // different seeds: the model accepts none
		add("the engine's program, its weights or its input", r.Input, now.Input)
	}
	return out
}

// request returns the request that repeats the run, as a private job without webhooks. It has the effective parameters
// of the run, since defaults may have changed.
func (e *completedRun) request() (*api.CreateJob, error) {
	r := e.config.Request
	if r.Params == nil || len(r.Sequences) == 0 {
		const text = "the configuration of the run %s has no request: an older version of pleat wrote it"
		return nil, fmt.Errorf(text, e.JobRunID)
	}
	requested := r.Params.MSAAlgorithm
	if len(e.config.Params) > 0 {
		if err := json.Unmarshal(e.config.Params, r.Params); err != nil {
			return nil, fmt.Errorf("read the configuration of the run %s: %w", e.JobRunID, err)
		}
	}
	switch none := pleat.MSANone; {
	case len(e.artifactsOf(pleat.ArtifactMSA)) > 0: // they are uploaded, so no search is needed
		r.Params.MSAAlgorithm = requested
	case r.Params.MSAAlgorithm != nil: // the run had no alignments, so the new one must not either
		r.Params.MSAAlgorithm = &none
	}
	r.Name, r.IsPublic, r.ChatID = words.Shorten("Verification of "+r.Name, pleat.MaxName), false, ""
	if r.Constraints == nil {
		r.Constraints = &api.Constraints{}
	}
	r.Constraints.Webhooks = json.RawMessage(`{"custom_http": {"enabled": false}}`) // overrides the account's default
	return &r, nil
}

// artifactsOf returns the run's artifacts of one kind, in their order.
func (e *completedRun) artifactsOf(k pleat.ArtifactKind) []api.Artifact {
	return slices.DeleteFunc(slices.Clone(e.Artifacts), func(a api.Artifact) bool { return a.Kind != string(k) })
}

// alignments uploads the run's alignments to a temporary library item, from which the new job is created. Rows that are
// paired across chains cannot be uploaded: such a run is repeated with the library item of its own job, if it has one,
// and the service searches for the rest. An empty item means that there is none.
func (e *completedRun) alignments(ctx context.Context, c *api.Client) (item string, temporary bool, err error) {
	files := e.artifactsOf(pleat.ArtifactMSA)
	paired := func(a api.Artifact) bool { return strings.HasSuffix(a.Name, "msa-paired.a3m") }
	if slices.ContainsFunc(files, paired) {
		item, err := e.sourceItem(ctx, c)
		return item, false, err
	}
	if len(files) == 0 {
		return "", false, nil
	}
	item, err = createItem(ctx, c, api.CreateItem{
		Name:     words.Shorten("alignments of "+e.Job.Name, pleat.MaxName),
		FileType: "a3m",
		Origin:   "pleat verify",
	}, func(item string) error { return copyAlignments(ctx, c, files, item) })
	return item, err == nil, err
}

// copyAlignments copies alignments of a run to a library item. Chains with the same sequence share one.
func copyAlignments(ctx context.Context, c *api.Client, files []api.Artifact, item string) error {
	seen := map[string]bool{}
	for i, a := range files {
		if seen[a.SHA256] {
			continue
		}
		seen[a.SHA256] = true
		var b bytes.Buffer
		if err := c.Download(ctx, a, &b); err != nil {
			return err
		}
		if _, err := c.UploadFile(ctx, item, fmt.Sprintf("%d.a3m", i+1), &b); err != nil {
			return err
		}
	}
	return nil
}

// sourceItem returns the library item that the caller's job was created from; empty if there is none or it was deleted.
func (e *completedRun) sourceItem(ctx context.Context, c *api.Client) (string, error) {
	v, err := c.Job(ctx, e.Job.ID)
	if err != nil || v.Job.LibraryItemID == nil || !v.Job.IsOwner {
		return "", err
	}
	_, err = c.LibraryItem(ctx, *v.Job.LibraryItemID)
	if api.StatusOf(err) == http.StatusNotFound {
		return "", nil
	}
	return *v.Job.LibraryItemID, err
}

// completed reads the latest run of a job: its results, its configuration and its structures. A job that is not
// COMPLETED is an error with cli.ExitUnfinished.
func completed(ctx context.Context, c *api.Client, id string) (*completedRun, error) {
	res, err := c.Results(ctx, id)
	if err != nil {
		return nil, err
	}
	if res.Job.Status != string(pleat.StateCompleted) {
		return nil, cli.Exitf(cli.ExitUnfinished, "the job %s is %s, and only a COMPLETED job can be compared%s",
			id, res.Job.Status, reasonAfter(res.Prediction.Error))
	}
	out := &completedRun{Results: res, structures: map[string]predicted{}}
	for _, a := range res.Artifacts {
		var b bytes.Buffer
		switch a.Kind {
		case string(pleat.ArtifactCIF):
			if err := c.Download(ctx, a, &b); err != nil {
				return nil, err
			}
			s, err := structure.ReadCIF(bytes.NewReader(b.Bytes()), structure.Limits{})
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", a.Name, err)
			}
			out.structures[a.Name] = predicted{s, untitled(b.Bytes())}
		case string(pleat.ArtifactConfig):
			if err := c.Download(ctx, a, &b); err != nil {
				return nil, err
			}
			if err := json.Unmarshal(b.Bytes(), &out.config); err != nil {
				return nil, fmt.Errorf("read %s: %w", a.Name, err)
			}
		}
	}
	return out, nil
}

// predicted is a structure and the SHA-256 of its file without a title, by which identical files are recognised.
type predicted struct {
	*structure.Structure
	sha256 string
}

// untitled returns the SHA-256 of a structure file without its title, which names the job. A file of an engine's own is
// hashed as it is.
func untitled(cif []byte) string {
	h := sha256.New()
	if err := structure.RetitleCIF(h, bytes.NewReader(cif), structure.Meta{}); err != nil {
		h.Reset()
		h.Write(cif)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// allKeys returns the keys that one of two maps has, sorted.
func allKeys[T any](a, b map[string]T) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// compare compares the structures of the two runs, by file name, and sets the verdict. A structure that only one of the
// runs has makes them different.
func (v *comparison) compare(before, after map[string]predicted) {
	v.Verdict = verdictIdentical
	for _, name := range allKeys(before, after) {
		a, inBefore := before[name]
		b, inAfter := after[name]
		if !inBefore || !inAfter {
			v.Verdict = verdictDifferent
			v.Files = append(v.Files, structureComparison{File: name, Why: "only one of the runs has this file"})
			continue
		}
		identical := a.sha256 == b.sha256
		for _, c := range structure.Compare(a.Structure, b.Structure) {
			v.Files = append(v.Files, structureComparison{
				File:      name,
				Chain:     c.Chain,
				Identical: identical,
				Residues:  c.Residues,
				RMSD:      c.RMSD,
				PLDDT:     c.MeanPLDDT,
				MaxPLDDT:  c.MaxPLDDT,
				Why:       c.Reason,
			})
			switch {
			case identical:
			case c.RMSD == nil || *c.RMSD > v.Tolerance:
				v.Verdict = verdictDifferent
			case v.Verdict == verdictIdentical:
				v.Verdict = verdictReproduced
			}
		}
	}
}

// print writes a table with a row per structure and chain, the changes of the configuration, and the verdict.
func (v *comparison) print(cmd *cobra.Command) error {
	head := []string{"STRUCTURE", "CHAIN", "RESIDUES", "RMSD", "PLDDT DIFF", "MAX DIFF", "FILE"}
	rows := cli.Rows(head, v.Files, func(s *structureComparison) []string {
		same := "differ"
		if s.Identical {
			same = "identical"
		}
		return []string{
			s.File,
			cmp.Or(s.Chain, "all"),
			fmt.Sprint(s.Residues),
			cli.FormatScore(s.RMSD, "%.3f"),
			cli.FormatScore(s.PLDDT, "%+.2f"),
			cli.FormatScore(s.MaxPLDDT, "%.2f"),
			cmp.Or(s.Why, same),
		}
	})
	out := cmd.OutOrStdout()
	if err := cli.PrintTable(out, rows); err != nil {
		return err
	}
	for _, c := range v.Changed {
		was, is := pleat.Clip(cmp.Or(c.Was, "-")), pleat.Clip(cmp.Or(c.Is, "-"))
		fmt.Fprintf(out, "%s: was %s, is %s\n", pleat.Clip(c.What), was, is)
	}
	if v.Seed == "" {
		fmt.Fprintln(out, "the model accepts no seed, so repeated runs may differ")
	}
	switch v.Verdict {
	case verdictIdentical:
		fmt.Fprintf(out, "identical: run %s has the same files as run %s\n", v.Again, v.Run)
	case verdictReproduced:
		fmt.Fprintf(out, "reproduced: run %s is within %g Å of run %s\n", v.Again, v.Tolerance, v.Run)
	default:
		fmt.Fprintf(out, "different: run %s is not within %g Å of run %s\n", v.Again, v.Tolerance, v.Run)
	}
	return nil
}
