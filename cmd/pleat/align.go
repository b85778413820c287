package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/msa"
)

// headerName is what a header may be called: a token of RFC 9110, section 5.6.2, of letters, digits and dashes.
var headerName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,63}$`)

// checkAlignments refuses settings with which no alignment could be made, and those that would have no effect.
func (c *Config) checkAlignments() error {
	u, err := url.Parse(c.MSAServer)
	switch {
	case c.MSAServer != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != ""):
		return c.bad("msa-server", "must be an address such as https://api.colabfold.com") // the value may hold a password
	case c.MSAServer != "" && c.MSACommand != "":
		return c.bad("msa-command", "is set beside msa-server; alignments are made by one of them")
	case c.MSAServer == "" && c.MSAKey != "":
		return c.bad("msa-key", "is set without msa-server, and would have no effect")
	case strings.ContainsFunc(c.MSAKey, func(r rune) bool { return r <= ' ' || r > '~' }):
		return c.bad("msa-key", "must hold printable ASCII without spaces") // its text is not shown
	case !headerName.MatchString(c.MSAHeader):
		return c.bad("msa-key-header", "is %q; it must be the name of a header, such as X-API-Key or Authorization", pleat.Clip(c.MSAHeader))
	case c.MSAKey != "" && u.User != nil && strings.EqualFold(c.MSAHeader, "Authorization"):
		return c.bad("msa-key-header", "is Authorization, where the user and password of msa-server go; take one of them away")
	case c.MSACommand != "" && c.MSADatabase == "":
		return c.bad("msa-database", "is empty; msa-command needs something to search")
	case c.MSACommand == "" && c.MSADatabase != "":
		return c.bad("msa-database", "is set without msa-command, and would have no effect")
	case c.MSACommand != "" && !filepath.IsAbs(c.MSACommand):
		return c.bad("msa-command", "is %q; it must be an absolute path", pleat.Clip(c.MSACommand))
	case c.MSACommand != "" && !filepath.IsAbs(c.MSADatabase):
		return c.bad("msa-database", "is %q; it must be an absolute path", pleat.Clip(c.MSADatabase))
	case !slices.Contains(msa.Modes, msa.Mode(c.MSAMode)):
		return c.bad("msa-mode", "is %q; it must be one of %s", pleat.Clip(c.MSAMode), list(msa.Modes))
	case !slices.Contains(msa.Pairings, msa.Pairing(c.MSAPairing)):
		return c.bad("msa-pairing", "is %q; it must be one of %s", pleat.Clip(c.MSAPairing), list(msa.Pairings))
	case c.MSATimeout < 1 || c.MSATimeout > 86400:
		return c.bad("msa-timeout", "is %d; it must be 1 to 86400 seconds", c.MSATimeout)
	case c.MSAKeep < 0 || c.MSAKeep > 36500:
		return c.bad("msa-keep", "is %d; it must be 0 to 36500 days", c.MSAKeep)
	}
	if c.MSACommand != "" {
		if err := msa.CheckProgram(c.MSACommand); err != nil {
			return c.bad("msa-command", "is %q; it %w", pleat.Clip(c.MSACommand), err)
		}
	}
	return nil
}

func list[T ~string](words []T) string {
	var out []string
	for _, w := range words {
		out = append(out, string(w))
	}
	return strings.Join(out, ", ")
}

// alignments says where sequences go.
func (d *doctor) alignments() {
	switch {
	case d.cfg.MSAServer != "":
		u, _ := url.Parse(d.cfg.MSAServer) // was checked
		d.note("alignments", "the protein sequences of jobs for models that take alignments are sent to %s", u.Host)
	case d.cfg.MSACommand != "":
		if _, err := exec.LookPath(d.cfg.MSACommand); err != nil {
			d.bad("alignments", "%s cannot be run: %v", d.cfg.MSACommand, err)
		} else if _, err := os.Stat(d.cfg.MSADatabase); err != nil {
			d.bad("alignments", "there is nothing to search: %v", err)
		} else {
			d.ok("alignments", "%s searches %s", d.cfg.MSACommand, d.cfg.MSADatabase)
		}
	default:
		d.ok("alignments", "none are made, and no sequence leaves this machine for them")
	}
}

// bringAlignments puts the files of --alignment into a new item of the caller's library, from which the job is made; empty where
// there are none.
func bringAlignments(cmd *cobra.Command, c *api.Client, jobs []api.CreateJob) (string, error) {
	paths, _ := cmd.Flags().GetStringArray("alignment")
	if len(paths) == 0 {
		return "", nil
	}
	if len(jobs) != 1 {
		return "", usagef("--alignment is for one job, and the file holds %d", len(jobs))
	}
	for _, p := range paths { // before anything is made
		in, err := os.Open(p)
		if err != nil {
			return "", err
		}
		err = msa.Check(in)
		in.Close()
		if err != nil {
			return "", fmt.Errorf("%s is no alignment: %w", p, err)
		}
	}
	item, err := c.CreateItem(cmd.Context(), api.CreateItem{Name: clip("alignment of "+jobs[0].Name, pleat.MaxName), FileType: "a3m", Origin: "pleat fold"})
	if err != nil {
		return "", explain(c, err)
	}
	for i, p := range paths {
		if err := upload(cmd, c, item.ID, fmt.Sprintf("%d.a3m", i+1), p); err != nil {
			_, _ = c.DeleteItem(context.WithoutCancel(cmd.Context()), item.ID)
			return "", explain(c, err)
		}
	}
	return item.ID, nil
}

func upload(cmd *cobra.Command, c *api.Client, item, name, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = c.UploadFile(cmd.Context(), item, name, in)
	return err
}

// aligner is what makes alignments, its programs in a folder below scratch; nil where nothing does.
func (c *Config) aligner(scratch string, log *slog.Logger) *msa.Finder {
	f := &msa.Finder{Pairing: msa.Pairing(c.MSAPairing), Timeout: time.Duration(c.MSATimeout) * time.Second, Log: log}
	switch {
	case c.MSAServer != "":
		if u, err := url.Parse(c.MSAServer); err == nil {
			log.Info("protein sequences are sent away for alignments", "to", u.Host)
		}
		f.Source = &msa.Server{URL: c.MSAServer, Mode: msa.Mode(c.MSAMode), Agent: "pleat/" + pleat.Version, Key: c.MSAKey, KeyHeader: c.MSAHeader}
	case c.MSACommand != "":
		f.Source = &msa.Command{Program: c.MSACommand, Target: c.MSADatabase, Mode: msa.Mode(c.MSAMode), Threads: c.Threads, Scratch: scratch}
	default:
		return nil
	}
	return f
}
