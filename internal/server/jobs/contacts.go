package jobs

import (
	"bytes"
	"context"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/blob"
	"pleat/internal/report"
	"pleat/internal/seal"
	"pleat/internal/server/route"
	"pleat/internal/store/runs"
	"pleat/internal/structure"
	"pleat/internal/submit"
	"pleat/internal/words"
)

// maxContacts is the most contacts that are listed. A complex of 2,000 residues has some hundreds.
const maxContacts = 20_000

// maxPAEBytes bounds the file of predicted aligned errors that is read for the contacts: some 4,000 residues.
const maxPAEBytes = 100 << 20

// contacts is GET /v1/jobs/{id}/contacts, for readers of the job: the contacts between the chains of a structure of a
// run. 400: the query is not valid, or the structure is too large; 404: the run has no structure; 409: it has not
// completed; 429: the caller has too many computations under way.
func (h *Handlers) contacts(ctx context.Context, c *route.Call) (api.Contacts, error) {
	r, err := h.resultStructure(ctx, c)
	if err != nil {
		return api.Contacts{}, err
	}
	return h.contactsOf(ctx, c, r)
}

// contactsFile is GET /v1/jobs/{id}/contacts.csv, for readers of the job: the same as CSV. Its name is that of the
// structure. X-Pleat-Total says how many contacts there are.
func (h *Handlers) contactsFile(ctx context.Context, c *route.Call) error {
	r, err := h.resultStructure(ctx, c)
	if err != nil {
		return err
	}
	out, err := h.contactsOf(ctx, c, r)
	if err != nil {
		return err
	}
	if out.Reason != nil {
		return pleat.Errorf(pleat.CodeConflict, "the contacts cannot be computed: %s", *out.Reason)
	}
	var table bytes.Buffer
	if err := report.WriteContacts(&table, out.Data); err != nil {
		return err
	}
	c.W.Header().Set("X-Pleat-Total", strconv.Itoa(out.Total))
	name := strings.TrimSuffix(r.file.Name, path.Ext(r.file.Name)) + "-contacts.csv"
	return c.Attachment("text/csv; charset=utf-8", route.DownloadName(r.Job.Name, name), table.Bytes())
}

// contactsOf reads chains and limit, and computes the contacts of a structure of a run.
func (h *Handlers) contactsOf(ctx context.Context, c *route.Call, r *resultStructure) (api.Contacts, error) {
	o := report.ContactOptions{}
	if chains := c.R.URL.Query().Get("chains"); chains != "" {
		a, b, ok := strings.Cut(chains, "-")
		if !ok || a == "" || b == "" || a == b {
			return api.Contacts{}, pleat.InvalidField("chains", " is %q; it must be two chains joined by a hyphen, "+
				"such as A-B", pleat.Clip(chains))
		}
		o.Chains = [2]string{a, b}
	}
	var err error
	if o.Limit, err = c.IntQuery("limit", 1, maxContacts, maxContacts); err != nil {
		return api.Contacts{}, err
	}
	release, err := h.Computations.Begin(ctx, c, r.caller)
	if err != nil {
		return api.Contacts{}, err
	}
	defer release()
	read, err := h.readResult(ctx, r.file)
	if err != nil {
		return api.Contacts{}, err
	}
	if pae := r.paeFile(); pae != nil && pae.Bytes <= maxPAEBytes {
		in, _, err := h.Files.Blobs.Open(ctx, pae.Key)
		if err != nil {
			return api.Contacts{}, route.Unreadable(pae, err)
		}
		defer in.Close()
		o.PAE = blob.ContextReader(ctx, in)
	}
	out, err := report.Contacts(ctx, read, o)
	if pleat.CodeOf(err) == pleat.CodeInvalid {
		return out, pleat.InvalidField("chains", " is %s-%s, but %s", pleat.Clip(o.Chains[0]),
			pleat.Clip(o.Chains[1]), err)
	}
	if out.Reason == nil && len(r.Run.Result.Predictions) > 1 {
		why := "the model has folded each chain on its own, so that nothing tells how they are placed " +
			"relative to each other"
		out.Reason = &why
	}
	out.JobID, out.JobRunID, out.File = string(r.Job.ID), string(r.Run.ID), r.file.Name
	return out, err
}

