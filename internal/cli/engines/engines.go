// Package engines has the commands on the engines of this machine, which run in processes of their own: it lists them,
// installs their environments and weights, and checks that they work.
//
// The package owns the installation: what is downloaded, from where, with which hash, and what is recorded of it. It
// must not start an engine in another way than a worker does, and needs no server and no database.
package engines

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/engine/runner"
)

// Command returns the group of commands on the engines of this machine. They need no server and no database.
func Command() *cobra.Command {
	return cli.Group("engines", "List, install and check engines", "",
		enginesListCmd(), enginesInstallCmd(), enginesCheckCmd(), enginesLicencesCmd())
}

// engineEntry is an engine in the output of engines list. Problem says why an engine cannot be used, Weights how many
// of its weight files are present, such as "1 of 2", and Unverified how many have no published SHA-256.
type engineEntry struct {
	Name string `json:"name"`
	// State is "built in", "installed", "needs nothing", "not installed" or "cannot be used".
	State   string   `json:"state"`
	Problem string   `json:"problem,omitempty"`
	Device  string   `json:"device,omitempty"`
	Models  []string `json:"models"`
	Weights string   `json:"weights,omitempty"`
	// Unverified counts the files of the manifest, present or not.
	Unverified int    `json:"unverified,omitempty"`
	Licence    string `json:"licence,omitempty"`
}

// enginesListCmd returns the command that lists the built-in engines and the runners. It starts no
// engine, so it does not see whether one works: engines check does. A broken manifest is reported on standard error and
// does not hide the other engines.
func enginesListCmd() *cobra.Command {
	return cli.WithJSON(cli.Configured(&cobra.Command{
		Use:   "list",
		Short: "List the available engines and whether they are installed",
		Long: `Lists the engines of this machine. WEIGHTS says how many weight files are present, and how many of the
manifest have no published SHA-256 (unverified): only their first installation pins these.`,
	}, func(cmd *cobra.Command, c config.Config, _ []string) error {
		head := []string{"ENGINE", "STATE", "DEVICE", "WEIGHTS", "MODELS", "LICENCE"}
		return cli.PrintRows(cmd, listEngines(c), head, func(e *engineEntry) []string {
			if e.Problem != "" {
				fmt.Fprintln(cmd.ErrOrStderr(), e.Problem)
			}
			return []string{e.Name, e.State, e.Device, e.weights(), strings.Join(e.Models, ","), e.Licence}
		})
	}, config.Store, config.Engine))
}

// weights returns the cell about weight files, such as "1 of 2, 1 unverified".
func (e *engineEntry) weights() string {
	text := cmp.Or(e.Weights, "-")
	if e.Unverified > 0 {
		text += fmt.Sprintf(", %d unverified", e.Unverified)
	}
	return text
}

// listEngines returns the built-in engines, then those of the folder of runners by name, then those whose manifest
// cannot be read.
func listEngines(c config.Config) []engineEntry {
	var out []engineEntry
	for _, m := range app.BuiltInModels() {
		out = append(out, engineEntry{
			Name:    m.Name,
			State:   "built in",
			Device:  m.Device,
			Models:  []string{m.Name},
			Licence: m.Licence,
		})
	}
	found, wrong := app.Manifests(c)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		m := found[name]
		e := engineEntry{
			Name:       name,
			State:      "installed",
			Device:     m.Device,
			Weights:    weightsState(c, m),
			Unverified: len(unverified(m.Weights)),
		}
		if _, ok := app.Python(c, m); !ok {
			e.State = "not installed"
		} else if m.Venv == "" {
			e.State = "needs nothing"
		}
		var licences []string
		for _, v := range m.Models {
			e.Models = append(e.Models, v.Name)
			if !slices.Contains(licences, v.Licence) {
				licences = append(licences, v.Licence)
			}
		}
		e.Licence = strings.Join(licences, "; ")
		out = append(out, e)
	}
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		problem := cli.ErrorLine(wrong[name])
		out = append(out, engineEntry{Name: name, State: "cannot be used", Problem: problem, Models: []string{}})
	}
	return out
}

// weightsState returns how many of an engine's weight files are present, such as "1 of 2"; empty if it needs none.
func weightsState(c config.Config, m *runner.Manifest) string {
	present, all := app.WeightsPresent(c, m)
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", present, all)
}

// findRunner returns the folder name and the manifest of the runner with a name: that of its folder, of its engine or
// of one of its models, in this order. An unknown name is a usage error that suggests the nearest of these and of
// others.
func findRunner(c config.Config, name string, others ...string) (string, *runner.Manifest, error) {
	found, wrong := app.Manifests(c)
	if err := wrong[name]; err != nil {
		return "", nil, err
	}
	if m := found[name]; m != nil {
		return name, m, nil
	}
	names := slices.Clone(others)
	for _, folder := range slices.Sorted(maps.Keys(found)) {
		m := found[folder]
		names = append(names, folder)
		if m.Engine == name || offers(m, name) {
			return folder, m, nil
		}
	}
	if pleat.IsBuiltIn(name) {
		const text = "the engine %s is built in and needs no installation; try it with: pleat engines check %s"
		return "", nil, cli.Usagef(text, name, name)
	}
	return "", nil, cli.UsageError(app.UnknownEngine(c, name, names))
}

// offers reports whether the runner has a model of a name.
func offers(m *runner.Manifest, model string) bool {
	return slices.ContainsFunc(m.Models, func(v runner.ManifestModel) bool { return v.Name == model })
}
