package engines

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pleat/internal/engine/runner"
)

// unverified returns the files whose SHA-256 is not published, so that only their first installation pins them.
func unverified(files []runner.WeightFile) []runner.WeightFile {
	return slices.DeleteFunc(slices.Clone(files), func(w runner.WeightFile) bool { return w.SHA256 != "" })
}

// installedUnverified returns the unverified files of an engine that are in its folder of weights. Random weights,
// which tests make, are none.
func installedUnverified(dir string, m *runner.Manifest) []runner.WeightFile {
	if randomWeights(dir) {
		return nil
	}
	return slices.DeleteFunc(unverified(m.Weights), func(w runner.WeightFile) bool {
		return !exists(filepath.Join(dir, w.File))
	})
}

// fileNames lists the files of weights.
func fileNames(files []runner.WeightFile) string {
	var names []string
	for _, w := range files {
		names = append(names, w.File)
	}
	return strings.Join(names, ", ")
}

// warnBefore prints which files of the manifest the installation cannot verify, and why. A file with a SHA-256 needs no
// warning whatever its address is: another content is refused.
func (i *install) warnBefore() {
	files := unverified(i.manifest.Weights)
	if len(files) == 0 {
		return
	}
	i.printf("WARNING: %d of %d weight files have no published SHA-256; their downloads cannot be verified:",
		len(files), len(i.manifest.Weights))
	movable := 0
	for _, w := range files {
		text := w.File
		if w.Unverified != "" {
			text += ": " + w.Unverified
		}
		if w.URL != "" && !w.Fixed() {
			movable++
			text += "; its address names no revision"
		}
		i.printf("  %s", text)
	}
	if movable > 0 {
		i.printf("  %d of these addresses name no revision: what they serve may change", movable)
	}
}

// warnInstalled prints which installed files were not verified, and what protects them from now on.
func (i *install) warnInstalled() {
	dir := i.cfg.WeightsDir(i.manifest.Engine)
	files := installedUnverified(dir, i.manifest)
	if len(files) == 0 {
		return
	}
	i.printf("WARNING: %d of %d weight files have no published SHA-256 and were not verified: %s",
		len(files), len(i.manifest.Weights), fileNames(files))
	i.printf("  %s has the SHA-256 of their first installation, and a file that differs later is refused; "+
		"compare it with a source of your own", filepath.Join(dir, recordFile))
}

// describeUnverified says which files were compared with their first installation alone; empty: none.
func describeUnverified(dir string, m *runner.Manifest) string {
	files := installedUnverified(dir, m)
	if len(files) == 0 {
		return ""
	}
	return fmt.Sprintf("weights  %d of %d files have no published SHA-256 and were compared with %s, the record of "+
		"their first installation: %s", len(files), len(m.Weights), recordFile, fileNames(files))
}
