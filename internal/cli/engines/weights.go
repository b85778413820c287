package engines

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pleat/internal/engine/runner"
)

// recordFile has, in an engine's folder of weights, what was installed there.
const recordFile = "installed.json"

// randomMarker is in a folder of random weights, which tests make.
const randomMarker = "RANDOM_WEIGHTS"

// weightsRecord is what the folder of weights of an engine had when it was installed or checked first, by file. It pins
// what the publisher does not: a file that is different later is refused.
type weightsRecord struct {
	path  string
	files map[string]installedWeights
	// acceptsChanged makes what is found replace what was recorded.
	acceptsChanged bool
}

// installedWeights is a file of weights as it was installed. The URL is empty if it was not downloaded.
type installedWeights struct {
	URL    string `json:"url,omitempty"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// readRecord reads the record of a folder of weights. A folder without one has no installed files.
func readRecord(dir string) (*weightsRecord, error) {
	r := &weightsRecord{path: filepath.Join(dir, recordFile), files: map[string]installedWeights{}}
	text, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r.files)
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of the weights %s: %w", r.path, err)
	}
	return r, nil
}

// set records a file and writes the record.
func (r *weightsRecord) set(name string, w installedWeights) error {
	r.files[name] = w
	return writeJSON(r.path, r.files)
}

// expected returns the SHA-256 that a file must have: that of the manifest, else that of the record; empty: any.
func (r *weightsRecord) expected(w runner.WeightFile) string {
	if w.SHA256 != "" || r.acceptsChanged {
		return w.SHA256
	}
	return r.files[w.File].SHA256
}

// check compares a file with its manifest and the record, and records it if neither knows it. It returns whether it
// recorded the file. The error says what the file is and what it should be.
func (r *weightsRecord) check(dir string, w runner.WeightFile) (recorded bool, err error) {
	path := filepath.Join(dir, w.File)
	got, err := hashFile(path)
	if err != nil {
		return false, err
	}
	switch want := r.expected(w); {
	case want == "":
		return true, r.set(w.File, got)
	case strings.EqualFold(want, got.SHA256):
		return false, nil
	case w.SHA256 != "":
		return false, fmt.Errorf("%s is not the file of the manifest: its SHA-256 is %s, and must be %s; "+
			"delete it and install it again", path, got.SHA256, want)
	default:
		return false, fmt.Errorf("%s is not the file that was installed: its SHA-256 is %s, and was %s; "+
			"restore it, or accept it with pleat engines install --accept-changed", path, got.SHA256, want)
	}
}

// hashFile returns the size and the SHA-256 of a file.
func hashFile(path string) (installedWeights, error) {
	in, err := os.Open(path)
	if err != nil {
		return installedWeights{}, err
	}
	defer in.Close()
	h := sha256.New()
	n, err := io.Copy(h, in)
	return installedWeights{Bytes: n, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}

// randomWeights reports whether a folder has random weights.
func randomWeights(dir string) bool { return exists(filepath.Join(dir, randomMarker)) }

// exists reports whether there is a file or folder of a path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// missingFiles returns the files of an engine's weights that do not exist. A file that exists was complete when it got
// its name.
func missingFiles(dir string, m *runner.Manifest) []runner.WeightFile {
	return slices.DeleteFunc(slices.Clone(m.Weights), func(w runner.WeightFile) bool {
		return exists(filepath.Join(dir, w.File))
	})
}

// checkWeights compares the files of an engine's weights that exist with the manifest and the record of their folder,
// except for those in skip, and tells which it recorded. Random weights are not checked. The error is of the first file
// that differs.
func checkWeights(record *weightsRecord, m *runner.Manifest, skip map[string]bool, tell func(string)) error {
	dir := filepath.Dir(record.path)
	if randomWeights(dir) {
		tell("the weights are random, for tests")
		return nil
	}
	for _, w := range m.Weights {
		if !exists(filepath.Join(dir, w.File)) || skip[w.File] {
			continue
		}
		recorded, err := record.check(dir, w)
		if err != nil {
			return err
		}
		if recorded {
			tell(fmt.Sprintf("%s was recorded with the SHA-256 %s", w.File, record.files[w.File].SHA256))
		}
	}
	return nil
}
