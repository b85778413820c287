package wire

import (
	"pleat"
	"pleat/api"
	"pleat/internal/batch"
	"pleat/internal/store/batches"
)

// ToBatch converts a request to a batch. It validates nothing except what is lost in the conversion, as ToJob does.
func ToBatch(in *api.CreateBatch) (batch.Spec, error) {
	var faults pleat.Errors
	out := batch.Spec{
		Kind:          pleat.BatchKind(in.Kind),
		Name:          in.Name,
		UpperTriangle: in.UpperTriangle,
		Self:          in.Self,
		Chain:         in.Chain,
		Mutations:     in.Mutations,
		Seeds:         in.Seeds,
		SeedCount:     in.SeedCount,
	}
	if in.Params != nil {
		out.Params = ToParams(in.Params)
	}
	if in.Constraints != nil {
		out.Constraints = toConstraints(in.Constraints)
	}
	// sequences converts the sequences of what is at a path of the request; empty: the request itself.
	sequences := func(items []api.SequenceItem, path string) []pleat.Sequence {
		job, err := ToJob(&api.CreateJob{Sequences: items})
		for _, fault := range pleat.ErrorsOf(err) {
			_ = faults.Add(batch.Under(path, fault)) // always a fault of the request
		}
		return job.Sequences
	}
	out.Sequences = sequences(in.Sequences, "")
	for i := range in.Jobs {
		j := &in.Jobs[i]
		e := batch.Entry{CustomID: j.CustomID, Name: j.Name, Sequences: sequences(j.Sequences, batch.At("jobs", i))}
		if j.Params != nil {
			p := ToParams(j.Params)
			e.Params = &p
		}
		if j.Constraints != nil {
			c := toConstraints(j.Constraints)
			e.Constraints = &c
		}
		out.Jobs = append(out.Jobs, e)
	}
	entries := func(list []api.BatchEntry, key string) []batch.Entry {
		if list == nil {
			return nil
		}
		out := make([]batch.Entry, 0, len(list)) // an empty list is not an absent one
		for i := range list {
			e := &list[i]
			out = append(out, batch.Entry{CustomID: e.CustomID, Sequences: sequences(e.Sequences, batch.At(key, i))})
		}
		return out
	}
	out.Binders, out.Targets = entries(in.Binders, "binders"), entries(in.Targets, "targets")
	for i, l := range in.Ligands {
		affinity := l.PropertyType != ""
		if affinity && l.PropertyType != "affinity" {
			_ = faults.Add(pleat.InvalidField(batch.At("ligands", i)+".property_type", " is %q; it may be affinity",
				pleat.Clip(l.PropertyType)))
		}
		out.Ligands = append(out.Ligands, batch.Ligand{
			CustomID: l.CustomID, Text: l.Sequence, CCD: l.IsCCD, Affinity: affinity,
		})
	}
	if s := in.Scan; s != nil {
		out.Scan = &batch.Scan{From: s.From, To: s.To, Residues: s.Residues}
	}
	return out, faults.Err()
}

// CreatedBatch returns what the creation of a batch answers.
func CreatedBatch(c batches.CreatedBatch) api.CreatedBatch {
	return api.CreatedBatch{BatchID: string(c.Batch), Rows: c.Rows, Jobs: c.Jobs, Notes: []string{}}
}

// Batch returns a batch with the states of its rows. The caller adds when it expires.
func Batch(b *pleat.Batch, to Audience) api.Batch {
	out := api.Batch{
		BatchID:    string(b.ID),
		Name:       b.Name,
		Kind:       string(b.Kind),
		ModelName:  b.Model,
		Status:     string(b.State()),
		IsPublic:   b.Public,
		IsOwner:    to == ForOwner,
		Owned:      Owned(b.Owner, b.CreatedBy(), b.CreatorName, to),
		Rows:       b.Rows,
		Jobs:       b.Jobs,
		Counts:     BatchCounts(b),
		CreatedAt:  api.At(b.CreatedAt),
		FinishedAt: OptionalTime(b.EndedAt),
	}
	if to == ForOwner {
		out.SourceBatchID = OptionalString(b.Source)
	}
	return out
}

// BatchCounts returns the rows of a batch by status.
func BatchCounts(b *pleat.Batch) map[string]int {
	out := map[string]int{}
	for state, n := range b.Counts {
		if n > 0 {
			out[string(state)] = n
		}
	}
	return out
}

// ScoreColumns describes the columns of scores.
func ScoreColumns(names []string) []api.ScoreColumn {
	out := []api.ScoreColumn{}
	for _, c := range batch.Columns(names) {
		out = append(out, api.ScoreColumn{Name: c.Name, Unit: c.Unit, HigherIsBetter: c.HigherBetter})
	}
	return out
}

// BatchRow returns a row of a batch with the scores of the columns. Others than the owner do not see why a row failed.
func BatchRow(r *pleat.BatchRow, columns []string, to Audience) api.BatchRow {
	out := api.BatchRow{
		Row:      r.Number,
		CustomID: r.CustomID,
		JobID:    OptionalString(r.Job),
		Name:     r.Name,
		Status:   string(r.State),
		Error:    FailureMessage(r.Failure, to),
		Scores:   map[string]*float64{},
	}
	for _, name := range columns {
		out.Scores[name] = nil
	}
	for i := range r.Scores {
		if _, listed := out.Scores[r.Scores[i].Name]; listed {
			out.Scores[r.Scores[i].Name] = &r.Scores[i].Value
		}
	}
	return out
}

// TableRow returns a row of a batch for a file. Others than the owner do not see why a row failed.
func TableRow(r *pleat.BatchRow, to Audience) pleat.BatchRow {
	out := *r
	if message := FailureMessage(r.Failure, to); message != nil {
		out.Failure = &pleat.Failure{Message: *message}
	}
	return out
}
