package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/structure"
)

func verifyCmd() *cobra.Command {
	c := onOne(&cobra.Command{
		Use:   "verify JOB",
		Short: "Fold a job once more and compare the structures",
		Long: `Folds a completed job once more, yours or a public one, and compares the structures: by their SHA-256, else by the distance of their CA
atoms (C1' in nucleic acids) after superposition, for each chain and as a whole, and by their pLDDT.

What is folded is a new job, private and named «Verification of …», made from the receipt of the run, its config.json: the same entities,
parameters and seed, and the alignments that the run had, unless their rows were paired. It is computed, not answered from earlier runs; it
counts against the quota, starts no follow-ups and tells no webhook. The job itself stays as it is.

It ends with 0 where the structures are identical, or as near as --tolerance asks; with 4 where they differ.`,
		Example: `  pleat verify 01890a5d-ac96-774b-bcce-b302099a8057`,
	}, "job", false, runVerify)
	f := c.Flags()
	f.Float64("tolerance", 0.1, "Å of RMSD up to which structures that are not identical are taken as reproduced")
	f.Bool("json", false, "print JSON")
	return c
}

// comparison is what came of running a job again.
type comparison struct {
	Job       string     `json:"job"`
	Run       string     `json:"run"`      // that was there
	JobAgain  string     `json:"jobAgain"` // that was made
	Again     string     `json:"again"`
	Seed      string     `json:"seed"`
	Changed   []change   `json:"changed"` // between the receipts
	Verdict   string     `json:"verdict"` // identical, reproduced or different
	Files     []sameness `json:"structures"`
	Tolerance float64    `json:"tolerance"`
}

// change is something that the receipts of the two runs do not agree in.
type change struct {
	What string `json:"what"`
	Was  string `json:"was"`
	Is   string `json:"is"`
}

// sameness compares one structure, or one chain of it. What cannot be compared is nil.
type sameness struct {
	File      string   `json:"file"`
	Chain     string   `json:"chain,omitempty"` // empty: the whole structure
	Identical bool     `json:"identical"`
	Residues  int      `json:"residues"`
	RMSD      *float64 `json:"rmsd"`     // Å, after superposition
	PLDDT     *float64 `json:"plddt"`    // mean difference, the second run's minus the first's
	MostPLDDT *float64 `json:"plddtMax"` // largest difference of a residue
	Why       string   `json:"why,omitempty"`
}

// The verdicts.
const (
	verdictIdentical  = "identical"
	verdictReproduced = "reproduced"
	verdictDifferent  = "different"
)

func runVerify(cmd *cobra.Command, c *api.Client, id string) error {
	ctx := cmd.Context()
	tolerance, _ := cmd.Flags().GetFloat64("tolerance")
	if !(tolerance >= 0) {
		return usagef("--tolerance is %g; it must be 0 Å or more", tolerance)
	}
	was, err := completed(ctx, c, id)
	if err != nil {
		return err
	}
	if len(was.structures) == 0 {
		return fmt.Errorf("the job %s has no structure to compare: %s predicts none", id, was.Parameters.ModelName)
	}
	made, err := repeat(cmd, c, was)
	if err != nil {
		return err
	}
	now, err := completed(ctx, c, made)
	if err != nil {
		return err
	}
	v := comparison{Job: id, Run: was.JobRunID, JobAgain: made, Again: now.JobRunID, Seed: was.receipt.Seed, Changed: was.receipt.changes(&now.receipt), Tolerance: tolerance}
	v.compare(was.structures, now.structures)
	if err := showOne(cmd, v, func() error { return v.print(cmd) }); err != nil {
		return err
	}
	if v.Verdict == verdictDifferent {
		return &exit{exitDiffers, errors.New("the run did not give the same structures again")}
	}
	return nil
}

