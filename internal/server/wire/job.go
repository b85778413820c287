package wire

import (
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/store/runs"
)

// JobRow returns a job in a list: its name, state and progress, without sequences, files and earlier runs.
func JobRow(r *runs.JobRow) api.JobRow {
	return api.JobRow{
		ID:            string(r.ID),
		Owned:         Owned(r.Owner, r.Creator, r.CreatorName, ForOwner),
		JobRunID:      string(r.Run),
		Name:          r.Name,
		Status:        string(r.State),
		IsPublic:      r.Public,
		ModelName:     r.Model,
		Stage:         Stage(r.State, r.Stage),
		Done:          r.Done,
		Total:         r.Total,
		MeanPLLDT:     r.MeanPLDDT,
		PredictedRMSD: r.PredictedRMSD,
		Error:         FailureMessage(r.Failure, ForOwner),
		Date:          api.At(r.CreatedAt),
		UpdatedAt:     api.At(r.UpdatedAt),
		StartedAt:     OptionalTime(r.Started),
		FinishedAt:    OptionalTime(r.Finished),
	}
}

// JobView returns everything about a job that the row and its runs hold. The caller adds the links, workflows,
// deliveries and the position in the queue, which need the store. runs are all runs of the job. Others than the owner
// see neither its chat and library item, nor its webhook settings, nor where its sequences came from.
func JobView(v *runs.View, runs []pleat.Run, to Audience) api.JobView {
	out := api.JobView{
		Job: api.JobDetail{
			Job:     Job(&v.Job),
			Owned:   Owned(v.Job.Owner, v.Job.CreatedBy(), v.Job.CreatorName, to),
			IsOwner: to == ForOwner,
		},
		Run:         Run(&v.Run, to),
		Runs:        []api.Run{},
		Progress:    api.RunProgress{Stage: Stage(v.Run.State, v.Run.Stage), Done: v.Run.Done, Total: v.Run.Total},
		Sequences:   []api.ViewSequence{},
		Constraints: Constraints(&v.Job.Constraints, to),
		Predictions: []api.ScoredChains{},
		Workflows:   []api.LinkedItem{},
		Deliveries:  []api.LinkedItem{},
		Params:      map[string]any{"modelName": v.Run.Params.Model},
	}
	if to == ForOwner {
		out.Job.ChatID, out.Job.LibraryItemID = OptionalString(v.Job.ChatID), OptionalString(v.Job.LibraryItem)
	}
	for name, value := range v.Run.Params.Values {
		out.Params[name] = value
	}
	for i := range runs {
		out.Runs = append(out.Runs, Run(&runs[i], to))
	}
	for i := range v.Job.Sequences {
		q := &v.Job.Sequences[i]
		out.Sequences = append(out.Sequences, api.ViewSequence{
			ID:       string(q.ID),
			Type:     string(q.Kind),
			Name:     OptionalString(q.Label),
			Sequence: q.Text,
			Chains:   q.Chains,
			Count:    q.Count,
			Item:     SequenceItem(q, to),
		})
	}
	if v.Run.Result != nil {
		for i := range v.Run.Result.Predictions {
			out.Predictions = append(out.Predictions, ScoredChains(&v.Run.Result.Predictions[i]))
		}
	}
	return out
}

// Job returns what results and views say about a job. Its state is that of the latest run.
func Job(j *pleat.Job) api.Job {
	return api.Job{
		ID:        string(j.ID),
		Status:    string(j.State),
		Name:      j.Name,
		Date:      api.At(j.CreatedAt),
		UpdatedAt: api.At(j.UpdatedAt),
		IsComplex: j.Complex,
		IsPublic:  j.Public,
		JobRunID:  string(j.Run),
	}
}

// Run returns a run of a job, with its timings, notes and failure, and the scores of its first structure. It drops the
// parameters, the other predictions and the cause of a failure, which is for the log. Others than the owner see neither
// the message of a failure nor which run a cached result came from.
func Run(r *pleat.Run, to Audience) api.Run {
	out := api.Run{
		ID:         string(r.ID),
		Number:     r.Number,
		Status:     string(r.State),
		MSAStatus:  string(r.MSA),
		ModelName:  r.Model,
		WeightSet:  r.WeightSet,
		Method:     r.Method,
		Engine:     r.Engine,
		Seed:       r.Seed,
		CreatedAt:  api.At(r.CreatedAt),
		StartedAt:  OptionalTime(r.StartedAt),
		FinishedAt: OptionalTime(r.FinishedAt),
		Seconds:    r.Seconds(),
		Timings:    map[string]float64{},
		Notes:      []string{},
	}
	if r.Result != nil {
		if r.Result.Timings != nil {
			out.Timings = r.Result.Timings
		}
		out.Notes, out.Cached = notes(r.Result, to), r.Result.AnsweredFrom != ""
		if len(r.Result.Predictions) > 0 {
			p := &r.Result.Predictions[0]
			out.MeanPLDDT, out.PredictedRMSD, out.PTM, out.IPTM = p.MeanPLDDT, p.PredictedRMSD, p.PTM, p.IPTM
		}
	}
	if r.Failure != nil {
		out.Failure = &api.Failure{Kind: string(r.Failure.Kind), Message: *FailureMessage(r.Failure, to)}
	}
	return out
}

// notes returns the notes of a result. The last note of a cached result names the run that it came from for the owner
// alone. Notes of earlier versions hold its id.
func notes(r *pleat.Result, to Audience) []string {
	out := append([]string{}, r.Notes...)
	if n := len(out); n > 0 && r.AnsweredFrom != "" {
		named := "run " + string(r.AnsweredFrom)
		if to == ForOwner {
			out[n-1] = strings.Replace(out[n-1], pleat.SourceRun, named, 1)
		} else {
			out[n-1] = strings.Replace(out[n-1], named, pleat.SourceRun, 1)
		}
	}
	return out
}

