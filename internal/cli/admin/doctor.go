package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/blob"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/sandbox"
	"pleat/internal/store"
	"pleat/internal/store/db"
	"pleat/internal/store/workers"
	"pleat/runners"
)

// doctorCmd returns the command that checks the configuration, the machine, the data folder, the database, the
// artifact store and the engines, and prints one line per check. It unpacks the embedded runners of the configured
// engines, changes nothing else but files that it removes again, needs no server and shows no secret. The exit code is
// cli.ExitFailed if a check failed.
func doctorCmd() *cobra.Command {
	return cli.Configured(&cobra.Command{
		Use:   "doctor",
		Short: "Check the configuration, database, engines and machine",
		Long: `Checks the configuration, the data folder, the database and its schema, the artifact store, the workers
and engines, the machine and its clock, and prints how to fix each problem. It writes a file into the data
folder and the artifact store, removes it, unpacks the runners of the configured engines, and changes nothing
else. The exit code is 1 if a check failed.`,
	}, func(cmd *cobra.Command, c config.Config, _ []string) error {
		return runDoctor(cmd.Context(), cmd.OutOrStdout(), c)
	}, config.Store, config.Files, config.Server, config.Node, config.Engine, config.Log)
}

// runDoctor makes all checks and prints them. It is an error if one failed.
func runDoctor(ctx context.Context, out io.Writer, c config.Config) error {
	d := &doctor{out: out, cfg: c}
	d.configuration()
	d.server()
	d.mail(ctx)
	d.machine()
	d.alignments()
	d.folder()
	d.database(ctx)
	d.artifacts(ctx)
	if d.failed > 0 {
		return fmt.Errorf("%d of the checks failed", d.failed)
	}
	return nil
}

// doctor prints one line per check: "ok"; "note" for what may be intended; "FAILED" with the remedy.
type doctor struct {
	out    io.Writer
	cfg    config.Config
	failed int // checks
}

