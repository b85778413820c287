package jobs

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/format"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
)

// importJobs is POST /v1/jobs/import, for any user: it reads a job file of another program. It creates nothing and
// costs no quota; the response has a body for POST /v1/jobs for each job of the file, and notes on what was dropped,
// changed or guessed. 400: the file is in no known format, or it is invalid; the message has the position in the file.
// 403: the request has files, and the key may not read; 404: the caller has no library item of files.
func (h *Handlers) importJobs(ctx context.Context, c *route.Call, in *api.ImportJobs) (api.ImportedJobs, error) {
	if err := pleat.CheckOptionalName("name", in.Name); err != nil {
		return api.ImportedJobs{}, err
	}
	if in.Content == "" {
		return api.ImportedJobs{}, pleat.InvalidField("content", " is required; it must be the text of a file")
	}
	got, err := h.Submit.ImportJobs(ctx, h.Computations.Caller(ctx, c), wire.ToContent(in.Content, in.Format, in.Files),
		in.Name, in.ModelName)
	if err != nil {
		return api.ImportedJobs{}, err
	}
	out := api.ImportedJobs{Format: string(got.Format), Jobs: []api.CreateJob{}, Notes: got.Notes}
	for i := range got.Jobs {
		out.Jobs = append(out.Jobs, wire.CreateJob(&got.Jobs[i]))
	}
	return out, nil
}

// exportJob is GET /v1/jobs/{id}/export, for readers of the job: the job as its latest run folds it, with the seed of
// that run, as a file for another program. The format cannot always express everything; X-Pleat-Notes counts what is
// lost, and as=json returns the notes themselves. 400: the format is not known or cannot express the job at all.
func (h *Handlers) exportJob(ctx context.Context, c *route.Call) error {
	head, err := c.ReadableJob(ctx)
	if err != nil {
		return err
	}
	q := c.R.URL.Query()
	as := q.Get("format")
	if as == "" {
		return pleat.InvalidField("format", " is required; it may be %s", strings.Join(format.ExportNames(), ", "))
	}
	if form := q.Get("as"); !slices.Contains([]string{"", "json"}, form) {
		return pleat.InvalidField("as", " is %q; it may be json, for the file with its notes", pleat.Clip(form))
	}
	v, err := h.viewFor(ctx, head)
	if err != nil {
		return err
	}
	job := v.Job
	job.Params = v.Run.Params
	if v.Run.Seed != "" {
		job.Params = job.Params.With("seed", v.Run.Seed)
	}
	if head.To == wire.ForOthers { // without notes on what others may not see
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
		return c.JSON(api.ExportedJob{
			Format:      as,
			FileName:    file.Name,
			ContentType: file.ContentType,
			Content:     string(file.Text),
			Notes:       file.Notes,
		})
	}
	header := c.W.Header()
	header.Set("Content-Type", file.ContentType)
	header.Set("Content-Disposition", route.Disposition(file.Name))
	header.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Length", strconv.Itoa(len(file.Text)))
	header.Set("X-Pleat-Notes", strconv.Itoa(len(file.Notes)))
	c.W.WriteHeader(http.StatusOK)
	_, err = c.W.Write(file.Text)
	return c.Quiet(err)
}