// repeat folds what a run folded in a job of its own, waits for its end and says which job that is.
func repeat(cmd *cobra.Command, c *api.Client, was *ended) (string, error) {
	ctx := cmd.Context()
	job, err := was.request()
	if err != nil {
		return "", err
	}
	from, lent, err := was.alignments(ctx, c)
	if err != nil {
		return "", err
	}
	made, err := c.CreateJob(ctx, *job, api.CreateOptions{NoCache: true, From: from})
	if err == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "job %s: %s\n", made.JobID, pleat.Clip(made.JobName))
		if _, err = follow(cmd, c, made.JobID); err != nil {
			return "", err // the job goes on, and needs what it was lent
		}
	}
	if lent {
		_, _ = c.DeleteItem(context.WithoutCancel(ctx), from)
	}
	return made.JobID, err
}

// ended is a completed run: its results, receipt, and structures by the names of their files.
type ended struct {
	api.Results
	receipt    receipt
	structures map[string]predicted
}

// receipt is what is read of a run's config.json.
type receipt struct {
	Service string            `json:"service"`
	Input   string            `json:"input_sha256"`
	Files   map[string]string `json:"input_files"`
	Engine  string            `json:"engine"`
	Model   string            `json:"model"`
	Weights string            `json:"weight_set"`
	Device  string            `json:"device"`
	Seed    string            `json:"seed"`
	Params  json.RawMessage   `json:"effective_params"`
	Request api.CreateJob     `json:"request"`
}

// changes lists what another receipt says otherwise.
func (r *receipt) changes(now *receipt) []change {
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
	all := maps.Clone(r.Files)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, now.Files)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		add(name, r.Files[name], now.Files[name])
	}
	if len(out) == 0 && r.Input != "" && r.Seed == now.Seed { // else the model takes no seed, and has another each time
		add("the program of the engine, its weights or what they are given", r.Input, now.Input)
	}
	return out
}

// request is what folds the run once more: with its parameters as they took effect, since defaults may have changed, in a job that is the
// caller's alone and tells nobody.
func (e *ended) request() (*api.CreateJob, error) {
	r := e.receipt.Request
	if r.Params == nil || len(r.Sequences) == 0 {
		return nil, fmt.Errorf("the receipt of the run %s holds no request; a version of pleat that wrote none made it", e.JobRunID)
	}
	asked := r.Params.MSAAlgorithm
	if len(e.receipt.Params) > 0 {
		if err := json.Unmarshal(e.receipt.Params, r.Params); err != nil {
			return nil, fmt.Errorf("read the receipt of the run %s: %w", e.JobRunID, err)
		}
	}
	switch none := pleat.MSANone; {
	case len(e.kind(pleat.ArtifactMSA)) > 0: // where all are lent, the service need not be able to search
		r.Params.MSAAlgorithm = asked
	case r.Params.MSAAlgorithm != nil: // the run had none, whatever it would have now
		r.Params.MSAAlgorithm = &none
	}
	r.Name, r.IsPublic, r.ChatID = clip("Verification of "+r.Name, pleat.MaxName), false, ""
	if r.Constraints == nil {
		r.Constraints = &api.Constraints{}
	}
	r.Constraints.Webhooks = json.RawMessage(`{"custom_http": {"enabled": false}}`) // absent, it would be the account's default
	return &r, nil
}

func (e *ended) kind(k pleat.ArtifactKind) []api.Artifact {
	return slices.DeleteFunc(slices.Clone(e.Artifacts), func(a api.Artifact) bool { return a.Kind != string(k) })
}

