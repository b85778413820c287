package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"pleat/internal/app"
	"pleat/internal/config"
	"pleat/internal/engine/runner"
)

const (
	requirementsFile = "requirements.txt"
	installedFile    = "installed"   // holds the hash of the requirements that the environment was made from
	maxWeights       = 200_000 << 20 // bytes of a file whose manifest does not say
	stallAfter       = time.Minute
)

func enginesInstallCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "install NAME",
		Short: "Make an engine's environment and fetch its weights",
		Long: `Makes the engine's virtual environment from its pinned requirements, and downloads the weights that its manifest names. It says
licences, sizes and addresses first, and asks. What was interrupted goes on where it stopped when the command is run again; what is there
already stays. Where the network does not allow a download it says which file to put where.`,
		Example: "  pleat engines install boltz\n  pleat engines install boltz --no-weights --yes",
		Args:    exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := configure(cmd)
			if err != nil {
				return err
			}
			name, m, err := findRunner(c, args[0])
			if err != nil {
				return err
			}
			i := &install{cmd: cmd, cfg: c, name: name, manifest: m}
			i.noWeights, _ = cmd.Flags().GetBool("no-weights")
			return i.run()
		},
	}
	c.Flags().Bool("yes", false, "do not ask")
	c.Flags().Bool("no-weights", false, "leave the weights out")
	config.AddFlags(c.Flags(), config.Store, config.Engine)
	return c
}

// install is one run of the command.
type install struct {
	cmd       *cobra.Command
	cfg       config.Config
	name      string
	manifest  *runner.Manifest
	noWeights bool
}

func (i *install) say(format string, args ...any) {
	fmt.Fprintf(i.cmd.OutOrStdout(), format+"\n", args...)
}

func (i *install) run() error {
	missing := i.missing()
	if err := i.announce(missing); err != nil {
		return err
	}
	if yes, _ := i.cmd.Flags().GetBool("yes"); !yes {
		fmt.Fprint(i.cmd.OutOrStdout(), "Install? [y/N] ")
		answer, err := bufio.NewReader(io.LimitReader(i.cmd.InOrStdin(), 100)).ReadString('\n')
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			if err != nil {
				return usagef("nobody answered; give --yes to install without asking")
			}
			return errors.New("nothing was installed")
		}
	}
	if err := i.environment(i.cmd.Context()); err != nil {
		return err
	}
	left, err := i.fetchAll(i.cmd.Context(), missing)
	if err != nil {
		return err
	}
	if left > 0 {
		return fmt.Errorf("%d files of weights are missing; run the command again, or put them into %s", left, i.cfg.WeightsDir(i.manifest.Engine))
	}
	i.say("%s is installed; try it with: pleat engines check %s", i.name, i.name)
	return nil
}

// missing are the files of weights that are not there.
func (i *install) missing() []runner.WeightFile {
	var out []runner.WeightFile
	for _, w := range i.manifest.Weights {
		if _, err := os.Stat(filepath.Join(i.cfg.WeightsDir(i.manifest.Engine), w.File)); err != nil {
			out = append(out, w)
		}
	}
	return out
}

// announce says what will be installed, from where, under which licences, and whether there is room for it.
func (i *install) announce(missing []runner.WeightFile) error {
	m := i.manifest
	i.say("%s %s", i.name, m.Version)
	for _, v := range m.Models {
		i.say("  model %s: %s. Licence: %s", v.Name, v.Title, v.Licence)
	}
	if m.Venv != "" {
		n, err := countRequirements(filepath.Join(m.Dir, requirementsFile))
		if err != nil {
			return fmt.Errorf("read the engine's requirements: %w", err)
		}
		i.say("  environment %s: %d pinned packages, each under its own licence", filepath.Dir(filepath.Dir(i.python())), n)
	}
	known, unknown := int64(0), 0
	for _, w := range missing {
		size := "size not known"
		if w.Bytes > 0 {
			size = config.Bytes(w.Bytes).String()
			known += w.Bytes
		} else {
			unknown++
		}
		i.say("  weights %s: %s, %s. Licence: %s", w.File, size, dash(w.URL), dash(w.Licence))
	}
	if i.noWeights && len(missing) > 0 {
		i.say("  the weights are left out")
		known = 0
	}
	dir := i.cfg.Data
	for dir != "." && dir != "/" {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	free, err := diskFree(dir)
	if err != nil {
		return err
	}
	i.say("  %s are free below %s", config.Bytes(free), i.cfg.Data)
	if known+known/10 > free {
		return fmt.Errorf("the weights need %s and %s are free; set weights to a larger disk", config.Bytes(known), config.Bytes(free))
	}
	return nil
}

func countRequirements(path string) (int, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	n := 0
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "-") {
			n++
		}
	}
	return n, nil
}

func (i *install) python() string {
	path, _ := app.Python(i.cfg, i.manifest)
	return path
}

// environment makes the virtual environment, unless the one that is there was made from the same requirements.
func (i *install) environment(ctx context.Context) error {
	if i.manifest.Venv == "" {
		return nil
	}
	list := filepath.Join(i.manifest.Dir, requirementsFile)
	raw, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(raw)
	want := hex.EncodeToString(sum[:])
	venv := filepath.Dir(filepath.Dir(i.python()))
	mark := filepath.Join(venv, installedFile)
	if have, err := os.ReadFile(mark); err == nil && strings.TrimSpace(string(have)) == want {
		i.say("the environment is there already")
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(venv), 0o755); err != nil { // it holds nothing secret, and may be another user's to run
		return err
	}
	if _, err := os.Stat(i.python()); err != nil {
		base, err := i.interpreter(ctx)
		if err != nil {
			return err
		}
		i.say("making the environment with %s", base)
		if err := i.command(ctx, base, "-m", "venv", venv); err != nil {
			return fmt.Errorf("the virtual environment could not be made: %w", err)
		}
	}
	i.say("installing the packages")
	if err := i.command(ctx, i.python(), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off", "-r", list); err != nil {
		return fmt.Errorf("the packages could not be installed: %w; run the command again to go on", err)
	}
	return os.WriteFile(mark, []byte(want+"\n"), 0o644)
}

