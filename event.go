package pleat

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// SourceKind says what an event is about.
type SourceKind string

const (
	SourceFold     SourceKind = "fold_job"
	SourceWorkflow SourceKind = "workflow"
)

// EventName is one of the two names of the interface, section 6.
type EventName string

const (
	OnComplete EventName = "on_complete"
	OnFailed   EventName = "on_failed"
)

// Event is written in the transaction that ends a run, once per run.
type Event struct {
	ID       EventID
	Owner    UserID
	Source   SourceKind
	SourceID string // job or workflow
	Run      RunID  // of a fold; empty otherwise
	Name     EventName
	Status   State
	At       time.Time
	Payload  json.RawMessage // of an ingested event; nil for the service's own
}

// EventFor names the event of a terminal state: only COMPLETED is a completion.
func EventFor(s State) EventName {
	if s == StateCompleted {
		return OnComplete
	}
	return OnFailed
}

// Destination is where the end of a run leads.
type Destination string

const (
	DestQnA    Destination = "qna"
	DestMD     Destination = "md"
	DestCustom Destination = "custom_http"
)

// Subscription is one destination that a run resolved when it was created.
type Subscription struct {
	ID          SubscriptionID
	Destination Destination
	Alias       string          // as the caller spelled it: qna, evolla, md, openmm, custom_http
	TargetType  string          // qna_v1, evolla_v1, md, calvados_openmm_v1, custom_http
	Settings    json.RawMessage // the destination's object, secrets removed
	Endpoint    string          // which endpoint custom_http goes to; the store knows it by this
	Custom      *CustomTarget   // an endpoint that this run brings; nil: the global one
}

// Target is where a run wants its own events: a URL, and a token that is sealed.
type CustomTarget struct {
	URL   string
	Token string
}

// SetOff is which of a run's subscriptions its end sets off: a custom endpoint hears of every end, a follow-up starts
// only on completion.
func SubscriptionsFor(e Event, subs []Subscription) []Subscription {
	var out []Subscription
	for _, s := range subs {
		if s.Destination == DestCustom || e.Name == OnComplete {
			out = append(out, s)
		}
	}
	return out
}

// Setting is one destination of constraints.webhooks or workflow_input.webhooks, as given.
type DestinationSetting struct {
	Destination Destination
	Alias       string
	TargetType  string
	Enabled     bool
	Raw         json.RawMessage
}

// ParseWebhooks reads webhook settings. Unknown destinations are refused; unknown fields inside one are kept. A null
// destination counts as absent. Path names the object for messages; workflows take custom_http alone.
func ParseWebhooks(raw json.RawMessage, path string, workflow bool) ([]DestinationSetting, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, InvalidField(path, " must be an object")
	}
	var out []DestinationSetting
	seen := map[Destination]string{}
	for _, word := range slices.Sorted(maps.Keys(all)) {
		a, ok := aliasTable[word]
		if !ok || workflow && a.destination != DestCustom {
			words := Aliases()
			if workflow {
				words = []string{"custom_http"}
			}
			if n := Nearest(word, words); n != "" {
				return nil, Invalidf("unknown destination %q in %s; did you mean %q?", Clip(word), path, n).
					At(path + "." + Clip(word))
			}
			return nil, Invalidf("unknown destination %q in %s; it may be %s", Clip(word), path, list(words, 9)).
				At(path + "." + Clip(word))
		}
		if string(all[word]) == "null" {
			continue
		}
		var head struct {
			Enabled *bool `json:"enabled"`
		}
		if err := json.Unmarshal(all[word], &head); err != nil {
			return nil, InvalidField(path+"."+word, " must be an object whose enabled is true or false")
		}
		if other, twice := seen[a.destination]; twice {
			return nil, InvalidField(path, " names one destination twice: %s and %s", other, word)
		}
		seen[a.destination] = word
		out = append(out, DestinationSetting{
			Destination: a.destination, Alias: word, TargetType: a.target,
			Enabled: head.Enabled != nil && *head.Enabled, Raw: all[word],
		})
	}
	return out, nil
}
