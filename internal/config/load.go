package config

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"pleat"
)

// source is one place that settings are read from.
type source struct {
	values map[string]any          // by key
	name   func(key string) string // how messages name a key of this source
}

// Load reads the file named by --config or PLEAT_CONFIG, then the environment, then the flags that were given. A later
// source overrides an earlier one, setting by setting. Then it checks the values, also against each other. The error
// names the first setting that cannot be used, as its source spells it. Environ is that of os.Environ.
func Load(flags *pflag.FlagSet, environ []string) (Config, error) {
	c := Default()
	c.origin = map[string]string{}
	known := c.Settings()
	env, path, err := readEnvironment(environ, known)
	if err != nil {
		return c, err
	}
	if f := flags.Lookup("config"); f != nil && f.Changed {
		path = f.Value.String()
	}
	sources := []source{env, readFlags(flags)}
	if path != "" {
		file, err := readFile(path, known)
		if err != nil {
			return c, err
		}
		sources = slices.Insert(sources, 0, file)
		c.path = path
	}
	for _, from := range sources {
		for _, s := range known {
			value, ok := from.values[s.Key]
			if !ok {
				continue
			}
			if err := s.Set(value); err != nil {
				return c, fmt.Errorf("%s %w", from.name(s.Key), err)
			}
			c.origin[s.Key] = from.name(s.Key)
		}
	}
	return c, c.check()
}

// LogsJSON reports whether a command line, the environment or the configuration file asks for a log in JSON. It is for
// errors that keep the settings from being read: what it cannot read, it ignores.
func LogsJSON(args, environ []string) bool {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	path, format := flags.String("config", "", ""), flags.String("log-format", "", "")
	_ = flags.Parse(args)
	for _, entry := range environ {
		switch name, value, _ := strings.Cut(entry, "="); {
		case name == "PLEAT_CONFIG" && *path == "":
			*path = value
		case name == (Setting{Key: "log-format"}).Variable() && *format == "":
			*format = value
		}
	}
	if *format == "" && *path != "" {
		var file struct {
			Format string `yaml:"log-format"`
		}
		text, _ := os.ReadFile(*path)
		_ = yaml.Unmarshal(text, &file)
		*format = file.Format
	}
	return *format == "json"
}

// readFlags returns the flags that were given on the command line.
func readFlags(flags *pflag.FlagSet) source {
	values := map[string]any{}
	flags.Visit(func(f *pflag.Flag) {
		if v, ok := f.Value.(*flagValue); ok {
			values[f.Name] = v.text
		}
	})
	return source{values, func(key string) string { return "--" + key }}
}

// readFile returns the settings of a YAML file. It refuses unknown keys.
func readFile(path string, known []Setting) (source, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return source{}, fmt.Errorf("the configuration file %s does not exist", path)
	}
	values := map[string]any{}
	if err == nil {
		err = yaml.Unmarshal(text, &values)
	}
	if err != nil {
		return source{}, fmt.Errorf("the configuration file %s cannot be read: %w", path, err)
	}
	names := namesOf(known, func(s Setting) string { return s.Key })
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, key) {
			return source{}, unknownName("key", nestedName(key, values[key]), path, names)
		}
	}
	return source{values, func(key string) string { return key + " in " + path }}, nil
}

// nestedName returns the path of the first key inside a YAML mapping, such as worker.slots, since no key holds a
// mapping.
func nestedName(key string, value any) string {
	inner, ok := value.(map[string]any)
	if !ok || len(inner) == 0 {
		return key
	}
	first := slices.Min(slices.Collect(maps.Keys(inner)))
	return key + "." + nestedName(first, inner[first])
}

// readEnvironment returns the settings among the variables PLEAT_…, and the value of PLEAT_CONFIG. It refuses unknown
// variables of that prefix, except those that Kubernetes and Docker set for services whose names begin with pleat and
// those of the tests.
func readEnvironment(environ []string, known []Setting) (_ source, path string, err error) {
	names := append(namesOf(known, Setting.Variable), "PLEAT_CONFIG")
	values := map[string]any{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		switch i := slices.Index(names, name); {
		case !strings.HasPrefix(name, envPrefix) || i < 0 && isForeign(name, value):
		case name == "PLEAT_CONFIG":
			path = value
		case i < 0:
			return source{}, "", unknownName("variable", name, "the environment", names)
		case strings.TrimSpace(value) == "" && known[i].hasNoEmptyValue():
			// "${QUOTA:-}" of a compose file leaves it empty.
		case quoted(value):
			return source{}, "", fmt.Errorf("%s has quotation marks around its value, which are part of it here; "+
				"leave them out", name)
		default:
			values[known[i].Key] = value
		}
	}
	variable := func(key string) string { return Setting{Key: key}.Variable() }
	return source{values, variable}, path, nil
}

var (
	// ofService are the names of variables that Kubernetes sets for a service: PLEAT_SERVICE_HOST for one named pleat,
	// and PLEAT_DB_PORT_5432_TCP_ADDR for one named pleat-db.
	ofService = regexp.MustCompile(`^PLEAT_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|` +
		`PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)
	// ofLink are the names of variables that a link of Docker sets for a container named pleat besides them.
	ofLink = regexp.MustCompile(`^PLEAT_(NAME=/.*|ENV_[A-Za-z0-9_]+=.*)$`)
	// portOfService is the name and value of one more of them. With another value it is meant for a setting.
	portOfService = regexp.MustCompile(`^PLEAT_([A-Z0-9_]+_)?PORT=(tcp|udp|sctp)://`)
)

// isForeign reports whether a variable PLEAT_… is set by Kubernetes, Docker or the fleet, or read by tests.
func isForeign(name, value string) bool {
	prefixes := []string{"PLEAT_TEST_", "PLEAT_PG_", "PLEAT_LOCAL_JOB"}
	return ofService.MatchString(name) || portOfService.MatchString(name+"="+value) ||
		ofLink.MatchString(name+"="+value) ||
		slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// namesOf returns a name of every setting, in their order.
func namesOf(settings []Setting, name func(Setting) string) []string {
	var out []string
	for _, s := range settings {
		out = append(out, name(s))
	}
	return out
}

// envPrefix is what the name of every environment variable begins with.
const envPrefix = "PLEAT_"

// unknownName refuses a name that no setting has, and suggests the nearest one.
func unknownName(what, got, where string, names []string) error {
	prefix := "" // that all variables share: it makes none of them more alike
	if strings.HasPrefix(got, envPrefix) {
		prefix = envPrefix
	}
	var rest []string
	for _, n := range names {
		rest = append(rest, strings.TrimPrefix(n, prefix))
	}
	if n := pleat.Nearest(strings.TrimPrefix(got, prefix), rest); n != "" {
		n = prefix + n
		return fmt.Errorf("unknown %s %q in %s; did you mean %q?", what, pleat.Clip(got), where, n)
	}
	return fmt.Errorf("unknown %s %q in %s; docs/configuration.md lists them", what, pleat.Clip(got), where)
}
