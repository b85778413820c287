package pleat

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// SourceKind is the kind of a Source. The values are those of source_kind on the wire.
type SourceKind string

// The kinds of source.
const (
	SourceFold     SourceKind = "fold_job"
	SourceWorkflow SourceKind = "workflow"
	SourceBatch    SourceKind = "batch"
	SourceTest     SourceKind = "test" // of the zero Source
)

// Source is what a run belongs to and what the run's event is about: a fold job, a workflow or a batch. Exactly one
// of them is set. The zero value is the source of a test delivery, which belongs to no run.
type Source struct {
	Job      JobID
	Workflow WorkflowID
	Batch    BatchID
}

// SourceOf returns the source with a kind and an id, as the wire and the database hold it. It is zero for any other
// kind than a fold job, a workflow and a batch.
func SourceOf(kind SourceKind, id string) Source {
	switch kind {
	case SourceFold:
		return Source{Job: JobID(id)}
	case SourceWorkflow:
		return Source{Workflow: WorkflowID(id)}
	case SourceBatch:
		return Source{Batch: BatchID(id)}
	}
	return Source{}
}

// Kind returns the kind of the source: SourceTest for the zero value.
func (s Source) Kind() SourceKind {
	switch {
	case s.Job != "":
		return SourceFold
	case s.Workflow != "":
		return SourceWorkflow
	case s.Batch != "":
		return SourceBatch
	}
	return SourceTest
}

// ID returns the id of the job, the workflow or the batch, and "" for the zero value.
func (s Source) ID() string { return string(s.Job) + string(s.Workflow) + string(s.Batch) }

// EventName is one of the two names of docs/interface.md, section 6.
type EventName string

// The names of events.
const (
	OnComplete EventName = "on_complete"
	OnFailed   EventName = "on_failed"
)

// Event is the end of a run. It is written once per run, in the transaction that ends the run. An event that an
// operator's system reports, and that of a test delivery, are written in addition.
type Event struct {
	ID      EventID
	Owner   ProjectID
	Source  Source
	Run     RunID
	Name    EventName
	Status  State // of the run
	At      time.Time
	Payload json.RawMessage // of an ingested event; nil for the service's own
	Row     bool            // the source is the job of a row of a batch; not stored
}

// EventFor names the event of a terminal state: only COMPLETED is a completion.
func EventFor(s State) EventName {
	if s == StateCompleted {
		return OnComplete
	}
	return OnFailed
}

// EventSet is a set of kinds of events, by which a named endpoint chooses those that it gets. The zero value has all of
// them, also those that later versions add.
type EventSet int64

// eventKinds are the kinds of events. Each has the bit of its place in a stored EventSet, so that none may move.
var eventKinds = []struct {
	source SourceKind
	name   EventName
}{
	{SourceFold, OnComplete},
	{SourceFold, OnFailed},
	{SourceWorkflow, OnComplete},
	{SourceWorkflow, OnFailed},
	{SourceBatch, OnComplete},
	{SourceBatch, OnFailed},
}

// eventKindNames lists the kinds of events as ParseEvents reads them, such as fold_job.on_complete.
func eventKindNames() []string {
	out := make([]string, 0, len(eventKinds))
	for _, k := range eventKinds {
		out = append(out, string(k.source)+"."+string(k.name))
	}
	return out
}

// ParseEvents returns the set of the kinds that list names; without any, that of all events. The error names field and
// the position of the first unknown kind.
func ParseEvents(field string, list []string) (EventSet, error) {
	known := eventKindNames()
	var set EventSet
	for i, name := range list {
		bit := slices.Index(known, name)
		if bit < 0 {
			at := fmt.Sprintf("%s[%d]", field, i)
			if n := Nearest(name, known); n != "" {
				return 0, InvalidField(at, " is %q; did you mean %q?", Clip(name), n)
			}
			return 0, InvalidField(at, " is %q; it may be %s", Clip(name), ListNames(known, len(known)))
		}
		set |= 1 << bit
	}
	return set, nil
}

