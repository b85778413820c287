package work

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/webhook"
)

// request is everything that one attempt sends, its links made now.
func (c *Courier) request(ctx context.Context, d store.ClaimedDelivery, v *store.View) (webhook.Request, error) {
	now := c.store.Now()
	what := webhook.Delivery{Event: d.Event, Format: webhook.Format(d.Endpoint.Format), Base: c.cfg.Base}
	switch {
	case d.Event.Source == store.SourceTest:
		what = webhook.Ping(d.Event.ID, d.Event.At)
		what.Format, what.Base = webhook.Format(d.Endpoint.Format), c.cfg.Base
	case d.Event.Source == pleat.SourceWorkflow:
		var err error
		if what.Workflow, err = c.workflow(ctx, d.Event, now); err != nil {
			what.Problem = "the workflow was deleted, or could not be read now"
		}
	case v == nil && d.Event.Source == pleat.SourceFold:
		what.Problem = "the job was deleted, or could not be read now"
	case v != nil:
		what.Fold = &webhook.FoldSource{Job: v.Job, Run: v.Run, Artifacts: v.Artifacts}
		if c.cfg.Link != nil {
			what.Fold.URL = func(a pleat.Artifact) string { return c.cfg.Link(&a, &v.Job, now) }
		}
	}
	body, kind, err := webhook.Build(what)
	if err != nil {
		return webhook.Request{}, err
	}
	r := webhook.Request{URL: d.Endpoint.URL, ID: d.Delivery.ID, Body: body, ContentType: kind}
	if r.Token, err = c.open(d.Endpoint.Owner, "token", d.Endpoint.Token); err != nil {
		return r, err
	}
	r.Keys, err = c.keys(ctx, d.Endpoint, now)
	return r, err
}

// workflow reads the workflow that an event tells of, as a body shows it.
func (c *Courier) workflow(ctx context.Context, e pleat.Event, now time.Time) (*webhook.WorkflowSource, error) {
	v, err := c.store.WorkflowView(ctx, pleat.WorkflowID(e.SourceID))
	if err != nil {
		return nil, err
	}
	w := &v.Workflow
	out := &webhook.WorkflowSource{ID: w.ID, Type: w.Type, Status: w.State, Input: w.Input}
	if v.Run == nil {
		return out, nil
	}
	out.Tasks = []webhook.BodyTask{{ID: string(v.Run.ID), Type: w.TaskType(), Status: string(v.Run.State)}}
	if v.Run.Result != nil {
		var row struct {
			Metrics json.RawMessage `json:"metrics"`
		}
		if json.Unmarshal(v.Run.Result.Row, &row) == nil {
			out.Metrics = row.Metrics
		}
	}
	for i := range v.Artifacts {
		a := &v.Artifacts[i]
		if c.cfg.Link != nil && a.Kind == pleat.ArtifactDynamics {
			out.Plots = append(out.Plots, webhook.BodyPlot{Name: a.Name, URL: c.cfg.Link(a, &pleat.Job{Public: w.Public, Epoch: w.Epoch}, now)})
		}
	}
	return out, nil
}

// keys are what signs a delivery: the endpoint's secret, during a rotation the one before too. An endpoint of a run's own has
// none; its deliveries are signed with its owner's.
func (c *Courier) keys(ctx context.Context, e store.Endpoint, now time.Time) ([]webhook.Key, error) {
	if e.Secret == "" && e.Source != "" {
		global, err := c.store.GlobalEndpoint(ctx, e.Owner)
		if pleat.CodeOf(err) == pleat.CodeNotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		e = global
	}
	sealed := []string{e.Secret}
	if e.OldSecret != "" && now.Before(e.OldSecretUntil) {
		sealed = append(sealed, e.OldSecret)
	}
	var out []webhook.Key
	for _, s := range sealed {
		text, err := c.open(e.Owner, "secret", s)
		if err != nil {
			return nil, err
		}
		if text == "" {
			continue
		}
		k, err := webhook.ParseKey(text)
		if err != nil {
			return nil, errNoSecret // the message could quote it
		}
		out = append(out, k)
	}
	return out, nil
}

func (c *Courier) open(owner pleat.UserID, column, sealed string) (string, error) {
	if sealed == "" {
		return "", nil
	}
	plain, err := c.ring.Open(string(owner), column, sealed)
	if err != nil {
		return "", errNoSecret
	}
	return string(plain), nil
}

// health is what is kept of an endpoint's state between deliveries. The zero value, a healthy endpoint, is the empty text.
type health struct {
	webhook.Breaker
	Next time.Time `json:",omitzero"` // of its rate limit
}

func readHealth(text string) health {
	var h health
	if text != "" && json.Unmarshal([]byte(text), &h) != nil {
		return health{} // written by another version: begin anew
	}
	return h
}

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

