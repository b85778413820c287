package work

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"pleat"
	"pleat/internal/archive"
	"pleat/internal/clock"
	"pleat/internal/engine"
	"pleat/internal/report"
	"pleat/internal/store/runs"
	"pleat/internal/structure"
	"pleat/internal/template"
)

// templates puts the templates that the job names into the folder of the work, each as a file for one chain. The files
// are read now, since they may have changed or gone since the job was created: then the run fails and says so.
func (p *Pool) templates(t *runningTask, w *pleat.Work, s *sink) *pleat.Failure {
	if len(w.Fold.Constraints.Templates) == 0 {
		return nil
	}
	watch := clock.Start()
	f := p.readTemplates(t.ctx, t, w, s)
	t.timings[pleat.StageFetch] += watch.Seconds()
	if f != nil && t.ctx.Err() != nil {
		return engine.Interrupted(t.ctx)
	}
	return f
}

// readTemplates is templates without the time that it takes.
func (p *Pool) readTemplates(ctx context.Context, t *runningTask, w *pleat.Work, s *sink) *pleat.Failure {
	fold := w.Fold
	files, err := p.service.ReferencedTemplates(ctx, fold)
	if err == nil && len(files) != len(fold.Constraints.Templates) {
		err = fmt.Errorf("the service knows %d of %d templates", len(files), len(fold.Constraints.Templates))
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(w.Dir, inputDir), 0o700)
	}
	if err != nil {
		return p.referencedFailure(t, err, "templates")
	}
	fold.Templates = nil
	for i := range files {
		s.Progress("fetch", i, len(files))
		read, failure := p.readTemplate(ctx, t, &fold.Constraints.Templates[i], pleat.TemplatePath(i), files[i])
		if failure != nil {
			return failure
		}
		if failure = p.writeTemplate(ctx, t, w, s, i, files[i].Name, read); failure != nil {
			return failure
		}
	}
	s.Progress("fetch", len(files), len(files))
	return nil
}

// readTemplate reads the file of a template, or an entry of the Protein Data Bank.
func (p *Pool) readTemplate(
	ctx context.Context, t *runningTask, tmpl *pleat.Template, at string, file runs.ReferencedFile,
) (*structure.Structure, *pleat.Failure) {
	var in io.Reader
	if file.Key == "" {
		entry, failure, err := p.cfg.ArchiveURLs.FetchPDB(ctx, tmpl.PDB, min(template.MaxBytes, archive.MaxBytes))
		if err != nil {
			p.logOf(t).Warn("a template cannot be fetched", "error", err)
		}
		if failure != nil {
			failure.Message = at + ": " + failure.Message
			return nil, failure
		}
		in = bytes.NewReader(entry.Text)
	} else {
		stored, err := p.openGiven(ctx, file, at)
		if err != nil {
			return nil, p.referencedFailure(t, err, "templates")
		}
		defer stored.Close()
		in = stored
	}
	read, err := template.Read(in)
	if pleat.CodeOf(err) == pleat.CodeInvalid {
		err = pleat.InvalidField(at, ": the file %s %s", pleat.Clip(file.Name), err)
	}
	if err != nil {
		return nil, p.referencedFailure(t, err, "templates")
	}
	return read, nil
}

// writeTemplate writes a template for each chain that it is for: a file of its own, since packages take chains that
// share one for a complex.
func (p *Pool) writeTemplate(
	ctx context.Context, t *runningTask, w *pleat.Work, s *sink, i int, name string, read *structure.Structure,
) *pleat.Failure {
	tmpl := &w.Fold.Constraints.Templates[i]
	at, text := pleat.TemplatePath(i), ""
	sequence, chains := tmpl.Targets(w.Fold.Sequences)
	if sequence >= 0 {
		text = w.Fold.Sequences[sequence].Text
	}
	converted, err := template.New(ctx, read, tmpl.TemplateChain, text)
	if pleat.CodeOf(err) == pleat.CodeInvalid {
		err = pleat.InvalidField(at, ": the file %s %s", pleat.Clip(name), err)
	}
	if err != nil {
		return p.referencedFailure(t, err, "templates")
	}
	for _, chain := range chains {
		file := pleat.FoldTemplate{
			Template: i,
			Sequence: sequence,
			Chain:    chain,
			File:     filepath.Join(inputDir, fmt.Sprintf("template-%d.cif", len(w.Fold.Templates)+1)),
		}
		for k := range converted.Residues {
			r := &converted.Residues[k]
			at, _ := r.Centre()
			file.Residues = append(file.Residues, pleat.TemplateResidue{Position: r.Seq, CA: at})
		}
		if err := report.WriteFile(filepath.Join(w.Dir, file.File), converted.WriteCIF); err != nil {
			return p.referencedFailure(t, err, "templates")
		}
		w.Fold.Templates = append(w.Fold.Templates, file)
		s.Log(fmt.Sprintf("chain %s: a template of %d residues, %d of them the same", chain, len(converted.Residues),
			converted.Same))
	}
	return nil
}
