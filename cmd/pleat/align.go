package main

import (
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pleat"
	"pleat/internal/msa"
)

// checkAlignments refuses settings with which no alignment could be made, and those that would have no effect.
func (c *Config) checkAlignments() error {
	u, err := url.Parse(c.MSAServer)
	switch {
	case c.MSAServer != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != ""):
		return c.bad("msa-server", "must be an address such as https://api.colabfold.com") // the value may hold a password
	case c.MSAServer != "" && c.MSACommand != "":
		return c.bad("msa-command", "is set beside msa-server; alignments are made by one of them")
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

// aligner is what makes alignments, its programs in a folder below scratch; nil where nothing does.
func (c *Config) aligner(scratch string, log *slog.Logger) *msa.Finder {
	f := &msa.Finder{Pairing: msa.Pairing(c.MSAPairing), Timeout: time.Duration(c.MSATimeout) * time.Second, Log: log}
	switch {
	case c.MSAServer != "":
		f.Source = &msa.Server{URL: c.MSAServer, Mode: msa.Mode(c.MSAMode), Agent: "pleat/" + pleat.Version}
	case c.MSACommand != "":
		f.Source = &msa.Command{Program: c.MSACommand, Target: c.MSADatabase, Mode: msa.Mode(c.MSAMode), Threads: c.Threads, Scratch: scratch}
	default:
		return nil
	}
	return f
}