// print writes the line of a check: its result, what was checked, and a sentence.
func (d *doctor) print(mark, what, format string, args ...any) {
	fmt.Fprintf(d.out, "%-6s %-14s %s\n", mark, what, strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}

// ok, note and fail print the line of a check with its result. fail also counts it.
func (d *doctor) ok(what, format string, args ...any)   { d.print("ok", what, format, args...) }
func (d *doctor) note(what, format string, args ...any) { d.print("note", what, format, args...) }
func (d *doctor) fail(what, format string, args ...any) {
	d.failed++
	d.print("FAILED", what, format, args...)
}

// configuration prints the settings that are not at their defaults and where each comes from, with secrets redacted.
func (d *doctor) configuration() {
	changed := 0
	for _, s := range d.cfg.Settings() {
		if from := d.cfg.Origin(s.Key); from != "" {
			changed++
			d.ok("settings", "%s = %s (%s)", s.Key, s.Redacted(), from)
		}
	}
	if changed == 0 {
		d.ok("settings", "all at their defaults")
	}
	if err := d.cfg.CheckSharedKey(); err != nil {
		d.fail("settings", "%v", err)
	}
}

// server reports what the settings of pleat serve keep from callers, which an operator may not expect.
func (d *doctor) server() {
	host, _, _ := net.SplitHostPort(d.cfg.Addr)
	ip := net.ParseIP(host)
	local := host == "localhost" || ip != nil && ip.IsLoopback()
	proxies := len(d.cfg.Proxies) > 0
	if d.cfg.Metrics == "" && (!local || proxies) {
		d.note("metrics", "/metrics refuses every request; to read it, set PLEAT_METRICS_TOKEN")
	}
	if strings.HasPrefix(d.cfg.PublicURL, "https:") && !proxies {
		d.note("proxy", "requests without a key are limited together, by the address of the proxy, unless "+
			"trusted-proxies names it")
	}
}

// mail connects to the mail server and identifies itself there, as before a mail. It sends none.
func (d *doctor) mail(ctx context.Context) {
	if d.cfg.MailURL == "" {
		return
	}
	server, err := app.MailServer(d.cfg)
	if err != nil {
		d.fail("mail", "%v", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := server.Check(ctx); err != nil {
		d.fail("mail", "%v; check mail-url and the password, and then: pleat mail test ADDRESS", err)
		return
	}
	d.ok("mail", "%s accepts connections", &server)
}

// machine checks the devices and the engines as a worker finds them at its start. It runs no engine.
func (d *doctor) machine() {
	memory := config.Bytes(config.MachineMemory())
	d.ok("machine", "%d cores, %s memory, %s/%s", runtime.NumCPU(), memory, runtime.GOOS, runtime.GOARCH)
	devices, err := app.Devices(d.cfg)
	if err != nil {
		d.fail("devices", "%v", err)
	}
	for _, v := range devices {
		d.ok("devices", "%s %s, %s", v.Name, v.ID, config.Bytes(v.Memory))
	}
	d.sandbox()
	d.ok("runners", "%d are embedded: %s", len(runners.Names()), strings.Join(runners.Names(), ", "))
	engines, _, err := app.NewEngines(d.cfg, app.NewLog(io.Discard, d.cfg), nil)
	if err != nil {
		d.fail("engines", "%v", err)
		return
	}
	defer engines.Close()
	manifests, _ := app.Manifests(d.cfg)
	for _, name := range d.cfg.Engines {
		if m := manifests[name]; m != nil {
			if here, all := app.WeightsPresent(d.cfg, m); here < all {
				d.note("engines", "%s has %d of %d weight files in %s; run: pleat engines install %s",
					name, here, all, d.cfg.WeightsDir(m.Engine), name)
			}
		}
	}
	for _, m := range engines.Models() {
		size := ""
		if m.MaxTokens > 0 {
			size = fmt.Sprintf(", %d to %d residues", m.MinTokens, m.MaxTokens)
		}
		d.ok("engines", "%s %s: %s model %s on %s%s", m.Engine, m.Version, m.Kind, m.Name, m.Device, size)
	}
	if len(engines.Models()) == 0 {
		d.note("engines", "none is configured here; jobs wait for a worker on another machine")
	}
}

// sandbox prints what limits the processes of runners here.
func (d *doctor) sandbox() {
	has := sandbox.Detect()
	missing := strings.Join(has.Missing(), "; ")
	switch mode := sandbox.Mode(d.cfg.Sandbox); {
	case mode == sandbox.None:
		d.note("sandbox", "off; runners can read and write what this user can, and use the network")
	case mode == sandbox.Required && has.Check() != nil:
		d.fail("sandbox", "%v", has.Check())
	case missing != "":
		d.note("sandbox", "Landlock %d; runners can %s", has.Landlock, missing)
	default:
		d.ok("sandbox", "Landlock %d and a filter of system calls: runners have no network and only their own files",
			has.Landlock)
	}
}

// Limits of the free space on the disk of the data folder. The result of a large complex has some 10 MB, a trajectory
// more; models of several GB are downloaded to the same disk by default.
const (
	diskNote = 5 << 30   // free bytes below which the doctor prints a note
	diskFail = 256 << 20 // free bytes below which the check fails
)

// folder checks that the data folder can be written, is private and has room. It writes a file and removes it.
func (d *doctor) folder() {
	info, err := os.Stat(d.cfg.Data)
	switch {
	case errors.Is(err, os.ErrNotExist):
		d.note("data folder", "%s does not exist yet; pleat serve creates it", d.cfg.Data)
		return
	case err != nil:
		d.fail("data folder", "%v", err)
		return
	case !info.IsDir():
		d.fail("data folder", "%s is not a folder; choose another with --data", d.cfg.Data)
		return
	}
	f, err := os.CreateTemp(d.cfg.Data, ".doctor-*")
	if err != nil {
		d.fail("data folder", "cannot be written: %v; make the user that runs pleat its owner", err)
		return
	}
	_ = f.Close()
	os.Remove(f.Name())
	if info.Mode().Perm()&0o077 != 0 {
		d.note("data folder", "%s can be read by other users of the machine; chmod 700 %s", d.cfg.Data, d.cfg.Data)
	}
	for _, folder := range d.cfg.DiskFolders() {
		d.disk(folder)
	}
}

// disk checks the free space of a folder. One that does not exist yet is not checked.
func (d *doctor) disk(folder string) {
	free, err := blob.FreeBytes(folder)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		d.fail("disk", "%v", err)
	case free < int64(d.cfg.MinFreeDisk):
		d.fail("disk", "%s free in %s; below min-free-disk (%s) the server refuses new work",
			config.Bytes(free), folder, d.cfg.MinFreeDisk)
	case free < diskFail:
		d.fail("disk", "%s free in %s; make room before jobs fail", config.Bytes(free), folder)
	case free < diskNote:
		d.note("disk", "%s free in %s", config.Bytes(free), folder)
	default:
		d.ok("disk", "%s free in %s", config.Bytes(free), folder)
	}
}

// database checks that the database responds within 15 s, has the schema of this version and agrees on the time. It
// migrates nothing; a SQLite file that does not exist is not created.
func (d *doctor) database(ctx context.Context) {
	if path, missing := app.MissingDatabase(d.cfg); missing {
		d.note("database", "%s does not exist yet; pleat serve creates it", path)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	s, err := store.Open(ctx, d.cfg.DatabaseURL(), store.Options{DB: db.Options{Direct: d.cfg.Direct}})
	if err != nil {
		d.unreachable(err)
		return
	}
	defer s.DB.Close()
	version, err := s.DB.Version(ctx)
	switch latest := db.Latest(); {
	case errors.Is(err, db.ErrUnreleased):
		d.fail("database", "%v", err)
		return
	case err != nil:
		d.unreachable(err)
		return
	case version < latest:
		d.fail("database", "%s at schema %d of %d; run: pleat migrate", s.DB.Dialect(), version, latest)
		return
	case version > latest:
		const text = "%s at schema %d, newer than this pleat's %d; run a newer pleat"
		d.fail("database", text, s.DB.Dialect(), version, latest)
		return
	}
	if err := s.DB.TryChange(ctx); err != nil {
		d.fail("database", "%s at schema %d can be read and not changed: %v", s.DB.Dialect(), version, err)
		return
	}
	d.ok("database", "%s at schema %d", s.DB.Dialect(), version)
	d.privacy()
	d.secrets(ctx, s)
	if off := time.Until(s.DB.Now()).Abs(); off > time.Second {
		d.note("clock", "differs by %s from the database's clock, which the service uses", off.Round(time.Millisecond))
	} else {
		d.ok("clock", "agrees with the database's clock")
	}
	d.workers(ctx, s)
}

// privacy checks that other users of the machine cannot read the database. It may be open, so that all its files exist.
func (d *doctor) privacy() {
	path, ok := d.cfg.SQLitePath()
	if !ok {
		return
	}
	for _, name := range db.SQLiteFiles(path) {
		if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o077 != 0 {
			d.fail("database", "%s can be read by other users; as its owner run: chmod 600 %s", name, name)
		}
	}
}

// workers prints the workers with their states and the models that each runs, what the fleet reports of their classes,
// and the lengths of the queues. Without a live worker the check fails, unless the fleet starts workers.
func (d *doctor) workers(ctx context.Context, s *store.Store) {
	demand, err := s.Workers.Demand(ctx)
	if err != nil {
		d.fail("workers", "%v", err)
		return
	}
	live, fleet := 0, false
	for i := range demand {
		live += d.classWorkers(&demand[i], s.DB.Now())
		fleet = d.classFleet(&demand[i], s.DB.Now()) || fleet
	}
	switch {
	case live > 0:
	case fleet:
		d.note("workers", "none is live; the fleet starts them when jobs wait")
	default:
		d.fail("workers", "none is live, so jobs wait; start pleat worker, or pleat serve without --work=false")
	}
	counts, err := s.Tasks.QueueCounts(ctx)
	if err != nil {
		d.fail("queue", "%v", err)
		return
	}
	for _, c := range counts {
		d.ok("queue", "%s: %d %s", c.Queue, c.N, c.State)
	}
}

// classWorkers prints the workers of a class and returns how many of them work.
func (d *doctor) classWorkers(c *workers.Demand, now time.Time) (live int) {
	for i := range c.Workers {
		w := &c.Workers[i]
		var models []string
		for _, m := range w.Models {
			models = append(models, m.Name)
		}
		slices.Sort(models)
		names, ago := strings.Join(models, ", "), now.Sub(w.SeenAt).Round(time.Second)
		where := w.Host
		if c.Class.Name != pleat.DefaultClass {
			where += ", class " + c.Class.Name
		}
		switch w.State(now) {
		case pleat.WorkerLive:
			live++
			d.ok("workers", "%s on %s runs %s, seen %s ago", w.ID, where, names, ago)
		case pleat.WorkerDraining:
			live++
			d.ok("workers", "%s on %s drains: it ends when its jobs have ended, seen %s ago", w.ID, where, ago)
		case pleat.WorkerSilent:
			d.note("workers", "%s on %s is silent: it ran %s and was seen %s ago", w.ID, where, names, ago)
		case pleat.WorkerStopped:
			d.note("workers", "%s on %s has stopped: it ran %s until %s ago", w.ID, where, names, ago)
		}
	}
	return live
}

// classFleet prints what the fleet reports of a class that it starts workers for, and reports whether it does.
func (d *doctor) classFleet(c *workers.Demand, now time.Time) bool {
	f := &c.Fleet
	if c.Class.Driver == "" || f.At.IsZero() {
		return false
	}
	line := fmt.Sprintf("class %s: %d workers wanted, %d run and %d wait in the cluster", c.Class.Name, c.Wanted,
		f.Running, f.Pending)
	if f.Reason != "" {
		line += "; " + f.Reason
	}
	silent := now.Sub(f.At)
	switch {
	case silent > pleat.FleetSilence:
		d.fail("fleet", "%s; it has not reported for %s: is pleat fleet running?", line, silent.Round(time.Second))
		return false
	case f.Permanent:
		d.fail("fleet", "%s", line)
	case f.Reason != "":
		d.note("fleet", "%s", line)
	default:
		d.ok("fleet", "%s", line)
	}
	return true
}

// alignments checks the MSA search, and notes it if sequences are sent to a server of somebody else.
func (d *doctor) alignments() {
	switch {
	case d.cfg.MSAServer != "":
		u, _ := url.Parse(d.cfg.MSAServer) // was checked
		d.note("alignments", "the protein sequences of jobs for models that take alignments are sent to %s", u.Host)
	case d.cfg.MSACommand != "":
		if _, err := exec.LookPath(d.cfg.MSACommand); err != nil {
			d.fail("alignments", "%s cannot be run: %v", d.cfg.MSACommand, err)
		} else if _, err := os.Stat(d.cfg.MSADatabase); err != nil {
			d.fail("alignments", "the database of the search does not exist: %v", err)
		} else {
			d.ok("alignments", "%s searches %s", d.cfg.MSACommand, d.cfg.MSADatabase)
		}
	default:
		d.ok("alignments", "no MSA search is configured, and no sequence is sent anywhere for one")
	}
}
