package engines

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/cli"
	"pleat/internal/clock"
	"pleat/internal/config"
	"pleat/internal/engine/runner"
)

// acceptedFile has, in an engine's folder of weights, the licences that were accepted when the engine was installed.
const acceptedFile = "licences.json"

// acceptance is what an operator has accepted of the licences of an engine. The zero value: nothing.
type acceptance struct {
	At      time.Time          `json:"acceptedAt"`
	Command string             `json:"command"` // with --yes if nobody was asked
	Models  map[string]licence `json:"models"`
}

// licence is what the manifest says of the licence of a model.
type licence struct {
	Words     string          `json:"licence"`
	WeightUse pleat.WeightUse `json:"weightUse"`
}

// The states of a licence.
const (
	licenceBuiltIn  = "built in"
	licenceAccepted = "accepted"
	licenceChanged  = "changed since"
	licenceOpen     = "not accepted"
)

// licencesOf returns the licences of the models of a manifest.
func licencesOf(m *runner.Manifest) map[string]licence {
	out := map[string]licence{}
	for i := range m.Models {
		out[m.Models[i].Name] = licence{m.Models[i].Licence, m.Models[i].WeightUse}
	}
	return out
}

// readAcceptance reads what was accepted of an engine with a folder of weights.
func readAcceptance(dir string) (a acceptance, err error) {
	path := filepath.Join(dir, acceptedFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return acceptance{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return acceptance{}, fmt.Errorf("read the accepted licences %s: %w; delete the file and install the engine "+
			"again", path, err)
	}
	return a, nil
}

// state says whether the licence of a model was accepted.
func (a acceptance) state(model string, now licence) string {
	switch was, ok := a.Models[model]; {
	case !ok:
		return licenceOpen
	case was != now:
		return licenceChanged
	}
	return licenceAccepted
}

// announceModels prints the models with their licences, and which of these have changed since they were accepted.
func (i *install) announceModels() error {
	a, err := readAcceptance(i.cfg.WeightsDir(i.manifest.Engine))
	if err != nil {
		return err
	}
	for _, v := range i.manifest.Models {
		i.printf("  model %s: %s. Licence: %s. Weight use: %s", v.Name, v.Title, v.Licence, v.WeightUse)
		if a.state(v.Name, licence{v.Licence, v.WeightUse}) == licenceChanged {
			was := a.Models[v.Name]
			i.printf("    changed since %s, when this was accepted: %s. Weight use: %s", a.At.Format(time.DateOnly),
				was.Words, was.WeightUse)
		}
	}
	return nil
}

// acceptLicences records that the installation was confirmed. An earlier record of the same licences stays.
func (i *install) acceptLicences() error {
	dir, now := i.cfg.WeightsDir(i.manifest.Engine), licencesOf(i.manifest)
	a, err := readAcceptance(dir)
	if err != nil || maps.Equal(a.Models, now) {
		return err
	}
	command := "pleat engines install " + i.name
	if cli.IsOn(i.cmd, "yes") {
		command += " --yes"
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("record the accepted licences: %w", err)
	}
	at := clock.Or(nil)().UTC().Truncate(time.Second)
	return writeJSON(filepath.Join(dir, acceptedFile), acceptance{at, command, now})
}

// writeJSON replaces a file by a value as JSON.
func writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	part := path + ".part"
	if err := os.WriteFile(part, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// licenceEntry is a model in the output of engines licences. AcceptedAt is null, and Command empty, if the licence was
// not accepted.
type licenceEntry struct {
	Engine     string          `json:"engine"`
	Model      string          `json:"model"`
	Licence    string          `json:"licence"`
	WeightUse  pleat.WeightUse `json:"weightUse"`
	State      string          `json:"state"`
	AcceptedAt *time.Time      `json:"acceptedAt"`
	Command    string          `json:"command,omitempty"`
}

// enginesLicencesCmd returns the command that lists the licences of all models, and which the operator has accepted.
func enginesLicencesCmd() *cobra.Command {
	return cli.WithJSON(cli.Configured(&cobra.Command{
		Use:   "licences",
		Short: "List the licences of engines and which were accepted",
		Long: `Lists the models of the engines of this machine with their licences. WEIGHT USE is commercial,
nonCommercial, or ask: it is not known, or the licence has terms of its own, which the publisher's page has.
ACCEPTED is when pleat engines install was confirmed; "changed since" is a licence that is another one now, and
installing the engine again asks for it. The record is licences.json in the engine's folder of weights.`,
		Args: cobra.NoArgs,
	}, func(cmd *cobra.Command, c config.Config, _ []string) error {
		list, err := listLicences(c)
		if err != nil {
			return err
		}
		head := []string{"ENGINE", "MODEL", "WEIGHT USE", "ACCEPTED", "LICENCE"}
		return cli.PrintRows(cmd, list, head, func(e *licenceEntry) []string {
			return []string{e.Engine, e.Model, string(e.WeightUse), e.accepted(), e.Licence}
		})
	}, config.Store, config.Engine))
}

// accepted returns the cell about the acceptance, such as "2026-01-31, changed since".
func (e *licenceEntry) accepted() string {
	if e.AcceptedAt == nil {
		return e.State
	}
	text := e.AcceptedAt.Format(time.DateOnly)
	if e.State == licenceChanged {
		text += ", " + licenceChanged
	}
	return text
}

// listLicences returns the models of the built-in engines, then those of the folder of runners by name. Manifests that
// cannot be read are left out: engines list names them.
func listLicences(c config.Config) ([]licenceEntry, error) {
	var out []licenceEntry
	for _, m := range app.BuiltInModels() {
		out = append(out, licenceEntry{
			Engine:    m.Name,
			Model:     m.Name,
			Licence:   m.Licence,
			WeightUse: m.WeightUse,
			State:     licenceBuiltIn,
		})
	}
	found, _ := app.Manifests(c)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		m := found[name]
		a, err := readAcceptance(c.WeightsDir(m.Engine))
		if err != nil {
			return nil, err
		}
		for _, v := range m.Models {
			e := licenceEntry{Engine: name, Model: v.Name, Licence: v.Licence, WeightUse: v.WeightUse}
			e.State = a.state(v.Name, licence{v.Licence, v.WeightUse})
			if e.State != licenceOpen {
				e.AcceptedAt, e.Command = &a.At, a.Command
			}
			out = append(out, e)
		}
	}
	return out, nil
}
