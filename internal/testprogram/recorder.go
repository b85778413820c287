package testprogram

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"pleat"
	"pleat/api"
)

// Recorder is a receiver that records all deliveries.
type Recorder struct {
	*httptest.Server
	Mu     sync.Mutex // guards the fields below
	Posts  int
	IDs    map[string]map[string]bool // webhook-ids by event
	KillAt int                        // at which post to call Kill before answering; 0: never
	Kill   func()
}

// NewRecorder starts a receiver, which ends with the test.
func NewRecorder(t *testing.T) *Recorder {
	w := &Recorder{IDs: map[string]map[string]bool{}}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var body struct {
			Event struct {
				ID string `json:"id"`
			} `json:"event"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Event.ID == "" {
			rw.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Mu.Lock()
		w.Posts++
		if w.IDs[body.Event.ID] == nil {
			w.IDs[body.Event.ID] = map[string]bool{}
		}
		w.IDs[body.Event.ID][r.Header.Get("webhook-id")] = true
		kill := w.Kill
		if w.Posts != w.KillAt {
			kill = nil
		}
		w.Mu.Unlock()
		if kill != nil {
			kill()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(w.CloseClientConnections)
	t.Cleanup(w.Close)
	return w
}

// Counts returns the number of posts, and how many of them repeated an event.
func (w *Recorder) Counts() (posts, repeats int) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	return w.Posts, w.Posts - len(w.IDs)
}

// ConfigureRecorder makes the recorder the endpoint of a user, and creates the job whose events are published.
func ConfigureRecorder(t *testing.T, c *api.Client, to string) (job string) {
	t.Helper()
	ctx := context.Background()
	yes := true
	if _, err := c.PutWebhookConfig(ctx, api.PutWebhookConfig{
		TargetURL: to, TokenValue: "token", EnabledByDefault: &yes,
	}); err != nil {
		t.Fatal(err)
	}
	created, err := c.CreateJob(ctx, api.CreateJob{
		Name: "job", Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: "GSGS"}}},
		Params: &api.Params{ModelName: "null"},
	}, api.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	WaitUntil(t, time.Minute, "the first delivery", func() bool {
		list, err := c.Deliveries(ctx, api.DeliveriesFilter{Status: string(pleat.DeliverySucceeded)})
		return err == nil && len(list.Data) >= 1
	})
	return created.JobID
}
