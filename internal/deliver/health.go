package deliver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"pleat/internal/store/webhooks"
	"pleat/internal/webhook"
)

// health is the state of an endpoint between deliveries. The zero value, a healthy endpoint, is stored as empty text.
type health struct {
	webhook.Breaker
	Next time.Time `json:",omitzero"` // when the rate limit allows the next delivery
}

// readHealth parses the stored health of an endpoint. A value that cannot be parsed counts as healthy.
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

// limits are the bounds of a claim. The bound of an owner gives way to the window of an endpoint that has proved to
// answer fast: a user whose endpoints hang has no more than Config.Owner in flight. With a rate limit, claimLimit
// decides about every endpoint.
func (p *Pool) limits() webhooks.DeliveryLimits {
	l := webhooks.DeliveryLimits{Owner: p.cfg.Owner, Decide: p.observeLimit}
	if p.cfg.Rate <= 0 {
		l.Window, l.Windows = p.windows.sizes(p.cfg.DB.Now(), webhooks.MaxWindows)
	}
	return l
}

// claimLimit decides how many deliveries to claim now for an endpoint that has a stored health, as its circuit breaker,
// its rate limit and the deliveries in flight to it allow. Each failure in a row halves the window, on all nodes, since
// failures are stored. The store writes the health that claimLimit returns.
func (p *Pool) claimLimit(e webhooks.WaitingEndpoint, now time.Time) webhooks.ClaimLimit {
	h := readHealth(e.Health)
	window := p.windows.size(e.ID, now)
	if e.InFlight >= window {
		p.windows.full(now, e.ID)
	}
	window = max(1, window>>min(h.Failures, 16))
	n := window - e.InFlight
	if n <= 0 {
		return webhooks.ClaimLimit{Health: e.Health}
	}
	if h.State == webhook.Open && e.ResumeAt.IsZero() {
		h.Until = now // its owner wants what waits to be sent now, see Store.RedeliverAll
	}
	var permission webhook.Permission
	if h.Breaker, permission = h.Allow(now); !permission.Go {
		return webhooks.ClaimLimit{RetryAt: permission.Until, Health: e.Health}
	}
	if permission.Probe {
		return webhooks.ClaimLimit{N: 1, Window: window, Probe: true, Health: h.text(now)}
	}
	if p.cfg.Rate <= 0 {
		return webhooks.ClaimLimit{N: n, Window: window, Health: e.Health}
	}
	for i := range n {
		var wait time.Duration
		if h.Next, wait = webhook.Pace(h.Next, now, p.cfg.Rate, max(1, int(p.cfg.Rate))); wait > 0 {
			if i == 0 {
				return webhooks.ClaimLimit{RetryAt: now.Add(wait), Health: e.Health}
			}
			return webhooks.ClaimLimit{N: i, Window: window, Health: h.text(now)}
		}
	}
	return webhooks.ClaimLimit{N: n, Window: window, Health: h.text(now)}
}

// endpointUpdate passes the outcomes of attempts to the endpoint's circuit breaker. It returns what the store changes:
// the health, a pause until RetryAt, or the reason to disable the endpoint. Told logs what has changed; it is called
// once the change is stored.
func (p *Pool) endpointUpdate(
	e webhooks.Endpoint, list []*result, now time.Time,
) (v webhooks.EndpointUpdate, logChange func()) {
	h := readHealth(e.Health)
	log := p.cfg.Log.With("endpoint", e.ID, "user", string(e.Owner))
	var lines []func()
	for _, r := range list {
		a := &r.attempt
		var change webhook.Transition
		h.Breaker, change = h.Record(now, a.Outcome(r.Claimed.Probe))
		switch {
		case a.Disable && a.Status == http.StatusGone:
			v.Disable = "the receiver answered 410: it is gone"
		case a.Disable:
			v.Disable = "the receiver answered webhook-delivery: disable"
		case change.Disable:
			v.Disable = fmt.Sprintf("every delivery failed for %d days", webhook.DisableAfter/(24*time.Hour))
		case change.Opened:
			until, failures, class := h.Until, h.Failures, string(a.Error)
			lines = append(lines, func() {
				log.Info("deliveries to an endpoint are paused", "until", until, "failures", failures, "class", class)
			})
		case change.Closed:
			lines = append(lines, func() { log.Info("an endpoint works again") })
		}
	}
	if v.Disable != "" {
		lines = append(lines, func() {
			log.Warn("an endpoint is disabled; its deliveries wait", "reason", v.Disable)
		})
	}
	if v.Health = h.text(now); h.State == webhook.Open {
		v.RetryAt = h.Until
	}
	return v, func() {
		for _, line := range lines {
			line()
		}
	}
}

// detail is the record of an attempt that is stored.
func detail(a *webhook.Attempt) string {
	b, err := json.Marshal(a)
	if err != nil {
		return "" // plain fields: cannot fail
	}
	return string(b)
}