const (
	// quickWindow is how many deliveries may be under way to an endpoint that answers within quick. Each of them is told twice
	// if the process dies, and for an endpoint that answers at once more would bring no speed.
	quickWindow = 4
	quick       = 50 * time.Millisecond
	maxPaced    = 10_000 // endpoints whose pace is remembered
)

// timed notes what an attempt took.
func (c *Courier) timed(endpoint string, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, known := c.pace[endpoint]
	if !known {
		was = took
		if len(c.pace) >= maxPaced {
			clear(c.pace)
		}
	}
	c.pace[endpoint] = was + (took-was)/4
}

// window is how many deliveries may be under way to an endpoint after a number of failures in a row.
func (c *Courier) window(endpoint string, failures int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.cfg.Endpoint
	if c.pace[endpoint] < quick {
		n = min(n, quickWindow)
	}
	return max(1, n>>min(failures, 16))
}

// admit says how many deliveries may go to an endpoint now: as its breaker, its rate, and what is under way to it and to its
// owner's other endpoints allow. One that fails gets fewer at once with each failure, so that endpoints which hang cannot
// take the courier's hands.
func (c *Courier) admit(e store.Endpoint, now time.Time, out store.InFlight) (string, int, bool, time.Time) {
	h := readHealth(e.Health)
	n := min(c.window(e.ID, h.Failures)-out.Endpoint, c.cfg.Owner-out.Owner)
	if n <= 0 {
		return e.Health, 0, false, time.Time{}
	}
	var may webhook.Admission
	if h.Breaker, may = h.Admit(now); !may.Go {
		return e.Health, 0, false, may.Until
	}
	if may.Probe {
		return h.text(now), 1, true, time.Time{}
	}
	if c.cfg.Rate <= 0 {
		return e.Health, n, false, time.Time{}
	}
	for i := range n {
		var wait time.Duration
		if h.Next, wait = webhook.Pace(h.Next, now, c.cfg.Rate, max(1, int(c.cfg.Rate))); wait > 0 {
			if i == 0 {
				return e.Health, 0, false, now.Add(wait)
			}
			return h.text(now), i, false, time.Time{}
		}
	}
	return h.text(now), n, false, time.Time{}
}

// record passes how an attempt ended to the endpoint's breaker.
func (c *Courier) record(e store.Endpoint, d store.Delivered, a *webhook.Attempt, now time.Time) (text string, resume time.Time, disable string) {
	h := readHealth(e.Health)
	var v webhook.Verdict
	h.Breaker, v = h.Record(now, a.Outcome(d.Claimed.Probe))
	if h.State == webhook.Open {
		resume = h.Until
	}
	switch {
	case a.Disable:
		disable = "the receiver answered " + wish(a)
	case v.Disable:
		disable = fmt.Sprintf("every delivery failed for %d days", webhook.DisableAfter/(24*time.Hour))
	}
	log := c.cfg.Log.With("endpoint", e.ID, "user", string(e.Owner))
	switch {
	case disable != "":
		log.Warn("an endpoint is disabled; its events are kept", "why", disable)
	case v.Opened:
		log.Info("an endpoint is left alone for a while", "until", h.Until, "failures", h.Failures, "class", string(a.Error))
	case v.Closed:
		log.Info("an endpoint works again")
	}
	return h.text(now), resume, disable
}

func wish(a *webhook.Attempt) string {
	if a.Status == 410 {
		return "410: it is gone"
	}
	return "webhook-delivery: disable"
}

// detail is what is kept of an attempt.
func detail(a *webhook.Attempt) string {
	b, err := json.Marshal(a)
	if err != nil {
		return "" // plain fields: cannot fail
	}
	return string(b)
}

// courierMeters are figures of deliveries. Labels are classes of outcome, never endpoints: anybody can make those.
type courierMeters struct {
	attempts *prometheus.CounterVec
	took     *prometheus.HistogramVec
	underway prometheus.Gauge
}

func newCourierMeters() *courierMeters {
	return &courierMeters{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pleat_delivery_attempts_total", Help: "Attempts at deliveries, by destination and outcome."}, []string{"destination", "outcome"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "pleat_delivery_attempt_seconds", Help: "Time of an attempt, by destination.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15, 30}}, []string{"destination"}),
		underway: prometheus.NewGauge(prometheus.GaugeOpts{Name: "pleat_deliveries_in_flight", Help: "Deliveries under way."}),
	}
}

func (m *courierMeters) note(a *webhook.Attempt) {
	outcome := string(a.Error)
	if a.OK() {
		outcome = "delivered"
	}
	m.attempts.WithLabelValues(string(pleat.DestCustom), outcome).Inc()
	m.took.WithLabelValues(string(pleat.DestCustom)).Observe(a.Timings.Total.Seconds())
}

// Collectors are the courier's figures, for the registry of the process.
func (c *Courier) Collectors() []prometheus.Collector {
	return []prometheus.Collector{c.meters.attempts, c.meters.took, c.meters.underway}
}
