package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
)

// sequenceID returns the id of the sequence of a job that a user means: by its id, one of its chains, or its name. A
// text that means none or several is a usage error that lists the sequences.
func sequenceID(ctx context.Context, c *api.Client, job, want string) (string, error) {
	v, err := c.Job(ctx, job)
	if err != nil {
		return "", explain(c, err)
	}
	means := func(same func(a, b string) bool) (out []api.ViewSequence) {
		for _, s := range v.Sequences {
			names := append([]string{s.ID}, s.Chains...)
			if s.Name != nil {
				names = append(names, *s.Name)
			}
			if slices.ContainsFunc(names, func(name string) bool { return same(name, want) }) {
				out = append(out, s)
			}
		}
		return out
	}
	found := means(func(a, b string) bool { return a == b })
	if len(found) == 0 { // chains may differ by case alone, so that this is no error of the first try
		found = means(strings.EqualFold)
	}
	switch len(found) {
	case 1:
		return found[0].ID, nil
	case 0:
		return "", cli.Usagef("the job has no sequence %q; it has %s", pleat.Clip(want), choices(v.Sequences))
	}
	return "", cli.Usagef("--sequence %q is ambiguous; it may be %s", pleat.Clip(want), choices(found))
}

// choices lists sequences by chain, name and id, for a message.
func choices(all []api.ViewSequence) string {
	const most = 8
	var out []string
	for _, s := range all[:min(len(all), most)] {
		text := "chain " + chainsOf(s)
		if name := cli.ValueOr(s.Name, ""); name != "" {
			text += fmt.Sprintf(" %q", pleat.Clip(name))
		}
		out = append(out, text+" ("+s.ID+")")
	}
	if len(all) > most {
		out = append(out, fmt.Sprintf("%d more", len(all)-most))
	}
	return strings.Join(out, ", ")
}

// chainsOf returns the chains of a sequence, such as "A, C".
func chainsOf(s api.ViewSequence) string {
	if n := len(s.Chains); n > 12 {
		return fmt.Sprintf("%s to %s (%d copies)", s.Chains[0], s.Chains[n-1], n)
	}
	return strings.Join(s.Chains, ", ")
}

// records returns a table with one row per sequence of a job: its chains, its name, what it is, the scores of its
// structure if it has one of its own, and its id.
func records(v api.JobView) [][]string {
	rows := [][]string{{"CHAIN", "NAME", "TYPE", "LENGTH", "MEAN PLDDT", cli.RMSDColumn, "PTM", "ID"}}
	for _, s := range v.Sequences {
		name, length := cmp.Or(cli.ValueOr(s.Name, ""), "-"), "-"
		if s.Type != string(pleat.Ligand) {
			length = fmt.Sprint(len(s.Sequence))
		}
		var p api.ScoredChains
		if i := slices.IndexFunc(v.Predictions, func(p api.ScoredChains) bool { return p.SequenceID == s.ID }); i >= 0 {
			p = v.Predictions[i]
		}
		rows = append(rows, []string{chainsOf(s), name, s.Type, length, cli.FormatScore(p.MeanPLLDT, "%.1f"),
			cli.FormatScore(p.PredictedRMSD, "%.2f"), cli.FormatScore(p.PTM, "%.3f"), s.ID})
	}
	return cli.WithoutEmpty(rows, cli.RMSDColumn)
}
