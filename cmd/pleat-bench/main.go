// Command pleat-bench measures the speed of the service on this machine. It is not shipped.
//
// It runs the same store, server and pools as pleat, with an engine that does nothing, and compares each figure with a
// ceiling that it measures in the same run.
//
// Rates are in calls per second. «of CPU» is the processor time of the whole process per call: clients, server and, on
// SQLite, the database share it. Times are medians (p50) or 99th percentiles (p99) of single calls; sizes are resident
// memory. Every figure is the median of some rounds.
//
// A ceiling is what the machine can do without the service, or with less of it: figures of different machines are hard
// to compare, and the ratio of two figures of one machine is not. The two are measured in alternation, so that other
// work on the machine slows both.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/sandbox"
)

func main() {
	sandbox.Main() // starts the processes of the part idle
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := benchCmd().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pleat-bench:", err)
		os.Exit(1)
	}
}

// benchCmd returns the command. It prints the table on standard output and its progress on standard error, and fails if
// a target was missed or a part could not be measured.
func benchCmd() *cobra.Command {
	b := &bench{}
	c := &cobra.Command{
		Use:   "pleat-bench",
		Short: "Measure the speed of the service on this machine",
		Long: `Measures the service with an engine that does nothing, compares each figure with a ceiling that was
measured in the same run on the same machine, and prints a table in Markdown with the targets. It exits
with 1 if a target is missed. It works in a new folder, which it removes, with SQLite. It also measures
PostgreSQL if PLEAT_TEST_POSTGRES is the address of a server on which it can create databases;
scripts/with-postgres starts one.

The parts are create, read, latency and memory. Others are measured only if --only names them: webhook-delay, the
arrival of events; fleet, workers that call a server; growth, a database with many ended and waiting jobs; idle,
devices between two jobs; and batch, the creation and the tables of batches. The parts fleet and growth measure
PostgreSQL alone. Other work on the machine disturbs all of them.`,
		Example: `  scripts/with-postgres go run ./cmd/pleat-bench
  go run ./cmd/pleat-bench --only create,read --report-only
  scripts/with-postgres go run ./cmd/pleat-bench --only fleet
  scripts/with-postgres go run ./cmd/pleat-bench --only growth`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range b.only {
				if !slices.Contains(partNames(), name) {
					return fmt.Errorf("--only names %q; there are %s", pleat.Clip(name),
						strings.Join(partNames(), ", "))
				}
			}
			if b.seconds <= 0 || b.rounds < 1 {
				return errors.New("--seconds must be above 0 and --rounds at least 1")
			}
			if err := errors.Join(b.fleetSizes.check(), b.growthSizes.check()); err != nil {
				return err
			}
			b.progress = cmd.ErrOrStderr()
			return b.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	c.Flags().BoolVar(&b.reportOnly, "report-only", false, "exit with 0 even if a target is missed")
	c.Flags().StringSliceVar(&b.only, "only", nil,
		"parts to measure, separated by commas (default: create, read, latency and memory)")
	c.Flags().Float64Var(&b.seconds, "seconds", 1, "seconds of one measurement")
	c.Flags().IntVar(&b.rounds, "rounds", 5,
		"number of rounds, each of which measures everything once; the median counts")
	b.fleetSizes.flags(c.Flags())
	b.growthSizes.flags(c.Flags())
	c.Flags().StringVar(&b.dir, "dir", "",
		"folder to work in, on the disk to be measured (default: the folder for temporary files)")
	c.Flags().StringVar(&b.profile, "profile", "", "folder for a CPU profile of each part")
	c.Flags().StringVar(&b.pleat, "pleat", "",
		"pleat program of the parts memory and fleet (default: built from this module)")
	return c
}

// bench is one run of the command: its flags, and what it has measured.
type bench struct {
	// only are the parts to measure. Without any, all parts that are not optional are measured.
	only []string
	// seconds is the length of one measurement, and rounds is how often each load is measured: the median counts.
	seconds float64
	rounds  int
	// fleetSizes and growthSizes are those of the parts fleet and growth.
	fleetSizes  fleetSizes
	growthSizes growthSizes
	// dir is the folder in which the program works: from the flag, then a new folder in it.
	dir string
	// profile is the folder for CPU profiles; empty: none are written.
	profile string
	// pleat is the path of the program of the parts memory and fleet; empty: it is built.
	pleat string
	// reportOnly says that a missed target is not an error.
	reportOnly bool

	// progress gets one line per step.
	progress io.Writer
	// lines are the results, in the order of the parts.
	lines []line
}

// line is a row of the table.
type line struct {
	what, database string
	// figure was measured, and ceiling is what it is compared with; both are texts with units.
	figure, ceiling string
	// ratio is the figure divided by the ceiling; empty: there is none.
	ratio string
	// target is the bound of the ratio or, without one, of the figure; empty: there is none.
	target string
	met    bool
	// unmeasured says why the target does not apply on this machine; empty: it does.
	unmeasured string
}

// parts are the benchmarks, in order. A part runs once per database. An optional one runs only if --only names it.
var parts = []struct {
	name string
	// run adds lines to b. An error means that nothing could be measured; a missed target is not one.
	run func(b *bench, ctx context.Context, d database) error
	// optional parts take minutes each, and are only of interest after a change to what they measure.
	optional bool
}{
	{"create", (*bench).create, false},
	{"read", (*bench).read, false},
	{"latency", (*bench).latency, false},
	{"memory", (*bench).memory, false},
	{"webhook-delay", (*bench).deliveryDelay, true},
	{"fleet", (*bench).fleet, true},
	{"growth", (*bench).growth, true},
	{"idle", (*bench).idle, true},
	{"batch", (*bench).batches, true},
}

// partNames returns the names that --only accepts, in the order in which the parts run.
func partNames() []string {
	var out []string
	for _, p := range parts {
		out = append(out, p.name)
	}
	return out
}

// run measures the parts in a folder of its own, which it removes, and prints the machine and the table. The table is
// printed even if a part failed, with the parts before it: a run takes minutes.
func (b *bench) run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp(b.dir, "pleat-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b.dir = dir
	databases := []database{{name: "sqlite"}}
	if server := os.Getenv("PLEAT_TEST_POSTGRES"); server != "" {
		databases = append(databases, database{name: "postgres", server: server})
	}
	sync, err := fsyncTime(dir)
	if err != nil {
		return err
	}
	failed := b.measure(ctx, databases, sync)
	fmt.Fprintf(out, "%s, %d cores, %s, %s/%s; write of 4 KiB and fdatasync: %s (median)\n\n",
		processor(), runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, short(sync))
	missed := b.table(out)
	return errors.Join(failed, missed)
}

// measure runs the selected parts until one fails. sync is the duration of an fsync on the disk that is measured. The
// garbage of a part is collected before the next part begins.
func (b *bench) measure(ctx context.Context, databases []database, sync time.Duration) error {
	for _, p := range parts {
		if len(b.only) > 0 && !slices.Contains(b.only, p.name) || len(b.only) == 0 && p.optional {
			continue
		}
		for _, d := range databases {
			fmt.Fprintf(b.progress, "measuring %s on %s\n", p.name, d.name)
			d.sync = sync
			if err := b.profiled(p.name+"-"+d.name, func() error { return p.run(b, ctx, d) }); err != nil {
				return fmt.Errorf("%s on %s: %w", p.name, d.name, err)
			}
			runtime.GC()
		}
	}
	return nil
}

// profiled runs a part, with --profile under the CPU profiler. The profile is NAME.pprof.
func (b *bench) profiled(name string, fn func() error) error {
	if b.profile == "" {
		return fn()
	}
	if err := os.MkdirAll(b.profile, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(b.profile, name+".pprof"))
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return errors.Join(err, f.Close())
	}
	err = fn()
	pprof.StopCPUProfile()
	return errors.Join(err, f.Close())
}

