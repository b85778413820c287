package workers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"pleat"
	"pleat/internal/store/tasks"
	"pleat/internal/workerapi"
)

// class is GET class: the class of the token. Fields that only the driver of its workers needs are left out.
func (g *Gateway) class(ctx context.Context, c *caller, _ *none) (workerapi.Class, error) {
	k, err := g.classOf(ctx, c.Class)
	if err != nil {
		return workerapi.Class{}, err
	}
	k.Driver, k.Options = "", nil
	return workerapi.Class{Class: k}, nil
}

// Bounds of what a worker registers.
const (
	maxHost    = 255
	maxModels  = 256
	maxDevices = 64
	maxLife    = 366 * 24 * time.Hour
)

// register is POST register: a worker of the token's class begins a session. The tasks that an earlier process of the
// same worker held are queued again.
func (g *Gateway) register(
	ctx context.Context, c *caller, in *workerapi.Registration,
) (workerapi.Registered, error) {
	var out workerapi.Registered
	if cmp.Or(in.Oldest, in.Protocol) > workerapi.Version || in.Protocol < workerapi.Oldest {
		return out, &pleat.Error{Code: workerapi.CodeVersion, Message: versionRefusal(in)}
	}
	w, err := g.worker(ctx, c, in)
	if err == nil {
		err = g.writes(ctx, func() error { return g.store.Workers.RegisterWorker(ctx, w) })
	}
	if err != nil {
		return out, err
	}
	c.Worker, c.Renewed = w.ID, in.Left <= 0
	life := sessionLife
	if !c.Renewed {
		life = min(in.Left.Duration(), maxLife) + sessionSlack
	}
	g.cfg.Log.Info("a worker has registered", "worker", w.ID, "class", w.Class, "host", pleat.Clip(w.Host),
		"cluster_job", w.ClusterJob, "version", pleat.Clip(in.Version))
	return workerapi.Registered{
		Protocol:  min(in.Protocol, workerapi.Version),
		Session:   g.sessionToken(*c, life),
		Lease:     workerapi.SecondsOf(g.cfg.Terms.Lease),
		Heartbeat: workerapi.SecondsOf(g.cfg.Terms.Heartbeat),
		Progress:  workerapi.SecondsOf(g.cfg.Terms.Progress),
		Wait:      workerapi.SecondsOf(g.cfg.Wait),
	}, nil
}

// versionRefusal says which side is to be updated.
func versionRefusal(in *workerapi.Registration) string {
	return fmt.Sprintf("the worker, pleat %s, speaks version %d of the worker protocol, and this server, pleat %s, "+
		"speaks %d to %d; update the one that is older", pleat.Clip(in.Version), in.Protocol, pleat.Version,
		workerapi.Oldest, workerapi.Version)
}

// worker checks what a worker says of itself.
func (g *Gateway) worker(ctx context.Context, c *caller, in *workerapi.Registration) (pleat.Worker, error) {
	w := pleat.Worker{
		ID:         in.Worker,
		Class:      c.Class,
		Token:      c.Token,
		Host:       in.Host,
		ClusterJob: in.ClusterJob,
		Queues:     in.Queues,
		Models:     in.Models,
		Devices:    in.Devices,
		Memory:     in.Memory,
	}
	if in.Left > 0 {
		w.Ends = g.store.DB.Now().Add(min(in.Left.Duration(), maxLife))
	}
	err := cmp.Or(
		checkID("worker", string(in.Worker)),
		checkCount("models", len(in.Models), maxModels),
		checkCount("devices", len(in.Devices), maxDevices),
		checkNotNegative("memory", in.Memory),
		checkName("host", in.Host, maxHost),
		checkName("cluster_job", in.ClusterJob, maxHost),
	)
	if err != nil {
		return w, err
	}
	return w, g.checkQueues(ctx, c.Class, "queues", in.Queues)
}

// drain is POST drain: the worker claims nothing more.
func (g *Gateway) drain(ctx context.Context, c *caller, _ *none) (none, error) {
	return none{}, g.writes(ctx, func() error { return g.store.Workers.DrainWorker(ctx, c.Worker) })
}

// stopped is POST stop: the worker ends, and returns its tasks one by one.
func (g *Gateway) stopped(ctx context.Context, c *caller, _ *none) (none, error) {
	return none{}, g.writes(ctx, func() error { return g.store.Workers.StopWorker(ctx, c.Worker) })
}

// deregister is POST deregister: the worker has ended. The tasks that it holds now were claimed for it without its
// knowledge.
func (g *Gateway) deregister(ctx context.Context, c *caller, _ *none) (none, error) {
	return none{}, g.writes(ctx, func() error {
		n, err := g.store.Runs.ReleaseAll(ctx, c.Worker, nil)
		if n > 0 {
			g.cfg.Log.Info("tasks of a worker that has ended are queued again", "worker", c.Worker, "tasks", n)
		}
		return err
	})
}

// fresh is POST fresh: whether a task waits that a new worker of the class could claim, but not this one.
func (g *Gateway) fresh(ctx context.Context, c *caller, in *workerapi.Fresh) (workerapi.Answer, error) {
	current, err := g.filter(ctx, c, "own", &in.Own)
	if err != nil {
		return workerapi.Answer{}, err
	}
	fresh, err := g.filter(ctx, c, "fresh", &in.Fresh)
	if err != nil {
		return workerapi.Answer{}, err
	}
	yes, err := g.store.Runs.NeedsFreshWorker(ctx, current, fresh)
	return workerapi.Answer{Yes: yes}, err
}

// filter checks an ask and returns its filter.
func (g *Gateway) filter(
	ctx context.Context, c *caller, field string, a *workerapi.Ask,
) (tasks.ClaimFilter, error) {
	f := a.Filter()
	f.Class, f.Left, f.Waited = c.Class, min(f.Left, maxLife), min(f.Waited, maxLife)
	if a.N < 0 || a.N > workerapi.MaxTasks {
		return f, pleat.InvalidField(field+".n", " is %d; it must be from 0 to %d", a.N, workerapi.MaxTasks)
	}
	if err := checkNotNegative(field+".memory", a.Memory); err != nil {
		return f, err
	}
	if a.Left < 0 {
		return f, pleat.InvalidField(field+".left_s", " is negative; it must be how long the worker lives")
	}
	if a.Waited < 0 {
		return f, pleat.InvalidField(field+".waited_s", " is negative; it must be how long a task has waited")
	}
	if a.Owner != "" {
		if err := checkID(field+".owner", string(a.Owner)); err != nil {
			return f, err
		}
	}
	return f, g.checkQueues(ctx, c.Class, field+".queues", a.Queues)
}
