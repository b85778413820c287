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
	"slices"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/structure"
)

func verifyCmd() *cobra.Command {
	c := onOne(&cobra.Command{
		Use:   "verify JOB",
		Short: "Run a job again with the same seed and compare the structures",
		Long: `Runs a completed job of yours again, with the same parameters and seed and without answers from earlier runs, and compares the
structures: by their SHA-256, else by the distance of their CA atoms (C1' in nucleic acids) after superposition, for each chain and as a
whole, and by their pLDDT. The new run counts against the quota, becomes the job's latest, and starts its follow-ups again.

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
	Run       string     `json:"run"`   // that was there
	Again     string     `json:"again"` // that was made
	Seed      string     `json:"seed"`
	Engine    string     `json:"engine"`
	EngineNow string     `json:"engineAgain"`
	Verdict   string     `json:"verdict"` // identical, reproduced or different
	Files     []sameness `json:"structures"`
	Tolerance float64    `json:"tolerance"`
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
	was, err := c.Job(ctx, id)
	if err != nil {
		return err
	}
	before, err := completed(ctx, c, id)
	if err != nil {
		return err
	}
	switch {
	case !was.Job.IsOwner:
		return fmt.Errorf("the job %s is somebody else's; its config.json holds the request to send yourself", id)
	case len(before) == 0:
		return fmt.Errorf("the job %s has no structure to compare: %s predicts none", id, was.Run.ModelName)
	}
	params, err := paramsOf(ctx, c, &was)
	if err != nil {
		return err
	}
	made, err := c.Rerun(ctx, id, params, api.RerunOptions{NoCache: true})
	if err != nil {
		return err
	}
	if _, err := follow(cmd, c, id); err != nil {
		return err
	}
	after, err := completed(ctx, c, id)
	if err != nil {
		return err
	}
	now, err := c.Job(ctx, id)
	if err != nil {
		return err
	}
	if now.Run.ID != made.JobRunID {
		return fmt.Errorf("the job %s was run again by somebody else meanwhile; nothing was compared", id)
	}
	v := comparison{Job: id, Run: was.Run.ID, Again: now.Run.ID, Seed: was.Run.Seed, Engine: was.Run.Engine, EngineNow: now.Run.Engine, Tolerance: tolerance}
	v.compare(before, after)
	if err := showOne(cmd, v, func() error { return v.print(cmd) }); err != nil {
		return err
	}
	if v.Verdict == verdictDifferent {
		return &exit{exitDiffers, errors.New("the run did not give the same structures again")}
	}
	return nil
}

// paramsOf are the parameters of a run, its seed among them where the model takes one.
func paramsOf(ctx context.Context, c *api.Client, v *api.JobView) (*api.Params, error) {
	raw, err := json.Marshal(v.Params)
	if err != nil {
		return nil, err
	}
	p := &api.Params{}
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, fmt.Errorf("read the job's parameters: %w", err)
	}
	models, err := c.Models(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(models.Data, func(m api.Model) bool { return m.Name == v.Run.ModelName })
	if i >= 0 && slices.ContainsFunc(models.Data[i].Params, func(s api.ParamSpec) bool { return s.Name == "seed" }) {
		p.Seed = &v.Run.Seed
	}
	return p, nil
}

// completed are the structures of a job's latest run, by the names of their files.
func completed(ctx context.Context, c *api.Client, id string) (map[string]predicted, error) {
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
	out := map[string]predicted{}
	for _, a := range res.Artifacts {
		if a.Kind != string(pleat.ArtifactCIF) {
			continue
		}
		var b bytes.Buffer
		if err := c.Download(ctx, a, &b); err != nil {
			return nil, err
		}
		s, err := structure.ReadCIF(&b, structure.Limits{})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", a.Name, err)
		}
		out[a.Name] = predicted{s, a.SHA256}
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
	if v.Engine != v.EngineNow {
		fmt.Fprintf(out, "the engine was %s and is %s\n", pleat.Clip(v.Engine), pleat.Clip(v.EngineNow))
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
