package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// shares are the parts of packages in the processor time of all tests, in percent, by the path relative to the module.
type shares map[string]float64

const (
	smallest = 3.0  // percent; packages below are too noisy to be judged
	tooMuch  = 1.33 // a package may take a third more than its share
	enough   = 80.0 // percent of the recorded shares that must have run, or too much was cached
)

// compareShares returns a sentence for each package that takes a third more than its recorded share. The shares of a
// run are those among the packages that ran.
func compareShares(recorded shares, cpu map[string]float64) (out []string) {
	var expected, total float64
	for name, seconds := range cpu {
		expected += recorded[name]
		total += seconds
	}
	if expected < enough || total == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(cpu)) {
		share := 100 * cpu[name] / total
		want := max(recorded[name]/expected*100, smallest)
		if share > tooMuch*want {
			out = append(out, fmt.Sprintf("%s takes %.1f %% of the processor time of the tests; recorded are %.1f %%. "+
				"Make its tests cheaper, or record with PLEAT_TEST_SHARES=record why it may.", cmp.Or(name, "."), share,
				recorded[name]))
		}
	}
	return out
}

// readShares reads lines of a share in percent and a package; # begins a comment. The root of the module is ".".
func readShares(file string) (shares, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out := shares{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		var share float64
		if len(fields) == 2 {
			share, err = strconv.ParseFloat(fields[0], 64)
		}
		if len(fields) != 2 || err != nil || share <= 0 || share > 100 {
			return nil, fmt.Errorf("%s:%d is %q; want a share in percent and a package", file, n, lines.Text())
		}
		out[strings.TrimPrefix(fields[1], ".")] = share
	}
	return out, nil
}

// writeShares records the shares of a run, of packages with 0.1 % or more.
func writeShares(file string, cpu map[string]float64) error {
	var total float64
	for _, seconds := range cpu {
		total += seconds
	}
	if total == 0 {
		return errors.New("no processor time was measured: shares can be recorded where there is /proc")
	}
	var b strings.Builder
	b.WriteString("# Percent of the tests' processor time by package. PLEAT_TEST_SHARES=record make test writes it.\n")
	for _, name := range slices.SortedFunc(maps.Keys(cpu), func(a, b string) int {
		return cmp.Or(cmp.Compare(cpu[b], cpu[a]), cmp.Compare(a, b))
	}) {
		if share := 100 * cpu[name] / total; share >= 0.1 {
			fmt.Fprintf(&b, "%5.1f %s\n", share, cmp.Or(name, "."))
		}
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
