package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat/internal/app"
	"pleat/internal/blob"
	"pleat/internal/config"
	"pleat/internal/store"
)

func doctorCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the configuration, database, engines and machine",
		Long: `Checks the configuration, the data folder, the database and its schema, the artifact store, the workers
and engines, the machine and its clock, and prints how to fix each problem. It changes nothing. The exit
code is 1 if a check failed.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := configure(cmd)
			if err != nil {
				return err
			}
			d := &doctor{out: cmd.OutOrStdout(), cfg: c}
			d.configuration()
			d.machine()
			d.alignments()
			d.folder()
			d.database(cmd.Context())
			d.artifacts(cmd.Context())
			if d.wrong > 0 {
				return fmt.Errorf("%d of the checks failed", d.wrong)
			}
			return nil
		},
	}
	config.AddFlags(c.Flags(), config.Store, config.Server, config.Node, config.Engine)
	return c
}

// doctor prints one line per check: ok, note, or WRONG with the remedy, and counts the latter.
type doctor struct {
	out   io.Writer
	cfg   config.Config
	wrong int
}

func (d *doctor) say(mark, what, format string, args ...any) {
	fmt.Fprintf(d.out, "%-6s %-14s %s\n", mark, what, strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}

func (d *doctor) ok(what, format string, args ...any)   { d.say("ok", what, format, args...) }
func (d *doctor) note(what, format string, args ...any) { d.say("note", what, format, args...) }
func (d *doctor) bad(what, format string, args ...any) {
	d.wrong++
	d.say("WRONG", what, format, args...)
}

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
		d.bad("settings", "%v", err)
	}
}

func (d *doctor) machine() {
	memory := config.Bytes(config.MachineMemory())
	d.ok("machine", "%d cores, %s memory, %s/%s", runtime.NumCPU(), memory, runtime.GOOS, runtime.GOARCH)
	devices, err := app.Devices(d.cfg)
	if err != nil {
		d.bad("devices", "%v", err)
	}
	for _, v := range devices {
		d.ok("devices", "%s %s, %s", v.Name, v.ID, config.Bytes(v.Memory))
	}
	engines, _, err := app.NewEngines(d.cfg, app.NewLog(io.Discard, d.cfg), nil)
	if err != nil {
		d.bad("engines", "%v", err)
		return
	}
	defer engines.Close()
	for _, name := range d.cfg.Engines {
		if slices.Contains(config.BuiltInEngines, name) {
			continue
		}
		if _, m, err := findRunner(d.cfg, name); err == nil {
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
		d.note("engines", "none is configured here; jobs wait for a pleat worker elsewhere")
	}
}

const (
	diskNote  = 5 << 30   // bytes free below which the doctor notes it
	diskWrong = 256 << 20 // bytes free below which the check fails
)

func (d *doctor) folder() {
	info, err := os.Stat(d.cfg.Data)
	switch {
	case errors.Is(err, os.ErrNotExist):
		d.note("data folder", "%s does not exist yet; pleat serve creates it", d.cfg.Data)
		return
	case err != nil:
		d.bad("data folder", "%v", err)
		return
	case !info.IsDir():
		d.bad("data folder", "%s is not a folder; choose another with --data", d.cfg.Data)
		return
	}
	f, err := os.CreateTemp(d.cfg.Data, ".doctor-*")
	if err != nil {
		d.bad("data folder", "cannot be written: %v; make the user that runs pleat its owner", err)
		return
	}
	_ = f.Close()
	os.Remove(f.Name())
	if info.Mode().Perm()&0o077 != 0 {
		d.note("data folder", "%s can be read by other users of the machine; chmod 700 %s", d.cfg.Data, d.cfg.Data)
	}
	free, err := diskFree(d.cfg.Data)
	switch {
	case err != nil:
		d.bad("disk", "%v", err)
	case free < diskWrong:
		d.bad("disk", "%s free in %s; make room before jobs fail", config.Bytes(free), d.cfg.Data)
	case free < diskNote:
		d.note("disk", "%s free in %s", config.Bytes(free), d.cfg.Data)
	default:
		d.ok("disk", "%s free in %s", config.Bytes(free), d.cfg.Data)
	}
}

func (d *doctor) database(ctx context.Context) {
	if path, ok := d.cfg.SQLitePath(); ok {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			d.note("database", "%s does not exist yet; pleat serve creates it", path)
			return
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	s, err := store.Open(ctx, d.cfg.DatabaseURL(), store.Options{})
	if err != nil {
		d.bad("database", "%v", err)
		return
	}
	defer s.Close()
	version, err := s.Version(ctx)
	switch latest := store.Latest(); {
	case err != nil:
		d.bad("database", "%s does not respond: %v", s.Dialect(), err)
		return
	case version < latest:
		d.bad("database", "%s at schema %d of %d; run: pleat migrate", s.Dialect(), version, latest)
		return
	case version > latest:
		const text = "%s at schema %d, newer than this pleat's %d; run a newer pleat"
		d.bad("database", text, s.Dialect(), version, latest)
		return
	}
	d.ok("database", "%s at schema %d", s.Dialect(), version)
	if off := time.Until(s.Now()).Abs(); off > time.Second {
		d.note("clock", "differs by %s from the database's clock, which the service uses", off.Round(time.Millisecond))
	} else {
		d.ok("clock", "agrees with the database's clock")
	}
	d.workers(ctx, s)
}

func (d *doctor) workers(ctx context.Context, s *store.Store) {
	workers, err := s.Workers(ctx)
	if err != nil {
		d.bad("workers", "%v", err)
		return
	}
	if len(workers) == 0 {
		d.note("workers", "none was seen recently; jobs are refused until pleat serve or pleat worker runs")
	}
	for _, w := range workers {
		var models []string
		for _, m := range w.Models {
			models = append(models, m.Name)
		}
		slices.Sort(models)
		ago := s.Now().Sub(w.SeenAt).Round(time.Second)
		d.ok("workers", "%s on %s runs %s, seen %s ago", w.ID, w.Host, strings.Join(models, ", "), ago)
	}
	counts, err := s.QueueCounts(ctx)
	if err != nil {
		d.bad("queue", "%v", err)
		return
	}
	for _, c := range counts {
		d.ok("queue", "%s: %d %s", c.Queue, c.N, c.State)
	}
}

func (d *doctor) artifacts(ctx context.Context) {
	address := d.cfg.BlobAddress()
	if path, ok := strings.CutPrefix(address, "dir:"); ok {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			d.note("artifacts", "%s does not exist yet; pleat serve creates it", path)
			return
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	if _, err := blob.Open(ctx, address); err != nil {
		d.bad("artifacts", "%v", err)
		return
	}
	d.ok("artifacts", "%s", address)
}

// alignments says to which MSA search sequences are sent.
func (d *doctor) alignments() {
	switch {
	case d.cfg.MSAServer != "":
		u, _ := url.Parse(d.cfg.MSAServer) // was checked
		d.note("alignments", "the protein sequences of jobs for models that take alignments are sent to %s", u.Host)
	case d.cfg.MSACommand != "":
		if _, err := exec.LookPath(d.cfg.MSACommand); err != nil {
			d.bad("alignments", "%s cannot be run: %v", d.cfg.MSACommand, err)
		} else if _, err := os.Stat(d.cfg.MSADatabase); err != nil {
			d.bad("alignments", "the database of the search does not exist: %v", err)
		} else {
			d.ok("alignments", "%s searches %s", d.cfg.MSACommand, d.cfg.MSADatabase)
		}
	default:
		d.ok("alignments", "no MSA search is configured, and no sequence is sent anywhere for one")
	}
}