// viewFile returns the handler of GET /v1/jobs/{id}/view.* in one of report.ViewFormats, for readers of the job: a
// script that shows a structure of a run in another program. It names the structure by a signed link, which lives as
// long as those of the results. The errors are those of contacts.
//
// Pages of other origins may read the state of a public job and the structure that it names, as the viewer at
// molstar.org does. They cannot read more than everyone can: the browser sends them no credentials.
func (h *Handlers) viewFile(ending, media string) route.Handler {
	return func(ctx context.Context, c *route.Call) error {
		r, err := h.resultStructure(ctx, c)
		if err != nil {
			return err
		}
		text, err := h.scriptOf(ctx, c, r, ending)
		if err != nil {
			return err
		}
		if r.Job.Public {
			c.AllowAllOrigins()
		}
		name := strings.TrimSuffix(r.file.Name, path.Ext(r.file.Name)) + "." + ending
		return c.Attachment(media, route.DownloadName(r.Job.Name, name), text)
	}
}

// scriptOf makes the script of viewFile.
func (h *Handlers) scriptOf(ctx context.Context, c *route.Call, r *resultStructure, ending string) ([]byte, error) {
	release, err := h.Computations.Begin(ctx, c, r.caller)
	if err != nil {
		return nil, err
	}
	defer release()
	read, err := h.readResult(ctx, r.file)
	if err != nil {
		return nil, err
	}
	view, err := report.NewView(ctx, read, report.ViewOptions{
		Source:  h.Files.Links.URL(r.file, seal.JobScope(&r.Job), c.Now()),
		PLDDT:   r.file.Kind != pleat.ArtifactOther, // what an engine writes as the B-factors of samples is not known
		Written: r.Run.FinishedAt,
	})
	if err != nil {
		return nil, err
	}
	return view.Script(ending)
}

// resultStructure is a structure of a run that has completed, as a caller may read it.
type resultStructure struct {
	runs.View
	file   *pleat.Artifact
	caller pleat.UserID // empty: a caller without a valid credential
}

// resultStructure finds the structure that jobRunId and sample of a request name, for a caller who may read it.
func (h *Handlers) resultStructure(ctx context.Context, c *route.Call) (*resultStructure, error) {
	head, err := c.ReadableRun(ctx)
	if err != nil {
		return nil, err
	}
	r := &resultStructure{caller: head.Caller}
	if r.View, err = h.viewFor(ctx, head); err != nil {
		return nil, err
	}
	if r.Run.State != pleat.StateCompleted {
		return nil, pleat.Errorf(pleat.CodeConflict, "the job is %s; it has a structure once it is COMPLETED",
			r.Run.State)
	}
	sample := c.R.URL.Query().Get("sample")
	r.file, err = submit.StructureOf(&r.View, sample)
	switch {
	case err != nil && sample == "":
		return nil, pleat.Errorf(pleat.CodeNotFound, "%s", err)
	case err != nil:
		return nil, pleat.InvalidField("sample", " is %q: %s", pleat.Clip(sample), err)
	}
	return r, nil
}

// paeFile returns the file of the predicted aligned errors of the structure; nil: there is none, as of further samples.
func (r *resultStructure) paeFile() *pleat.Artifact {
	i := slices.IndexFunc(r.Artifacts, func(a pleat.Artifact) bool {
		return a.Kind == pleat.ArtifactPAE && a.Sequence == r.file.Sequence
	})
	if i < 0 || r.file.Kind == pleat.ArtifactOther {
		return nil
	}
	return &r.Artifacts[i]
}

// readResult reads a structure of a run.
func (h *Handlers) readResult(ctx context.Context, file *pleat.Artifact) (*structure.Structure, error) {
	if file.Bytes > submit.MaxDirectBytes {
		return nil, pleat.Invalidf("the structure %s has %d bytes; at most %d are read for this", pleat.Clip(file.Name),
			file.Bytes, submit.MaxDirectBytes)
	}
	in, _, err := h.Files.Blobs.Open(ctx, file.Key)
	if err != nil {
		return nil, route.Unreadable(file, err)
	}
	defer in.Close()
	read, err := structure.Read(blob.ContextReader(ctx, in), submit.DirectLimits)
	var fault *structure.ParseError
	if errors.As(err, &fault) {
		return nil, pleat.Invalidf("the structure %s cannot be read: %s", pleat.Clip(file.Name),
			words.Shorten(fault.Error(), 200))
	}
	if err != nil {
		return nil, route.Unreadable(file, err)
	}
	return read, nil
}
