package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/blob"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/store"
	"pleat/internal/store/db"
)

// bundleVersions writes the versions of everything that runs.
func bundleVersions(ctx context.Context, w io.Writer, c config.Config) error {
	info, _ := debug.ReadBuildInfo() // nil: the program was built without modules
	var kernel unix.Utsname
	_ = unix.Uname(&kernel)
	out := struct {
		build
		Kernel   string   `json:"kernel"`
		Database string   `json:"database"` // empty: it cannot be opened
		Schema   int64    `json:"schema"`
		Needs    int64    `json:"needsSchema"`
		Engines  []string `json:"engines"`
	}{
		build:   buildOf(info),
		Kernel:  unix.ByteSliceToString(kernel.Release[:]),
		Needs:   db.Latest(),
		Engines: []string{},
	}
	s, fault := openBundleStore(ctx, c)
	if fault == nil {
		defer s.DB.Close()
		version, err := s.DB.ServerVersion(ctx)
		out.Database = s.DB.Dialect() + " " + version
		out.Schema, fault = s.DB.Version(ctx)
		fault = errors.Join(err, fault)
	}
	engines, _, err := app.NewEngines(c, slog.New(slog.DiscardHandler), nil)
	if err == nil {
		defer engines.Close()
		for _, m := range engines.Models() {
			out.Engines = append(out.Engines, fmt.Sprintf("%s %s: %s %s", m.Engine, m.Version, m.Kind, m.Name))
		}
	}
	return errors.Join(cli.PrintJSON(w, out), fault, err)
}

// openBundleStore opens the database if there is one. It changes nothing.
func openBundleStore(ctx context.Context, c config.Config) (*store.Store, error) {
	if path, missing := app.MissingDatabase(c); missing {
		return nil, fmt.Errorf("there is no database %s", path)
	}
	return store.Open(ctx, c.DatabaseURL(), store.Options{DB: db.Options{Direct: c.Direct}})
}

// bundleSettings writes the settings with where each comes from; those at their defaults by name alone.
func bundleSettings(_ context.Context, w io.Writer, c config.Config) error {
	var defaults []string
	for _, s := range c.Settings() {
		if from := c.Origin(s.Key); from != "" {
			fmt.Fprintf(w, "%s = %s (%s)\n", s.Key, s.Redacted(), from)
		} else {
			defaults = append(defaults, s.Key)
		}
	}
	_, err := fmt.Fprintf(w, "\nat their defaults: %s\n", strings.Join(defaults, ", "))
	return err
}

// bundleDoctor writes what the doctor says. That a check fails is no fault of the bundle.
func bundleDoctor(ctx context.Context, w io.Writer, c config.Config) error {
	if err := runDoctor(ctx, w, c); err != nil {
		fmt.Fprintln(w, err)
	}
	return nil
}

// bundleMachine writes what the machine has.
func bundleMachine(_ context.Context, w io.Writer, c config.Config) error {
	fmt.Fprintf(w, "processors  %d of %s, GOMAXPROCS %d\n", runtime.NumCPU(), processor(), runtime.GOMAXPROCS(0))
	memory := config.Bytes(config.MachineMemory())
	fmt.Fprintf(w, "memory      %s, jobs may use %s\n", memory, config.Bytes(c.MemoryLimit()))
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Fprintf(w, "load        %s\n", strings.TrimSpace(string(load)))
	}
	var faults []error
	for _, folder := range c.DiskFolders() {
		free, err := blob.FreeBytes(folder)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				faults = append(faults, err)
			}
			continue
		}
		fmt.Fprintf(w, "disk        %s free in %s\n", config.Bytes(free), folder)
	}
	devices, err := app.Devices(c)
	for _, d := range devices {
		fmt.Fprintf(w, "accelerator %s %s, %s\n", d.ID, d.Name, config.Bytes(d.Memory))
	}
	if err == nil && len(devices) == 0 {
		fmt.Fprintln(w, "accelerator none")
	}
	return errors.Join(append(faults, err)...)
}

// processor returns the name of the processors' model.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimLeft(strings.TrimSpace(name), ": \t")
		}
	}
	return "an unknown model"
}

// The fields of a request in a line of the log, which is text or JSON.
var (
	loggedAddress = regexp.MustCompile(`(\bfrom=|"from":)(?:"(?:[^"\\]|\\.)*"|[^\s"]+)`)
	loggedPath    = regexp.MustCompile(`(\bpath=|"path":)(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))`)
)

// bundleLog is the log of the running process without what it tells of callers: their addresses, and the parts of paths
// that they may have chosen.
func bundleLog(ctx context.Context, w io.Writer, c config.Config) error {
	var text strings.Builder
	err := fromProcess("/debug/log")(ctx, &text, c)
	out := loggedAddress.ReplaceAllString(text.String(), `${1}"(hidden)"`)
	out = loggedPath.ReplaceAllStringFunc(out, func(field string) string {
		part := loggedPath.FindStringSubmatch(field)
		return part[1] + `"` + plainPath(part[2]+part[3]) + `"`
	})
	_, werr := io.WriteString(w, out)
	return errors.Join(err, werr)
}

// plainPath returns the path of a request with "…" for each part that is neither an id nor a collection of the
// interface.
func plainPath(path string) string {
	known := map[int][]string{
		1: {"v1", "worker", "fleet", "ui", "healthz", "readyz", "metrics"},
		2: {"jobs", "batches", "workflows", "library", "webhooks", "artifacts", "keys", "v1"},
	}
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if p != "" && !slices.Contains(known[i], p) && !pleat.IsUUID(p) {
			parts[i] = "…"
		}
	}
	return strings.Join(parts, "/")
}

// fromProcess returns what reads a path of the address for health and metrics of the running process.
func fromProcess(path string) func(ctx context.Context, w io.Writer, c config.Config) error {
	return func(ctx context.Context, w io.Writer, c config.Config) error {
		if c.MetricsListen == "" || c.Metrics == "" {
			return errors.New("metrics-listen and metrics-token are not both set, so that no process can be asked; " +
				"set them for pleat serve or pleat worker, start it again, and make another bundle when the fault " +
				"recurs")
		}
		address := config.LocalURL(c.MetricsListen)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+path, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+c.Metrics)
		client := &http.Client{
			// Without a proxy: the process is on this machine.
			Transport:     &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		answer, err := client.Do(req)
		if err != nil {
			return cli.ConnectionError(address, err)
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("the process at %s answers %s; does it run this version, with this metrics-token?",
				address, answer.Status)
		}
		_, err = io.Copy(w, io.LimitReader(answer.Body, maxPart+1))
		return err
	}
}