// table prints the lines in Markdown. A missed target is an error, unless --report-only is set.
func (b *bench) table(out io.Writer) error {
	fmt.Fprintln(out, "| Measured | Database | Figure | Compared with | Ratio | Target | |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|")
	missed := 0
	for _, l := range b.lines {
		mark := ""
		switch {
		case l.unmeasured != "":
			mark = l.unmeasured
		case l.target == "":
		case l.met:
			mark = "pass"
		default:
			mark = "**missed**"
			missed++
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s |\n",
			l.what, l.database, l.figure, l.ceiling, l.ratio, l.target, mark)
	}
	if missed > 0 && !b.reportOnly {
		return fmt.Errorf("%d of the targets were missed", missed)
	}
	return nil
}

// atLeast adds a line whose ratio must reach a bound.
func (b *bench) atLeast(l line, ratio, bound float64) {
	l.ratio, l.target, l.met = fmt.Sprintf("%.2f", ratio), fmt.Sprintf("≥ %g", bound), ratio >= bound
	b.lines = append(b.lines, l)
}

// atMost adds a line whose ratio must not exceed a bound.
func (b *bench) atMost(l line, ratio, bound float64) {
	l.ratio, l.target, l.met = fmt.Sprintf("%.2f", ratio), fmt.Sprintf("≤ %g", bound), ratio <= bound
	b.lines = append(b.lines, l)
}

// within adds a line whose figure is a time that must not exceed a bound. It has no ratio of its own.
func (b *bench) within(l line, took, bound time.Duration) {
	l.figure, l.target, l.met = short(took), "≤ "+short(bound), took <= bound
	b.lines = append(b.lines, l)
}

// short returns a time with three significant digits and its unit.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.3g s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.3g ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.3g µs", float64(d)/1e3)
}

// processor returns the name of the machine's processor, if the system reports it.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
