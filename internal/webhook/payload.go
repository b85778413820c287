package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"pleat"
	"pleat/api"
)

// SchemaVersion is the version of the delivered body. It rises when a field changes its meaning or is removed, not when
// one is added.
const SchemaVersion = 1

// MaxBody is the limit of a delivered body in bytes.
const MaxBody = 20_000

// Format is the envelope of a body.
type Format string

const (
	FormatPlain       Format = ""            // the body alone
	FormatCloudEvents Format = "cloudevents" // CloudEvents 1.0, JSON format, structured mode
)

// notification is a body with any source: *api.NotifiedFold, *api.NotifiedWorkflow, *api.NotifiedBatch, or {}.
type notification = api.Notification[any]

// Delivery is the input of Build. At most one of Fold, Workflow and Batch is set. If none could be read, Problem is the
// reason and the body contains the event only. An event without a source is that of a test delivery, see testEvent.
type Delivery struct {
	Event    pleat.Event
	Fold     *FoldSource
	Workflow *WorkflowSource
	Batch    *pleat.Batch
	Problem  string
	Format   Format
	Base     string // public base URL, for the CloudEvents source
}

// FoldSource is a job at the end of its run.
type FoldSource struct {
	Job       pleat.Job
	Run       pleat.Run
	Artifacts []pleat.Artifact
	// URL returns the link of an artifact. It is called once for each artifact and attempt because links expire. Nil:
	// no links.
	URL func(pleat.Artifact) string
}

// WorkflowSource is a workflow at its end.
type WorkflowSource struct {
	ID      pleat.WorkflowID
	Type    string
	Status  pleat.State
	Input   json.RawMessage // workflow_input as given
	Tasks   []api.NotifiedTask
	Metrics json.RawMessage // an object
	Plots   []api.NotifiedPlot
}

// testEvent returns the event that receivers get of a test delivery: one of a fold job, so that they need no code for
// another kind, but with an id that no job has and {"test": true} as its payload.
func testEvent(e pleat.Event) pleat.Event {
	e.Source = pleat.Source{Job: "00000000-0000-0000-0000-000000000000"}
	e.Payload = json.RawMessage(`{"test":true}`)
	return e
}

// Build returns a delivery's body of at most MaxBody bytes and its content type. It does not fail for any source: what
// does not fit is cut and listed in truncated. The body contains no sequence, token or secret of the input.
func Build(d Delivery) (body []byte, contentType string, err error) {
	if d.Event.Source.Kind() == pleat.SourceTest {
		d.Event = testEvent(d.Event)
	}
	c := cleaner{}
	b := &notification{
		SchemaVersion: SchemaVersion,
		Mapping:       map[string]any{},
		Source:        map[string]any{},
		Problem:       clip(d.Problem, 300),
	}
	if d.Fold != nil {
		c = newCleaner(d.Fold.Job.Sequences)
		b.Source = foldBody(d.Fold, c)
	} else if d.Workflow != nil {
		b.Source = workflowBody(d.Workflow, c)
	} else if d.Batch != nil {
		b.Source = batchBody(d.Batch, d.Event.Status)
	}
	b.Event = api.NotifiedEvent{
		ID:         string(d.Event.ID),
		SourceKind: string(d.Event.Source.Kind()),
		Name:       string(d.Event.Name),
		Status:     string(d.Event.Status),
		SourceID:   d.Event.Source.ID(),
		OccurredAt: stamp(d.Event.At),
		Payload:    c.object(d.Event.Payload),
	}
	body, contentType, err = d.encode(b)
	for _, cut := range cuts(b) {
		for first := true; err == nil && len(body) >= MaxBody && cut.once(); first = false {
			if first {
				b.Truncated = append(b.Truncated, cut.part)
			}
			body, contentType, err = d.encode(b)
		}
	}
	if err == nil && len(body) >= MaxBody {
		err = errors.New("webhook: the body does not fit")
	}
	return body, contentType, err
}

