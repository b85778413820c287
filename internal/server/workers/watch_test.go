package workers_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/workerapi"
	"pleat/internal/workerapi/workerapitest"
)

// A cancel by a user reaches the worker through the watch that it holds, once: nothing polls in this test.
func TestCancelReachesWorker(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		job := f.create()
		session := f.session("gpu", newID())
		task := f.claim(session, storetest.FoldQueue)
		answered := make(chan answer, 1)
		watch := func(in workerapi.Watch) { answered <- f.ask("POST", "watch", session, in) }
		go watch(workerapi.Watch{Wait: 50})
		if _, err := f.s.Runs.Cancel(t.Context(), f.owner, job.Job); err != nil {
			t.Fatal(err)
		}
		want := []pleat.TaskID{task.ID}
		var orders workerapi.Orders
		if a := <-answered; a.status != 200 || json.Unmarshal(a.body, &orders) != nil {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if d := cmp.Diff(workerapi.Orders{Cancel: want}, orders); d != "" {
			t.Errorf("orders (-want +got):\n%s", d)
		}
		go watch(workerapi.Watch{Wait: 50, Cancelled: want})
		if n, err := f.s.Workers.DrainClass(t.Context(), "gpu"); err != nil || n != 1 {
			t.Fatalf("%d workers drain: %v", n, err)
		}
		if a := <-answered; a.status != 200 || json.Unmarshal(a.body, &orders) != nil {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if d := cmp.Diff(workerapi.Orders{Cancel: want, Drain: true}, orders); d != "" {
			t.Errorf("orders (-want +got):\n%s", d)
		}
		f.post(204, about(&task, "release"), task.Token, "{}", nil)
		if s := f.view(job).Run.State; s != pleat.StateStopped {
			t.Errorf("the run is %s", s)
		}
	})
}

// An order whose answer is lost comes with the next watch.
func TestOrderLost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		p := workerapitest.NewProxy(t, f.url)
		p.On("watch", 1, workerapitest.DropAnswer)
		c := f.worker(p.URL)
		job := f.create()
		k := f.take(c, storetest.FoldQueue).Task
		if _, err := f.s.Runs.Cancel(t.Context(), f.owner, job.Job); err != nil {
			t.Fatal(err)
		}
		if orders, err := c.WatchWorker(t.Context(), ""); pleat.CodeOf(err) != pleat.CodeUnavailable {
			t.Fatalf("the lost answer: %+v %v", orders, err)
		}
		orders, err := c.WatchWorker(t.Context(), "")
		if d := cmp.Diff(runs.WorkerOrders{Cancel: []pleat.TaskID{k.ID}}, orders); d != "" || err != nil {
			t.Errorf("orders (-want +got), %v:\n%s", err, d)
		}
	})
}