// ScoredChains returns the scores of one predicted structure. Scores that the engine does not give stay nil.
func ScoredChains(p *pleat.Prediction) api.ScoredChains {
	out := api.ScoredChains{
		SequenceID:    string(p.Sequence),
		Chains:        append([]string{}, p.Chains...),
		MeanPLLDT:     p.MeanPLDDT,
		PredictedRMSD: p.PredictedRMSD,
		PTM:           p.PTM,
		IPTM:          p.IPTM,
		MaxPAE:        p.MaxPAE,
		Confidence:    p.Confidence,
		Pairs:         []api.PairScore{},
		Affinity:      affinity(p.Affinity),
	}
	for _, q := range p.Pairs {
		out.Pairs = append(out.Pairs, api.PairScore{
			A:       q.A,
			B:       q.B,
			IPTM:    q.IPTM,
			IPSAE:   q.IPSAE,
			PDockQ2: q.PDockQ2,
			LIS:     q.LIS,
		})
	}
	out.Templates = templateScores(p)
	return out
}

// templateScores returns how near a structure is to its templates; nil if it has none.
func templateScores(p *pleat.Prediction) []api.TemplateScore {
	var out []api.TemplateScore
	for _, t := range p.Templates {
		out = append(out, api.TemplateScore(t))
	}
	return out
}

// affinity returns the prediction of an affinity; nil if there is none, which is so unless the request asked for one
// and the model makes them.
func affinity(a *pleat.Affinity) *api.Affinity {
	if a == nil {
		return nil
	}
	return &api.Affinity{Value: a.Value, Probability: a.Probability}
}

// Artifact returns a file of a run; link is its URL. The key in the artifact store stays inside.
func Artifact(a *pleat.Artifact, link string) api.Artifact {
	return api.Artifact{
		Name:        a.Name,
		Kind:        string(a.Kind),
		URL:         link,
		ContentType: a.ContentType,
		Bytes:       a.Bytes,
		SHA256:      a.SHA256,
		SequenceID:  string(a.Sequence),
	}
}

// Prediction returns the prediction of one sequence of a run; of the complex if id is empty. links are the URLs of
// v.Artifacts for an audience, in their order. Scores are present once the run is COMPLETED, links as soon as a file
// is published. If one sequence has several predictions, the first is shown.
func Prediction(v *runs.View, id pleat.SequenceID, links []string, to Audience) api.Prediction {
	r := &v.Run
	minutes := r.Seconds() / 60
	out := api.Prediction{
		PredictionStatus: string(r.State),
		JobRunStatus:     string(r.State),
		MSAStatus:        string(r.MSA),
		Error:            FailureMessage(r.Failure, to),
		ExecutionMinutes: minutes,
		ExecutionSnake:   minutes,
		Seed:             r.Seed,
	}
	url := func(kind pleat.ArtifactKind) *string { return artifactLink(v.Artifacts, links, kind, id) }
	out.PDB, out.CIF, out.Coverage = url(pleat.ArtifactPDB), url(pleat.ArtifactCIF), url(pleat.ArtifactCoverage)
	out.PAEPlot, out.PLDDTPlot, out.RMSDPlot = url(pleat.ArtifactPAEPlot), url(pleat.ArtifactPLDDTPlot),
		url(pleat.ArtifactRMSDPlot)
	out.Metrics, out.Config, out.Citations, out.Plots = url(pleat.ArtifactMetrics), url(pleat.ArtifactConfig),
		url(pleat.ArtifactCitations), url(pleat.ArtifactPlots)
	if r.State != pleat.StateCompleted || r.Result == nil {
		return out
	}
	for i := range r.Result.Predictions {
		p := &r.Result.Predictions[i]
		if p.Sequence == id || p.Sequence == "" && len(r.Result.Predictions) == 1 && len(v.Job.Sequences) == 1 {
			out.Prediction, out.MeanPLLDT, out.PTM, out.IPTM, out.MaxPAE, out.Affinity = true, p.MeanPLDDT, p.PTM,
				p.IPTM, p.MaxPAE, affinity(p.Affinity)
			out.PredictedRMSD, out.Templates = p.PredictedRMSD, templateScores(p)
			break
		}
	}
	return out
}

// artifactLink returns the link to an artifact of a kind, nil if there is none. The interface has one field for each
// kind, so of several files it prefers the sequence's own to the whole run's, and then a PNG to another format,
// because every client can show it.
func artifactLink(all []pleat.Artifact, links []string, kind pleat.ArtifactKind, id pleat.SequenceID) *string {
	best, score := -1, 0
	for i := range all {
		a := &all[i]
		if a.Kind != kind || a.Sequence != "" && a.Sequence != id {
			continue
		}
		n := 1
		if a.Sequence == id {
			n += 2
		}
		if a.ContentType == "image/png" {
			n++
		}
		if n > score {
			best, score = i, n
		}
	}
	if best < 0 {
		return nil
	}
	return &links[best]
}

// CreatedJob returns the response to the creation of a job or run.
func CreatedJob(m runs.Created, notes pleat.Notes) api.CreatedJob {
	out := api.CreatedJob{
		JobID:        string(m.Job),
		JobRunID:     string(m.Run),
		JobName:      m.Name,
		JobStatus:    string(m.State),
		SequencesIDs: []string{},
		Notes:        notes.Texts(),
	}
	for _, id := range m.Sequences {
		out.SequencesIDs = append(out.SequencesIDs, string(id))
	}
	return out
}
