package report

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"pleat"
)

// CachedRun is a run whose results are reused for another run with the same input.
type CachedRun struct {
	Dir       string // contains all its files
	Files     []pleat.File
	Sequences map[pleat.SequenceID]pleat.SequenceID // of the source run → of the new run
}

// Reissue regenerates, in the folder of the work, the files of the source run that identify their run: metrics,
// configuration and archive. result is the result of the new run, with its own sequences, timings and notes.
//
// Reissue returns only the regenerated files; all other files of the source run are valid for the new run unchanged.
// None of them names the source run, which may be private.
func Reissue(w pleat.Work, from CachedRun, result *pleat.Result) ([]pleat.File, error) {
	r := reissue{work: w, from: from, result: result, folder: folder{dir: w.Dir}}
	current := map[string]string{} // path of the valid content of each file
	for _, f := range from.Files {
		current[f.Name] = filepath.Join(from.Dir, f.Name)
	}
	for _, f := range from.Files {
		var err error
		switch f.Kind {
		case pleat.ArtifactMetrics:
			err = r.metrics(f, current[f.Name])
		case pleat.ArtifactConfig:
			err = r.config(f, current[f.Name])
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		current[f.Name] = filepath.Join(w.Dir, f.Name)
	}
	for _, f := range from.Files {
		if f.Kind != pleat.ArtifactArchive {
			continue
		}
		var packed []pleat.File
		for _, g := range from.Files {
			if g.Kind != pleat.ArtifactArchive && g.Kind != pleat.ArtifactPlots {
				g.Path = current[g.Name]
				packed = append(packed, g)
			}
		}
		if err := r.zip(f.Kind, f.Name, packed); err != nil {
			return nil, err
		}
	}
	return r.files, nil
}

// reissue regenerates files in the folder of the new run.
type reissue struct {
	work   pleat.Work
	from   CachedRun
	result *pleat.Result
	folder
}

// metrics rewrites metrics.json with the sequences, timings and notes of the new run.
func (r *reissue) metrics(f pleat.File, path string) error {
	var m metricsFile
	if err := readJSON(path, &m); err != nil {
		return err
	}
	for i := range m.Predictions {
		p := &m.Predictions[i]
		p.Sequence = r.from.Sequences[p.Sequence]
	}
	m.Timings, m.Notes = r.result.Timings, r.result.Notes
	return r.json(f.Kind, f.Name, m)
}

// config rewrites config.json with the request of the new run.
func (r *reissue) config(f pleat.File, path string) error {
	var c configFile
	if err := readJSON(path, &c); err != nil {
		return err
	}
	c.Request, c.Cached = requestOf(r.work), true
	return r.json(f.Kind, f.Name, c)
}

// readJSON reads a file that this package has written.
func readJSON(path string, into any) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(json.NewDecoder(in).Decode(into), in.Close())
}
