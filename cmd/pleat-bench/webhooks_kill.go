package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
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

// deliveryKill measures how many deliveries arrive twice because a service was killed: a process that ends 100 runs a
// second, whose events go to one endpoint, and delivers them is killed ten times with SIGKILL. Each delivery that is in
// flight may arrive twice. The most repeats of one kill count, since each is a moment chosen at random. Every event of
// a run whose end was acknowledged must arrive.
func (b *bench) deliveryKill(ctx context.Context, d database) (err error) {
	h, err := b.newDeliveryService(ctx, d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	worst, total := 0, 0
	for i := range kills {
		acknowledged, repeats, err := b.repeats(ctx, h)
		if err != nil {
			return err
		}
		worst, total = max(worst, repeats), total+repeats
		fmt.Fprintf(b.progress, "  kill %d: %d runs had ended, %d deliveries arrived twice\n",
			i+1, acknowledged, repeats)
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

// repeats kills a process that ends runs and delivers their events, at a random moment, and delivers what is left. It
// returns how many runs had ended and how many of the deliveries arrived twice.
func (b *bench) repeats(ctx context.Context, h *deliveryService) (acknowledged, repeats int, err error) {
	before, posts := h.receiver.arrivals(), h.receiver.total.Load()
	kill, err := b.endInOtherProcess(ctx, h)
	if err != nil {
		return 0, 0, err
	}
	err = h.await(ctx, posts+int64(b.killedEvents()/4+rand.N(b.killedEvents()/4)))
	time.Sleep(rand.N(time.Second / eventRate)) // the last arrival would otherwise always be as long ago
	ended := kill()
	stop := h.deliver(ctx)
	if err == nil {
		err = h.awaitOutcomes(ctx)
	}
	if err = errors.Join(err, stop()); err != nil {
		return 0, 0, err
	}
	for _, run := range ended {
		if _, ok := h.receiver.arrival(run); !ok {
			return 0, 0, fmt.Errorf("the event of run %s did not arrive", run)
		}
	}
	arrived := h.receiver.arrivals() - before
	return len(ended), int(h.receiver.total.Load()-posts) - arrived, nil
}

// awaitOutcomes waits until no delivery of user 0 waits or is in flight.
func (h *deliveryService) awaitOutcomes(ctx context.Context) error {
	limit := time.Now().Add(30 * time.Second)
	for {
		left := 0
		var waiting []store.Delivery
		for _, status := range []pleat.DeliveryStatus{pleat.DeliveryPending, pleat.DeliveryRunning} {
			list, err := h.store.Deliveries(ctx, h.users[0], store.DeliveryFilter{Status: status, Limit: 1})
			if err != nil {
				return err
			}
			left += len(list)
			waiting = append(waiting, list...)
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("deliveries still wait after 30 s: %v", waiting)
		}
		time.Sleep(time.Millisecond)
	}
}

// killedEvents is how many events the process that is killed would publish.
func (b *bench) killedEvents() int { return b.openLoopEvents() / 2 }

// endInOtherProcess starts a process that ends runs and delivers their events. kill ends it with SIGKILL and returns
// the runs whose end it had acknowledged.
func (b *bench) endInOtherProcess(ctx context.Context, h *deliveryService) (kill func() []pleat.RunID, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, self, "--deliverer", h.dir, "--seconds", fmt.Sprint(b.seconds))
	c.Env = append(os.Environ(), "PLEAT_DATABASE="+h.database)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	if err := c.Start(); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	ended := make(chan []pleat.RunID, 1)
	go func() {
		var list []pleat.RunID
		for lines := bufio.NewScanner(out); lines.Scan(); {
			list = append(list, pleat.RunID(lines.Text()))
		}
		ended <- list
	}()
	return func() []pleat.RunID {
		_ = c.Process.Kill()
		list := <-ended
		_ = c.Wait() // it was killed
		_ = in.Close()
		return list
	}, nil
}

// runDelivererProcess is the other process of endInOtherProcess: it prints each run that it has ended, and delivers
// until its standard input ends.
func (b *bench) runDelivererProcess(cmd *cobra.Command, dir, database string) (err error) {
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
	user, err := s.EnsureUser(ctx, userName(0))
	if err != nil {
		return err
	}
	endpoint, err := s.DefaultEndpoint(ctx, store.Own(user.ID))
	if err != nil {
		return err
	}
	sender := loopbackSender()
	defer sender.Close()
	h := deliveryService{
		service:   &service{store: s, log: log, users: []store.Reach{store.Own(user.ID)}},
		endpoints: []store.Endpoint{endpoint},
		ring:      ring,
		sender:    sender,
	}
	runs, err := h.claimed(ctx, b.killedEvents(), func(int) int { return 0 })
	if err != nil {
		return err
	}
	end := h.deliver(ctx)
	var mu sync.Mutex // one line at a time
	_, err = h.endRuns(ctx, runs, eventRate, func(run pleat.RunID) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(cmd.OutOrStdout(), run)
	})
	if err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, end())
}