// stamp formats a time as bodies have it: ISO 8601 in UTC, with milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// foldBody returns the source of a fold's event. The parameters are those that took effect, with the model and the
// seed.
func foldBody(f *FoldSource, c cleaner) *api.NotifiedFold {
	structural := f.Job.Constraints
	structural.Webhooks = nil
	raw, _ := json.Marshal(structural) // plain fields cannot fail; on an error {} remains
	constraints := c.object(raw)
	if w := c.object(f.Job.Constraints.Webhooks); len(w) > 0 {
		constraints["webhooks"] = w
	}
	params := map[string]any{}
	for k, v := range f.Run.Params.Values {
		params[k] = v
	}
	params["modelName"] = f.Run.Model
	if f.Run.Seed != "" {
		params["seed"] = f.Run.Seed
	}
	out := &api.NotifiedFold{
		Job:     api.NotifiedJob{ID: string(f.Job.ID), Name: c.clean(f.Job.Name), Status: string(f.Run.State)},
		Run:     api.NotifiedRun{ID: string(f.Run.ID), Model: f.Run.Model, WeightSet: f.Run.WeightSet},
		Input:   api.NotifiedInput{Constraints: constraints, Parameters: c.tree(params)},
		Results: []api.NotifiedResult{},
	}
	if x := f.Run.Failure; x != nil {
		out.Run.Failure = &api.NotifiedFailure{Kind: string(x.Kind), Message: clip(c.clean(x.Message), 500)}
	}
	if f.Run.Result == nil {
		return out
	}
	urls := f.links()
	for _, p := range f.Run.Result.Predictions {
		r := api.NotifiedResult{
			SequenceType: "complex",
			Prediction: api.NotifiedPrediction{
				MeanPLDDT:     finite(p.MeanPLDDT),
				PredictedRMSD: finite(p.PredictedRMSD),
				PTM:           finite(p.PTM),
				IPTM:          finite(p.IPTM),
			},
			Artifacts: map[string]string{},
		}
		for k, v := range urls[""] {
			r.Artifacts[k] = v
		}
		if p.Sequence != "" {
			id := string(p.Sequence)
			r.SequenceID = &id
			r.SequenceType = ""
			if i := slices.IndexFunc(f.Job.Sequences, func(s pleat.Sequence) bool {
				return s.ID == p.Sequence
			}); i >= 0 {
				r.SequenceType = string(f.Job.Sequences[i].Kind)
			}
			for k, v := range urls[p.Sequence] {
				r.Artifacts[k] = v
			}
		}
		out.Results = append(out.Results, r)
	}
	return out
}

// links returns one URL for each kind of each sequence; the key "" has those of the whole run. The first artifact of a
// kind wins.
func (f *FoldSource) links() map[pleat.SequenceID]map[string]string {
	out := map[pleat.SequenceID]map[string]string{}
	if f.URL == nil {
		return out
	}
	for _, a := range f.Artifacts {
		if a.Kind == pleat.ArtifactOther {
			continue
		}
		m := out[a.Sequence]
		if m == nil {
			m = map[string]string{}
			out[a.Sequence] = m
		}
		key := string(a.Kind) + "_url"
		if _, ok := m[key]; !ok {
			m[key] = f.URL(a)
		}
	}
	return out
}

// workflowBody returns the source of a workflow's event.
func workflowBody(w *WorkflowSource, c cleaner) *api.NotifiedWorkflow {
	done := 0
	for _, t := range w.Tasks {
		if t.Status == string(pleat.StateCompleted) {
			done++
		}
	}
	return &api.NotifiedWorkflow{
		Workflow: api.NotifiedWorkflowHead{
			ID:             string(w.ID),
			Type:           w.Type,
			Status:         string(w.Status),
			TasksTotal:     len(w.Tasks),
			TasksCompleted: done,
		},
		Input:   c.object(w.Input),
		Tasks:   append([]api.NotifiedTask{}, w.Tasks...),
		Metrics: c.object(w.Metrics),
		Plots:   append([]api.NotifiedPlot{}, w.Plots...),
	}
}

