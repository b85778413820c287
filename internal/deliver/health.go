package deliver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"pleat/internal/store"
	"pleat/internal/webhook"
)

// health is the state of an endpoint between deliveries. The zero value, a healthy endpoint, is stored as empty text.
type health struct {
	webhook.Breaker
	Next time.Time `json:",omitzero"` // when the rate limit allows the next delivery
}

// readHealth parses the stored health of an endpoint. What cannot be parsed counts as healthy.
func readHealth(text string) health {
	var h health
	if text != "" && json.Unmarshal([]byte(text), &h) != nil {
		return health{} // written by another version
	}
	return h
}

// text returns the health as it is stored: JSON, or the empty text for an endpoint that is healthy now.
func (h health) text(now time.Time) string {
	if h.State == webhook.Closed {
		h.State = ""
	}
	if h.Next.Before(now) {
		h.Next = time.Time{}
	}
	if h == (health{}) {
		return ""
	}
	b, err := json.Marshal(h)
	if err != nil {
		return "" // plain fields: cannot fail
	}
	return string(b)
}

// claimLimit decides how many deliveries to claim for an endpoint now, as its circuit breaker, its rate limit, and the
// deliveries in flight to it and to its owner's other endpoints allow. Each failure in a row halves the window, on all
// nodes, since failures are stored. The bound of an owner gives way to the window of an endpoint that has proved to
// answer fast: a user whose endpoints hang still has no more than Config.Owner in flight. The store calls claimLimit
// inside a transaction, and stores the health that it returns.
func (p *Pool) claimLimit(e store.Endpoint, now time.Time, out store.InFlight) store.ClaimLimit {
	h := readHealth(e.Health)
	window := p.windows.size(e.ID, now, out.Endpoint)
	n := min(max(1, window>>min(h.Failures, 16))-out.Endpoint, max(p.cfg.Owner, window)-out.Owner)
	if n <= 0 {
		return store.ClaimLimit{Health: e.Health}
	}
	if h.State == webhook.Open && e.ResumeAt.IsZero() {
		h.Until = now // its owner wants what waits to be sent now, see Store.RedeliverAll
	}
	var may webhook.Permission
	if h.Breaker, may = h.Allow(now); !may.Go {
		return store.ClaimLimit{RetryAt: may.Until, Health: e.Health}
	}
	if may.Probe {
		return store.ClaimLimit{N: 1, Probe: true, Health: h.text(now)}
	}
	if p.cfg.Rate <= 0 {
		return store.ClaimLimit{N: n, Health: e.Health}
	}
	for i := range n {
		var wait time.Duration
		if h.Next, wait = webhook.Pace(h.Next, now, p.cfg.Rate, max(1, int(p.cfg.Rate))); wait > 0 {
			if i == 0 {
				return store.ClaimLimit{RetryAt: now.Add(wait), Health: e.Health}
			}
			return store.ClaimLimit{N: i, Health: h.text(now)}
		}
	}
	return store.ClaimLimit{N: n, Health: h.text(now)}
}

// endpointUpdate passes the outcome of an attempt to the endpoint's circuit breaker. It returns what the store changes:
// the health, a pause until RetryAt, or the reason to disable the endpoint. The store calls it inside a transaction.
func (p *Pool) endpointUpdate(e store.Endpoint, d store.DeliveryOutcome, a *webhook.Attempt,
	now time.Time) store.EndpointUpdate {
	h := readHealth(e.Health)
	var change webhook.Transition
	h.Breaker, change = h.Record(now, a.Outcome(d.Claimed.Probe))
	v := store.EndpointUpdate{Health: h.text(now)}
	if h.State == webhook.Open {
		v.RetryAt = h.Until
	}
	switch {
	case a.Disable && a.Status == http.StatusGone:
		v.Disable = "the receiver answered 410: it is gone"
	case a.Disable:
		v.Disable = "the receiver answered webhook-delivery: disable"
	case change.Disable:
		v.Disable = fmt.Sprintf("every delivery failed for %d days", webhook.DisableAfter/(24*time.Hour))
	}
	log := p.cfg.Log.With("endpoint", e.ID, "user", string(e.Owner))
	switch {
	case v.Disable != "":
		log.Warn("an endpoint is disabled; its deliveries wait", "reason", v.Disable)
	case change.Opened:
		log.Info("deliveries to an endpoint are paused", "until", h.Until, "failures", h.Failures, "class",
			string(a.Error))
	case change.Closed:
		log.Info("an endpoint works again")
	}
	return v
}

// detail is the record of an attempt that is stored.
func detail(a *webhook.Attempt) string {
	b, err := json.Marshal(a)
	if err != nil {
		return "" // plain fields: cannot fail
	}
	return string(b)
}
