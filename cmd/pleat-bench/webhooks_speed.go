package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// oneEndpoint is the smallest ratio of the deliveries per second to one endpoint and to 64.
const oneEndpoint = 0.6

// deliverySpeed measures deliveries per second from a full queue to 64 endpoints that respond at once, each delivery
// of a run of its own, and in alternation from a queue of the same length to one endpoint. There is no ceiling of the
// former that could be measured, so the target is a rate; the processor time of a delivery and the duration of an fsync
// show what limits it. The former is the ceiling of the latter.
func (b *bench) deliverySpeed(ctx context.Context, d database) error {
	bound := map[string]float64{"sqlite": 2000, "postgres": 1200}[d.name]
	var rates, works, ones, ratios []float64
	for range deliveryRounds {
		rate, work, err := b.emptyQueue(ctx, d, clients)
		if err != nil {
			return err
		}
		one, _, err := b.emptyQueue(ctx, d, 1)
		if err != nil {
			return err
		}
		rates, works = append(rates, rate), append(works, work)
		ones, ratios = append(ones, one), append(ratios, one/rate)
		fmt.Fprintf(b.progress, "  %.0f deliveries/s, %s of a core each in this process; %.0f/s to one endpoint\n",
			rate, short(time.Duration(work)), one)
	}
	rate := quantile(0.5, rates)
	work := short(time.Duration(quantile(0.5, works)))
	b.lines = append(b.lines, line{
		what:     fmt.Sprintf("deliveries from a full queue, %d endpoints", clients),
		database: d.name,
		figure:   fmt.Sprintf("%.0f/s", rate),
		ceiling:  fmt.Sprintf("%s of a core each, receiver included; fdatasync %s", work, short(d.sync)),
		target:   fmt.Sprintf("≥ %.0f/s", bound),
		met:      rate >= bound,
	})
	b.atLeast(line{
		what:     "the same to one endpoint",
		database: d.name,
		figure:   fmt.Sprintf("%.0f/s", quantile(0.5, ones)),
		ceiling:  fmt.Sprintf("to %d endpoints %.0f/s", clients, rate),
	}, quantile(0.5, ratios), oneEndpoint)
	return nil
}

// emptyQueue fills a queue for a number of endpoints and delivers it. It returns deliveries per second, and the
// processor time of this process for each in nanoseconds.
func (b *bench) emptyQueue(ctx context.Context, d database, endpoints int) (rate, work float64, err error) {
	h, err := b.newDeliveryService(ctx, d)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	n := clients * queuedPerEndpoint
	runs, err := h.claimed(ctx, n, func(i int) int { return i % endpoints })
	if err == nil {
		err = inParallel(n, func(i int) error { return h.end(ctx, runs[i]) })
	}
	if err != nil {
		return 0, 0, err
	}
	began, cpu := time.Now(), processorTime()
	stop := h.deliver(ctx)
	err = h.await(ctx, int64(n))
	took, spent := time.Since(began), processorTime()-cpu
	return float64(n) / took.Seconds(), float64(spent) / float64(n), errors.Join(err, stop())
}