// batchBody returns the source of a batch's event. The status is that of the event, since rows may run again meanwhile;
// the counts have no state without rows.
func batchBody(b *pleat.Batch, status pleat.State) *api.NotifiedBatch {
	counts := map[string]int{}
	for state, n := range b.Counts {
		if n > 0 {
			counts[string(state)] = n
		}
	}
	return &api.NotifiedBatch{Batch: api.NotifiedBatchHead{
		ID: string(b.ID), Name: b.Name, Status: string(status), Counts: counts,
	}}
}

// finite returns nil for a number that JSON cannot hold.
func finite(f *float64) *float64 {
	if f == nil || math.IsNaN(*f) || math.IsInf(*f, 0) {
		return nil
	}
	return f
}

// reduction is one way to make a body smaller; once returns false if there is nothing left to cut.
type reduction struct {
	part string
	once func() bool
}

// cuts returns the cuts in the order of their value to a receiver: input is cut before results.
func cuts(b *notification) []reduction {
	out := []reduction{{"event.payload", emptied(&b.Event.Payload)}}
	switch s := b.Source.(type) {
	case *api.NotifiedFold:
		out = append(out,
			reduction{"source.input.constraints", emptied(&s.Input.Constraints)},
			reduction{"source.input.parameters", emptied(&s.Input.Parameters)},
			reduction{"source.results.artifacts", dropArtifacts(s)},
			reduction{"source.results", halved(&s.Results)})
	case *api.NotifiedWorkflow:
		out = append(out,
			reduction{"source.input", emptied(&s.Input)},
			reduction{"source.tasks", halved(&s.Tasks)},
			reduction{"source.metrics", emptied(&s.Metrics)},
			reduction{"source.plots", halved(&s.Plots)})
	}
	return out
}

// emptied returns a cut that empties an object at once.
func emptied(m *map[string]any) func() bool {
	return func() bool {
		if len(*m) == 0 {
			return false
		}
		*m = map[string]any{}
		return true
	}
}

// halved returns a cut that drops the second half of a list each time.
func halved[T any](s *[]T) func() bool {
	return func() bool {
		if len(*s) == 0 {
			return false
		}
		*s = (*s)[:len(*s)/2]
		return true
	}
}

// dropArtifacts returns a cut that removes the links from half of the results that have them, the last ones first.
func dropArtifacts(f *api.NotifiedFold) func() bool {
	return func() bool {
		var with []int
		for i := range f.Results {
			if len(f.Results[i].Artifacts) > 0 {
				with = append(with, i)
			}
		}
		for _, i := range with[len(with)/2:] {
			f.Results[i].Artifacts = map[string]string{}
		}
		return len(with) > 0
	}
}

// encode encodes the body in the delivery's format, without escaping HTML characters, so that links stay readable.
func (d *Delivery) encode(b *notification) ([]byte, string, error) {
	if d.Format != FormatCloudEvents {
		raw, err := marshal(b)
		return raw, "application/json", err
	}
	// CloudEvents 1.0, JSON event format, section 3.
	raw, err := marshal(api.CloudEvent[*notification]{
		SpecVersion: "1.0",
		ID:          b.Event.ID,
		Source:      d.Base + "/v1/" + collection(d.Event.Source.Kind()),
		Type:        fmt.Sprintf("pleat.%s.%s", b.Event.SourceKind, b.Event.Name),
		Subject:     b.Event.SourceID,
		Time:        b.Event.OccurredAt,
		ContentType: "application/json",
		Data:        b,
	})
	return raw, "application/cloudevents+json; charset=utf-8", err
}

// collection is the path segment under which the API lists sources of a kind.
func collection(k pleat.SourceKind) string {
	switch k {
	case pleat.SourceWorkflow:
		return "workflows"
	case pleat.SourceBatch:
		return "batches"
	}
	return "jobs"
}

// marshal encodes a value as the API does, without a line end.
func marshal(v any) ([]byte, error) {
	b, err := api.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("write the delivered body: %w", err)
	}
	return bytes.TrimSuffix(b, []byte("\n")), nil
}
