package server

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/facts"
	"pleat/internal/format"
	"pleat/internal/server/wire"
)

// importJobs is POST /v1/jobs/import, for any user: it reads a job file of another program. It creates nothing and
// costs no quota; the response has a body for POST /v1/jobs for each job of the file, and notes on what was dropped,
// changed or guessed. 400: the file is in no known format, or it is invalid; the message has the position in the file.
// 403: the request has files, and the key may not read; 404: the caller has no library item of files.
func (s *Server) importJobs(ctx context.Context, c *call, in *api.ImportJobs) (api.ImportedJobs, error) {
	if in.Name != "" {
		if err := pleat.CheckName("name", in.Name); err != nil {
			return api.ImportedJobs{}, err
		}
	}
	if in.Content == "" {
		return api.ImportedJobs{}, pleat.InvalidField("content", " is required; it must be the text of a file")
	}
	named, err := s.namedFiles(ctx, c, in.Files)
	if err != nil {
		return api.ImportedJobs{}, err
	}
	got, err := format.Import(in.Content, format.Name(in.Format), format.Options{
		Name:  in.Name,
		Model: in.ModelName,
		Files: named.files(ctx),
	})
	if err != nil {
		return api.ImportedJobs{}, inContent(err)
	}
	out := api.ImportedJobs{
		Format: string(got.Format),
		Jobs:   []api.CreateJob{},
		Notes:  append(got.Notes, named.unused()...),
	}
	models, err := s.resolver.Models(ctx)
	if err != nil {
		return out, err
	}
	for i := range got.Jobs {
		j := &got.Jobs[i]
		for _, note := range modelNotes(models, j) {
			out.Notes = append(out.Notes, fmt.Sprintf("jobs[%d].params.modelName: %s", i, note))
		}
		out.Jobs = append(out.Jobs, wire.CreateJob(j))
	}
	return out, nil
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
		if j.Apart(m) && m.Name == j.Params.Model {
			notes = append(notes, apartNote(m))
		}
	}
	return notes
}

// apartNote says what a model does with several chains that it does not fold together.
func apartNote(m pleat.Model) string {
	return fmt.Sprintf("the model %q folds each of several chains on its own, so that nothing tells how they are "+
		"placed relative to each other", m.Name)
}

// chooseModel sets the model of a job to the first one that accepts it, of several chains to one that folds them
// together before others. The note says which and why. If none accepts it, the job gets the first fold model, so that
// the caller sees a complete body and, in the note, what is wrong with it.
func chooseModel(all []pleat.Model, j *pleat.Job) (note string) {
	all = slices.DeleteFunc(slices.Clone(all), func(m pleat.Model) bool { return m.Kind != pleat.TaskFold })
	together := slices.DeleteFunc(slices.Clone(all), j.Apart)
	all = append(together, slices.DeleteFunc(all, func(m pleat.Model) bool { return !j.Apart(m) })...)
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
	_, why := refusal(first)
	if n := len(faults) - 1; n > 0 {
		why += fmt.Sprintf("; %s more", facts.Quantity(n, "fault", "faults"))
	}
	return fmt.Sprintf("no model here accepts the job; %q refuses it: %s", j.Params.Model, why)
}

// exportJob is GET /v1/jobs/{id}/export, for readers of the job: the job as its latest run folds it, with the seed of
// that run, as a file for another program. The format cannot always express everything; X-Pleat-Notes counts what is
// lost, and as=json returns the notes themselves. 400: the format is not known or cannot express the job at all.
func (s *Server) exportJob(ctx context.Context, c *call) error {
	head, err := s.readableJob(ctx, c)
	if err != nil {
		return err
	}
	q := c.r.URL.Query()
	as := q.Get("format")
	if as == "" {
		return pleat.InvalidField("format", " is required; it may be %s", strings.Join(format.ExportNames(), ", "))
	}
	if form := q.Get("as"); !slices.Contains([]string{"", "json"}, form) {
		return pleat.InvalidField("as", " is %q; it may be json, for the file with its notes", pleat.Clip(form))
	}
	v, err := s.viewFor(ctx, head)
	if err != nil {
		return err
	}
	job := v.Job
	job.Params = v.Run.Params
	if v.Run.Seed != "" {
		job.Params = job.Params.With("seed", v.Run.Seed)
	}
	if head.to == wire.ForOthers { // without notes on what others may not see
		job.Constraints = job.Constraints.Private()
		job.Sequences = slices.Clone(job.Sequences)
		for i := range job.Sequences {
			job.Sequences[i].Source, job.Sequences[i].MSA = "", pleat.FileRef{}
		}
	}
	file, err := format.Export(&job, format.Name(as))
	if err != nil {
		return err
	}
	if q.Get("as") == "json" {
		return c.json(api.ExportedJob{
			Format:      as,
			FileName:    file.Name,
			ContentType: file.ContentType,
			Content:     string(file.Text),
			Notes:       file.Notes,
		})
	}
	h := c.w.Header()
	h.Set("Content-Type", file.ContentType)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": file.Name}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(file.Text)))
	h.Set("X-Pleat-Notes", strconv.Itoa(len(file.Notes)))
	c.w.WriteHeader(http.StatusOK)
	_, err = c.w.Write(file.Text)
	return quiet(c, err)
}
