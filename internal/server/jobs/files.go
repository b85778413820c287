package jobs

import (
	"cmp"
	"context"
	"strconv"

	"pleat"
	"pleat/internal/server/route"
	"pleat/internal/store/runs"
	"pleat/internal/words"
)

// artifact is GET /v1/artifacts/{id}/{name}, for everyone who has the signed link; credentials are not read. Every
// request asks the database, so that a link to a job that was deleted or made private ends at once. Ranges and
// conditional requests are supported. 401: the signature is wrong or the link has expired; 404: the file is gone or
// has another name.
func (h *Handlers) artifact(ctx context.Context, c *route.Call) error {
	missing := pleat.Errorf(pleat.CodeNotFound, "Artifact not found")
	id, err := c.UUID("id", missing)
	if err != nil {
		return err
	}
	a, head, err := h.Runs.Artifact(ctx, pleat.ArtifactID(id))
	if err != nil {
		return err
	}
	if c.R.PathValue("name") != a.Name {
		return missing
	}
	if err := h.checkLink(c, &a, head); err != nil {
		return err
	}
	header := c.W.Header()
	if head.Public {
		header.Set("Cache-Control", "public, max-age=300, must-revalidate")
		c.AllowAllOrigins()
	} else {
		header.Set("Cache-Control", "private, max-age=300, must-revalidate")
	}
	return h.Files.Send(ctx, c, &a, route.DownloadName(head.Name, a.Name))
}

// checkLink checks the signature, the expiry and the epoch of a link. The epoch is a counter of the job that making it
// private increments; it is signed with the link, so links of an earlier epoch are invalid. A link without an expiry is
// valid only while the job is public.
func (h *Handlers) checkLink(c *route.Call, a *pleat.Artifact, head runs.Head) error {
	q := c.R.URL.Query()
	until := q.Get("e")
	if !h.Files.Links.Verify(a.ID, head.Epoch, until, q.Get("s")) {
		return pleat.ErrUnauthorized
	}
	if until == "" {
		if !head.Public {
			return pleat.ErrUnauthorized
		}
		return nil
	}
	end, err := strconv.ParseInt(until, 10, 64)
	if err != nil || c.Now().Unix() >= end {
		return pleat.Errorf(pleat.CodeUnauthorized, "This link has expired; the job's results have a new one")
	}
	return nil
}

// archive is GET /v1/jobs/{id}/archive.zip, for readers of the job: the archive that a run made of its files.
// 404: an engine of an earlier version made none; 409: the run has not completed.
func (h *Handlers) archive(ctx context.Context, c *route.Call) error {
	head, err := c.ReadableRun(ctx)
	if err != nil {
		return err
	}
	v, err := h.viewFor(ctx, head)
	if err != nil {
		return err
	}
	for i := range v.Artifacts {
		if a := &v.Artifacts[i]; a.Kind == pleat.ArtifactArchive {
			c.W.Header().Set("Cache-Control", "no-store")
			return h.Files.Send(ctx, c, a, cmp.Or(words.FileName(v.Job.Name, 80), string(v.Job.ID))+".zip")
		}
	}
	if v.Run.State == pleat.StateCompleted {
		return pleat.Errorf(pleat.CodeNotFound, "this run has no archive")
	}
	return pleat.Errorf(pleat.CodeConflict, "the job is %s; it has an archive once it is COMPLETED", v.Run.State)
}
