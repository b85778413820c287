package workers

import (
	"context"
	"slices"
	"time"

	"pleat"
	"pleat/internal/store/runs"
	"pleat/internal/workerapi"
)

const (
	// gatherTime is how long a heartbeat waits for others that share its transaction, at most maxGathered.
	gatherTime  = 20 * time.Millisecond
	maxGathered = 512
	// maxProgress bounds the progress of a task in one heartbeat.
	maxProgress = 512
	// maxLine bounds a line of a log and the name of a stage, in bytes; those of package work are shorter.
	maxLine = 4096
)

// heartbeat is a heartbeat that waits for its reply.
type heartbeat struct {
	runs.WorkerHeartbeat
	reply chan heartbeatReply // with a buffer of one
}

// heartbeatReply is the reply, or the error of the transaction.
type heartbeatReply struct {
	runs.WorkerReply
	err error
}

// sendHeartbeats stores heartbeats, those that come together in one transaction, until ctx ends.
func (g *Gateway) sendHeartbeats(ctx context.Context) {
	for {
		var list []heartbeat
		select {
		case <-ctx.Done():
			return
		case b := <-g.beats:
			list = g.gather(b)
		}
		in := make([]runs.WorkerHeartbeat, len(list))
		for i := range list {
			in[i] = list[i].WorkerHeartbeat
		}
		replies, err := g.store.Runs.Heartbeats(ctx, g.cfg.Terms.Lease, in)
		for i := range list {
			r := heartbeatReply{err: err}
			if err == nil {
				r.WorkerReply = replies[i]
			}
			list[i].reply <- r
		}
	}
}

// gather returns a heartbeat with those that come within gatherTime.
func (g *Gateway) gather(first heartbeat) []heartbeat {
	list := []heartbeat{first}
	end := time.NewTimer(gatherTime)
	defer end.Stop()
	for len(list) < maxGathered {
		select {
		case b := <-g.beats:
			list = append(list, b)
		case <-end.C:
			return list
		}
	}
	return list
}

// renewLeases renews the leases of a worker's tasks, and marks the worker as alive.
func (g *Gateway) renewLeases(
	ctx context.Context, worker pleat.WorkerID, beats []pleat.Heartbeat,
) (runs.WorkerReply, error) {
	b := heartbeat{runs.WorkerHeartbeat{Worker: worker, Beats: beats}, make(chan heartbeatReply, 1)}
	select {
	case g.beats <- b:
	case <-ctx.Done():
		return runs.WorkerReply{}, ctx.Err()
	}
	select {
	case r := <-b.reply:
		return r.WorkerReply, r.err
	case <-ctx.Done():
		return runs.WorkerReply{}, ctx.Err()
	}
}

// heartbeat is POST heartbeat: it renews leases and stores progress.
func (g *Gateway) heartbeat(
	ctx context.Context, c *caller, in *workerapi.Heartbeat,
) (workerapi.HeartbeatReply, error) {
	var out workerapi.HeartbeatReply
	if err := checkCount("tasks", len(in.Tasks), workerapi.MaxTasks); err != nil {
		return out, err
	}
	var beats []pleat.Heartbeat
	for i := range in.Tasks {
		t := &in.Tasks[i]
		if err := checkID(indexed("tasks", i)+".task", string(t.Task)); err != nil {
			return out, err
		}
		progress, err := g.progress(indexed("tasks", i)+".progress", &t.Report)
		if err != nil {
			return out, err
		}
		beats = append(beats, pleat.Heartbeat{Task: t.Task, Attempt: t.Attempt, Progress: progress})
	}
	reply, err := g.renewLeases(ctx, c.Worker, beats)
	if err != nil {
		return out, err
	}
	if !reply.Registered {
		return out, errUnknownWorker
	}
	for _, r := range reply.Replies {
		out.Tasks = append(out.Tasks, workerapi.TaskReply{
			Task:     r.Task,
			Cancel:   r.Cancel,
			Lost:     r.Lost,
			Progress: workerapi.SecondsOf(g.reportInterval(r.Run)),
		})
	}
	return out, nil
}

// reportInterval is the time between a worker's reports of a run: a short one if somebody watches the run here.
func (g *Gateway) reportInterval(run pleat.RunID) time.Duration {
	if run != "" && g.store.DB.Subscribed(runs.Topic(run)) {
		return min(watchedInterval, g.cfg.Terms.Progress)
	}
	return g.cfg.Terms.Progress
}

// progress checks what a worker reports. Stages and lines of the log are all that it may: states and files follow from
// other calls.
func (g *Gateway) progress(field string, r *workerapi.Report) ([]pleat.Progress, error) {
	if err := checkCount(field, len(r.Progress), maxProgress); err != nil {
		return nil, err
	}
	kinds := []pleat.ProgressKind{pleat.ProgressStage, pleat.ProgressLog}
	for i := range r.Progress {
		p := &r.Progress[i]
		switch {
		case !slices.Contains(kinds, p.Kind):
			return nil, pleat.InvalidField(indexed(field, i)+".kind", " is %q; it must be %s or %s",
				pleat.Clip(string(p.Kind)), pleat.ProgressStage, pleat.ProgressLog)
		case len(p.Line) > maxLine || len(p.Stage) > maxLine:
			return nil, pleat.InvalidField(indexed(field, i), " has a line of more than %d bytes", maxLine)
		}
		p.Stage = storable(p.Stage)
		p.State, p.Data, p.Seq = "", nil, 0
	}
	return r.At(g.store.DB.Now()), nil
}
