package engine

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"pleat"
)

// Source is a run whose results answer another of the same input.
type Source struct {
	Run       pleat.RunID
	Dir       string // holds all its files
	Files     []pleat.File
	Sequences map[pleat.SequenceID]pleat.SequenceID // of that run to this
}

// Reissue writes anew, into the work's folder, the files of a run that say whose they are: its metrics, configuration and archive.
// The result is the run's own, with its sequences, timings and notes. All other files serve as they are.
func Reissue(w pleat.Work, from Source, result *pleat.Result) ([]pleat.File, error) {
	r := report{work: w, result: *result}
	all := map[string]string{} // where each file's content is now
	for _, f := range from.Files {
		all[f.Name] = filepath.Join(from.Dir, f.Name)
	}
	for _, f := range from.Files {
		var err error
		switch f.Kind {
		case pleat.ArtifactMetrics:
			err = r.reissueMetrics(f, from, all[f.Name])
		case pleat.ArtifactConfig:
			err = r.reissueConfig(f, from, all[f.Name])
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		all[f.Name] = filepath.Join(w.Dir, f.Name)
	}
	for _, f := range from.Files {
		if f.Kind != pleat.ArtifactArchive {
			continue
		}
		var packed []pleat.File
		for _, g := range from.Files {
			if g.Kind != pleat.ArtifactArchive && g.Kind != pleat.ArtifactPlots {
				g.Path = all[g.Name]
				packed = append(packed, g)
			}
		}
		if err := r.file(nil, f.Kind, f.Name, f.ContentType, func(out io.Writer) error { return pack(out, packed) }); err != nil {
			return nil, err
		}
	}
	return r.files, nil
}

func (r *report) reissueMetrics(f pleat.File, from Source, path string) error {
	var m metricsFile
	if err := readDocument(path, &m); err != nil {
		return err
	}
	for i := range m.Predictions {
		p := &m.Predictions[i]
		p.Sequence = from.Sequences[p.Sequence]
	}
	m.Timings, m.Notes = r.result.Timings, r.result.Notes
	return r.json(f.Kind, f.Name, m)
}

func (r *report) reissueConfig(f pleat.File, from Source, path string) error {
	var c configFile
	if err := readDocument(path, &c); err != nil {
		return err
	}
	c.Request, c.AnsweredFrom = r.request(), from.Run
	return r.json(f.Kind, f.Name, c)
}

func readDocument(path string, into any) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(json.NewDecoder(in).Decode(into), in.Close())
}

// Fingerprint tells apart states of a model's program and weights that share a version; empty where the version says all.
func (r *Registry) Fingerprint(kind pleat.TaskKind, model string) string {
	if run, ok := r.engines[pleat.Queue(kind, model)].(*Runner); ok {
		return run.fingerprint()
	}
	return ""
}

// fingerprint lists the runner's program, its packages and its weights, with the sizes and times of the files: content is not read,
// since weights have many gigabytes. A folder inside counts by its time.
func (r *Runner) fingerprint() string {
	var b strings.Builder
	dirs := []string{r.Manifest.Dir, r.Weights}
	if r.Python != "" {
		sites, _ := filepath.Glob(filepath.Join(filepath.Dir(r.Python), "..", "lib*", "python*", "site-packages")) // the pattern is well formed
		for _, s := range sites {
			if info, err := os.Stat(s); err == nil {
				stamp(&b, info)
			}
		}
	}
	for _, dir := range dirs {
		list, err := os.ReadDir(dir)
		if err != nil {
			continue // no weights: the engine will say so
		}
		for _, e := range list {
			if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && e.Name() != "__pycache__" {
				stamp(&b, info)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func stamp(b *strings.Builder, info fs.FileInfo) {
	b.WriteString(strconv.Quote(info.Name()))
	if !info.IsDir() {
		b.WriteString(" " + strconv.FormatInt(info.Size(), 10))
	}
	b.WriteString(" " + strconv.FormatInt(info.ModTime().UnixNano(), 10) + "\n")
}
