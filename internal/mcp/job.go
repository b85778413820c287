package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pleat/api"
)

// once are the arguments of tools that create work.
type once struct {
	Key  string `json:"idempotencyKey,omitempty" doc:"A text of your choice: a second call with it and the same arguments answers the same work. Absent: one is made." maxLength:"255"`
	Wait *int   `json:"waitSeconds,omitempty" doc:"How long to wait for the end; absent: 20." minimum:"0" maximum:"20"`
}

// key returns the idempotency key of a call.
func (o once) key() string {
	return cmp.Or(o.Key, "mcp-"+rand.Text())
}

// validateIn are the arguments of validate.
type validateIn struct{ api.CreateJob }

// foldIn are the arguments of fold.
type foldIn struct {
	api.CreateJob
	once
}

// validation is the result of validate.
type validation struct {
	Valid      bool             `json:"valid" doc:"Whether fold would accept it now."`
	Faults     []api.FieldError `json:"faults" doc:"The faults. An exhausted quota is a fault."`
	Model      string           `json:"model"`
	Chains     []string         `json:"chains" doc:"Names of the chains."`
	MaxTokens  int              `json:"maxTokens" doc:"The most that the model folds in one structure; 0: not stated."`
	Cost       cost             `json:"cost"`
	Notes      []string         `json:"notes,omitempty" doc:"The parts of sequences that are dropped."`
	CachedJob  *string          `json:"cachedJob" doc:"A job of the caller that has this result already; null: none is known."`
	Confidence string           `json:"confidence" doc:"The meaning of the model's scores."`
	Notice     string           `json:"notice" doc:"Notice to read before you rely on the model."`
}

var validateTool = does(tool{
	name:  "validate",
	title: "Check a fold",
	about: "Checks a fold without starting it: its faults, its cost and what is left of the quota.",

	repeatable: true,
}, func(ctx context.Context, s session, in *validateIn) (validation, []sdk.Content, error) {
	v, err := s.Validate(ctx, in.CreateJob)
	return validationOf(&v), nil, err
})

// validationOf converts a validation.
func validationOf(v *api.Validation) validation {
	out := validation{
		Valid:      v.Valid,
		Faults:     []api.FieldError{},
		Model:      name(v.ModelName),
		Chains:     []string{},
		MaxTokens:  v.MaxTokens,
		Cost:       costOf(v),
		Confidence: visible(v.Confidence, maxText),
		Notice:     visible(v.Notice, maxText),
		Notes:      names(v.Notes, 10),
	}
	for _, e := range v.Errors[:min(len(v.Errors), maxFaults)] {
		out.Faults = append(out.Faults, api.FieldError{Field: name(e.Field), Message: visible(e.Message, maxText)})
	}
	for _, c := range v.Chains[:min(len(v.Chains), maxEntries)] {
		out.Chains = append(out.Chains, names(c.Chains, maxEntries)...)
	}
	if v.Cached != nil {
		out.CachedJob = &v.Cached.JobID
	}
	return out
}

// costOf returns the cost of a job.
func costOf(v *api.Validation) cost {
	return cost{Tokens: int64(v.Tokens), Quota: v.Remaining, Seconds: expected(v.Seconds)}
}

var foldTool = does(tool{
	name:  "fold",
	title: "Fold",
	about: "Predicts the structure of proteins, nucleic acids and ligands. It checks the job first, states its cost, " +
		"starts it, and waits up to 20 seconds for the end. It takes one job of the daily quota.",
	effect: creates,
	world:  true,
}, func(ctx context.Context, s session, in *foldIn) (work, []sdk.Content, error) {
	if _, err := waiting(in.Wait, 0); err != nil {
		return work{}, nil, err
	}
	v, err := s.Validate(ctx, in.CreateJob) // for its cost: whether it is valid, the service decides when it creates it
	if err != nil {
		return work{}, nil, err
	}
	opt := api.CreateOptions{IdempotencyKey: in.key()}
	created, err := repeated(func() (api.CreatedJob, error) { return s.CreateJob(ctx, in.CreateJob, opt) })
	if err != nil {
		return work{}, nil, err
	}
	price := costOf(&v)
	known := work{Kind: aJob, ID: created.JobID, Name: name(created.JobName), Type: name(v.ModelName),
		Status: created.JobStatus, Cost: &price, Key: opt.IdempotencyKey,
		Notes: names(created.Notes, 10)}
	return s.started(ctx, known, in.Wait)
})

// repeated makes a call, and makes it again if it is unknown whether the service has executed it: the call has an
// idempotency key, so that there is one job.
func repeated[T any](call func() (T, error)) (T, error) {
	out, err := call()
	var refused *api.Error
	if err != nil && !errors.As(err, &refused) {
		return call()
	}
	return out, err
}
