package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"pleat"
	"pleat/internal/config"
	"pleat/internal/engine/builtin"
	"pleat/internal/fleet"
	"pleat/internal/store/db"
)

const (
	// maxClasses bounds the classes of a service, and maxClassesFile the bytes of their file.
	maxClasses     = 64
	maxClassesFile = 1 << 20
	// maxClassWorkers bounds the workers of a class, maxClassCores and maxClassDevices what one of them has.
	maxClassWorkers = 100_000
	maxClassCores   = 4096
	maxClassDevices = 64
	// maxLife bounds a walltime, and how long a worker may be idle.
	maxLife = 365 * 24 * time.Hour
	// idleExit is how long a worker that the fleet has started waits for a task, unless its class says another time.
	idleExit = 10 * time.Minute
)

var classForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// ReadClasses reads the file of classes. A UsageError names the class and the key that cannot be used.
func ReadClasses(c config.Config) ([]pleat.Class, error) {
	f, err := os.Open(c.Classes)
	if err != nil {
		return nil, UsageError{c.Errorf("classes", "is a file that cannot be read: %w", err)}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxClassesFile+1))
	switch {
	case err != nil:
		return nil, UsageError{c.Errorf("classes", "is a file that cannot be read: %w", err)}
	case len(text) > maxClassesFile:
		return nil, UsageError{c.Errorf("classes", "is a file of more than 1 MiB")}
	}
	entries, err := parseClasses(text)
	if err != nil {
		return nil, UsageError{fmt.Errorf("the file of classes %s cannot be read: %w", c.Classes, err)}
	}
	if len(entries) > maxClasses {
		return nil, UsageError{fmt.Errorf("the file %s has %d classes; at most %d are allowed", c.Classes,
			len(entries), maxClasses)}
	}
	var out []pleat.Class
	for i, e := range entries {
		class, err := e.class(c)
		if err == nil && slices.ContainsFunc(out, func(o pleat.Class) bool { return o.Name == class.Name }) {
			err = errors.New("name is that of an earlier class")
		}
		if err != nil {
			return nil, UsageError{fmt.Errorf("class %d (%s) in %s: %w", i+1, pleat.Clip(e.Name), c.Classes, err)}
		}
		out = append(out, class)
	}
	for i := range out {
		offerAlignments(&out[i], out)
	}
	return out, nil
}

// usualAlignments is what a class does with MSA searches that does not say it: it searches if this process has a server
// or a program for that.
func usualAlignments(c config.Config) pleat.Alignments {
	if c.MSAServer == "" && c.MSACommand == "" {
		return pleat.AlignmentsNever
	}
	return pleat.AlignmentsAlso
}

// offerAlignments gives the models of a class the parameter msaAlgorithm, as its workers will, with a search where one
// of the classes makes it, and a class that searches the model of alignments.
func offerAlignments(class *pleat.Class, classes []pleat.Class) {
	for i := range class.Models {
		m := &class.Models[i]
		m.OfferAlignments(slices.ContainsFunc(classes, func(c pleat.Class) bool {
			return c.Serves(pleat.SearchQueue(m.Name))
		}))
	}
	aligned := func(m pleat.Model) bool { return m.Kind == pleat.TaskFold && m.Has(pleat.FeatureMSA) }
	if class.Alignments != pleat.AlignmentsNever && slices.ContainsFunc(class.Models, aligned) {
		class.Models = append(class.Models, pleat.AlignmentModel())
	}
}

// class checks an entry and returns the class that it describes.
func (e classEntry) class(c config.Config) (pleat.Class, error) {
	out := pleat.Class{
		Name:       e.Name,
		Engines:    e.Engines,
		Alignments: cmp.Or(pleat.Alignments(e.Alignments), usualAlignments(c)),
		Isolation:  cmp.Or(pleat.Isolation(e.Isolation), pleat.IsolationShared),
		Devices:    e.Devices,
		Cores:      e.Cores,
		MinWorkers: e.MinWorkers,
		MaxWorkers: e.MaxWorkers,
		TargetWait: cmp.Or(e.TargetWait, pleat.DefaultTargetWait),
		Walltime:   e.Walltime,
		Driver:     e.Driver,
		Options:    e.Options,
	}
	switch {
	case e.IdleExit != nil:
		out.IdleExit = *e.IdleExit
	case e.Driver != "":
		out.IdleExit = idleExit
	}
	for _, check := range []func(*pleat.Class) error{checkWorkers, checkMachine, checkLife, checkDriver} {
		if err := check(&out); err != nil {
			return out, err
		}
	}
	var err error
	if out.DeviceMemory, err = memoryOf("device-memory", e.DeviceMemory); err != nil {
		return out, err
	}
	if out.Memory, err = memoryOf("memory", e.Memory); err != nil {
		return out, err
	}
	out.Models, err = modelsOf(c, &out)
	return out, err
}

