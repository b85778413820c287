package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/seal"
	"pleat/internal/store"
	"pleat/internal/store/workers"
)

// fleetCmd returns the command fleet, which starts workers on a cluster. It prints nothing but its log, and ends with
// cli.ExitOK after SIGINT or SIGTERM; its workers go on.
func fleetCmd() *cobra.Command {
	c := cli.Configured(&cobra.Command{
		Use:   "fleet",
		Short: "Start the workers that are wanted, on a cluster or on this machine",
		Long: `Compares every few seconds, for each class of workers that has a driver, the workers that there are with
those that the waiting jobs need, and starts the difference: with sbatch of Slurm (driver slurm), or as processes of
this machine (driver local). It cancels workers that have not started and that no job needs any more. It never ends a
worker that runs: workers end by themselves, when they are idle or their time is over.

It keeps no state of its own: it reads from the cluster which workers there are, so it can be killed and started
again at any time. If a service has several fleets, one leads and the others wait. Workers read their settings from a
file, the one of this process unless fleet-config names another. They get no secrets by command line or environment.
Workers on other machines need PostgreSQL, or the address of a server and a token of their class.

With --once it compares once and ends, for cron. It then cannot see that workers end again and again before
they register, and starts up to four of a class each time.`,
		Example: `  pleat fleet --config /etc/pleat/pleat.yaml
  pleat fleet --config fleet.yaml --fleet-program /shared/pleat/bin/pleat --fleet-config /shared/pleat/worker.yaml`,
	}, func(cmd *cobra.Command, c config.Config, _ []string) error {
		log, _ := processLog(cmd, c)
		return app.Fleet(cmd.Context(), c, log, cli.IsOn(cmd, "once"))
	}, config.Store, config.Fleet, config.Log)
	c.Flags().Bool("once", false, "compare once and end")
	c.AddCommand(fleetStatus(), fleetToken())
	return c
}

// fleetStatus returns the command that prints a row for each class: the workers that are wanted, those that the cluster
// runs and those that wait for it, and why they wait.
func fleetStatus() *cobra.Command {
	return onStore(&cobra.Command{
		Use:   "status",
		Short: "Show how many workers are wanted and run, by class",
		Long: `Prints a row for each class of workers: its driver; the tasks that wait; the workers that are wanted;
those that are live, which send heartbeats to the database, however they were started; the workers of the driver that
run and that are pending, as the fleet has last seen them in the cluster; and why workers do not start.`,
	}, func(cmd *cobra.Command, s *store.Store, _ []string) error {
		demand, err := s.Workers.Demand(cmd.Context())
		if err != nil {
			return err
		}
		rows := [][]string{{"CLASS", "DRIVER", "WAITING", "WANTED", "LIVE", "RUNNING", "PENDING", "REASON"}}
		for i := range demand {
			d := &demand[i]
			rows = append(rows, []string{d.Class.Name, cmp.Or(d.Class.Driver, "-"), strconv.Itoa(d.Queued),
				strconv.Itoa(d.Wanted), strconv.Itoa(d.Live(s.DB.Now())), strconv.Itoa(d.Fleet.Running),
				strconv.Itoa(d.Fleet.Pending), cmp.Or(fleetReason(d, s.DB.Now()), "-")})
		}
		return cli.PrintTable(cmd.OutOrStdout(), rows)
	})
}

// fleetReason says why workers of a class do not start; empty: nothing keeps them.
func fleetReason(d *workers.Demand, now time.Time) string {
	switch missing := d.Live(now) < d.Wanted; {
	case missing && d.Class.Driver == "":
		return "no driver: start pleat worker --class " + d.Class.Name
	case missing && d.Fleet.At.IsZero():
		return "no fleet has reported: start pleat fleet"
	}
	return d.Fleet.Reason
}

// fleetToken returns the command that makes a token for workers of a class, or for a program that scales the workers,
// and prints it alone on standard output. Only a digest of it is stored.
func fleetToken() *cobra.Command {
	c := cli.Complete(&cobra.Command{
		Use:   "token CLASS | --demand",
		Short: "Create a token for the workers of a class, or for an autoscaler, and print it",
		Long: `Creates a token and prints only the token on standard output. It is not shown again.

With the token of a class, pleat worker --server registers as a worker of that class; it gives access to nothing
else. With --revoke, all tokens of the class end, and with them the sessions of its workers: what they run returns to
the queue.

With --demand, the token is for a program that scales the workers, such as KEDA: GET /fleet/v1/classes/CLASS says how
many workers of a class are wanted. It gives access to nothing else.`,
		Example: `  pleat fleet token gpu > gpu.token
  pleat fleet token gpu --revoke
  pleat fleet token --demand > demand-token`,
		Args: cobra.ArbitraryArgs,
	}, func(cmd *cobra.Command, args []string) error {
		demand := cli.IsOn(cmd, "demand")
		t := workers.FleetToken{Kind: workers.TokenDemand}
		switch {
		case len(args) > 1:
			return cli.ExactArgs("the name of a class")(cmd, args)
		case demand && len(args) == 1:
			return cli.Usagef("%s takes the name of a class or --demand, not both; see %[1]s --help",
				cmd.CommandPath())
		case !demand && len(args) == 0:
			return cli.Usagef("%s needs the name of a class, or --demand; see %[1]s --help", cmd.CommandPath())
		case !demand:
			t.Kind, t.Class = workers.TokenWorker, args[0]
		}
		return withStore(cmd, func(_ context.Context, s *store.Store) error {
			if cli.IsOn(cmd, "revoke") {
				return revokeFleetTokens(cmd, s, t)
			}
			return createFleetToken(cmd, s, t)
		})
	}, config.Store)
	c.Flags().Bool("demand", false, "a token that reads the demand for workers, and nothing else")
	c.Flags().Bool("revoke", false, "end all such tokens instead")
	return c
}

// revokeFleetTokens ends the tokens of a kind and class and prints how many there were. A class that the service no
// longer has may have had some.
func revokeFleetTokens(cmd *cobra.Command, s *store.Store, t workers.FleetToken) error {
	n, err := s.Workers.RevokeFleetTokens(cmd.Context(), t.Kind, t.Class)
	if err == nil && n == 0 {
		err = checkTokenClass(cmd.Context(), s, t)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "revoked %d tokens\n", n)
	return err
}

// createFleetToken creates a token and prints it. A class must exist.
func createFleetToken(cmd *cobra.Command, s *store.Store, t workers.FleetToken) error {
	if err := checkTokenClass(cmd.Context(), s, t); err != nil {
		return err
	}
	token := seal.NewFleetToken()
	t.Hash = seal.HashKey(token)
	if err := s.Workers.CreateFleetToken(cmd.Context(), t); err != nil {
		return err
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), token)
	return err
}

// checkTokenClass refuses the token of a class that the service does not have.
func checkTokenClass(ctx context.Context, s *store.Store, t workers.FleetToken) error {
	if t.Kind != workers.TokenWorker {
		return nil
	}
	classes, err := s.Workers.Classes(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, c := range classes {
		names = append(names, c.Name)
	}
	if !slices.Contains(names, t.Class) {
		return cli.Usagef("the service has no class %q; its classes are: %s", pleat.Clip(t.Class),
			strings.Join(names, ", "))
	}
	return nil
}
