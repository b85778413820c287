package workers_test

import (
	"io"
	"strings"
	"sync"
	"testing"

	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// Claims that are held do not keep others from sending a body whose length a proxy has hidden.
func TestHeldCallsLeaveRoom(t *testing.T) {
	t.Parallel()
	f := onSQLite(t)
	session := f.session("gpu", newID())
	var held sync.WaitGroup
	ended := make(chan struct{}, 8)
	for range 8 {
		other := f.session("gpu", newID())
		held.Go(func() {
			claim := `{"asks":[{"queues":["fold/null"],"n":1}],"wait_s":50}`
			f.ask("POST", "claim", other, io.MultiReader(strings.NewReader(claim))) // without a length
			ended <- struct{}{}
		})
	}
	storetest.Eventually(t, "the claims wait", func() bool {
		return f.s.DB.Subscribed(tasks.QueueTopic(storetest.FoldQueue))
	})
	answered := make(chan answer, 1)
	held.Go(func() {
		answered <- f.ask("POST", "heartbeat", session, io.MultiReader(strings.NewReader(`{"tasks":[]}`)))
	})
	select {
	case a := <-answered:
		if a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	case <-ended:
		t.Error("a claim has ended before a heartbeat was answered")
	}
	f.stop()
	held.Wait()
}
