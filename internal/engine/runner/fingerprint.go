package runner

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Fingerprint lists the runner's program, its Python packages and its weights, with the sizes and times of the files,
// one a line. Two runs with equal fingerprints and inputs may share a result. Contents are not read, because weights
// have many gigabytes. A folder inside counts with its time. An embedded program counts with its release, so that it is
// the same on every machine.
func (r *Runner) Fingerprint() string {
	var b strings.Builder
	if r.Python != "" {
		pattern := filepath.Join(filepath.Dir(r.Python), "..", "lib*", "python*", "site-packages")
		sites, _ := filepath.Glob(pattern) // the pattern is well formed
		for _, s := range sites {
			if info, err := os.Stat(s); err == nil {
				writeStamp(&b, info)
			}
		}
	}
	folders := []string{r.Manifest.Dir, r.Weights}
	if r.Manifest.Release != "" {
		b.WriteString(r.Manifest.Release + "\n")
		folders = folders[1:]
	}
	for _, dir := range folders {
		list, err := os.ReadDir(dir)
		if err != nil {
			continue // without weights the engine fails by itself
		}
		for _, e := range list {
			if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && e.Name() != "__pycache__" {
				writeStamp(&b, info)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// writeStamp appends the name, size and time of a file, or the name and time of a folder.
func writeStamp(b *strings.Builder, info fs.FileInfo) {
	b.WriteString(strconv.Quote(info.Name()))
	if !info.IsDir() {
		b.WriteString(" " + strconv.FormatInt(info.Size(), 10))
	}
	b.WriteString(" " + strconv.FormatInt(info.ModTime().UnixNano(), 10) + "\n")
}
