package fleet

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"pleat"
)

// The drivers.
const (
	DriverSlurm = "slurm"
	DriverLocal = "local"
)

// option is an option of a driver.
type option struct {
	form *regexp.Regexp // what its values match
	want string         // the same in words
}

// maxOption is the length of the longest value of an option.
const maxOption = 255

var (
	names = option{regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.,-]*$`), "names separated by commas"}
	file  = option{regexp.MustCompile(`^/[^\x00-\x1f\x7f]+$`), "an absolute path"}
)

// options are the options of every driver. Those of Slurm have the names of sbatch's.
var options = map[string]map[string]option{
	DriverLocal: {"output": file},
	DriverSlurm: {
		"account": names,
		"constraint": {
			regexp.MustCompile(`^[A-Za-z0-9_.\[(][A-Za-z0-9_.,&|*()\[\]-]*$`), "features such as a100|h100",
		},
		"exclude":     {regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.,\[\]-]*$`), "nodes such as n[1-3]"},
		"gres":        {regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.:,-]*$`), "resources such as gpu:a100:1"},
		"licenses":    {regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.:@,-]*$`), "licenses such as folding:1"},
		"nice":        {regexp.MustCompile(`^[0-9]{1,9}$`), "a whole number"},
		"output":      file,
		"partition":   names,
		"qos":         names,
		"reservation": names,
	},
}

// CheckOptions returns an error that names the first option of a class, in alphabetical order, that its driver does not
// have or whose value is wrong. It also refuses an unknown driver.
func CheckOptions(driver string, values map[string]string) error {
	known, ok := options[driver]
	if !ok {
		return fmt.Errorf("the driver %.80q is unknown%s; the drivers are %s", driver, instead(driver, options),
			list(options))
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		o, ok := known[name]
		if !ok {
			return fmt.Errorf("the driver %s has no option %.80q%s; its options are %s", driver, name,
				instead(name, known), list(known))
		}
		if v := values[name]; len(v) > maxOption || !o.form.MatchString(v) {
			return fmt.Errorf("the option %s of the driver %s is %.80q; it must be %s, of at most %d characters", name,
				driver, v, o.want, maxOption)
		}
	}
	return nil
}

// instead suggests the name that was meant.
func instead[V any](got string, known map[string]V) string {
	if n := pleat.Nearest(got, slices.Collect(maps.Keys(known))); n != "" {
		return fmt.Sprintf(" (did you mean %q?)", n)
	}
	return ""
}

func list[V any](known map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(known)), ", ")
}
