// Command pleat-bench measures the speed of the service on this machine. It is not shipped.
//
// It runs the same store, server and pools as pleat, with an engine that does nothing, and compares each figure with a
// ceiling that it measures in the same run.
//
//   - main.go: the command, its parts and the table of results.
//   - service.go: a service over a fresh database.
//   - fill.go: large databases.
//   - load.go: clients, rates and quantiles.
//   - speed.go, latency.go, rows.go, memory.go, webhooks.go: the parts.
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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := benchCmd().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pleat-bench:", err)
		os.Exit(1)
	}
}

func benchCmd() *cobra.Command {
	b := &bench{}
	var worker string
	c := &cobra.Command{
		Use:   "pleat-bench",
		Short: "Measure the speed of the service on this machine",
		Long: `Measures the service with an engine that does nothing, each figure beside a ceiling taken in the same
run on the same machine, and prints a table in Markdown with the target of each. It exits with 1 if a
target is missed. It works in a fresh folder, which it removes, on SQLite, and on PostgreSQL too where
PLEAT_TEST_POSTGRES names a server on which it may make databases; scripts/with-postgres starts one.

The parts are create, read, latency, rows and memory, and those of deliveries, which are measured only
if they are named: webhook-speed, webhook-delay, webhook-neighbour and webhook-memory. Other work on the
machine disturbs all of them.`,
		Example: `  scripts/with-postgres go run ./cmd/pleat-bench
  go run ./cmd/pleat-bench --only create,read --report-only`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if worker != "" {
				return runWorkerProcess(cmd.Context(), worker, os.Getenv("PLEAT_DATABASE"), cmd.InOrStdin(),
					cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			for _, name := range b.only {
				if !slices.Contains(partNames(), name) {
					return fmt.Errorf("--only names %q; there are %s", pleat.Clip(name),
						strings.Join(partNames(), ", "))
				}
			}
			if b.seconds <= 0 || b.rounds < 1 || b.rows < 2000 {
				return fmt.Errorf("--seconds must be above 0, --rounds at least 1 and --rows at least 2000")
			}
			b.say = cmd.ErrOrStderr()
			return b.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	c.Flags().BoolVar(&b.report, "report-only", false, "exit with 0 even if a target is missed")
	c.Flags().StringSliceVar(&b.only, "only", nil,
		"parts to measure, separated by commas (default all but those of deliveries)")
	c.Flags().Float64Var(&b.seconds, "seconds", 1, "length of one slice; what is compared is measured in turns")
	c.Flags().IntVar(&b.rounds, "rounds", 5, "how many turns; the median counts")
	c.Flags().IntVar(&b.rows, "rows", 1_000_000, "jobs in the large database of the part rows")
	c.Flags().StringVar(&b.dir, "dir", "",
		"folder to work in, on the disk to be measured (default the folder for temporary files)")
	c.Flags().StringVar(&b.profile, "profile", "", "folder for a CPU profile of each part")
	c.Flags().StringVar(&b.pleat, "pleat", "", "pleat program of the part memory (default built from this module)")
	c.Flags().StringVar(&worker, "worker", "", "be the other process of a bench that works in this folder")
	_ = c.Flags().MarkHidden("worker") // fails only where there is no such flag
	return c
}

// bench is one run of the command.
type bench struct {
	only         []string
	seconds      float64
	rounds, rows int
	dir, profile string
	pleat        string // path of the program
	report       bool

	say   io.Writer // progress, for whoever waits
	lines []line
}

// line is a row of the table. An empty want states the figure without a target.
type line struct {
	what, database string
	figure, beside string
	ratio          string
	want           string
	met            bool
	unmeasured     string
}

// parts are what is measured, in order. A part runs once per database; one that stands apart runs only if it is
// named.
var parts = []struct {
	name     string
	run      func(b *bench, ctx context.Context, d database) error
	optional bool
}{
	{"create", (*bench).create, false},
	{"read", (*bench).read, false},
	{"latency", (*bench).latency, false},
	{"rows", (*bench).manyRows, false},
	{"memory", (*bench).memory, false},
	{"webhook-speed", (*bench).deliverySpeed, true},
	{"webhook-delay", (*bench).deliveryDelay, true},
	{"webhook-neighbour", (*bench).deliveryNeighbour, true},
	{"webhook-memory", (*bench).deliveryMemory, true},
}

func partNames() []string {
	var out []string
	for _, p := range parts {
		out = append(out, p.name)
	}
	return out
}

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

// measure runs the parts that were asked for, until one fails.
func (b *bench) measure(ctx context.Context, databases []database, sync time.Duration) error {
	for _, p := range parts {
		if len(b.only) > 0 && !slices.Contains(b.only, p.name) || len(b.only) == 0 && p.optional {
			continue
		}
		for _, d := range databases {
			fmt.Fprintf(b.say, "measuring %s on %s\n", p.name, d.name)
			d.sync = sync
			if err := b.profiled(p.name+"-"+d.name, func() error { return p.run(b, ctx, d) }); err != nil {
				return fmt.Errorf("%s on %s: %w", p.name, d.name, err)
			}
			runtime.GC()
		}
	}
	return nil
}

// profiled runs a part under the profiler, if asked to.
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

// table prints the lines and fails if a target is missed.
func (b *bench) table(out io.Writer) error {
	fmt.Fprintln(out, "| Measured | Database | Figure | Compared with | Ratio | Target | |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|")
	missed := 0
	for _, l := range b.lines {
		mark := ""
		switch {
		case l.unmeasured != "":
			mark = l.unmeasured
		case l.want == "":
		case l.met:
			mark = "pass"
		default:
			mark = "**missed**"
			missed++
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s |\n",
			l.what, l.database, l.figure, l.beside, l.ratio, l.want, mark)
	}
	if missed > 0 && !b.report {
		return fmt.Errorf("%d of the targets were missed", missed)
	}
	return nil
}

// atLeast adds a line whose ratio must reach a bound.
func (b *bench) atLeast(l line, ratio, bound float64) {
	l.ratio, l.want, l.met = fmt.Sprintf("%.2f", ratio), fmt.Sprintf("≥ %g", bound), ratio >= bound
	b.lines = append(b.lines, l)
}

// atMost adds a line whose ratio must not exceed a bound.
func (b *bench) atMost(l line, ratio, bound float64) {
	l.ratio, l.want, l.met = fmt.Sprintf("%.2f", ratio), fmt.Sprintf("≤ %g", bound), ratio <= bound
	b.lines = append(b.lines, l)
}

// within adds a line whose time must not exceed a bound.
func (b *bench) within(l line, took, bound time.Duration) {
	l.figure, l.want, l.met = short(took), "≤ "+short(bound), took <= bound
	b.lines = append(b.lines, l)
}

// short writes a time with three digits.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.3g s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.3g ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.3g µs", float64(d)/1e3)
}

// processor names the machine's processor where the system says.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
