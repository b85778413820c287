package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/config"
	"pleat/internal/seal"
	"pleat/internal/store"
)

const (
	// kills is how often the delivery worker is killed.
	kills = 10
	// maxRepeats is the number of deliveries that a kill must stay below repeating.
	maxRepeats = 5
)

// deliveryKill measures how many deliveries arrive twice because a delivery worker was killed: a worker in another
// process is killed ten times with SIGKILL while events are published to one endpoint at 100 a second. Each delivery
// that is in flight may arrive twice. The most repeats of one kill count, since each is a moment chosen at random.
// Every event must arrive.
func (b *bench) deliveryKill(ctx context.Context, d database) (err error) {
	h, err := b.newDeliveryService(ctx, d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	n := b.openLoopEvents() / 2
	worst, total := int64(0), int64(0)
	for i := range kills {
		repeats, err := h.repeats(ctx, n)
		if err != nil {
			return err
		}
		worst, total = max(worst, repeats), total+repeats
		fmt.Fprintf(b.progress, "  kill %d: %d of %d deliveries arrived twice\n", i+1, repeats, n)
	}
	b.lines = append(b.lines, line{
		what:     fmt.Sprintf("deliveries that arrive twice after a kill, %d/s to one endpoint", eventRate),
		database: d.name,
		figure:   fmt.Sprintf("at most %d", worst),
		ceiling:  fmt.Sprintf("%d kills, %d repeats together", kills, total),
		target:   fmt.Sprintf("< %d", maxRepeats),
		met:      worst < maxRepeats,
	})
	return nil
}

// repeats publishes n events at eventRate, kills the delivery worker at a random moment meanwhile, starts another, and
// returns how many of the deliveries arrived twice.
func (h *deliveryService) repeats(ctx context.Context, n int) (int64, error) {
	runs, err := h.claimed(ctx, n, func(int) int { return 0 })
	if err != nil {
		return 0, err
	}
	before := h.receiver.total.Load()
	kill, err := h.deliverInOtherProcess(ctx)
	if err != nil {
		return 0, err
	}
	var ended []endedRun
	published := make(chan error, 1)
	go func() {
		var err error
		ended, err = h.endRuns(ctx, runs, eventRate)
		published <- err
	}()
	err = h.await(ctx, before+int64(n/4+rand.N(n/4)))
	time.Sleep(rand.N(time.Second / eventRate)) // arrivals would otherwise all be as long ago
	kill()
	stop := h.deliver(ctx)
	if err = errors.Join(err, <-published); err == nil {
		_, err = h.delays(ended)
	}
	if err == nil {
		err = h.awaitOutcomes(ctx)
	}
	return h.receiver.total.Load() - before - int64(n), errors.Join(err, stop())
}

// awaitOutcomes waits until no delivery of user 0 waits or is in flight.
func (h *deliveryService) awaitOutcomes(ctx context.Context) error {
	limit := time.Now().Add(30 * time.Second)
	for {
		left := 0
		for _, status := range []pleat.DeliveryStatus{pleat.DeliveryPending, pleat.DeliveryRunning} {
			list, err := h.store.Deliveries(ctx, h.users[0], store.DeliveryFilter{Status: status, Limit: 1})
			if err != nil {
				return err
			}
			left += len(list)
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(limit) {
			return errors.New("deliveries still wait after 30 s")
		}
		time.Sleep(time.Millisecond)
	}
}

// deliverInOtherProcess starts a delivery worker in another process. kill ends it with SIGKILL.
func (h *deliveryService) deliverInOtherProcess(ctx context.Context) (kill func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, self, "--deliverer", h.dir)
	c.Env = append(os.Environ(), "PLEAT_DATABASE="+h.database)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
		_ = in.Close()
	}, nil
}

// runDelivererProcess is the other process of deliverInOtherProcess. It delivers until its standard input ends.
func runDelivererProcess(cmd *cobra.Command, dir, database string) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	go func() { _, _ = io.Copy(io.Discard, cmd.InOrStdin()); stop() }() // ends with the parent, however that ends
	quiet := config.Default()
	quiet.LogLevel = "warn"
	log := app.NewLog(cmd.ErrOrStderr(), quiet)
	s, err := store.Open(ctx, database, store.Options{Log: log})
	if err != nil {
		return err
	}
	defer s.Close()
	ring, err := seal.Load("", filepath.Join(dir, "secret.key"))
	if err != nil {
		return err
	}
	sender := loopbackSender()
	defer sender.Close()
	h := deliveryService{service: &service{store: s, log: log}, ring: ring, sender: sender}
	return h.pool().Run(ctx)
}
