package report

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"pleat"
	"pleat/internal/structure"
)

// CachedRun is a run whose results are reused for another run with the same input.
type CachedRun struct {
	Dir       string // contains all its files
	Files     []pleat.File
	Sequences map[pleat.SequenceID]pleat.SequenceID // of the source run → of the new run
}

// Reissue regenerates, in the folder of the work, the files of the source run that identify their run or its job:
// structures, whose titles name the job, metrics, configuration and archive. result is the result of the new run, with
// its own sequences, timings and notes.
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
		changed, err := r.regenerate(f, current[f.Name])
		if err != nil {
			return nil, err
		}
		if changed {
			current[f.Name] = filepath.Join(w.Dir, f.Name)
		}
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
		scripts, err := r.scripts(packed)
		if err != nil {
			return nil, err
		}
		if err := r.zip(f.Kind, f.Name, append(packed, scripts...)); err != nil {
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

// regenerate writes a file of the source run again for the new run. It returns false if the file is valid for both.
func (r *reissue) regenerate(f pleat.File, path string) (bool, error) {
	switch f.Kind {
	case pleat.ArtifactMetrics:
		return true, r.metrics(f, path)
	case pleat.ArtifactConfig:
		return true, r.config(f, path)
	case pleat.ArtifactCIF:
		err := r.structure(f, path, structure.RetitleCIF)
		if errors.Is(err, structure.ErrNotWritten) { // an engine's own, which names no job
			r.remove(f.Name)
			return false, nil
		}
		return true, err
	case pleat.ArtifactPDB:
		return true, r.structure(f, path, structure.RetitlePDB)
	}
	return false, nil
}

// structure rewrites a structure with the title of the new run.
func (r *reissue) structure(
	f pleat.File, path string, retitle func(io.Writer, io.Reader, structure.Meta) error,
) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	var meta structure.Meta
	meta.ID, meta.Title = titleOf(&r.work, f.Sequence)
	r.sequence = f.Sequence
	err = r.file(f.Kind, f.Name, f.ContentType, func(w io.Writer) error { return retitle(w, in, meta) })
	r.sequence = ""
	return errors.Join(err, in.Close())
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
func readJSON(path string, target any) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(json.NewDecoder(in).Decode(target), in.Close())
}