// interpreter finds a Python of the versions that the engine takes, the newest first.
func (i *install) interpreter(ctx context.Context) (string, error) {
	names := []string{"python3"}
	oldest, newest := 10, 99
	if len(i.manifest.Python) == 2 {
		oldest, newest = minor(i.manifest.Python[0]), minor(i.manifest.Python[1])
		names = nil
		for v := newest; v >= oldest; v-- {
			names = append(names, "python3."+strconv.Itoa(v))
		}
		names = append(names, "python3")
	}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, path, "-c", "import sys; print(sys.version_info.minor)").Output()
		if err != nil {
			continue
		}
		if v, err := strconv.Atoi(strings.TrimSpace(string(out))); err == nil && v >= oldest && v <= newest {
			return path, nil
		}
	}
	if len(i.manifest.Python) == 2 {
		return "", fmt.Errorf("the engine %s needs Python %s to %s, and none is in the PATH", i.name, i.manifest.Python[0], i.manifest.Python[1])
	}
	return "", fmt.Errorf("the engine %s needs Python 3.10 or newer, and none is in the PATH", i.name)
}

func minor(version string) int {
	_, after, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(after) // checked with the manifest
	return n
}

// command runs a program and shows what it says.
func (i *install) command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = i.cmd.ErrOrStderr(), i.cmd.ErrOrStderr()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd.Run()
}

// fetchAll downloads what is missing and says how many files still are. A network that refuses is no failure of the rest.
func (i *install) fetchAll(ctx context.Context, missing []runner.WeightFile) (left int, err error) {
	if i.noWeights {
		return 0, nil
	}
	for _, w := range missing {
		to := filepath.Join(i.cfg.WeightsDir(i.manifest.Engine), w.File)
		if w.URL == "" {
			i.say("%s has no address; put it to %s", w.File, to)
			left++
			continue
		}
		i.say("fetching %s", w.File)
		err := fetchWeights(ctx, http.DefaultClient, w, to)
		if ctx.Err() != nil {
			return left, fmt.Errorf("%s was interrupted; run the command again to go on", w.File)
		}
		if err != nil {
			i.say("%s could not be fetched: %s. Fetch it from %s yourself, to %s", w.File, sentence(err), w.URL, to)
			left++
		}
	}
	return left, nil
}

// fetchWeights downloads one file: it goes on where an earlier attempt stopped, takes no more bytes than announced, gives up
// where nothing comes for a minute, and gives the file its name only once its hash is right.
func fetchWeights(ctx context.Context, client *http.Client, w runner.WeightFile, to string) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	part := to + ".part"
	out, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	have, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if w.Bytes == 0 || have < w.Bytes {
		if err := transfer(ctx, client, w, out, have); err != nil {
			return err
		}
	}
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		return err
	}
	h := sha256.New()
	size, err := io.Copy(h, out)
	if err != nil {
		return err
	}
	if sum := hex.EncodeToString(h.Sum(nil)); w.SHA256 != "" && !strings.EqualFold(sum, w.SHA256) || w.Bytes > 0 && size != w.Bytes {
		os.Remove(part)
		return fmt.Errorf("what came is not the file: %d bytes with the SHA-256 %s", size, sum)
	}
	if err := out.Sync(); err != nil {
		return err
	}
	return os.Rename(part, to)
}

// transfer appends the rest of a file. A server that sends it from the start replaces what there is.
func transfer(ctx context.Context, client *http.Client, w runner.WeightFile, out *os.File, have int64) error {
	ctx, stall := context.WithCancelCause(ctx)
	defer stall(nil)
	watch := time.AfterFunc(stallAfter, func() { stall(errors.New("nothing came for a minute")) })
	defer watch.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL, nil)
	if err != nil {
		return err
	}
	if have > 0 {
		req.Header.Set("Range", "bytes="+strconv.FormatInt(have, 10)+"-")
	}
	resp, err := client.Do(req)
	if err != nil {
		return cause(ctx, err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusPartialContent:
	case http.StatusOK:
		have = 0
		if err := out.Truncate(0); err != nil {
			return err
		}
	case http.StatusRequestedRangeNotSatisfiable: // all of it is there
		return nil
	default:
		return fmt.Errorf("the server answered %s", resp.Status)
	}
	most := w.Bytes
	if most == 0 {
		most = maxWeights
	}
	if _, err := out.Seek(have, io.SeekStart); err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(&progressReader{resp.Body, watch}, most-have+1))
	if err == nil && have+n > most {
		err = errors.Join(fmt.Errorf("more came than the %d bytes announced", most), out.Truncate(0))
	}
	return cause(ctx, err)
}

// cause is why a download ended, where it was broken off.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// progressReader puts a time-out off while bytes come.
type progressReader struct {
	io.Reader
	watch *time.Timer
}

func (r *progressReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if n > 0 {
		r.watch.Reset(stallAfter)
	}
	return n, err
}

// diskFree is how many bytes an ordinary user may still write under a path.
func diskFree(path string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // their types differ between systems
}
