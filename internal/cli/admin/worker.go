package admin

import (
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/telemetry"
	"pleat/internal/work"
)

// processLog returns the log of a process of the service, which gets what libraries log too, and its last lines.
func processLog(cmd *cobra.Command, c config.Config) (*slog.Logger, *telemetry.RecentLog) {
	recent := &telemetry.RecentLog{}
	log := app.NewLog(io.MultiWriter(recent, cmd.ErrOrStderr()), c)
	slog.SetDefault(log)
	return log, recent
}

// workerCmd returns the command worker: a worker apart from servers. It claims tasks from the database of the service,
// and needs the same artifact store and secret key; or it calls a server, and needs a token. It prints nothing but its
// log. Like serve it ends with cli.ExitOK after SIGINT or SIGTERM, when its running tasks are back in their queues;
// after SIGUSR1, and at the bounds that its flags set, it ends with cli.ExitOK when they have ended. Workers can be
// added and ended at any time.
func workerCmd(hooks cli.Hooks) *cobra.Command {
	c := cli.Complete(&cobra.Command{
		Use:   "worker",
		Short: "Run jobs without serving the API",
		Long: `Runs the jobs of a service until it is interrupted or asked to stop. Jobs that are running then return
to the queue, simulations with a checkpoint. Any number of workers may share a database, on one machine or on
several. Workers on other machines need PostgreSQL, an artifact store that all of them can reach (--blobs),
and the same PLEAT_SECRET_KEY.

With --server, a worker calls a server instead, and needs none of these: only the address and a file with a token of
its class (--token-file), which pleat fleet token CLASS prints.

A worker that is a job of a cluster should end by itself. With --idle-exit it ends when nothing has waited for
that long; with --until it claims only jobs that are expected to end in time, and ends then; with --max-jobs it
ends after so many. After the signal SIGUSR1 it claims nothing more and ends when its jobs have ended. In each
case it exits with 0.`,
		Example: `  pleat worker --database postgres://pleat@db.example.org/pleat --blobs s3://pleat --slots 2
  pleat worker --server https://fold.example.org --token-file gpu.token
  pleat worker --config worker.yaml --class gpu --idle-exit 10m --until 3h55m`,
	}, func(cmd *cobra.Command, _ []string) error {
		return runWorker(cmd, hooks)
	}, config.Store, config.Files, config.Node, config.Worker, config.Engine, config.Log)
	c.Flags().Duration("idle-exit", 0, "end after so long without a job; 0: what the worker's class says, or never")
	c.Flags().String("until", "",
		"end by then: a duration from now, such as 3h55m, or a time, such as 2026-01-31T18:00:00Z")
	c.Flags().Int("max-jobs", 0, "end after so many jobs, of which a search for alignments counts as one; 0: no limit")
	return c
}

func runWorker(cmd *cobra.Command, hooks cli.Hooks) error {
	drain := make(chan os.Signal, 1)
	signal.Notify(drain, syscall.SIGUSR1)
	defer signal.Stop(drain)
	life, err := lifeOf(cmd, time.Now())
	if err != nil {
		return err
	}
	c, err := cli.LoadConfig(cmd)
	if err != nil {
		return err
	}
	if c.Class == "" && strings.Contains(c.TokenFile, "{class}") {
		return cli.UsageError(c.Errorf("class", "is empty, but {class} in token-file stands for it; set --class"))
	}
	log, recent := processLog(cmd, c)
	return app.Work(cmd.Context(), c, log, life, drain, app.Options{Recent: recent, MiniSteps: hooks.MiniSteps})
}

// lifeOf reads the flags that bound a worker's life.
func lifeOf(cmd *cobra.Command, now time.Time) (work.Life, error) {
	idle, _ := cmd.Flags().GetDuration("idle-exit")
	jobs, _ := cmd.Flags().GetInt("max-jobs")
	until := cli.FlagText(cmd, "until")
	life := work.Life{IdleExit: idle, MaxTasks: jobs}
	switch {
	case idle < 0:
		return life, cli.Usagef("--idle-exit is %v; it must be 0 or more", idle)
	case jobs < 0:
		return life, cli.Usagef("--max-jobs is %d; it must be 0 or more", jobs)
	case until == "":
		return life, nil
	}
	if d, err := time.ParseDuration(until); err == nil && d > 0 {
		life.Ends = now.Add(d)
		return life, nil
	}
	t, err := time.Parse(time.RFC3339, until)
	if err != nil || !t.After(now) {
		return life, cli.Usagef("--until is %q; it must be a duration such as 3h55m, or a time in the future "+
			"such as 2026-01-31T18:00:00Z", pleat.Clip(until))
	}
	life.Ends = t
	return life, nil
}