// checkWorkers checks what the workers of a class are for, and how many there may be.
func checkWorkers(c *pleat.Class) error {
	alignments := []pleat.Alignments{pleat.AlignmentsAlso, pleat.AlignmentsNever, pleat.AlignmentsOnly}
	isolations := []pleat.Isolation{pleat.IsolationShared, pleat.IsolationUser}
	switch {
	case !classForm.MatchString(c.Name):
		return errors.New("name must be 1 to 63 lower-case letters, digits or hyphens, and not begin with a hyphen")
	case len(c.Engines) == 0:
		return errors.New("engines must name at least one engine")
	case !slices.Contains(alignments, c.Alignments):
		return fmt.Errorf("alignments is %q; it must be also, never or only", pleat.Clip(string(c.Alignments)))
	case !slices.Contains(isolations, c.Isolation):
		return fmt.Errorf("isolation is %q; it must be shared or user", pleat.Clip(string(c.Isolation)))
	case c.MinWorkers < 0 || c.MinWorkers > maxClassWorkers:
		return fmt.Errorf("min-workers is %d; it must be from 0 to %d", c.MinWorkers, maxClassWorkers)
	case c.MaxWorkers < 0 || c.MaxWorkers > maxClassWorkers:
		return fmt.Errorf("max-workers is %d; it must be from 0, no limit, to %d", c.MaxWorkers, maxClassWorkers)
	case c.MaxWorkers > 0 && c.MaxWorkers < c.MinWorkers:
		return fmt.Errorf("max-workers is %d; it must not be less than min-workers, %d", c.MaxWorkers, c.MinWorkers)
	case c.TargetWait < time.Second || c.TargetWait > 24*time.Hour:
		return fmt.Errorf("target-wait is %v; it must be from 1s to 24h", c.TargetWait)
	}
	return nil
}

// checkMachine checks what a worker of a class gets of a machine.
func checkMachine(c *pleat.Class) error {
	switch {
	case c.Cores < 0 || c.Cores > maxClassCores:
		return fmt.Errorf("cores is %d; it must be from 0, unknown, to %d", c.Cores, maxClassCores)
	case c.Devices < 0 || c.Devices > maxClassDevices:
		return fmt.Errorf("devices is %d; it must be from 0 to %d", c.Devices, maxClassDevices)
	}
	return nil
}

// checkLife checks how long the workers of a class live.
func checkLife(c *pleat.Class) error {
	switch {
	case c.Walltime != 0 && (c.Walltime < pleat.MinWalltime || c.Walltime > maxLife):
		return fmt.Errorf("walltime is %v; it must be from 5m to 8760h, or be left out", c.Walltime)
	case c.IdleExit < 0 || c.IdleExit > maxLife:
		return fmt.Errorf("idle-exit is %v; it must be from 0, never, to 8760h", c.IdleExit)
	case c.IdleExit > 0 && c.IdleExit < time.Second:
		return fmt.Errorf("idle-exit is %v; it must be at least 1s", c.IdleExit)
	}
	return nil
}

// checkDriver checks who starts the workers of a class.
func checkDriver(c *pleat.Class) error {
	switch {
	case c.Driver != "":
		return fleet.CheckOptions(c.Driver, c.Options)
	case len(c.Options) > 0:
		return errors.New("options are set without driver, and would have no effect")
	}
	return nil
}