// alignments puts those that the run had into a library item from which a job can be made, and says so. Rows that are paired across
// chains cannot be given: such a run is repeated from the item that its own job was made from, if any, and the rest is searched for.
func (e *ended) alignments(ctx context.Context, c *api.Client) (item string, lent bool, err error) {
	had := e.kind(pleat.ArtifactMSA)
	if slices.ContainsFunc(had, func(a api.Artifact) bool { return strings.HasSuffix(a.Name, "msa-paired.a3m") }) {
		v, err := c.Job(ctx, e.Job.ID)
		if err != nil || v.Job.LibraryItemID == nil || !v.Job.IsOwner {
			return "", false, err
		}
		if _, err := c.LibraryItem(ctx, *v.Job.LibraryItemID); err != nil {
			var gone *api.Error
			if errors.As(err, &gone) && gone.Status == http.StatusNotFound {
				err = nil
			}
			return "", false, err
		}
		return *v.Job.LibraryItemID, false, nil
	}
	if len(had) == 0 {
		return "", false, nil
	}
	made, err := c.CreateItem(ctx, api.CreateItem{Name: clip("alignments of "+e.Job.Name, pleat.MaxName), FileType: "a3m", Origin: "pleat verify"})
	if err != nil {
		return "", false, err
	}
	seen := map[string]bool{} // chains of one sequence have one alignment
	for i, a := range had {
		if seen[a.SHA256] {
			continue
		}
		seen[a.SHA256] = true
		var b bytes.Buffer
		if err = c.Download(ctx, a, &b); err == nil {
			_, err = c.UploadFile(ctx, made.ID, fmt.Sprintf("%d.a3m", i+1), &b)
		}
		if err != nil {
			_, _ = c.DeleteItem(context.WithoutCancel(ctx), made.ID)
			return "", false, err
		}
	}
	return made.ID, true, nil
}

// completed reads the latest run of a job, which must have completed.
func completed(ctx context.Context, c *api.Client, id string) (*ended, error) {
	res, err := c.Results(ctx, id)
	if err != nil {
		return nil, err
	}
	if res.Job.Status != string(pleat.StateCompleted) {
		why := ""
		if res.Prediction.Error != nil {
			why = ": " + *res.Prediction.Error
		}
		return nil, &exit{exitUnfinished, fmt.Errorf("the job %s is %s, and only what is COMPLETED can be compared%s", id, res.Job.Status, why)}
	}
	out := &ended{Results: res, structures: map[string]predicted{}}
	for _, a := range res.Artifacts {
		var b bytes.Buffer
		switch a.Kind {
		case string(pleat.ArtifactCIF):
			if err := c.Download(ctx, a, &b); err != nil {
				return nil, err
			}
			s, err := structure.ReadCIF(&b, structure.Limits{})
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", a.Name, err)
			}
			out.structures[a.Name] = predicted{s, a.SHA256}
		case string(pleat.ArtifactConfig):
			if err := c.Download(ctx, a, &b); err != nil {
				return nil, err
			}
			if err := json.Unmarshal(b.Bytes(), &out.receipt); err != nil {
				return nil, fmt.Errorf("read %s: %w", a.Name, err)
			}
		}
	}
	return out, nil
}

// predicted is a structure and the digest of its file.
type predicted struct {
	*structure.Structure
	sha256 string
}

// compare fills in the verdict.
func (v *comparison) compare(before, after map[string]predicted) {
	v.Verdict = verdictIdentical
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, had := before[name]
		b, has := after[name]
		if !had || !has {
			v.Verdict = verdictDifferent
			v.Files = append(v.Files, sameness{File: name, Why: "only one of the runs has it"})
			continue
		}
		identical := a.sha256 == b.sha256
		for _, s := range compareStructures(a.Structure, b.Structure) {
			s.File, s.Identical = name, identical
			v.Files = append(v.Files, s)
			switch {
			case identical:
			case s.RMSD == nil || *s.RMSD > v.Tolerance:
				v.Verdict = verdictDifferent
			case v.Verdict == verdictIdentical:
				v.Verdict = verdictReproduced
			}
		}
	}
}