// Names lists the kinds of a set, in the order of eventKindNames; none for the set of all events.
func (s EventSet) Names() []string {
	out := []string{}
	for i, name := range eventKindNames() {
		if s&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return out
}

// Has reports whether an event is in the set.
func (s EventSet) Has(e Event) bool {
	for i, k := range eventKinds {
		if k.source == e.Source.Kind() && k.name == e.Name {
			return s == 0 || s&(1<<i) != 0
		}
	}
	return s == 0
}

// Destination is what the end of a run triggers: a workflow, or deliveries to an endpoint.
type Destination string

// The destinations of events.
const (
	DestQnA    Destination = "qna"
	DestMD     Destination = "md"
	DestCustom Destination = "custom_http"
)

// DeliveryStatus is the state of a delivery. The values are those of the wire.
type DeliveryStatus string

// The states of a delivery. SUCCEEDED and FAILED are terminal, until the delivery is sent again.
const (
	DeliveryPending   DeliveryStatus = "PENDING" // waiting for its next attempt
	DeliveryRunning   DeliveryStatus = "RUNNING" // an attempt is in flight
	DeliverySucceeded DeliveryStatus = "SUCCEEDED"
	DeliveryFailed    DeliveryStatus = "FAILED" // no attempt is left
)

// Subscription is one destination of a run's events, resolved when the run was created.
type Subscription struct {
	ID          SubscriptionID
	Destination Destination
	Alias       string          // as the caller spelled the destination: qna, evolla, md, openmm, custom_http
	TargetType  string          // qna_v1, evolla_v1, md, calvados_openmm_v1, custom_http
	Settings    json.RawMessage // the destination's object, without secrets
	// For a custom_http destination one of these is set until it is stored, then Endpoint.
	Endpoint EndpointID
	Custom   *CustomTarget // the endpoint to create for this run alone
	Default  bool          // the default endpoint of the owner, if it is enabled by default
	// Named says that no run has made it: Endpoint is a named one of the project, which gets the events of Events.
	Named  bool
	Events EventSet
}

// CustomTarget is an endpoint that a run brings for its own events.
type CustomTarget struct {
	Address Address
	Token   string // sealed
}

// Address is the URL of a receiver. Its path may be a secret, so that it is stored and passed on sealed.
type Address struct {
	Origin string // scheme and host, which may be shown and logged
	Sealed string // the whole URL, as package seal has sealed it
}

// SubscriptionsFor returns the subscriptions that an event triggers: the custom endpoint of a run gets every event, a
// named one those of its set, and a workflow starts on completion only. Named endpoints hear of a batch, not of its
// rows.
func SubscriptionsFor(e Event, subs []Subscription) []Subscription {
	var out []Subscription
	for _, s := range subs {
		triggered := s.Destination == DestCustom || e.Name == OnComplete
		if s.Named {
			triggered = !e.Row && s.Events.Has(e)
		}
		if triggered {
			out = append(out, s)
		}
	}
	return out
}

// DestinationSetting is one destination of constraints.webhooks or workflow_input.webhooks, as given.
type DestinationSetting struct {
	Destination Destination
	Alias       string // the key under which it was given
	TargetType  string
	Enabled     bool
	Raw         json.RawMessage // the destination's object
}

// ParseWebhooks reads the webhook settings of a fold job. It refuses unknown destinations and keeps unknown fields
// inside one. A null destination counts as absent. Path names the object in messages.
func ParseWebhooks(raw json.RawMessage, path string) ([]DestinationSetting, error) {
	return parseWebhooks(raw, path, Aliases())
}

// ParseWorkflowWebhooks is ParseWebhooks for a workflow, which takes custom_http alone.
func ParseWorkflowWebhooks(raw json.RawMessage, path string) ([]DestinationSetting, error) {
	return parseWebhooks(raw, path, []string{string(DestCustom)})
}

// parseWebhooks is ParseWebhooks for a list of allowed keys. It stops at the first fault. The destinations are in the
// order of their keys.
func parseWebhooks(raw json.RawMessage, path string, allowed []string) ([]DestinationSetting, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, InvalidField(path, " must be an object")
	}
	var out []DestinationSetting
	seen := map[Destination]string{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(allowed, key) {
			if n := Nearest(key, allowed); n != "" {
				return nil, Invalidf("unknown destination %q in %s; did you mean %q?", Clip(key), path, n).
					At(path + "." + Clip(key))
			}
			return nil, Invalidf("unknown destination %q in %s; it may be %s", Clip(key), path, ListNames(allowed, 9)).
				At(path + "." + Clip(key))
		}
		if string(all[key]) == "null" {
			continue
		}
		var head struct {
			Enabled *bool `json:"enabled"`
		}
		if err := json.Unmarshal(all[key], &head); err != nil {
			return nil, InvalidField(path+"."+key, " must be an object whose enabled is true or false")
		}
		a := aliasTable[key]
		if other, twice := seen[a.destination]; twice {
			return nil, InvalidField(path, " names one destination twice: %s and %s", other, key)
		}
		seen[a.destination] = key
		out = append(out, DestinationSetting{
			Destination: a.destination,
			Alias:       key,
			TargetType:  a.target,
			Enabled:     head.Enabled != nil && *head.Enabled,
			Raw:         all[key],
		})
	}
	return out, nil
}