// memoryOf reads a size of the file; an empty one is 0.
func memoryOf(key, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := config.ParseBytes(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", key, err)
	}
	if n > 0 && n < 1<<20 {
		return 0, fmt.Errorf("%s is %s, less than 1MiB; write it with a unit, such as 8GiB", key, pleat.Clip(text))
	}
	return int64(n), nil
}

// modelsOf returns the models of a class's engines as its workers run them. They need not be installed here.
func modelsOf(c config.Config, class *pleat.Class) ([]pleat.Model, error) {
	var out []pleat.Model
	for _, name := range class.Engines {
		if pleat.IsBuiltIn(name) {
			for _, m := range builtin.New(name, builtin.Options{}).Models() {
				m.Room = class.Memory
				out = append(out, m)
			}
			continue
		}
		m, err := readManifest(c, name)
		if err != nil {
			return nil, err
		}
		models := m.ModelsOn(class.DeviceMemory, class.Memory)
		if len(models) == 0 {
			return nil, fmt.Errorf("the engine %s needs an accelerator; set device-memory", name)
		}
		out = append(out, models...)
	}
	return out, nil
}

// publishClasses stores the classes of the configuration, so that jobs for their models are accepted while none of
// their workers runs. The class default, unless the file has it, gets the engines of this process.
func (a *App) publishClasses(ctx context.Context) error {
	var classes []pleat.Class
	if a.cfg.Classes != "" {
		var err error
		if classes, err = ReadClasses(a.cfg); err != nil {
			return err
		}
		if err := a.Store.Workers.SetClasses(ctx, classes); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(classes, func(c pleat.Class) bool { return c.Name == pleat.DefaultClass }) {
		return nil
	}
	def := pleat.Class{
		Name:       pleat.DefaultClass,
		Isolation:  pleat.IsolationShared,
		TargetWait: pleat.DefaultTargetWait,
	}
	for _, name := range a.cfg.Engines {
		one := pleat.Class{Engines: []string{name}}
		models, err := modelsOf(a.cfg, &one)
		if err != nil {
			// A server that works has refused such an engine before; another does not need it.
			a.log.Warn("the class default leaves an engine out until a worker has it", "engine", name, "error", err)
			continue
		}
		def.Engines, def.Models = append(def.Engines, name), append(def.Models, models...)
	}
	// Its workers may have settings of their own; what they register then replaces this.
	def.Alignments = usualAlignments(a.cfg)
	offerAlignments(&def, append(classes, def))
	def.Alignments = pleat.AlignmentsAlso
	return a.Store.Workers.SetDefaultClass(ctx, def)
}

// useClass gives the worker of this process what its class says, and, if the configuration names the class, the engines
// of it, unless it names engines too. A UsageError: the service has no such class.
func (a *App) useClass(ctx context.Context) error {
	classes, err := a.knownClasses(ctx)
	if err != nil {
		return err
	}
	name := cmp.Or(a.cfg.Class, pleat.DefaultClass)
	i := slices.IndexFunc(classes, func(c pleat.Class) bool { return c.Name == name })
	if i < 0 && name == pleat.DefaultClass { // no server has started yet
		return nil
	}
	if i < 0 {
		var names []string
		for _, c := range classes {
			names = append(names, c.Name)
		}
		return UsageError{a.cfg.Errorf("class", "is %q, which this service does not have; its classes are: %s",
			pleat.Clip(name), cmp.Or(strings.Join(names, ", "), pleat.DefaultClass))}
	}
	a.adoptClass(classes[i])
	return nil
}

// adoptClass makes a class that of the worker of this process.
func (a *App) adoptClass(c pleat.Class) {
	a.class = c
	if a.cfg.Class != "" && a.cfg.Origin("engines") == "" && len(c.Engines) > 0 {
		a.cfg.Engines = c.Engines
	}
}

// knownClasses returns the classes of the file if this process has one, else those that a server has stored. There are
// none in a database that has not been migrated.
func (a *App) knownClasses(ctx context.Context) ([]pleat.Class, error) {
	if a.cfg.Classes != "" {
		return ReadClasses(a.cfg)
	}
	if a.Store == nil {
		return nil, nil
	}
	if version, err := a.Store.DB.Version(ctx); err != nil || version < db.Latest() {
		return nil, err
	}
	return a.Store.Workers.Classes(ctx)
}