// compareStructures compares two structures chain by chain, and as wholes where there are several: each on its own superposition.
func compareStructures(a, b *structure.Structure) []sameness {
	var out []sameness
	var allA, allB []structure.Vec
	whole := sameness{}
	for i := range a.Chains {
		ca := &a.Chains[i]
		s := sameness{Chain: ca.ID, Residues: len(ca.Residues)}
		cb := b.Chain(ca.ID)
		switch {
		case cb == nil:
			s.Why = "the second run has no such chain"
		case cb.Sequence() != ca.Sequence() || len(cb.Residues) != len(ca.Residues):
			s.Why = fmt.Sprintf("the second run has %d residues, or others", len(cb.Residues))
		default:
			pa, pb := points(ca), points(cb)
			if len(pa) != len(pb) {
				s.Why = "the atoms are not the same"
				break
			}
			s.RMSD = superposed(pa, pb)
			s.PLDDT, s.MostPLDDT = plddtChange(ca, cb)
			allA, allB = append(allA, pa...), append(allB, pb...)
		}
		if s.Why != "" {
			whole.Why = "the chains are not the same"
		}
		whole.Residues += s.Residues
		out = append(out, s)
	}
	if len(b.Chains) != len(a.Chains) {
		whole.Why = fmt.Sprintf("the second run has %d chains", len(b.Chains))
	}
	if len(a.Chains) == 1 && whole.Why == "" {
		return out
	}
	if whole.Why == "" {
		whole.RMSD = superposed(allA, allB)
	}
	return append(out, whole)
}

// points are what a chain is compared by: one point per residue of a polymer, every heavy atom of anything else.
func points(c *structure.Chain) []structure.Vec {
	if c.Kind.Polymer() {
		return c.Centres()
	}
	var out []structure.Vec
	for i := range c.Residues {
		for _, a := range c.Residues[i].Atoms {
			if a.Element != "H" && a.Element != "D" {
				out = append(out, a.Pos)
			}
		}
	}
	return out
}

func superposed(a, b []structure.Vec) *float64 {
	if len(a) == 0 {
		return nil
	}
	rmsd := structure.RMSD(b, a)
	return &rmsd
}

// plddtChange is the mean and the largest difference of the confidence; nil where neither has any.
func plddtChange(a, b *structure.Chain) (mean, most *float64) {
	pa := structure.PLDDTFromB(&structure.Structure{Chains: []structure.Chain{*a}})[0]
	pb := structure.PLDDTFromB(&structure.Structure{Chains: []structure.Chain{*b}})[0]
	sum, top, any := 0.0, 0.0, false
	for i := range pa {
		d := pb[i] - pa[i]
		sum, top, any = sum+d, max(top, math.Abs(d)), any || pa[i] != 0 || pb[i] != 0
	}
	if !any {
		return nil, nil
	}
	sum /= float64(len(pa))
	return &sum, &top
}

func (v *comparison) print(cmd *cobra.Command) error {
	rows := [][]string{{"STRUCTURE", "CHAIN", "RESIDUES", "RMSD", "PLDDT", "MOST", "BYTES"}}
	for _, s := range v.Files {
		same := "differ"
		if s.Identical {
			same = "identical"
		}
		rows = append(rows, []string{s.File, cmp.Or(s.Chain, "all"), fmt.Sprint(s.Residues), number(s.RMSD, "%.3f"), number(s.PLDDT, "%+.2f"), number(s.MostPLDDT, "%.2f"), cmp.Or(s.Why, same)})
	}
	out := cmd.OutOrStdout()
	if err := table(out, rows); err != nil {
		return err
	}
	for _, c := range v.Changed {
		fmt.Fprintf(out, "%s: was %s, is %s\n", pleat.Clip(c.What), pleat.Clip(cmp.Or(c.Was, "-")), pleat.Clip(cmp.Or(c.Is, "-")))
	}
	if v.Seed == "" {
		fmt.Fprintln(out, "the model takes no seed, so a run need not give the same again")
	}
	switch v.Verdict {
	case verdictIdentical:
		fmt.Fprintf(out, "identical: run %s gave the same bytes as run %s\n", v.Again, v.Run)
	case verdictReproduced:
		fmt.Fprintf(out, "reproduced: run %s is within %g Å of run %s\n", v.Again, v.Tolerance, v.Run)
	default:
		fmt.Fprintf(out, "different: run %s is not within %g Å of run %s\n", v.Again, v.Tolerance, v.Run)
	}
	return nil
}