// aliasTable holds the keys under which destinations and workflows may be named. Each key is accepted wherever its
// canonical one is, and it is stored with the run, since it names the rows that the run makes.
var aliasTable = map[string]struct {
	destination Destination // empty: it is none
	target      string      // workflow name and target_type of a subscription
	task        string      // type of the workflow's task
	kind        TaskKind    // of that task; empty: it is no workflow
}{
	"qna":          {DestQnA, "qna_v1", "inference_qna", TaskQnA},
	"evolla":       {DestQnA, "evolla_v1", "inference_qna", TaskQnA},
	"md":           {DestMD, "md", "inference_md", TaskMD},
	"openmm":       {DestMD, "calvados_openmm_v1", "inference_calvados_openmm", TaskMD},
	AliasDesign:    {"", "design_v1", "pipeline_run_design_v1", TaskDesign},
	AliasBoltzGen:  {"", "boltzgen_v1", "pipeline_run_boltzgen_v1", TaskDesign},
	AliasAlignment: {"", "alignment_v1", "search_alignment", TaskAlign},
	AliasCompare:   {"", "compare_v1", "compare", TaskCompare},
	"custom_http":  {DestCustom, "custom_http", "", ""},
}

const (
	// AliasDesign and AliasBoltzGen are the aliases of designs, the latter for programs that know them by the name of
	// an engine.
	AliasDesign   = "design"
	AliasBoltzGen = "boltzgen"
	// AliasAlignment is the alias of searches of alignments.
	AliasAlignment = "alignment"
	// AliasCompare is the alias of comparisons of structures.
	AliasCompare = "compare"
)

// workflowAliases lists the keys under which workflows may be named, canonical ones first.
func workflowAliases() []string {
	return []string{"qna", "md", AliasDesign, AliasAlignment, AliasCompare, "evolla", "openmm", AliasBoltzGen}
}

// Aliases lists the keys under which destinations may be named, canonical ones first.
func Aliases() []string { return []string{"qna", "md", "custom_http", "evolla", "openmm"} }

// AliasesOf lists the keys that name the same destination or workflow as alias, itself included.
func AliasesOf(alias string) []string {
	is := aliasTable[alias]
	var out []string
	for _, a := range append(Aliases(), AliasDesign, AliasBoltzGen) {
		if other := aliasTable[a]; other.destination == is.destination && other.kind == is.kind {
			out = append(out, a)
		}
	}
	return out
}

// Origin returns the scheme, host and port of a URL, by which two URLs can be compared.
func Origin(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
