package builtin

import (
	"context"

	"pleat"
	"pleat/internal/analyst"
	"pleat/internal/facts"
	"pleat/internal/report"
)

// Analyst is the built-in Q&A engine: no model, nothing to download. It answers from computed facts, or says that it
// cannot.
type Analyst struct{}

// analystVersion is part of the engine's name in results; answers of one version to one structure are the same.
const analystVersion = "3"

// Models lists the one model, analyst.
func (Analyst) Models() []pleat.Model {
	return []pleat.Model{{
		Name:      "analyst",
		Kind:      pleat.TaskQnA,
		Title:     "Analyst, the built-in Q&A engine",
		Engine:    "analyst",
		Version:   analystVersion,
		WeightSet: "none",
		Method:    "computed facts and a grammar of questions",
		Licence:   "Apache-2.0",
		WeightUse: pleat.CommercialUse,
		Device:    "cpu",
		Cores:     1,
		Entities:  []pleat.EntityKind{pleat.Protein, pleat.RNA, pleat.DNA, pleat.Ligand},
		Memory:    pleat.MemoryModel{Base: 150e6, Linear: 13e3},
		Notice: "Answers from facts that it computes from the structure, not from a language model. If it does not " +
			"understand the whole question, or coordinates cannot answer it, it gives the reason instead of an answer.",
		Citations: report.Cite("kabsch1983"),
	}}
}

// Run answers the question from facts computed of the structure; package analyst has the answers, report.Answer the
// files.
func (Analyst) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
	return report.Answer(ctx, w, sink, func(_ context.Context, f *facts.Facts) (report.Reply, *pleat.Failure) {
		a := analyst.Answer(f, w.QnA.Question)
		return report.Reply{Text: a.Text, Detail: a}, nil
	})
}
