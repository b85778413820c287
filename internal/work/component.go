package work

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/component"
	"pleat/internal/engine"
	"pleat/internal/report"
	"pleat/internal/store/runs"
)

// components puts the components that the job names as files into the folder of the work, each as mmCIF. The files are
// read now, as those of templates are.
func (p *Pool) components(t *runningTask, w *pleat.Work) *pleat.Failure {
	w.Fold.Components = nil
	named := 0
	for i := range w.Fold.Constraints.Components {
		if w.Fold.Constraints.Components[i].Item != "" {
			named++
		}
	}
	if named == 0 {
		return nil
	}
	watch := clock.Start()
	files, err := p.service.ReferencedComponents(t.ctx, w.Fold)
	if err == nil && len(files) != named {
		err = fmt.Errorf("the service knows %d of %d components", len(files), named)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(w.Dir, inputDir), 0o700)
	}
	for i := 0; err == nil && i < len(w.Fold.Constraints.Components); i++ {
		if w.Fold.Constraints.Components[i].Item != "" {
			err = p.writeComponent(t, w, i, files[len(w.Fold.Components)])
		}
	}
	t.timings[pleat.StageFetch] += watch.Seconds()
	switch {
	case err == nil:
		return nil
	case t.ctx.Err() != nil:
		return engine.Interrupted(t.ctx)
	}
	return p.referencedFailure(t, err, "components")
}

// writeComponent reads the file of component i and writes it into the folder of the work.
func (p *Pool) writeComponent(t *runningTask, w *pleat.Work, i int, file runs.ReferencedFile) error {
	at := pleat.ComponentPath(i)
	stored, err := p.openGiven(t.ctx, file, at)
	if err != nil {
		return err
	}
	defer stored.Close()
	m, atoms, err := component.Read(file.Name, stored)
	if pleat.CodeOf(err) == pleat.CodeInvalid {
		return pleat.InvalidField(at, ": the file %s %s", pleat.Clip(file.Name), err)
	}
	if err != nil {
		return err
	}
	job := pleat.Job{Sequences: w.Fold.Sequences, Constraints: w.Fold.Constraints}
	if err := job.CheckComponent(i, atoms); err != nil { // it may have changed since the job was created
		return err
	}
	converted := pleat.FoldComponent{
		Code: w.Fold.Constraints.Components[i].Code,
		File: filepath.Join(inputDir, fmt.Sprintf("component-%d.cif", len(w.Fold.Components)+1)),
	}
	w.Fold.Components = append(w.Fold.Components, converted)
	return report.WriteFile(filepath.Join(w.Dir, converted.File), func(out io.Writer) error {
		return m.WriteComponentCIF(out, converted.Code)
	})
}
