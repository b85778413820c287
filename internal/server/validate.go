package server

import (
	"context"

	"pleat"
	"pleat/api"
)

// validate is POST /v1/jobs/validate: all that createJob checks, told as a list, and nothing created.
func (s *Server) validate(ctx context.Context, c *call, in *api.CreateJob) (api.Validation, error) {
	out := api.Validation{Errors: []api.Blocking{}, Params: map[string]any{}, Chains: []api.ValidatedItem{}}
	usage, err := s.store.Usage(ctx, c.who.User, s.cfg.Quota)
	if err != nil {
		return out, err
	}
	out.Remaining = max(0, usage.Limit-usage.Used)
	p, err := s.draft(ctx, c.who.User, in)
	if err != nil {
		if pleat.CodeOf(err) != pleat.CodeInvalid {
			return out, err
		}
		out.Errors = append(out.Errors, blocking(err))
		if err := pleat.CheckName("name", in.Name); err != nil {
			out.Errors = append(out.Errors, blocking(err))
		}
		return out, nil
	}
	whole := p.clone()
	if err := whole.job.Validate(p.model); err != nil {
		out.Errors = blockings(p, err)
	} else {
		describe(&out, &whole)
	}
	if usage.Used >= usage.Limit {
		out.Errors = append(out.Errors, blocking(pleat.ErrQuota(usage.Limit, usage.Used)))
	}
	out.Valid = len(out.Errors) == 0
	out.ModelName, out.MaxTokens, out.Confidence, out.Notice = p.model.Name, p.model.MaxTokens, p.model.Confidence, p.model.Notice
	return out, nil
}

// describe tells what a valid job would become and cost.
func describe(out *api.Validation, p *prepared) {
	out.IsComplex, out.Tokens = p.job.Complex, p.job.Tokens()
	out.Memory = p.model.Memory.Bytes(p.job.Largest(p.model))
	if p.model.Has(pleat.FeatureComplex) {
		out.Seconds = p.model.Speed.Seconds(out.Tokens)
	}
	out.Params = p.job.Params.Effective(p.model)
	for i := range p.job.Sequences {
		q := &p.job.Sequences[i]
		item := api.ValidatedItem{Type: string(q.Kind), Chains: q.Chains, Tokens: q.Tokens()}
		if q.Polymer() {
			item.Residues = len(q.Text)
		}
		out.Chains = append(out.Chains, item)
		if !p.model.Has(pleat.FeatureComplex) { // each item is folded once, on its own
			out.Seconds += p.model.Speed.Seconds(q.Tokens())
		}
	}
}

// maxBlocking bounds the list of what is wrong.
const maxBlocking = 20

// blockings lists what is wrong with a job. The domain stops at the first fault, so each part is looked at with the
// others replaced by ones that are right; what only shows in the whole comes last.
func blockings(p prepared, first error) []api.Blocking {
	var out []api.Blocking
	seen := map[string]bool{}
	add := func(err error) {
		if err == nil || len(out) == maxBlocking {
			return
		}
		if b := blocking(err); !seen[b.Message] {
			seen[b.Message] = true
			out = append(out, b)
		}
	}
	add(pleat.CheckName("name", p.job.Name))
	right := rightSequence(p.model)
	for i := range min(len(p.job.Sequences), pleat.MaxItems) {
		q := p.clone()
		q.job.Name, q.job.ChatID = "x", ""
		q.job.Params.Values, q.job.Constraints = nil, pleat.Constraints{}
		for k := range q.job.Sequences {
			if k != i {
				q.job.Sequences[k] = right
			}
		}
		if len(q.job.Sequences) > 1 && tooMany(&q.job, p.model) {
			break // the whole will say so
		}
		if err := q.job.Validate(p.model); err == nil || len(q.job.Sequences) == 1 || blocking(err).Field != "sequences" {
			add(err) // what is wrong with all of them together is asked below
		}
	}
	q := p.clone()
	q.job.Name, q.job.ChatID, q.job.Params.Values, q.job.Constraints = "x", "", nil, pleat.Constraints{}
	add(q.job.Validate(p.model)) // all sequences together
	q = p.clone()
	q.job.Name, q.job.Sequences, q.job.Constraints = "x", []pleat.Sequence{right}, pleat.Constraints{}
	add(q.job.Validate(p.model)) // chatId and params
	add(first)
	return out
}

// tooMany reports whether stand-ins alone would exceed the model.
func tooMany(j *pleat.Job, m pleat.Model) bool {
	return m.Has(pleat.FeatureComplex) && m.MaxTokens > 0 && len(j.Sequences)*max(1, m.MinTokens) > m.MaxTokens
}

// rightSequence is an entity that the model takes.
func rightSequence(m pleat.Model) pleat.Sequence {
	kind := pleat.Protein
	if len(m.Entities) > 0 && !m.Takes(kind) {
		kind = m.Entities[0]
	}
	if kind == pleat.Ligand {
		return pleat.Sequence{Kind: kind, Text: "C"}
	}
	text := make([]byte, max(1, m.MinTokens))
	for i := range text {
		text[i] = 'A'
	}
	return pleat.Sequence{Kind: kind, Text: string(text)}
}

func blocking(err error) api.Blocking {
	_, message := refusal(err)
	return api.Blocking{Message: message, Field: fieldOf(message)}
}

// clone copies what Validate changes.
func (p *prepared) clone() prepared {
	q := *p
	q.job.Sequences = append([]pleat.Sequence(nil), p.job.Sequences...)
	for i := range q.job.Sequences {
		q.job.Sequences[i].Modifications = append([]pleat.Modification(nil), p.job.Sequences[i].Modifications...)
	}
	values := map[string]any{}
	for k, v := range p.job.Params.Values {
		values[k] = v
	}
	q.job.Params.Values = values
	return q
}

// fieldOf is the place that a sentence begins with, as all of ours about a field do.
func fieldOf(message string) string {
	const prefix = "Invalid sequence format: "
	if len(message) > len(prefix) && message[:len(prefix)] == prefix {
		message = message[len(prefix):]
	}
	end := 0
	for end < len(message) && (message[end] == '.' || message[end] == '_' || message[end] == '[' || message[end] == ']' ||
		message[end] >= '0' && message[end] <= '9' || message[end] >= 'a' && message[end] <= 'z' || message[end] >= 'A' && message[end] <= 'Z') {
		end++
	}
	field := message[:end]
	for _, top := range []string{"name", "isPublic", "sequences", "params", "constraints", "chatId"} {
		if field == top || len(field) > len(top) && field[:len(top)] == top && (field[len(top)] == '.' || field[len(top)] == '[') {
			return field
		}
	}
	return ""
}
