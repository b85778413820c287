package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

const simulationQueue = "md/calvados"

// simulations are the slots of a worker that runs simulations only.
var simulations = runs.Slots{Queues: []string{simulationQueue}}

// simulate queues simulations of a user, and returns their workflows.
func simulate(t *testing.T, s *store.Store, owner people.Reach, n int) []pleat.WorkflowID {
	t.Helper()
	var out []pleat.WorkflowID
	for range n {
		flow := newFlow(owner, false)
		flow.Workflow.Kind, flow.Run.Queue = pleat.TaskMD, simulationQueue
		w, err := s.Runs.CreateWorkflow(context.Background(), flow)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, w.ID)
	}
	return out
}

// othersWait asks whether a task is to yield.
func othersWait(t *testing.T, s *store.Store, c runs.ClaimedTask, slots runs.Slots) bool {
	t.Helper()
	wait, err := s.Runs.OthersWait(context.Background(), &c.Task, slots)
	if err != nil {
		t.Fatal(err)
	}
	return wait
}

// yield returns a task to its queue, for a task of the queue want.
func yield(t *testing.T, s *store.Store, c runs.ClaimedTask, slots runs.Slots, want string) {
	t.Helper()
	queue, err := s.Runs.Yield(context.Background(), &c.Task, slots, nil)
	if err != nil || queue != want {
		t.Fatalf("it yields to the queue %q, %v; want %q", queue, err, want)
	}
}

// Two slots and one user with ten runs: another user's run starts at the next checkpoint, and the run that made room
// goes on before further runs of its user. It goes on from its checkpoint, and has spent no try.
func TestYield(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		clock.Stop()
		ctx := context.Background()
		many, one := storetest.User(t, s, "many"), storetest.User(t, s, "one")
		first := simulate(t, s, people.Own(many.User), 10)
		a, b := storetest.Claim(t, s, "w", simulationQueue), storetest.Claim(t, s, "w", simulationQueue)
		if othersWait(t, s, a, simulations) {
			t.Error("it is to yield to another run of its own user")
		}
		short := simulate(t, s, people.Own(one.User), 3)
		if !othersWait(t, s, a, simulations) || !othersWait(t, s, b, simulations) {
			t.Fatal("no run is to yield to another user's")
		}
		if err := s.Runs.SaveCheckpoint(ctx, tasks.LeaseOf(&a.Task), pleat.Checkpoint{Key: "c", Step: 7}); err != nil {
			t.Fatal(err)
		}
		clock.Advance(10 * time.Second)
		yield(t, s, a, simulations, simulationQueue)
		c := storetest.Claim(t, s, "w", simulationQueue)
		if c.Workflow.ID != short[0] {
			t.Fatal("the other user's run did not start next")
		}
		if othersWait(t, s, b, simulations) || othersWait(t, s, c, simulations) {
			t.Error("each user has a slot, and one is to yield")
		}
		clock.Advance(10 * time.Second)
		if err := s.Runs.FinishRun(ctx, tasks.LeaseOf(&c.Task), storetest.Completed()); err != nil {
			t.Fatal(err)
		}

		again := storetest.Claim(t, s, "w", simulationQueue)
		type resumed struct {
			Workflow       pleat.WorkflowID
			Attempt, Tries int
			Checkpoint     pleat.Checkpoint
			Worked         time.Duration
			State          pleat.State
		}
		want := resumed{first[0], 2, 0, pleat.Checkpoint{Key: "c", Step: 7}, 10 * time.Second, pleat.StateRunning}
		view, err := s.Runs.WorkflowView(ctx, first[0])
		if err != nil {
			t.Fatal(err)
		}
		got := resumed{again.Workflow.ID, again.Task.Attempt, again.Task.Tries, again.Task.Checkpoint,
			again.Worked, view.Workflow.State}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if !othersWait(t, s, again, simulations) {
			t.Error("the other user's second run waits, and no run is to yield to it")
		}
	})
}

