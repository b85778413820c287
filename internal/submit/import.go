package submit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pleat"
	"pleat/api"
	"pleat/internal/batch"
	"pleat/internal/format"
	"pleat/internal/words"
)

// Content is the text of a job file of another program, and the files of the library that stand for those that the
// text names.
type Content struct {
	Text   string
	Format string          // empty: it is detected
	Files  []LibraryFileAs // nil: the request has none
}

// ImportJobs reads a job file. A job gets a name and a model if the file has none: those of the request, else a model
// that accepts the job. An error has CodeInvalid with the position in the file, CodeForbidden if the key may not read
// the files, or CodeNotFound for an item of the library out of reach, unless it is the store's.
func (r *Resolver) ImportJobs(
	ctx context.Context, by Caller, c Content, name, model string,
) (format.Imported, error) {
	named, err := r.namedFiles(ctx, by, c.Files)
	if err != nil {
		return format.Imported{}, err
	}
	out, err := format.Import(c.Text, format.Name(c.Format), format.Options{
		Name:  name,
		Model: model,
		Files: named.files(ctx),
	})
	if err != nil {
		return format.Imported{}, inContent(err)
	}
	models, err := r.importModels(ctx, by.In.Project, model)
	if err != nil {
		return format.Imported{}, err
	}
	out.Notes = append(out.Notes, named.unused()...)
	for i := range out.Jobs {
		for _, note := range modelNotes(models, &out.Jobs[i]) {
			out.Notes = append(out.Notes, fmt.Sprintf("jobs[%d].params.modelName: %s", i, note))
		}
	}
	return out, nil
}

// importModels returns the models that a project may use. It refuses the model of the request if that is none of these;
// no job file names one.
func (r *Resolver) importModels(ctx context.Context, project pleat.ProjectID, name string) ([]pleat.Model, error) {
	models, err := r.Models(ctx)
	if err != nil {
		return nil, err
	}
	if m, ok := pleat.FindModel(models, name); ok {
		if err := r.checkPermitted(ctx, project, &m, "modelName"); err != nil {
			return nil, err
		}
	}
	return r.permitted(ctx, project, models)
}

// inContent assigns a fault of a file to the field of the request that holds the file. The message keeps the position
// in the file.
func inContent(err error) error {
	var bad *api.DecodeError
	if errors.As(err, &bad) {
		return pleat.Invalidf("%s", bad.Message).At("content")
	}
	if e := pleat.ErrorsOf(err); len(e) > 0 && e[0].Code == pleat.CodeInvalid && e[0].Field != "format" {
		return pleat.Invalidf("%s", e[0].Message).At("content")
	}
	return err
}

// modelNotes returns what the user should know of the model of a job, which it chooses if the job has none.
func modelNotes(all []pleat.Model, j *pleat.Job) (notes []string) {
	if j.Params.Model == "" {
		notes = append(notes, chooseModel(all, j))
	}
	for _, m := range all {
		if j.FoldsSeparately(m) && m.Name == j.Params.Model {
			notes = append(notes, separateNote(m))
		}
	}
	return notes
}

// separateNote says what a model does with several chains that it does not fold together.
func separateNote(m pleat.Model) string {
	return fmt.Sprintf("the model %q folds each of several chains on its own, so that nothing tells how they are "+
		"placed relative to each other", m.Name)
}

// chooseModel sets the model of a job to the first one that accepts it, of several chains to one that folds them
// together before others. The note says which and why. If none accepts it, the job gets the first fold model, so that
// the caller sees a complete body and, in the note, what is wrong with it.
func chooseModel(all []pleat.Model, j *pleat.Job) (note string) {
	all = slices.DeleteFunc(slices.Clone(all), func(m pleat.Model) bool { return m.Kind != pleat.TaskFold })
	together := slices.DeleteFunc(slices.Clone(all), j.FoldsSeparately)
	all = append(together, slices.DeleteFunc(all, func(m pleat.Model) bool { return !j.FoldsSeparately(m) })...)
	if len(all) == 0 {
		return "no folding engine has run here yet; start one with pleat worker"
	}
	var first error
	for i := range all {
		draft := j.Clone()
		err := draft.Validate(all[i])
		if err == nil {
			j.Params.Model = all[i].Name
			return fmt.Sprintf("the file names no model; %q was chosen, the first one here that accepts the job",
				all[i].Name)
		}
		if first == nil {
			first = err
		}
	}
	j.Params.Model = all[0].Name
	faults := pleat.ErrorsOf(first)
	why := faults[0].Message
	if n := len(faults) - 1; n > 0 {
		why += fmt.Sprintf("; %s more", words.Quantity(n, "fault", "faults"))
	}
	return fmt.Sprintf("no model here accepts the job; %q refuses it: %s", j.Params.Model, why)
}

// readContent reads the rows of a batch from the file of another program that the request has instead of jobs.
func (r *Resolver) readContent(ctx context.Context, by Caller, q *BatchRequest, p *preparedBatch) error {
	switch c := &q.Content; {
	case c.Text == "" && c.Format != "":
		return pleat.InvalidField("format", " is the format of content, which is absent")
	case c.Text == "" && c.Files != nil:
		return pleat.InvalidField("files", " are those that content names, which is absent")
	case c.Text == "":
		return nil
	case p.spec.Kind != pleat.BatchList:
		return pleat.InvalidField("content", " is a field of the kind list; the kind of this batch is %s",
			pleat.Clip(string(p.spec.Kind)))
	case q.HasJobs:
		return pleat.InvalidField("content", " and jobs are given; a batch has one of them")
	}
	named, err := r.namedFiles(ctx, by, q.Content.Files)
	if err != nil {
		return err
	}
	got, err := format.Import(q.Content.Text, format.Name(q.Content.Format), format.Options{
		Name:  p.spec.Name,
		Files: named.files(ctx),
		Rows:  true,
		Bytes: MaxBatchText,
		Jobs:  pleat.MaxBatchRows,
		Stop:  ctx.Err,
	})
	if err != nil {
		return inContent(err)
	}
	p.notes = append(got.Notes, named.unused()...)
	for i := range got.Jobs {
		p.spec.Jobs = append(p.spec.Jobs, importedRow(&got.Jobs[i], got.IDs[i], p.spec.Params))
	}
	return nil
}

// importedRow returns a job of a file as a row of a batch. The parameters and constraints of the file take precedence
// over those of the batch.
func importedRow(j *pleat.Job, id string, params pleat.Params) batch.Entry {
	e := batch.Entry{CustomID: id, Sequences: j.Sequences}
	if len(j.Params.Values) > 0 {
		for name, v := range j.Params.Values {
			params = params.With(name, v)
		}
		e.Params = &params
	}
	if !j.Constraints.Empty() {
		e.Constraints = &j.Constraints
	}
	return e
}