// In one slot, users take turns, however many runs each has; who has waited longest is next.
func TestYieldTakesTurns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		names := map[people.Reach]string{}
		for i, name := range []string{"ada", "bob", "cem"} {
			u := storetest.User(t, s, name)
			names[u] = name
			simulate(t, s, u, []int{5, 3, 1}[i])
		}
		var turns []string
		for range 9 {
			c := storetest.Claim(t, s, "w", simulationQueue)
			turns = append(turns, names[people.Own(pleat.UserID(c.Task.Owner))])
			yield(t, s, c, simulations, simulationQueue)
		}
		want := []string{"ada", "bob", "cem", "ada", "bob", "cem", "ada", "bob", "cem"}
		if d := cmp.Diff(want, turns); d != "" {
			t.Error(d)
		}
	})
}

// A run of a user who has a slot already may be the first of the queue: the slot is made free for a user who has none.
func TestYieldIsForWhoHasLess(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ada, bob := storetest.User(t, s, "ada"), storetest.User(t, s, "bob")
		simulate(t, s, ada, 3)
		simulate(t, s, bob, 2)
		var held []runs.ClaimedTask
		for range 3 {
			held = append(held, storetest.Claim(t, s, "w", simulationQueue))
		}
		late := simulate(t, s, people.Own(storetest.User(t, s, "late").User), 1)
		yield(t, s, held[0], simulations, simulationQueue)
		if c := storetest.Claim(t, s, "w", simulationQueue); c.Workflow.ID != late[0] {
			t.Error("the user without a slot did not get the one that was made free")
		}
	})
}

// A task yields only to tasks that its slots could run: of their queues, and within their memory.
func TestYieldToWhatFits(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		simulate(t, s, people.Own(storetest.User(t, s, "ada").User), 2)
		c := storetest.Claim(t, s, "w", simulationQueue)
		n := newJob(people.Own(storetest.User(t, s, "bob").User), "large")
		n.Run.Memory = 2000
		storetest.CreateJob(t, s, n)
		both := []string{simulationQueue, storetest.FoldQueue}
		for memory, want := range map[int64]bool{1999: false, 2000: true, 0: true} {
			if got := othersWait(t, s, c, runs.Slots{Queues: both, Memory: memory}); got != want {
				t.Errorf("with %d bytes it is to yield: %v", memory, got)
			}
		}
		if othersWait(t, s, c, simulations) {
			t.Error("it is to yield to a task that does not use its slot")
		}
		yield(t, s, c, runs.Slots{Queues: both}, storetest.FoldQueue)
		yield(t, s, storetest.Claim(t, s, "w", simulationQueue), simulations, "")
	})
}

// A yield is refused to a worker that lost its lease. A task that was cancelled meanwhile ends.
func TestYieldOfALostOrCancelledTask(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		ada := storetest.User(t, s, "ada")
		id := simulate(t, s, ada, 1)[0]
		simulate(t, s, people.Own(storetest.User(t, s, "bob").User), 1)
		lost := storetest.Claim(t, s, "w", simulationQueue)
		clock.Advance(pleat.LeaseDuration + time.Second)
		if _, err := s.Runs.Reap(ctx, s.DB.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Runs.Yield(ctx, &lost.Task, simulations, nil); !errors.Is(err, pleat.ErrLost) {
			t.Errorf("a lost task yields: %v", err)
		}
		c := storetest.Claim(t, s, "w", simulationQueue)
		if c.Workflow.ID != id {
			t.Fatal("it was not claimed again")
		}
		if _, err := s.Runs.CancelWorkflow(ctx, ada, id); err != nil {
			t.Fatal(err)
		}
		yield(t, s, c, simulations, "")
		if v, err := s.Runs.WorkflowView(ctx, id); err != nil || v.Workflow.State != pleat.StateStopped {
			t.Errorf("the cancelled run is %s, %v", v.Workflow.State, err)
		}
	})
}
